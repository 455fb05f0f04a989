"""Where one shot ends and another begins: hard cuts, and fades to and from black or white."""

from __future__ import annotations

from collections.abc import Container, Iterable

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.measures import CUT, Measures, runs

_JUMP = 2.2  # a cut stands out of the steps around it by this factor
_AROUND = 8
_FLAT = 3.0  # contrast in levels of a picture into which another fades
_GRAIN_JUMP, _GRAIN_STEP = 1.6, 1.5
"""A step at which noise grows or falls by so many times and so many levels (0..255 scale) is one between two shots:
within a shot it may drift. Codecs change it by less from one kind of frame to another."""
_SETTLED = 4
"""Frames on each side that must agree on it."""
_GRAIN = 0.65
"""Mean absolute difference of two grains of unit variance after warping: sqrt(2 / pi) = 0.8 before it, which smooths."""


def find_cuts(measures: Measures, worthless: NDArray[np.bool_]) -> list[int]:
    """First frames of new shots.

    A cut is a step that motion does not explain although it explains the steps around, and after which nothing
    looks like before: a flash, a garbage frame or a black one comes back. So is a step at which the noise changes.

    Parameters
    ----------
    measures : Measures
    worthless : ndarray of bool, shape (n,)
        Frames without content of their own (black, garbage); a cut may hide behind them.
    """
    # Noise is in every step: what is left without it is motion that was not followed, or a cut.
    noise = _GRAIN * np.hypot(measures.grain, np.concatenate([measures.grain[:1], measures.grain[:-1]]))
    residual, across_all = (
        np.sqrt(np.maximum(np.square(v) - np.square(noise), 0)) for v in (measures.residual, measures.across)
    )
    cuts: list[int] = []
    for k in range(1, len(measures)):
        if not worthless[k] and _grain_jumps(measures, worthless, k):
            cuts.append(k)
        if worthless[k] or not residual[k] > CUT * 0.6:
            continue
        low, high = max(1, k - _AROUND), min(len(measures), k + _AROUND + 1)
        others = [
            residual[j] for j in range(low, high) if j != k and not worthless[j] and not worthless[j - 1]
        ]
        # Repeats among the steps around must not make an ordinary one look like a jump.
        usual = float(np.percentile(others, 75)) if others else 0.0
        after_worthless = bool(worthless[k - 1])
        value = _behind(measures, worthless, k) if after_worthless else residual[k]
        across = across_all[k]
        lasting = value if after_worthless or np.isnan(across) else min(value, across)
        # Where the brightness is distributed alike, more is asked for.
        bar = CUT if measures.histogram[k] > 0.12 else 1.6 * CUT
        if lasting > max(bar, _JUMP * usual) and (not cuts or k - cuts[-1] > 1):
            cuts.append(k)
    return cuts


def _grain_jumps(measures: Measures, worthless: NDArray[np.bool_], k: int) -> bool:
    """Whether all frames after a step have far more or far less noise than all before it."""
    sides = [measures.grain[j][~worthless[j]] for j in (slice(max(0, k - _AROUND), k), slice(k, k + _AROUND))]
    if min(len(side) for side in sides) < _SETTLED:
        return False
    low, high = sorted(sides, key=lambda side: float(side.mean()))
    return bool(high.min() > _GRAIN_JUMP * low.max() + _GRAIN_STEP)


def with_gaps(cuts: Iterable[int], gone: Container[int]) -> list[int]:
    """The cuts, where frames without content stand before one.

    Nothing tells which shot such frames belong to: the later half goes to the new one, a single frame too.
    """
    moved = []
    for cut in cuts:
        first = cut
        while first - 1 in gone:
            first -= 1
        moved.append(cut - (cut - first + 1) // 2)
    return moved


def _behind(measures: Measures, worthless: NDArray[np.bool_], k: int) -> float:
    """Difference between frame k and the last frame with content before it, motion, gain and offset aside."""
    for lag in range(1, measures.fitted.shape[1] + 1):
        if k - lag < 0:
            return 0.0
        if not worthless[k - lag]:
            return float(np.fmin(measures.fitted[k, lag - 1], measures.compensated[k, lag - 1]))
    # A longer break: whatever comes after it is a new shot.
    return float("inf")


def find_fades(measures: Measures) -> list[tuple[int, int]]:
    """Stretches ``(first, last)`` in which the picture sinks into a flat one or rises out of it."""
    fades: list[tuple[int, int]] = []
    for k, end in runs(measures.contrast < _FLAT):
        before = _slope(measures.contrast, k, -1)
        after = _slope(measures.contrast, end, 1)
        if before is not None:
            fades.append((before, k))
        if after is not None:
            fades.append((end, after))
    return fades


def _slope(contrast: NDArray[np.float64], start: int, step: int) -> int | None:
    """Where the steady rise of contrast from a flat frame ends; None if it is no fade."""
    k = start
    while 0 <= k + step < len(contrast) and contrast[k + step] > contrast[k] + 0.15:
        k += step
    rise = contrast[k] - contrast[start]
    steps = abs(k - start)
    largest = max(np.abs(np.diff(contrast[min(start, k) : max(start, k) + 1])), default=0.0)
    if steps >= 5 and rise > 10 and largest < 0.5 * rise:
        return k
    return None
