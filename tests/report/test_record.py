"""The record holds what the contract says, and nothing that JSON cannot."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from videorestore.clip import ClipInfo, Frame, PixelFormat
from videorestore.make.work import Made, OutputShape, Piece, Work
from videorestore.media.source import Source
from videorestore.report.record import peak_memory_mb, plain, record_of
from videorestore.run.outcome import record_of_run
from videorestore.run.piecework import frame_fact, note_of


def made(index: int, **more: Any) -> Made:
    frame = Frame(
        planes=(np.zeros((2, 3), np.uint8),),
        format=PixelFormat(model="grey"),
        index=index,
        time=Fraction(index, 25),
        duration=Fraction(1, 25),
    )
    return Made(frame=frame, **{"origin": "kept", "source": index, **more})


class Doing(Work):
    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        return iter(())


def work(findings: dict[str, Any], *, vfr: bool = False) -> Work:
    info = ClipInfo(format=PixelFormat(model="grey"), fps=Fraction(25), vfr=vfr)
    shape = OutputShape(info=info, height=2, width=3, n_frames=2, fps=info.fps)
    return Doing(verb="fill", pieces=(), shape=shape, findings=findings)


def test_a_whole_record() -> None:
    guess = made(
        1, origin="filled", source=None, sd_map=np.full((2, 3, 1), 2.0, np.float32), notes=("a guess",)
    )
    record = record_of_run(
        "fill",
        work(
            {"model": "curve", "noise_sd": np.float32(12.3), "self_test": {"psnr": float("nan"), "hidden": 3}}
        ),
        [note_of(one, k) for k, one in enumerate((made(0, x=0.0031), guess))],
        time.monotonic(),
    )
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["fps"] == "25/1" and record["duration_s"] == 0.08 and "vfr" not in record
    assert record["frames"] == [
        {"index": 0, "time_s": 0.0, "origin": "kept", "source": 0, "x": 0.0031},
        {"index": 1, "time_s": 0.04, "origin": "filled", "sd": 2.0, "notes": ["a guess"]},
    ]
    assert record["self_test"] == {"hidden": 3}
    assert record["elapsed_s"] >= 0 and record["peak_memory_mb"] > 1


def test_what_does_not_apply_is_absent() -> None:
    record = record_of("inspect", time.monotonic(), {"input": None, "noise_sd": None, "cuts": []})
    assert not {"input", "output", "fps", "width", "frames", "noise_sd", "duration_s"} & set(record)
    assert record["cuts"] == []


def test_variable_rate_is_said() -> None:
    assert record_of_run("fill", work({}, vfr=True), (), time.monotonic())["vfr"] is True


@dataclass
class _Thing:
    a: Fraction
    b: tuple[int, ...]


def test_everything_becomes_plain() -> None:
    value = {
        "array": np.arange(3, dtype=np.int16),
        "scalar": np.float64(1 / 3),
        "flag": np.bool_(True),
        "fraction": Fraction(30000, 1001),
        "path": Path("x"),
        "thing": _Thing(Fraction(1, 2), (1, 2)),
        "nan": float("nan"),
        "list": [float("inf"), 1.0],
        "set": {3, 1},
        7: None,
    }
    expected = {
        "array": [0, 1, 2],
        "scalar": 0.333333333,
        "flag": True,
        "fraction": "30000/1001",
        "path": "x",
        "thing": {"a": "1/2", "b": [1, 2]},
        "list": [None, 1.0],
        "set": [1, 3],
    }
    assert plain(value) == expected
    json.dumps(plain(value), allow_nan=False)


def test_the_sd_of_a_frame_is_a_root_mean_square() -> None:
    known = made(0, sd_map=np.array([[[3.0], [4.0]]], np.float32))
    assert frame_fact(known, 0)["sd"] == round((12.5) ** 0.5, 3)
    assert "sd" not in frame_fact(made(0, sd_map=np.full((1, 1, 1), np.nan, np.float32)), 0)
    assert "sd" not in frame_fact(made(0), 0)


def test_a_guess_that_nothing_supports_is_called_doubtful() -> None:
    assert frame_fact(made(0, doubtful=True), 0)["doubtful"] is True
    assert "doubtful" not in frame_fact(made(0), 0)


def test_pixels_are_not_kept() -> None:
    note = note_of(made(0, sd_map=np.ones((2, 3, 1), np.float32)), 0)
    assert not any(isinstance(value, np.ndarray) for value in (*note.values(), *note["fact"].values()))


def test_memory_counts_children() -> None:
    one, many = peak_memory_mb(0), peak_memory_mb(8)
    assert one is not None and many is not None and 1 < one <= many < 10**6
