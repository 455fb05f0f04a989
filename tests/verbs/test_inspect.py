"""inspect: the facts of a file, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

import videorestore as vr
from videorestore.clip import Clip, ClipInfo, Frame, PixelFormat
from videorestore.errors import InputError, VideoRestoreError
from videorestore.media import open_source
from videorestore.plan.findings import dropped, windows
from videorestore.plan.gaps import time_gaps
from videorestore.plan.pieces import cut_pieces
from videorestore.plan.scan import scan
from videorestore.report.advice import findings
from videorestore.request import Span
from videorestore.request.verbs_looking import InspectOptions
from videorestore.verbs.inspect import facts, report


def moving(n: int = 12) -> np.ndarray:
    """A bright square that moves over a slope."""
    y, x = np.mgrid[:40, :56]
    frames = np.repeat((60 + x + y)[None, ..., None], 3, axis=-1).repeat(n, axis=0).astype(np.uint8)
    for k in range(n):
        frames[k, 10:22, 4 + 2 * k : 16 + 2 * k] = (220, 180, 90)
    return frames


def test_facts_of_an_array() -> None:
    pixels = moving()
    record, losses = report(pixels, InspectOptions())
    assert (record["n_frames"], record["width"], record["height"], record["depth"]) == (12, 56, 40, 8)
    assert record["fps"] == "25/1" and record["duration_s"] == pytest.approx(0.48) and "vfr" not in record
    for name in ("noise_sd", "cuts", "duplicates", "black", "corrupt", "dropped", "damage", "flicker"):
        assert name in record, name
    assert losses == ()
    json.dumps(record, allow_nan=False)
    np.testing.assert_array_equal(pixels, moving())


def test_a_range_counts_only_its_frames() -> None:
    record, _ = report(moving(), InspectOptions(span=Span(start=4, stop=10)))
    assert record["n_frames"] == 6 and record["first_frame"] == 4
    with pytest.raises(InputError):
        report(moving(), InspectOptions(span=Span(start=4, stop=99)))


def test_uneven_times_are_said() -> None:
    times = tuple(Fraction(k * k, 100) for k in range(1, 13))
    clip = Clip(frames=moving(), times=times, info=ClipInfo(format=PixelFormat(model="rgb")))
    with open_source(clip) as source:
        found = facts(source, source.index())
    assert found["vfr"] is True and found["interval_s"]["min"] < found["interval_s"]["max"]


def test_a_still_has_no_curve() -> None:
    record, _ = report(np.concatenate([moving(1).repeat(12, axis=0), 255 - moving(6)]), InspectOptions())
    assert "curve" not in record or record["curve"] is None


def test_flicker_is_said_on_the_scale_of_the_pixels() -> None:
    gain = 1 + np.random.default_rng(2).normal(0, 0.06, 24)
    pixels = np.clip(np.rint(moving(24) * gain[:, None, None, None]), 0, 255).astype(np.uint8)
    record, _ = report(pixels, InspectOptions())
    assert record["flicker"]["present"] and 2 < record["flicker"]["rms"] < 20
    assert any("brightness flickers" in entry["what"] for entry in record["summary"])


@pytest.mark.parametrize(("policy", "count"), [("pts", 1), ("dts", 0)])
def test_only_presentation_times_tell_of_lost_frames(policy: str, count: int) -> None:
    times = tuple(Fraction(k + (k > 5), 25) for k in range(12))
    frames = np.delete(moving(13), 6, axis=0)
    clip = Clip(frames=frames, times=times, info=ClipInfo(format=PixelFormat(model="rgb")))
    with open_source(clip) as source:
        seen = scan(source, None)
        seen = replace(seen, index=replace(seen.index, policy=policy))
        assert len(time_gaps(seen)) == len(dropped(seen)) == count


@pytest.mark.parametrize(("name", "count"), [("a.mkv", 1), ("a.gif", 0)])
def test_a_picture_of_a_gif_is_shown_as_long_as_its_maker_wants(
    tmp_path: Path, name: str, count: int
) -> None:
    times = tuple(Fraction(k + (k > 5), 25) for k in range(12))
    frames = np.delete(moving(13), 6, axis=0)
    clip = Clip(frames=frames, times=times, info=ClipInfo(format=PixelFormat(model="rgb")))
    vr.write(clip, str(tmp_path / name), codec="ffv1" if name.endswith("mkv") else None)
    with open_source(str(tmp_path / name)) as source:
        assert len(time_gaps(scan(source, None))) == count


def test_a_gap_in_the_numbers_is_a_missing_frame(tmp_path: Path) -> None:
    for k, picture in enumerate(moving(8)):
        if k != 5:
            cv2.imwrite(str(tmp_path / f"shot_{k:03}.png"), picture[..., ::-1])
    with open_source(str(tmp_path)) as source:
        found = facts(source, source.index())
    assert found["missing"] == [5] and found["n_frames"] == 7


def test_the_page_shows_the_clip(tmp_path: Path) -> None:
    report(moving(), InspectOptions(report=str(tmp_path / "page.html")))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count("data:image/jpeg") == 12 and "What is wrong" in text


def test_nothing_to_read_is_an_error_of_ours() -> None:
    with pytest.raises(VideoRestoreError):
        report(np.zeros((0, 4, 4, 3), np.uint8), InspectOptions())


def test_what_is_wrong_comes_with_what_to_run() -> None:
    found = findings(
        {
            "input": "my film.mp4",
            "n_frames": 100,
            "noise_sd": 12.34,
            "noise_interval": [11.0, 13.0],
            "corrupt": [31],
            "black": [7, 50, 51],
            "duplicates": [],
            "dropped": [{"after": 60, "count": 2, "probability": 0.91}],
            "damage": [
                {"frame": 3, "kind": "dust"},
                {"frame": 3, "kind": "dust"},
                {"frame": 9, "kind": "scratch"},
            ],
            "flicker": {"rms": 4.2},
        }
    )
    text = {entry["what"]: entry for entry in found}
    assert text["noise of sd 12.3 (of 255)"]["sure"] == "95 % interval 11 to 13"
    assert text["1 corrupt frame: 31"]["run"] == "videorestore fill 'my film.mp4' -o OUTPUT --missing 31"
    assert text["3 black frames: 7,50-51"]["run"].endswith("--missing 7,50-51")
    dropped = text["2 frames dropped after frame 60"]
    assert dropped["run"].endswith("--insert 2@60") and dropped["sure"] == "probability 0.91"
    assert "damaged pixels in 2 frames: 2 dust, 1 scratch" in text
    assert "brightness flickers by 4.2 (of 255)" in text
    assert found[-1]["run"] == "videorestore restore 'my film.mp4' -o OUTPUT"


def test_black_frames_of_a_fade_and_at_the_ends_are_no_fault() -> None:
    record = {"input": "a", "n_frames": 60, "black": [0, 1, 20, 40, 41, 58, 59], "fades": [[30, 40]]}
    meant, wrong = findings(record)
    assert "0-1,40-41,58-59" in meant["what"] and not meant["run"]
    assert wrong["what"] == "1 black frame: 20" and wrong["run"].endswith("--missing 20")


def test_the_commands_it_names_can_be_run() -> None:
    import shlex

    from videorestore.cli.parser import Command, parse

    record = {
        "input": "-odd 'name'.mkv",
        "n_frames": 9,
        "noise_sd": 9.0,
        "corrupt": [3],
        "dropped": [{"after": 2, "count": 1}],
    }
    for entry in findings(record):
        assert isinstance(parse(shlex.split(entry["run"])[1:]), Command)


def test_a_clean_clip_has_nothing_wrong_and_a_rhythm_is_no_fault() -> None:
    assert (
        findings({"input": "a", "n_frames": 9, "noise_sd": 0.4, "corrupt": [], "flicker": {"rms": 0.1}}) == []
    )
    (entry,) = findings({"input": "a", "n_frames": 10, "duplicates": [1, 3, 5, 7, 9]})
    assert "rhythm" in entry["what"] and not entry["run"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 2)])
def test_pictures_of_hardly_a_pixel_are_looked_at_without_a_warning(size):
    clip = np.random.default_rng(0).integers(0, 255, (9, *size), dtype=np.uint8)
    assert vr.inspect(clip).record["n_frames"] == 9


def test_damage_is_sought_in_one_reading() -> None:
    with open_source(np.zeros((40, 8, 8, 3), np.uint8)) as source:
        read: list[int] = []
        frames = source.frames

        def noted(*span: int) -> Iterator[Frame]:
            for frame in frames(*span):
                read.append(frame.index)
                yield frame

        source.frames = noted  # type: ignore[assignment, method-assign]
        pieces = cut_pieces([(2, 20), (20, 38)], core=5, halo=3)
        for piece, held in windows(source, pieces):
            assert [frame.index for frame in held] == list(range(piece.read_start, piece.read_stop))
    assert read == list(range(2, 38))
