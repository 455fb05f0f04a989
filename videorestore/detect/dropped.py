"""Frames that are missing although the times show no gap: one step along the tracks is twice as long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.measures import Measures

_PRIOR = 5e-3  # how often a frame is dropped
_MOST = 6  # dropped frames in one place
_AROUND = 15
_LEAST = 0.5  # below this probability nothing is said


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


def find_dropped(measures: Measures, skip: NDArray[np.bool_]) -> list[Dropped]:
    """Steps that are whole multiples of their neighbours' length, with their probability.

    The logarithm of a step's length relative to the steps before and after along the same tracks has a spread that
    the clip itself shows; a step of several frames stands at log(count + 1). Student's t keeps single oddities from
    looking certain.

    Parameters
    ----------
    measures : Measures
    skip : ndarray of bool, shape (n,)
        Steps (k - 1 to k) next to cuts, repeats and worthless frames, about which nothing can be said.
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
        spread = max(1.4826 * float(np.median(np.abs(values - np.median(values)))), 0.07)
        # Outliers elsewhere make one here less telling.
        rough = max(spread, float(np.percentile(np.abs(values), 75)) / 1.15)
        odds = _odds(log[k], rough) + _dip(log, usable, k, rough)
        count = max(1, round(float(np.exp(log[k]))) - 1)
        weight = min(1.0, measures.agreement[k] / 0.6)
        probability = weight / (1 + np.exp(-(np.log(_PRIOR) + odds)))
        if probability > _LEAST and count <= _MOST:
            found.append(Dropped(after=k - 1, count=count, probability=round(float(probability), 3)))
    return _strongest(found)


def _odds(value: float, spread: float) -> float:
    """Log likelihood of some whole multiple against an ordinary step."""
    multiples = [
        _log_t(value - np.log(c + 1), 0.12 + 0.5 * spread) - 0.7 * (c - 1) for c in range(1, _MOST + 1)
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
