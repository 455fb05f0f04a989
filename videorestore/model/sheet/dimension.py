"""How many dimensions positions need, from neighbourhoods that are taken for flat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NEIGHBOURS = 8
"""Of each point: with more the bend of a surface shows as a dimension, with fewer noise does."""
PLACES = 400
"""Neighbourhoods looked at, evenly spread over the points."""


def local_dimension(y: Array, most: int) -> int:
    """The number of dimensions (1 to ``most``) with the highest evidence over neighbourhoods of points (n, d).

    Each is a normal cloud with so many long axes and equal scatter in all other directions, with the price of its parameters
    (Schwarz). A closed or rolled surface cannot be laid flat as a whole, but its neighbourhoods can.
    """
    n, d = y.shape
    k = min(NEIGHBOURS, n - 1)
    square = np.square(y).sum(axis=1)
    distance = square[:, None] + square - 2.0 * y @ y.T
    near = np.argpartition(distance, k, axis=1)[:: max(1, n // PLACES), : k + 1]
    clouds = y[near] - y[near].mean(axis=1, keepdims=True)
    variance = np.square(np.linalg.svd(clouds, compute_uv=False))[:, : min(k, d)] / k
    variance = np.maximum(variance, 1e-12 * variance.sum(axis=1, keepdims=True) + 1e-300)
    logs = []
    for p in range(1, min(most, d - 1, k - 1) + 1):
        scatter = variance[:, p:].sum(axis=1) / (d - p)
        fit = np.log(variance[:, :p]).sum(axis=1) + (d - p) * np.log(scatter)
        parameters = d * p - p * (p - 1) / 2 + p + 1
        logs.append(-0.5 * k * float(fit.mean()) - 0.5 * parameters * np.log(k))
    return 1 + int(np.argmax(logs)) if logs else 1
