"""Frames named by time: the frame shown then, uneven times included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from videorestore.errors import InputError
from videorestore.media.source import FrameIndex
from videorestore.plan.named import frames_named, places_named
from videorestore.request import notation

TIMES = (5, Fraction(51, 10), Fraction(53, 10), 6, 7)


@pytest.fixture
def index() -> FrameIndex:
    """Five frames at 0, 0.1, 0.3, 1 and 2 s after the start, the last one shown for 1 s."""
    times = tuple(Fraction(t) for t in TIMES)
    durations = (*(b - a for a, b in zip(times, times[1:])), Fraction(1))
    return FrameIndex(times=times, durations=durations, statuses=("good",) * 5)


@pytest.mark.parametrize(
    ("text", "frames"),
    [
        ("0s", (0,)),
        ("0.05s", (0,)),
        (".1s", (1,)),
        ("0.99s", (2,)),
        ("2.99s", (4,)),
        ("0.2s-1s", (1, 2, 3)),
        ("4,0.1s", (1, 4)),
        ("00:00:01-00:00:02.5", (3, 4)),
        ("0.12s-0.13s", (1,)),
    ],
)
def test_frames_named_by_time(index: FrameIndex, text: str, frames: tuple[int, ...]) -> None:
    assert frames_named(notation.parse_frames(text), index) == frames


def test_insertions_named_by_time(index: FrameIndex) -> None:
    places = places_named(notation.parse_insertions("?@1.5s,2@0.1s"), index)
    assert [(p.after, p.count) for p in places] == [(1, 2), (3, None)]


@pytest.mark.parametrize("text", ["3s", "3.5s", "1s-0.5s"])
def test_times_beyond_the_clip_are_refused(index: FrameIndex, text: str) -> None:
    with pytest.raises(InputError):
        frames_named(notation.parse_frames(text), index)


def test_the_same_place_by_number_and_by_time_is_refused(index: FrameIndex) -> None:
    with pytest.raises(InputError):
        places_named(notation.parse_insertions("1@1,2@0.1s"), index)


def test_fill_by_time_equals_fill_by_number() -> None:
    import videorestore as vr

    rng = np.random.default_rng(0)
    ramp = np.linspace(20, 200, 12)[:, None, None, None] + rng.normal(0, 1, (1, 16, 16, 1))
    frames = ramp.astype(np.uint8)
    by_number = vr.fill(frames, missing="5", model="curve")
    by_time = vr.fill(frames, missing=f"{5 / 25 + 0.001}s", model="curve")
    assert [f["origin"] for f in by_time.record["frames"]] == [
        f["origin"] for f in by_number.record["frames"]
    ]
    np.testing.assert_array_equal(by_time.clip.frames, by_number.clip.frames)
