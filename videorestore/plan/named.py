"""Frames that were named by their time: which ones are they?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from videorestore.errors import InputError
from videorestore.media.source import FrameIndex
from videorestore.request import Insertion, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """``count`` new frames after frame ``after``; None lets the program count."""

    after: int
    count: int | None


def frame_at(time: Fraction, index: FrameIndex) -> int:
    """The frame that is shown ``time`` seconds after the start."""
    at = time + index.times[0]
    last = len(index) - 1
    if at >= index.times[last] + index.durations[last] and at > index.times[last]:
        length = float(index.times[last] + index.durations[last] - index.times[0])
        raise InputError(
            f"a time must lie within the clip ({length:.3f} s), got {float(time):.3f} s; give an earlier one."
        )
    return bisect_right(index.times, at) - 1


def frames_named(listed: Iterable[int | Span], index: FrameIndex) -> tuple[int, ...]:
    """Numbers of the frames of a LIST; a stretch of time holds the frame at its start and all that begin in it."""
    frames: set[int] = set()
    for entry in listed:
        if isinstance(entry, Span):
            first = frame_at(Fraction(entry.start or 0), index)
            end = Fraction(entry.stop or 0) + index.times[0]
            frames.update(range(first, max(first + 1, bisect_right(index.times, end))))
        else:
            frames.add(entry)
    return tuple(sorted(frames))


def places_named(insertions: Iterable[Insertion], index: FrameIndex) -> tuple[Place, ...]:
    """Insertions with frame numbers."""
    places: dict[int, Place] = {}
    for insertion in insertions:
        after = insertion.after
        number = frame_at(after, index) if isinstance(after, Fraction) else after
        if number in places:
            raise InputError(f"each place must be named once, got frame {number} twice; add the counts up.")
        places[number] = Place(after=number, count=insertion.count)
    return tuple(places[number] for number in sorted(places))
