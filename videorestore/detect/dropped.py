"""Frames that are missing: one step along the tracks is twice as long, and the times may have a hole there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.measures import LAGS, Measures

_PRIOR = 5e-3  # how often a frame is dropped
_MOST_DROPPED = 6  # dropped frames in one place
_AROUND = 15
_LEAST = 0.5  # below this probability nothing is said

LONGEST_HOLE = 240
"""Frames; a hole in the times that is longer is a pause, not a loss."""

_SINGLE = 0.8  # share of the steps that are single ones where the rate is constant
_ROUNDED, _SLIP, _WORST = 1.01, 0.02, 0.26
"""Ticks of the clock, and share of a step, by which a stamp of a constant rate is off the grid; at most the last share."""

_FOR_LOSS = (
    1.0  # log odds before the picture is asked: a camera of constant rate seldom pauses for whole steps
)
_CLEAR = 0.05  # least spread of the logarithm of differences between frames
_LENGTHEN = 0.12  # the same of steps along the tracks
_STILL, _QUIET = 0.1, 4.0  # levels that count as no difference, and above which frames differ by noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Missing frames.

    Attributes
    ----------
    after : int
        The last frame before the gap.
    count : int
    probability : float
    """

    after: int
    count: int
    probability: float


def find_holes(times: Sequence[Fraction], measures: Measures) -> list[Dropped]:
    """Holes in the times of a clip of constant rate, each with the probability that frames were lost there.

    The rate is constant where all times lie on one grid, most of them in a row; a camera that sets its own pace has
    no holes. The picture tells the rest: after a loss it has moved on by as many steps as the times have, along the
    tracks or, where nothing can be tracked, by what it differs from the one before. A recorder that leaves out
    repeats shows a hole, but no jump.

    Parameters
    ----------
    times : sequence of Fraction
        Presentation times in seconds, increasing, one per frame.
    measures : Measures
    """
    counts = grid_steps(times)
    if counts is None:
        return []
    found = []
    for k in range(1, len(times)):
        lost = counts[k - 1] - 1
        if 1 <= lost <= LONGEST_HOLE:
            odds = jump_odds(measures, counts, k, prior=_FOR_LOSS)
            found.append(
                Dropped(after=k - 1, count=lost, probability=round(float(1 / (1 + np.exp(-odds))), 3))
            )
    return found


def grid_steps(times: Sequence[Fraction]) -> list[int] | None:
    """Every step between two times in units of the clip's own step; None where the rate varies."""
    if len(times) < 4:
        return None
    steps = np.diff(np.array([float(t) for t in times]))
    usual = float(np.median(steps))
    if usual <= 0:
        return None
    counts = np.rint(steps / usual)
    # Stamps in milliseconds are coarse: only all of them together tell the step.
    usual = float(steps.sum() / max(counts.sum(), 1))
    places = np.concatenate([[0.0], np.cumsum(steps)]) / usual
    tick = 1 / lcm(*(Fraction(t).limit_denominator(10**6).denominator for t in times))
    slack = min(max(_ROUNDED * tick / usual, _SLIP), _WORST)
    counts = np.diff(np.rint(places))
    off = float(np.abs(places - np.rint(places)).max()) > slack
    if off or counts.min() < 1 or float((counts == 1).mean()) < _SINGLE:
        return None
    return [int(c) for c in counts]


def jump_odds(measures: Measures, counts: Sequence[int], k: int, *, prior: float = 0.0) -> float:
    """Log odds of a jump by ``counts[k - 1]`` steps before frame k against one by a single step, ``prior`` without the picture.

    Steps around are read where all of ``counts`` are 1: holes in the times have more, repeats 0. 0 where nothing moves to be seen: then nobody can tell. Noise hides motion, so that nothing follows from not seeing it.
    """
    near = [j for j in range(max(1, k - _AROUND), min(len(measures), k + _AROUND + 1)) if abs(j - k) > 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        tracked = np.log(measures.ratio)
    around = [tracked[j] for j in near if measures.agreement[j] > 0.4 and np.isfinite(tracked[j])]
    if measures.agreement[k] > 0.4 and np.isfinite(tracked[k]) and len(around) >= 4:
        spread = max(_spread(np.asarray(around)), _LENGTHEN)
        whole = float(np.log(counts[k - 1]))
        return prior + _log_t(tracked[k] - whole, spread) - _log_t(tracked[k], spread)
    lag = min(counts[k - 1], LAGS)

    def change(j: int, lag: int) -> float:
        """Logarithm of how much a frame differs from that so many frames before."""
        return float(np.log(np.nan_to_num(measures.plain[j, lag - 1]) + _STILL))

    def usual(lag: int) -> list[float]:
        """The same around, where no hole lies in between."""
        return [change(j, lag) for j in near if j >= lag and all(c == 1 for c in counts[j - lag : j])]

    single, several = usual(1), usual(lag)
    if len(single) < 3 or not several:
        return 0.0
    spread = max(_spread(np.asarray(single)), _CLEAR)
    one, more, here = float(np.median(single)), float(np.median(several)), change(k, 1)
    farthest = next(values for lag in range(LAGS, 0, -1) if (values := usual(lag)))
    if one < np.log(_QUIET) and float(np.median(farthest)) - one < 2 * spread / np.sqrt(len(single)):
        return 0.0
    return prior + _log_t(here - more, spread) - _log_t(here - one, spread)


def _spread(values: NDArray[np.float64]) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def find_dropped(measures: Measures, skip: NDArray[np.bool_]) -> list[Dropped]:
    """Steps that are whole multiples of their neighbours' length, with their probability.

    The logarithm of a step's length relative to the steps before and after along the same tracks has a spread that
    the clip itself shows; a step of several frames stands at log(count + 1). Student's t keeps single oddities from
    looking certain.

    Parameters
    ----------
    measures : Measures
    skip : ndarray of bool, shape (n,)
        Steps (k - 1 to k) next to cuts, repeats, worthless frames and pauses, about which nothing can be said.
    """
    n = len(measures)
    usable = np.isfinite(measures.ratio) & (measures.agreement > 0.4) & ~skip
    usable &= np.nan_to_num(measures.ratio) > 0.05
    log = np.where(usable, np.log(np.maximum(np.nan_to_num(measures.ratio, nan=1.0), 1e-3)), np.nan)
    found: list[Dropped] = []
    for k in range(n):
        if not usable[k] or log[k] < np.log(1.5):
            continue
        around = [
            log[j]
            for j in range(max(0, k - _AROUND), min(n, k + _AROUND + 1))
            if abs(j - k) > 1 and usable[j]
        ]
        if len(around) < 4:
            continue
        values = np.asarray(around)
        spread = max(_spread(values), 0.07)
        # Outliers elsewhere make one here less telling.
        rough = max(spread, float(np.percentile(np.abs(values), 75)) / 1.15)
        odds = _odds(log[k], rough) + _dip(log, usable, k, rough)
        count = max(1, round(float(np.exp(log[k]))) - 1)
        weight = min(1.0, measures.agreement[k] / 0.6)
        probability = weight / (1 + np.exp(-(np.log(_PRIOR) + odds)))
        if probability > _LEAST and count <= _MOST_DROPPED:
            found.append(Dropped(after=k - 1, count=count, probability=round(float(probability), 3)))
    return _strongest(found)


def _odds(value: float, spread: float) -> float:
    """Log likelihood of some whole multiple against an ordinary step."""
    multiples = [
        _log_t(value - np.log(c + 1), 0.12 + 0.5 * spread) - 0.7 * (c - 1)
        for c in range(1, _MOST_DROPPED + 1)
    ]
    return float(np.logaddexp.reduce(multiples) - _log_t(value, spread))


def _dip(log: NDArray[np.float64], usable: NDArray[np.bool_], k: int, spread: float) -> float:
    """The steps beside a long one look short, since the long one is their neighbour."""
    length = np.exp(log[k])
    expected = -np.log((1 + length) / 2)
    total = 0.0
    for j in (k - 1, k + 1):
        if 0 <= j < len(log) and usable[j]:
            # A flow that lost a long step spoils its neighbours' tracks: they may not weigh too much.
            total += max(_log_t(log[j] - expected, 0.1 + spread) - _log_t(log[j], spread), -1.5)
    return total


def _log_t(value: float, scale: float) -> float:
    """Log density of Student's t with five degrees of freedom, up to a constant."""
    return float(-3 * np.log1p((value / scale) ** 2 / 5) - np.log(scale))


def _strongest(found: list[Dropped]) -> list[Dropped]:
    """Of neighbouring steps only the most probable one."""
    kept: list[Dropped] = []
    for one in found:
        if kept and one.after - kept[-1].after <= 1:
            if one.probability > kept[-1].probability:
                kept[-1] = one
        else:
            kept.append(one)
    return kept
