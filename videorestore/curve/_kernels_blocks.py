"""Kernels of the empirical Wiener filter on overlapped blocks in space and along the curve.

What blocks share is done once: the transform in time of all pixels, that over rows of all blocks between the same rows,
and the way back likewise. Coefficients lie side by side along memory, those of time innermost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore.compiled import kernel, parallel_kernel


@kernel
def _mix(matrix: Any, rows: Any, out: Any) -> None:
    """out[j] = sum_k matrix[j, k] rows[k], four rows at a time."""
    count, width = rows.shape
    for j in range(matrix.shape[0]):
        target = out[j]
        first = count % 4
        if first == 0:
            first = 4
            m0, m1, m2, m3 = matrix[j, 0], matrix[j, 1], matrix[j, 2], matrix[j, 3]
            a, b, c, d = rows[0], rows[1], rows[2], rows[3]
            for r in range(width):
                target[r] = m0 * a[r] + m1 * b[r] + m2 * c[r] + m3 * d[r]
        else:
            target[:] = 0.0
            for k in range(first):
                m0, a = matrix[j, k], rows[k]
                for r in range(width):
                    target[r] += m0 * a[r]
        for k in range(first, count, 4):
            m0, m1, m2, m3 = matrix[j, k], matrix[j, k + 1], matrix[j, k + 2], matrix[j, k + 3]
            a, b, c, d = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            for r in range(width):
                target[r] += m0 * a[r] + m1 * b[r] + m2 * c[r] + m3 * d[r]


@kernel
def _in_time(frames: Any, plane: int, t0: int, time: Any, out: Any) -> None:
    """Coefficients ``(h, w, depth)`` of all pixels of a plane of ``frames (n, c, h, w)``, from frame ``t0`` on."""
    height, width, depth = out.shape
    own, row = np.empty((depth, width), np.float32), np.empty((depth, width), np.float32)
    for y in range(height):
        for t in range(depth):
            for x in range(width):
                own[t, x] = frames[t0 + t, plane, y, x]
        _mix(time, own, row)
        for x in range(width):
            for j in range(depth):
                out[y, x, j] = row[j, x]


@kernel
def _in_rows(coefficients: Any, cosine: Any, mixed: Any, out: Any) -> None:
    """Coefficients ``(w, size, depth)`` over the rows of ``coefficients (size, w, depth)``."""
    size, width, depth = coefficients.shape
    _mix(cosine, coefficients.reshape(size, width * depth), mixed)
    for y in range(size):
        for x in range(width):
            for j in range(depth):
                out[x, y, j] = mixed[y, x * depth + j]


@kernel
def _shrink(data: Any, pilot: Any, variance: Any) -> Any:
    """Multiply coefficients by their gains; the sum of squared gains, and of gains."""
    energy = np.float32(0.0)
    left = np.float32(0.0)
    mean = data[0, 0]
    for k in range(data.shape[0]):
        a, b = data[k], pilot[k]
        for r in range(a.size):
            prior = b[r] * b[r]
            gain = prior / (prior + variance)
            a[r] *= gain
            energy += gain * gain
            left += gain
    # The mean of a block stays.
    prior = pilot[0, 0] * pilot[0, 0]
    gain = prior / (prior + variance)
    data[0, 0] = mean
    return energy + np.float32(1.0) - gain * gain, left + np.float32(1.0) - gain


@kernel
def _strip(
    noisy: Any,
    pilot: Any,
    noise: Any,
    cosine: Any,
    inverse: Any,
    window: Any,
    columns: Any,
    out: Any,
    sums: Any,
) -> None:
    """Filter all blocks between the same rows.

    Parameters
    ----------
    noisy, pilot : ndarray (w, size, depth)
        Coefficients in time and over rows.
    noise : ndarray (w,)
        Variance, mean over these rows and frames.
    out : ndarray (w, size, depth)
        Where filtered coefficients are added, weighed.
    sums : ndarray (2, w)
        Where weights, and variances times weights are added.
    """
    width, size, depth = noisy.shape
    side = size * depth
    a, b = np.empty((size, side), np.float32), np.empty((size, side), np.float32)
    noisy, pilot, out = noisy.reshape(width, side), pilot.reshape(width, side), out.reshape(width, side)
    for i in range(columns.size):
        x0 = columns[i]
        variance = np.float32(0.0)
        for k in range(size):
            variance += noise[x0 + k]
        variance /= np.float32(size)
        _mix(cosine, noisy[x0 : x0 + size], a)
        _mix(cosine, pilot[x0 : x0 + size], b)
        energy, left = _shrink(a, b, variance + np.float32(1e-12))
        _mix(inverse, a, b)
        weight = np.float32(1.0) / (np.float32(1.0) + energy)
        mean_left = variance * left / np.float32(size * side)
        for k in range(size):
            w = weight * window[k]
            sums[0, x0 + k] += w
            sums[1, x0 + k] += w * mean_left
            source, target = b[k], out[x0 + k]
            for r in range(side):
                target[r] += w * source[r]


@kernel
def _slab(
    noisy: Any,
    pilot: Any,
    noise: Any,
    plane: int,
    t0: int,
    cosine: Any,
    time: Any,
    windows: Any,
    rows: Any,
    columns: Any,
    total: Any,
    mass: Any,
    spread: Any,
) -> None:
    """Filter all blocks of one plane that begin at frame ``t0``, and add them to the sums."""
    _, _, height, width = noisy.shape
    depth, size = time.shape[0], cosine.shape[0]
    inverse, back = np.ascontiguousarray(cosine.T), np.ascontiguousarray(time.T)
    given = np.empty((2, height, width, depth), np.float32)
    _in_time(noisy, plane, t0, time, given[0])
    _in_time(pilot, plane, t0, time, given[1])
    level = np.zeros((height, width), np.float32)
    for t in range(depth):
        for y in range(height):
            for x in range(width):
                level[y, x] += noise[t0 + t, plane, y, x] / np.float32(depth * size)
    filtered = np.zeros((height, width * depth), np.float32)
    weights = np.zeros((2, height, width), np.float32)
    mixed = np.empty((size, width * depth), np.float32)
    strips = np.empty((3, width, size, depth), np.float32)
    band, told = np.empty(width, np.float32), np.empty((2, width), np.float32)
    for i in range(rows.size):
        y0 = rows[i]
        _in_rows(given[0, y0 : y0 + size], cosine, mixed, strips[0])
        _in_rows(given[1, y0 : y0 + size], cosine, mixed, strips[1])
        band[:] = 0.0
        for k in range(size):
            for x in range(width):
                band[x] += level[y0 + k, x]
        strips[2, :, :, :] = 0.0
        told[:, :] = 0.0
        _strip(strips[0], strips[1], band, cosine, inverse, windows[1], columns, strips[2], told)
        folded = strips[0].reshape(size, width * depth)
        for y in range(size):
            for x in range(width):
                for j in range(depth):
                    folded[y, x * depth + j] = strips[2, x, y, j]
        _mix(inverse, folded, mixed)
        for k in range(size):
            w = windows[1][k]
            for r in range(width * depth):
                filtered[y0 + k, r] += w * mixed[k, r]
            for x in range(width):
                weights[0, y0 + k, x] += w * told[0, x]
                weights[1, y0 + k, x] += w * told[1, x]
    row, mean = np.empty((depth, width), np.float32), np.empty((depth, width), np.float32)
    for y in range(height):
        for x in range(width):
            for j in range(depth):
                row[j, x] = filtered[y, x * depth + j]
        _mix(back, row, mean)
        for t in range(depth):
            w = windows[0][t]
            for x in range(width):
                total[t0 + t, plane, y, x] += w * mean[t, x]
                mass[t0 + t, plane, y, x] += w * weights[0, y, x]
                spread[t0 + t, plane, y, x] += w * weights[1, y, x]


@parallel_kernel(lambda *args: args[6].size * args[0].shape[1])
def filter_blocks(
    start: int,
    stop: int,
    noisy: Any,
    pilot: Any,
    noise: Any,
    cosine: Any,
    time: Any,
    windows: Any,
    times: Any,
    rows: Any,
    columns: Any,
    total: Any,
    mass: Any,
    spread: Any,
) -> None:
    """Empirical Wiener filter of planes ``(n, c, h, w)`` with overlapped blocks ``(depth, size, size)``.

    The blocks of one call begin at frames that are so far apart that each output element has one owner.

    Parameters
    ----------
    noisy, pilot, noise : ndarray (n, c, h, w), float32
        Data, pilot, and noise variance.
    cosine, time : ndarray (size, size) and (depth, depth), float32
        Orthonormal transforms.
    windows : tuple of ndarray (depth,) and (size,), float32
        In time, and along each side of a block.
    times, rows, columns : ndarray of int
        Where blocks begin.
    total, mass, spread : ndarray (n, c, h, w), float32
        Sums to which values, weights and posterior variances are added.
    """
    for i in range(start, stop):
        plane, t0 = i // times.size, times[i % times.size]
        _slab(noisy, pilot, noise, plane, t0, cosine, time, windows, rows, columns, total, mass, spread)
