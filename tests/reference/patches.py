"""Slow twins of the patch posterior: brute-force search and the filter in its primal form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Planes = NDArray[np.float64]
Place = tuple[int, int, int]


def similar(
    guide: Planes, t: int, y: int, x: int, *, reach: int, own_radius: int, radius: int, own: int, group: int
) -> set[Place]:
    """Places of the nearest 8x8 patches of a still scene ``(n, h, w)``; ties are not foreseen."""
    n, h, w = guide.shape
    ref = guide[t, y : y + 8, x : x + 8]

    def candidates(s: int, r: int) -> list[tuple[float, Place]]:
        found = []
        for v in range(max(y - r, 0), min(y + r, h - 8) + 1):
            for u in range(max(x - r, 0), min(x + r, w - 8) + 1):
                distance = float(np.square(guide[s, v : v + 8, u : u + 8] - ref).sum())
                found.append((distance, (s, v, u)))
        return found

    here = sorted(candidates(t, own_radius))
    rest = here[own:]
    for s in range(max(0, t - reach), min(n, t + reach + 1)):
        if s != t:
            rest += candidates(s, radius)
    return {place for _, place in here[:own]} | {
        place for _, place in sorted(rest)[: group - min(own, len(here))]
    }


def posterior(guide: Planes, noisy: Planes) -> tuple[Planes, float]:
    """Posterior means of all rows ``(m, d)`` with unit noise, and the share of the noise that is left."""
    m, d = guide.shape
    g, v = guide - guide.mean(0), noisy - noisy.mean(0)
    covariance = g.T @ g / m
    gain = covariance @ np.linalg.inv(covariance + np.eye(d))
    mean = (guide.mean(0) + noisy.mean(0)) / 2
    return mean + v @ gain.T, float(np.trace(gain) / d + 0.25 / m)
