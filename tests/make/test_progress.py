"""How far a piece has come, and what a run is said to take."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from videorestore import pulse
from videorestore.clip import FloatArray
from videorestore.make.cost import DECODING, company
from videorestore.make.interlaced import Interlaced, Output
from videorestore.make.whole import WholeView
from videorestore.make.work import Piece
from videorestore.media import open_source
from videorestore.media.outputs import OutputShape
from videorestore.request.verbs import DenoiseOptions, UpsampleOptions
from videorestore.run.needs import disk_need
from videorestore.verbs import denoise, upsample

BUDGET = 4 << 30


def noisy(count: int, height: int = 48, width: int = 64) -> FloatArray:
    rng = np.random.default_rng(5)
    row, column = np.mgrid[:height, :width]
    drift = np.arange(count)[:, None, None]
    clean = 128 + 60 * np.sin((column + drift) / 7) * np.cos(row / 9)
    frames = np.repeat(clean[..., None], 3, -1) + rng.normal(0, 12, (count, height, width, 3))
    return np.asarray(np.clip(frames, 0, 255) / 255, np.float32)


def test_new_frames_on_a_curve_are_counted_as_they_are_made() -> None:
    with open_source(noisy(12)) as source:
        work = upsample.plan(source, UpsampleOptions(factor=Fraction(2), model="curve"), BUDGET)
        heard: list[float] = []
        with pulse.listening(heard.append):
            made = [len(heard) for piece in work.pieces for _ in work.make(source, piece)]
    assert heard == sorted(heard) and heard[-1] == pytest.approx(1.0)
    assert len(made) == 23


def test_frames_are_counted_as_they_are_handed_over() -> None:
    with open_source(noisy(8)) as source:
        work = denoise.plan(source, DenoiseOptions(model="motion", quality="fast"), BUDGET)
        heard: list[float] = []
        with pulse.listening(heard.append):
            shares = [heard[-1] for piece in work.pieces for _ in work.make(source, piece)]
    assert shares == sorted(set(shares)) and heard == sorted(heard) and 0.5 < shares[0] < shares[-1] < 1


def test_a_short_clip_gives_each_frame_less_company() -> None:
    assert company(1) == pytest.approx(1 / 11)
    assert company(8) == pytest.approx(7.25 / 11)
    assert company(10_000) == pytest.approx(1, rel=1e-3)


def test_what_has_no_content_takes_no_time_and_what_stands_before_a_piece_is_decoded() -> None:
    with open_source(noisy(24)) as source:
        work = denoise.plan(source, DenoiseOptions(model="motion", quality="fast"), BUDGET)
    (piece,) = work.pieces
    hollow = replace(work, steps=replace(work.steps, missing=frozenset(range(4, 24))))
    few, many = hollow._stages(piece), work._stages(piece)
    assert 0 < few.denoise < many.denoise / 5
    late = replace(piece, read_start=10)
    keyed = [replace(work, decoding=1.0, keys=keys).seconds_of(late) for keys in ((0, 8), (0,), ())]
    assert keyed == pytest.approx([keyed[2] + 2, keyed[2] + 10, keyed[2]])


def test_a_frame_is_decoded_in_the_time_of_its_bytes(tmp_path: Path) -> None:
    from videorestore.api import write

    path = str(tmp_path / "in.mkv")
    write(noisy(12, 96, 128), path)
    with open_source(path) as source:
        work = denoise.plan(source, DenoiseOptions(), BUDGET)
    assert work.decoding == pytest.approx(DECODING * os.path.getsize(path) / 12e6)
    assert work.keys[0] == 0
    with open_source(noisy(12)) as source:
        assert denoise.plan(source, DenoiseOptions(), BUDGET).decoding == 0


def test_a_curve_through_noise_is_said_to_take_its_time() -> None:
    with open_source(noisy(12)) as source:
        times = {
            model: sum(
                upsample.plan(
                    source, UpsampleOptions(factor=Fraction(2), model=model), BUDGET
                ).piece_seconds()
            )
            for model in ("curve", "motion")
        }
    assert times["curve"] > times["motion"] + 5


def test_room_on_disk_is_what_is_likely_and_less_than_what_is_asked_for(tmp_path: Path) -> None:
    from videorestore.api import write

    path = str(tmp_path / "in.mp4")
    write(noisy(12, 96, 128), path)
    with open_source(path) as source:
        options = UpsampleOptions(factor=Fraction(2), model="motion")
        work = upsample.plan(source, options, BUDGET)
        likely, most = (disk_need(work, "out.mp4", options, 1, likely=k) for k in (True, False))
        assert likely == 2 * (os.path.getsize(path) * 23 // 12) <= most
        cleaned = denoise.plan(source, DenoiseOptions(), BUDGET)
        assert disk_need(cleaned, "out.mp4", options, 1, likely=True) < most / 3


def test_whole_frames_are_counted_as_they_are_made_of_fields() -> None:
    pieces = (Piece(index=0, start=0, stop=24, read_start=0, read_stop=24),)
    with open_source(noisy(24)) as source:
        outputs = tuple(
            Output(
                time=Fraction(k, 50),
                duration=Fraction(1, 50),
                top=None if k % 2 else k // 2,
                bottom=k // 2 if k % 2 else None,
            )
            for k in range(48)
        )
        work = Interlaced(
            verb="restore",
            pieces=pieces,
            shape=OutputShape.of(source, 48, source.info),
            outputs=outputs,
            shots=((0, 24),),
            first=(0,),
            quality="fast",
            findings={},
        )
        heard: list[float] = []
        with pulse.listening(heard.append), pulse.part(0.0, 0.5):
            shares = [heard[-1] for _ in WholeView(source, work, held=True).frames()]
    # Three times 16 are made in one go; each is a third of the part that they are read in.
    assert [shares[k] for k in (0, 16, 32)] == pytest.approx([1 / 6, 2 / 6, 3 / 6])
    assert heard == sorted(heard) and max(b - a for a, b in pairwise(heard)) < 0.02
