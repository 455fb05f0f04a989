"""Distribution functions that every command needs, by the standard library: importing SciPy's costs more than a small clip."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

_BISECTIONS = 100
"""Halvings of an interval: more than a double has bits."""


def normal_cdf(z: Doubles) -> Doubles:
    """Probability that a standard normal variable is below each of ``z``, of any shape."""
    return 0.5 * np.asarray(_ERFC(-z / math.sqrt(2.0)), np.float64)


_ERFC = np.frompyfunc(math.erfc, 1, 1)


@lru_cache(maxsize=64)
def chi_square_quantile(freedom: int, share: float) -> float:
    """The value below which a share of a chi-square variable of so many degrees of freedom lies."""
    low, high = 0.0, float(freedom)
    while _chi_square_cdf(freedom, high) < share:
        high *= 2
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if _chi_square_cdf(freedom, middle) < share:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _chi_square_cdf(freedom: int, value: float) -> float:
    """The regularised lower incomplete gamma function of half of both, by its series."""
    shape, x = 0.5 * freedom, 0.5 * value
    if x <= 0:
        return 0.0
    term = total = math.exp(shape * math.log(x) - x - math.lgamma(shape + 1))
    k = 0
    while term > 1e-17 * total:
        k += 1
        term *= x / (shape + k)
        total += term
    return total


def slope_interval(x: Doubles, y: Doubles, confidence: float) -> tuple[float, float]:
    """Interval of the median of the slopes between all pairs of points (Theil and Sen, ties as in Kendall's test).

    Parameters
    ----------
    x, y : ndarray, shape (n,)
    confidence : float
        Between 0.5 and 1.

    Returns
    -------
    low, high : float
        NaN where nearly all points are alike, so that nothing is known.
    """
    from statistics import NormalDist

    one, two = np.triu_indices(len(x), 1)
    apart = x[one] != x[two]
    slopes = np.sort((y[one] - y[two])[apart] / (x[one] - x[two])[apart])
    n = len(x)

    def pairs(counts: NDArray[np.int64]) -> float:
        return float(np.sum(counts * (counts - 1) * (2 * counts + 5)))

    tied = sum(pairs(np.unique(values, return_counts=True)[1]) for values in (x, y))
    variance = (n * (n - 1) * (2 * n + 5) - tied) / 18.0
    if variance <= 0 or not len(slopes):
        return math.nan, math.nan
    width = -NormalDist().inv_cdf(0.5 * (1 - confidence)) * math.sqrt(variance)
    last = len(slopes) - 1
    below = max(round((len(slopes) - width) / 2.0) - 1, 0)
    above = min(round((len(slopes) + width) / 2.0), last)
    return float(slopes[below]), float(slopes[above])
