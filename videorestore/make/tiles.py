"""Large frames in overlapping parts, so that an engine's working memory does not grow with the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray
from videorestore.make.spool import MEMORY, Room, Spool, Stack

SIDE = 512
MARGIN = 24
RAMP = 8
"""Usual side of a part, what it sees around itself, and over how many pixels to each side of their border neighbouring
parts fade into each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part along one axis: ``start`` to ``stop`` is read, and ``weights`` say how far each pixel counts."""

    start: int
    stop: int
    weights: FloatArray


def stretches(length: int, side: int = SIDE) -> Iterator[Stretch]:
    """Parts of an axis whose weights add up to one everywhere."""
    count = max(1, -(-length // side))
    # Even ones: chroma samples are not cut.
    edges = [*(length * k // count // 2 * 2 for k in range(count)), length]
    for a, b in zip(edges[:-1], edges[1:]):
        low, high = max(0, a - MARGIN), min(length, b + MARGIN)
        place = np.arange(low, high, dtype=np.float32) + 0.5
        rise = np.ones_like(place) if a == 0 else np.clip((place - a) / (2 * RAMP) + 0.5, 0, 1)
        fall = np.ones_like(place) if b == length else np.clip((b - place) / (2 * RAMP) + 0.5, 0, 1)
        yield Stretch(start=low, stop=high, weights=np.minimum(rise, fall))


def is_cut(height: int, width: int, side: int = SIDE) -> bool:
    """Whether a picture of this size is done in more than one part."""
    return height > side + 2 * MARGIN or width > side + 2 * MARGIN


def overlap(height: int, width: int, side: int = SIDE) -> float:
    """Pixels of all parts together over those of the frame."""
    if not is_cut(height, width, side):
        return 1.0
    sums = [sum(s.stop - s.start for s in stretches(length, side)) for length in (height, width)]
    return sums[0] * sums[1] / (height * width)


Box = tuple[slice, slice]


def parts(height: int, width: int, side: int = SIDE) -> list[tuple[Box, FloatArray]]:
    """Rows and columns of every part of a picture, and the weights ``(h, w, 1)`` that add up to one everywhere."""
    return [
        (
            (slice(row.start, row.stop), slice(column.start, column.stop)),
            (row.weights[:, None] * column.weights[None, :])[:, :, None],
        )
        for row in stretches(height, side)
        for column in stretches(width, side)
    ]


def by_parts(
    engine: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    frames: Stack,
    count: int,
    side: int = SIDE,
    room: Room = MEMORY,
) -> tuple[FloatArray | Spool, FloatArray | Spool]:
    """Mean and sd of an engine, part by part.

    Parameters
    ----------
    engine : callable
        From frames ``(n, h, w, c)`` to the mean and the sd of ``count`` of them.
    frames : Stack, shape (n, height, width, c)
    count : int
        Frames that the engine gives.
    room : Room
        Where to put mean and sd.
    """
    height, width, channels = frames.shape[1:]
    if not is_cut(height, width, side) and room == MEMORY:
        return engine(frames[:])
    shape = (count, height, width, channels)
    mean, sd = room.stack(shape), room.sd_stack(shape)
    for box, weight in pulse.counted(parts(height, width, side)):
        m, s = engine(np.ascontiguousarray(frames[(slice(None), *box)]))
        # One for each sample: NumPy is slow where it must stretch the last axis.
        weight = np.repeat(weight, channels, axis=2)
        for k in range(count):
            # Frame by frame: sums of whole parts would be held twice.
            mean[(slice(k, k + 1), *box)] += weight * m[k]
            sd[(slice(k, k + 1), *box)] += weight * s[k]
    return mean, sd
