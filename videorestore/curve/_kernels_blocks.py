"""Kernels of the empirical Wiener filter on overlapped blocks in space and along the curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore.compiled import kernel, parallel_kernel


@kernel
def _first_axis(block: Any, matrix: Any, out: Any, depth: int, size: int) -> None:
    """out[j] = sum_k matrix[j, k] block[k] over the frames of a block ``(depth, size * size)``."""
    for j in range(depth):
        for r in range(size * size):
            out[j, r] = 0.0
        for k in range(depth):
            m = matrix[j, k]
            for r in range(size * size):
                out[j, r] += m * block[k, r]


@kernel
def _second_axis(block: Any, matrix: Any, out: Any, depth: int, size: int) -> None:
    """The same over the rows of each picture of a block."""
    for t in range(depth):
        for j in range(size):
            for r in range(size):
                out[t, j * size + r] = 0.0
            for k in range(size):
                m = matrix[j, k]
                for r in range(size):
                    out[t, j * size + r] += m * block[t, k * size + r]


@kernel
def _third_axis(block: Any, transposed: Any, out: Any, depth: int, size: int) -> None:
    """The same over the columns; takes the matrix transposed so that the inner loop runs along memory."""
    for t in range(depth):
        for y in range(size):
            for r in range(size):
                out[t, y * size + r] = 0.0
            for k in range(size):
                m = block[t, y * size + k]
                for r in range(size):
                    out[t, y * size + r] += m * transposed[k, r]


@kernel
def _load(field: Any, t0: int, y0: int, x0: int, depth: int, size: int, out: Any) -> None:
    for t in range(depth):
        for y in range(size):
            for x in range(size):
                out[t, y * size + x] = field[t0 + t, y0 + y, x0 + x]


@kernel
def _one_block(
    noisy: Any,
    pilot: Any,
    noise: Any,
    cosine: Any,
    cosine_t: Any,
    time: Any,
    time_t: Any,
    window: Any,
    t0: int,
    y0: int,
    x0: int,
    work: Any,
    total: Any,
    mass: Any,
    spread: Any,
) -> None:
    """Filter one block and add it to the sums."""
    depth, size = time.shape[0], cosine.shape[0]
    a, b, c = work[0], work[1], work[2]
    _load(noisy, t0, y0, x0, depth, size, a)
    _first_axis(a, time, b, depth, size)
    _second_axis(b, cosine, c, depth, size)
    _third_axis(c, cosine_t, a, depth, size)
    _load(pilot, t0, y0, x0, depth, size, b)
    _first_axis(b, time, c, depth, size)
    _second_axis(c, cosine, b, depth, size)
    _third_axis(b, cosine_t, c, depth, size)
    # a: coefficients of the noisy block, c: of the pilot.
    variance = 0.0
    for t in range(depth):
        for y in range(size):
            for x in range(size):
                variance += noise[t0 + t, y0 + y, x0 + x]
    variance /= depth * size * size
    energy = 0.0
    left = 0.0
    for t in range(depth):
        for r in range(size * size):
            prior = c[t, r] * c[t, r]
            gain = prior / (prior + np.float32(variance) + np.float32(1e-12))
            if t == 0 and r == 0:
                gain = np.float32(1.0)
            a[t, r] *= gain
            energy += gain * gain
            left += gain
    _first_axis(a, time_t, b, depth, size)
    _second_axis(b, cosine_t, c, depth, size)
    _third_axis(c, cosine, a, depth, size)
    weight = np.float32(1.0 / (1.0 + energy))
    mean_left = np.float32(variance * left / (depth * size * size))
    for t in range(depth):
        for y in range(size):
            for x in range(size):
                w = weight * window[t, y * size + x]
                total[t0 + t, y0 + y, x0 + x] += w * a[t, y * size + x]
                spread[t0 + t, y0 + y, x0 + x] += w * mean_left
                mass[t0 + t, y0 + y, x0 + x] += w


@parallel_kernel(lambda *args: args[7].size)
def filter_blocks(
    start: int,
    stop: int,
    noisy: Any,
    pilot: Any,
    noise: Any,
    cosine: Any,
    time: Any,
    window: Any,
    times: Any,
    rows: Any,
    columns: Any,
    total: Any,
    mass: Any,
    spread: Any,
) -> None:
    """Empirical Wiener filter of one plane ``(n, h, w)`` with overlapped blocks ``(depth, size, size)``.

    The blocks of one call run side by side and must not overlap in their rows: each output element has one owner.

    Parameters
    ----------
    noisy, pilot, noise : ndarray (n, h, w), float32
        Data, pilot, and noise variance.
    cosine, time : ndarray (size, size) and (depth, depth), float32
        Orthonormal transforms.
    window : ndarray (depth, size * size)
    times, rows, columns : ndarray of int
        Where blocks begin.
    total, mass, spread : ndarray (n, h, w), float32
        Sums to which values, weights and posterior variances are added.
    """
    depth, size = time.shape[0], cosine.shape[0]
    cosine_t = np.ascontiguousarray(cosine.T)
    time_t = np.ascontiguousarray(time.T)
    work = np.empty((3, depth, size * size), np.float32)
    for i in range(start, stop):
        for j in range(times.shape[0]):
            for k in range(columns.shape[0]):
                _one_block(
                    noisy, pilot, noise, cosine, cosine_t, time, time_t, window,
                    times[j], rows[i], columns[k], work, total, mass, spread,
                )  # fmt: skip
