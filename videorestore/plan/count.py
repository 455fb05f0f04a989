"""``?@N``: how many frames are absent between two neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.scan import Scan, read_pixels, shrink

AROUND = 32
"""Frames on each side from which the usual step is learnt."""

SIDE = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of absent frames that is best within one, its probability, and the probability of every number."""

    count: int
    probability: float
    table: Mapping[int, float]


def count_absent(source: Source, found: Scan, after: int, progress: Progress = silent) -> Count:
    """Count the frames that are absent behind frame ``after``.

    Parameters
    ----------
    after : int
        Number in the source.
    """
    from videorestore.order.count import count_missing

    progress("counting absent frames", 0, 1)
    a, b = next((a, b) for a, b in found.shots if a <= after < b)
    before = [i for i in range(a, after + 1) if i not in found.void][-AROUND:]
    behind = [i for i in range(after + 1, b) if i not in found.void][:AROUND]
    if len(before) < 2 or len(behind) < 2:
        return Count(count=0, probability=1.0, table={0: 1.0})
    numbers = [*before, *behind]
    frames = np.stack([shrink(read_pixels(source, i, i + 1)[0], SIDE) for i in numbers])
    chances = count_missing(np.nan_to_num(frames, nan=128.0), after=len(before) - 1)
    progress("counting absent frames", 1, 1)
    best = best_within_one(chances)
    table = {k: float(p) for k, p in enumerate(chances) if p >= 5e-4}
    return Count(count=best, probability=float(chances[best]), table=table)


def best_within_one(chances: NDArray[np.float64]) -> int:
    """The count that is most surely right within one, from the probability of every count; the likelier of equals."""
    return int(np.argmax(np.convolve(chances, [1.0, 1.05, 1.0], "same")))
