"""Compiled core of local simple kriging. Shapes and meanings are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.compiled import kernel, parallel_kernel
from videorestore.spatial._lanes import LANES, less_multiples

_ONE, _NONE, _LEAST = np.float32(1.0), np.float32(0.0), np.float32(1e-9)


@kernel
def solve_lanes(cov: FloatArray, rhs: FloatArray, m: int) -> None:
    """Overwrite ``rhs`` (m, LANES) with the solutions of `LANES` systems of m equations side by side.

    cov (m * m, LANES): the lower halves of their matrices, row by row, overwritten by their Cholesky factors. The
    diagonal of a factor is kept as its reciprocal: a division takes as long as many products.
    """
    for j in range(m):
        own = j * m + j
        for lane in range(LANES):
            cov[own, lane] = _ONE / np.sqrt(max(cov[own, lane], _LEAST))
            rhs[j, lane] *= cov[own, lane]
        for i in range(j + 1, m):
            at = i * m + j
            for lane in range(LANES):
                cov[at, lane] *= cov[own, lane]
                rhs[i, lane] -= cov[at, lane] * rhs[j, lane]
            less_multiples(cov, at + 1, cov, at, cov, own + m, m, i - j)
    for step in range(m):
        i = m - 1 - step
        for lane in range(LANES):
            rhs[i, lane] *= cov[i * m + i, lane]
        less_multiples(rhs, 0, rhs, i, cov, i * m, 1, i)


@kernel
def _nearest(
    known: Mask,
    y: int,
    x: int,
    gap: np.float32,
    offsets: NDArray[np.int64],
    lane: int,
    near: NDArray[np.int64],
) -> int:
    """Numbers of the offsets of the nearest known pixels, into one lane of near (most, LANES); gives how many there are."""
    height, width = known.shape
    count = 0
    nearest = gap * gap
    for k in range(offsets.shape[0]):
        dy, dx = offsets[k, 0], offsets[k, 1]
        if dy * dy + dx * dx < nearest:
            continue
        yy, xx = y + dy, x + dx
        if yy < 0 or xx < 0 or yy >= height or xx >= width or not known[yy, xx]:
            continue
        near[count, lane] = k
        count += 1
        if count == near.shape[0]:
            break
    return count


@parallel_kernel(lambda known, rows, *_: -(-rows.shape[0] // LANES), grain=32)
def krige_weights(
    start: int, stop: int, known: Mask, rows: NDArray[np.int64], columns: NDArray[np.int64],
    offsets: NDArray[np.int64], alone: FloatArray, pairs: FloatArray, gap: FloatArray, nugget: np.float32,
    places: NDArray[np.int32], weights: FloatArray, variance: FloatArray,
) -> None:  # fmt: skip
    """Simple kriging at the listed pixels from the nearest known ones, `LANES` pixels at once.

    known (h, w), rows and columns (m,), offsets (k, 2) by distance; alone (k,) and pairs (k, k): covariance of offsets with
    the middle and with each other; gap (h, w): what is nearer is left out. Written are places (m, most) of the neighbours,
    row * w + column, their weights (m, most), zero where there are fewer, and variance (m,).
    """
    width = known.shape[1]
    most = places.shape[1]
    near = np.zeros((most, LANES), np.int64)
    counts = np.zeros(LANES, np.int64)
    cov = np.empty((most * most, LANES), np.float32)
    weight = np.empty((most, LANES), np.float32)
    for batch in range(start, stop):
        first = batch * LANES
        size = min(LANES, rows.shape[0] - first)
        for lane in range(LANES):
            p = first + min(lane, size - 1)
            counts[lane] = _nearest(known, rows[p], columns[p], gap[rows[p], columns[p]], offsets, lane, near)
        fewest = counts.min()
        for i in range(most):
            for j in range(i):
                for lane in range(LANES):
                    cov[i * most + j, lane] = pairs[near[i, lane], near[j, lane]]
            for lane in range(LANES):
                cov[i * most + i, lane] = _ONE + nugget
                weight[i, lane] = alone[near[i, lane]]
            if i >= fewest:
                for lane in range(LANES):
                    if i >= counts[lane]:
                        weight[i, lane] = _NONE
                        for j in range(i):
                            cov[i * most + j, lane] = _NONE
        solve_lanes(cov, weight, most)
        for lane in range(size):
            p = first + lane
            left = _ONE
            for i in range(most):
                k = near[i, lane]
                if i < counts[lane]:
                    left -= weight[i, lane] * alone[k]
                    places[p, i] = (rows[p] + offsets[k, 0]) * width + columns[p] + offsets[k, 1]
                    weights[p, i] = weight[i, lane]
                else:
                    places[p, i] = 0
                    weights[p, i] = _NONE
            variance[p] = max(left, _NONE)


@parallel_kernel(lambda values, places, *_: places.shape[0], grain=2048)
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
