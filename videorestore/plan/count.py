"""``?@N``: how many frames are absent between two neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.look import small_picture
from videorestore.plan.scan import Scan, chosen

AROUND = 32
"""Frames on each side from which the usual step is learnt."""

SIDE = 240

TOLD = 0.5
"""Probability of the most probable count below which nobody can tell."""

FEWER = 0.1
"""Where nobody can tell, the count is the smallest that has at least this share of the probability at or below it: new frames
that were never there cost more than some that stay absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many frames are absent.

    Attributes
    ----------
    count : int
        The number that is best within one, or, where ``told`` is false, the smallest that is plausible.
    probability : float
        Of this number.
    told : bool
        Some number has a probability of at least `TOLD`.
    table : mapping from int to float
        Probability of every number.
    """

    count: int
    told: bool
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
        return Count(count=0, told=True, probability=1.0, table={0: 1.0})
    numbers = [*before, *behind]
    frames = np.stack([small_picture(frame, SIDE) for frame in chosen(source, numbers)])
    chances = count_missing(np.nan_to_num(frames, nan=128.0), after=len(before) - 1)
    progress("counting absent frames", 1, 1)
    best, told = stated(chances)
    table = {k: float(p) for k, p in enumerate(chances) if p >= 5e-4}
    return Count(count=best, told=told, probability=float(chances[best]), table=table)


def stated(chances: NDArray[np.float64]) -> tuple[int, bool]:
    """The count to state, from the probability of every count, and whether it can be told.

    What can be told is the count that is most surely right within one, the likelier of equals. Otherwise it is the
    smallest plausible one, but at least one: somebody says that frames are absent.
    """
    if chances.max() >= TOLD:
        return int(np.argmax(np.convolve(chances, [1.0, 1.05, 1.0], "same"))), True
    return max(1, int(np.searchsorted(np.cumsum(chances), FEWER))), False
