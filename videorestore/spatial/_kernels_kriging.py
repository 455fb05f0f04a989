"""Compiled core of local simple kriging. Shapes and meanings are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.compiled import kernel, parallel_kernel


@kernel
def solve_weights(cov: NDArray[np.float64], rhs: NDArray[np.float64], m: int) -> None:
    """Overwrite ``rhs[:m]`` with the solution of ``cov[:m, :m] w = rhs`` (Cholesky, in place, lower part)."""
    for i in range(m):
        for j in range(i):
            total = cov[i, j]
            for k in range(j):
                total -= cov[i, k] * cov[j, k]
            cov[i, j] = total / cov[j, j]
        total = cov[i, i]
        for k in range(i):
            total -= cov[i, k] * cov[i, k]
        cov[i, i] = np.sqrt(max(total, 1e-9))
    for i in range(m):
        total = rhs[i]
        for k in range(i):
            total -= cov[i, k] * rhs[k]
        rhs[i] = total / cov[i, i]
    for step in range(m):
        i = m - 1 - step
        total = rhs[i]
        for k in range(i + 1, m):
            total -= cov[k, i] * rhs[k]
        rhs[i] = total / cov[i, i]


@parallel_kernel(lambda values, known, rows, *_: rows.shape[0], grain=16)
def krige_pixels(
    start: int,
    stop: int,
    values: FloatArray,
    known: Mask,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    offsets: NDArray[np.int64],
    table: NDArray[np.float64],
    gap: FloatArray,
    nugget: float,
    most: int,
    mean: FloatArray,
    variance: FloatArray,
) -> None:
    """Simple kriging at the listed pixels from the nearest known ones.

    values (h, w, c), known (h, w), rows and columns (m,), offsets (k, 2) by distance, table: covariance by
    |dy|, |dx| (at least twice the radius wide), gap (h, w): what is nearer is left out.
    mean (m, c) and variance (m,) are written.
    """
    height, width, channels = values.shape
    for p in range(start, stop):
        y = rows[p]
        x = columns[p]
        near_y = np.empty(most, np.int64)
        near_x = np.empty(most, np.int64)
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
        cov = np.empty((most, most), np.float64)
        weight = np.empty(most, np.float64)
        for i in range(count):
            for j in range(i):
                cov[i, j] = table[abs(near_y[i] - near_y[j]), abs(near_x[i] - near_x[j])]
            cov[i, i] = table[0, 0] + nugget
            weight[i] = table[abs(near_y[i] - y), abs(near_x[i] - x)]
        solve_weights(cov, weight, count)
        left = table[0, 0]
        for i in range(count):
            left -= weight[i] * table[abs(near_y[i] - y), abs(near_x[i] - x)]
        variance[p] = max(left, 0.0)
        for c in range(channels):
            total = 0.0
            for i in range(count):
                total += weight[i] * values[near_y[i], near_x[i], c]
            mean[p, c] = total
