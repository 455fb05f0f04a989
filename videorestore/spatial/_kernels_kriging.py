"""Compiled core of local simple kriging. Shapes and meanings are checked by the callers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.compiled import kernel, parallel_kernel


@kernel
def solve_weights(cov: NDArray[np.floating[Any]], rhs: NDArray[np.floating[Any]], m: int) -> None:
    """Overwrite ``rhs[:m]`` with the solution of ``cov[:m, :m] w = rhs`` (Cholesky, in place, lower part).

    The diagonal of the factor is kept as its reciprocal: a division takes as long as many products.
    """
    for i in range(m):
        for j in range(i):
            total = cov[i, j]
            for k in range(j):
                total -= cov[i, k] * cov[j, k]
            cov[i, j] = total * cov[j, j]
        total = cov[i, i]
        for k in range(i):
            total -= cov[i, k] * cov[i, k]
        cov[i, i] = 1.0 / np.sqrt(max(total, 1e-9))
    for i in range(m):
        total = rhs[i]
        for k in range(i):
            total -= cov[i, k] * rhs[k]
        rhs[i] = total * cov[i, i]
    for step in range(m):
        i = m - 1 - step
        total = rhs[i]
        for k in range(i + 1, m):
            total -= cov[k, i] * rhs[k]
        rhs[i] = total * cov[i, i]


@parallel_kernel(lambda known, rows, *_: rows.shape[0], grain=16)
def krige_weights(
    start: int,
    stop: int,
    known: Mask,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    offsets: NDArray[np.int64],
    table: NDArray[np.float64],
    gap: FloatArray,
    nugget: float,
    places: NDArray[np.int32],
    weights: FloatArray,
    variance: FloatArray,
) -> None:
    """Simple kriging at the listed pixels from the nearest known ones.

    known (h, w), rows and columns (m,), offsets (k, 2) by distance, table: covariance by |dy|, |dx| (at least twice the
    radius wide), gap (h, w): what is nearer is left out. Written are places (m, most) of the neighbours, row * w + column,
    their weights (m, most), zero where there are fewer, and variance (m,).
    """
    height, width = known.shape
    most = places.shape[1]
    near_y = np.empty(most, np.int64)
    near_x = np.empty(most, np.int64)
    cov = np.empty((most, most), np.float64)
    weight = np.empty(most, np.float64)
    own = np.empty(most, np.float64)
    for p in range(start, stop):
        y = rows[p]
        x = columns[p]
        count = 0
        nearest = gap[y, x] * gap[y, x]
        for k in range(offsets.shape[0]):
            if offsets[k, 0] * offsets[k, 0] + offsets[k, 1] * offsets[k, 1] < nearest:
                continue
            yy = y + offsets[k, 0]
            xx = x + offsets[k, 1]
            if yy < 0 or xx < 0 or yy >= height or xx >= width or not known[yy, xx]:
                continue
            near_y[count] = yy
            near_x[count] = xx
            count += 1
            if count == most:
                break
        for i in range(count):
            for j in range(i):
                cov[i, j] = table[abs(near_y[i] - near_y[j]), abs(near_x[i] - near_x[j])]
            cov[i, i] = table[0, 0] + nugget
            own[i] = table[abs(near_y[i] - y), abs(near_x[i] - x)]
            weight[i] = own[i]
        solve_weights(cov, weight, count)
        left = table[0, 0]
        for i in range(most):
            if i < count:
                left -= weight[i] * own[i]
                places[p, i] = near_y[i] * width + near_x[i]
                weights[p, i] = weight[i]
            else:
                places[p, i] = 0
                weights[p, i] = 0.0
        variance[p] = max(left, 0.0)


@parallel_kernel(lambda values, places, *_: places.shape[0], grain=256)
def weighted_sums(
    start: int,
    stop: int,
    values: FloatArray,
    places: NDArray[np.int32],
    weights: FloatArray,
    sums: FloatArray,
) -> None:
    """Sums (m, c), which are written, of the values (h * w, c) at places (m, k) by their weights (m, k)."""
    channels = values.shape[1]
    for p in range(start, stop):
        for c in range(channels):
            sums[p, c] = 0.0
        for i in range(places.shape[1]):
            weight = weights[p, i]
            if weight != 0.0:
                for c in range(channels):
                    sums[p, c] += weight * values[places[p, i], c]
