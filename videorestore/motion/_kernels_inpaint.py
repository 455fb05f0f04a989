"""Compiled cores of pixel inpainting. Shapes and meanings are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.compiled import parallel_kernel
from videorestore.spatial._kernels_kriging import solve_weights

Doubles = NDArray[np.float64]


@parallel_kernel(lambda gram, load, weights: load.shape[1], grain=64)
def ridge_weights(start: int, stop: int, gram: FloatArray, load: FloatArray, weights: FloatArray) -> None:
    """Solve one small symmetric system per pixel.

    gram (k (k + 1) / 2, m): lower triangle, row by row, ridge included; load (k, m); weights (k, m) is written.
    """
    size = load.shape[0]
    for p in range(start, stop):
        matrix = np.empty((size, size), np.float64)
        right = np.empty(size, np.float64)
        at = 0
        for i in range(size):
            right[i] = load[i, p]
            for j in range(i + 1):
                matrix[i, j] = gram[at, p]
                at += 1
        solve_weights(matrix, right, size)
        for i in range(size):
            weights[i, p] = right[i]


@parallel_kernel(lambda steps, *_: steps.shape[1], grain=8)
def products(start: int, stop: int, steps: FloatArray, wanted: FloatArray, fields: FloatArray) -> None:
    """Means over channels of the products of images with each other and with what is wanted.

    steps (k, h, w, c), wanted (h, w, c); fields (k (k + 1) / 2 + k, h, w) is written: a lower triangle, row by row, then k.
    """
    size, _, width, channels = steps.shape
    share = np.float32(1.0) / np.float32(channels)
    for y in range(start, stop):
        for x in range(width):
            at = 0
            for i in range(size):
                for j in range(i + 1):
                    total = np.float32(0.0)
                    for c in range(channels):
                        total += steps[i, y, x, c] * steps[j, y, x, c]
                    fields[at, y, x] = total * share
                    at += 1
            for i in range(size):
                total = np.float32(0.0)
                for c in range(channels):
                    total += steps[i, y, x, c] * wanted[y, x, c]
                fields[at + i, y, x] = total * share


@parallel_kernel(lambda frames, known, skip, rows, *_: rows.shape[0], grain=64)
def midmean(
    start: int,
    stop: int,
    frames: FloatArray, known: Mask, skip: int, rows: NDArray[np.int64], columns: NDArray[np.int64],
    mean: FloatArray, count: NDArray[np.int64],
) -> None:  # fmt: skip
    """Mean of the middle half of the known values of a pixel over time, without frame ``skip``.

    frames (n, h, w, c), known (n, h, w), rows and columns (m,); mean (m, c) and count (m,) are written.
    The mean of the middle half wastes little of the data and yet ignores what merely passes by.
    """
    n = frames.shape[0]
    channels = frames.shape[3]
    for p in range(start, stop):
        y = rows[p]
        x = columns[p]
        values = np.empty(n, np.float64)
        seen = 0
        for c in range(channels):
            seen = 0
            for k in range(n):
                if k != skip and known[k, y, x]:
                    value = frames[k, y, x, c]
                    at = seen
                    while at > 0 and values[at - 1] > value:
                        values[at] = values[at - 1]
                        at -= 1
                    values[at] = value
                    seen += 1
            cut = seen // 4
            total = 0.0
            for i in range(cut, seen - cut):
                total += values[i]
            mean[p, c] = total / max(seen - 2 * cut, 1)
        count[p] = seen
