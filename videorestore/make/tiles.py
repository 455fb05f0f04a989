"""Large frames in overlapping parts, so that an engine's working memory does not grow with the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray

SIDE = 512
MARGIN = 32
RAMP = 16
"""Usual side of a part, what it sees around itself, and over how many pixels to each side of their border neighbouring
parts fade into each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part along one axis: ``start`` to ``stop`` is read, and ``weights`` say how far each pixel counts."""

    start: int
    stop: int
    weights: FloatArray


def spans(length: int, side: int = SIDE) -> Iterator[Span]:
    """Parts of an axis whose weights add up to one everywhere."""
    count = max(1, -(-length // side))
    edges = [length * k // count for k in range(count + 1)]
    for a, b in zip(edges[:-1], edges[1:]):
        low, high = max(0, a - MARGIN), min(length, b + MARGIN)
        place = np.arange(low, high, dtype=np.float32) + 0.5
        rise = np.ones_like(place) if a == 0 else np.clip((place - a) / (2 * RAMP) + 0.5, 0, 1)
        fall = np.ones_like(place) if b == length else np.clip((b - place) / (2 * RAMP) + 0.5, 0, 1)
        yield Span(start=low, stop=high, weights=np.minimum(rise, fall))


def is_cut(height: int, width: int, side: int = SIDE) -> bool:
    """Whether a picture of this size is done in more than one part."""
    return height > side + 2 * MARGIN or width > side + 2 * MARGIN


def overlap(height: int, width: int, side: int = SIDE) -> float:
    """Pixels of all parts together over those of the frame."""
    if not is_cut(height, width, side):
        return 1.0
    sums = [sum(s.stop - s.start for s in spans(length, side)) for length in (height, width)]
    return sums[0] * sums[1] / (height * width)


Engine = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def by_parts(
    engine: Engine, frames: Any, count: int, side: int = SIDE, *, out: Any = None, out_sd: Any = None
) -> tuple[Any, Any]:
    """Mean and sd of an engine, part by part.

    Parameters
    ----------
    engine : callable
        From frames ``(n, h, w, c)`` to the mean and the sd of ``count`` of them.
    frames : ndarray or Spool, shape (n, height, width, c)
    count : int
        Frames that the engine gives.
    out, out_sd : ndarray or Spool of zeros, shape (count, height, width, c), optional
        Where to put mean and sd.
    """
    height, width = frames.shape[1:3]
    if not is_cut(height, width, side) and out is None:
        return engine(frames[:])
    mean = np.zeros((count, *frames.shape[1:]), np.float32) if out is None else out
    sd = np.zeros((count, *frames.shape[1:]), np.float32) if out_sd is None else out_sd
    boxes = [(row, column) for row in spans(height, side) for column in spans(width, side)]
    for row, column in pulse.counted(boxes):
        part = np.ascontiguousarray(frames[:, row.start : row.stop, column.start : column.stop])
        m, s = engine(part)
        del part
        weight = (row.weights[:, None] * column.weights[None, :])[:, :, None]
        for k in range(count):
            # Frame by frame: sums of whole parts would be held twice.
            box = slice(k, k + 1), slice(row.start, row.stop), slice(column.start, column.stop)
            mean[box] += weight * m[k]
            sd[box] += weight * s[k]
    return mean, sd
