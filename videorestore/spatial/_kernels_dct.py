"""Compiled kernels of the overlapped 8x8 cosine transform.

Layout: a strip of eight image rows is transformed down its columns, whole rows at a time; then its columns are
sorted by their place modulo the step (``phases``), so that the k-th column of all blocks of the strip lies side by
side in memory. Every inner loop runs over the blocks of a strip and is a plain vector loop.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Plane = NDArray[np.float32]

BLOCK = 8
BAND = 64
"""Rows of the output that one task owns; fixed, so that the result does not depend on the number of threads."""

_C = [np.float32(0.5 * math.cos(k * math.pi / 16)) for k in range(8)]
_C1, _C2, _C3, _C4, _C5, _C6, _C7 = _C[1], _C[2], _C[3], _C[4], _C[5], _C[6], _C[7]


@kernel
def forward(rows: Plane, out: Plane, n: int) -> None:
    """Orthonormal DCT-II of the eight rows, column by column, for the first ``n`` columns."""
    for x in range(n):
        a0 = rows[0, x] + rows[7, x]
        a1 = rows[1, x] + rows[6, x]
        a2 = rows[2, x] + rows[5, x]
        a3 = rows[3, x] + rows[4, x]
        b0 = rows[0, x] - rows[7, x]
        b1 = rows[1, x] - rows[6, x]
        b2 = rows[2, x] - rows[5, x]
        b3 = rows[3, x] - rows[4, x]
        s0 = a0 + a3
        s1 = a1 + a2
        d0 = a0 - a3
        d1 = a1 - a2
        out[0, x] = (s0 + s1) * _C4
        out[4, x] = (s0 - s1) * _C4
        out[2, x] = d0 * _C2 + d1 * _C6
        out[6, x] = d0 * _C6 - d1 * _C2
        out[1, x] = b0 * _C1 + b1 * _C3 + b2 * _C5 + b3 * _C7
        out[3, x] = b0 * _C3 - b1 * _C7 - b2 * _C1 - b3 * _C5
        out[5, x] = b0 * _C5 - b1 * _C1 + b2 * _C7 + b3 * _C3
        out[7, x] = b0 * _C7 - b1 * _C5 + b2 * _C3 - b3 * _C1


@kernel
def backward(rows: Plane, out: Plane, n: int) -> None:
    """Inverse of :func:`forward`."""
    for x in range(n):
        s0 = (rows[0, x] + rows[4, x]) * _C4
        s1 = (rows[0, x] - rows[4, x]) * _C4
        d0 = rows[2, x] * _C2 + rows[6, x] * _C6
        d1 = rows[2, x] * _C6 - rows[6, x] * _C2
        a0 = s0 + d0
        a3 = s0 - d0
        a1 = s1 + d1
        a2 = s1 - d1
        b0 = rows[1, x] * _C1 + rows[3, x] * _C3 + rows[5, x] * _C5 + rows[7, x] * _C7
        b1 = rows[1, x] * _C3 - rows[3, x] * _C7 - rows[5, x] * _C1 - rows[7, x] * _C5
        b2 = rows[1, x] * _C5 - rows[3, x] * _C1 + rows[5, x] * _C7 + rows[7, x] * _C3
        b3 = rows[1, x] * _C7 - rows[3, x] * _C5 + rows[5, x] * _C3 - rows[7, x] * _C1
        out[0, x] = a0 + b0
        out[7, x] = a0 - b0
        out[1, x] = a1 + b1
        out[6, x] = a1 - b1
        out[2, x] = a2 + b2
        out[5, x] = a2 - b2
        out[3, x] = a3 + b3
        out[4, x] = a3 - b3


@kernel
def _reflect(i: int, n: int) -> int:
    """Index mirrored at the borders, the border sample itself repeated."""
    period = 2 * n
    i = i % period
    return i if i < n else period - 1 - i


@kernel
def _load(plane: Plane, y: int, x0: int, rows: Plane, width: int) -> None:
    """Eight rows from ``y`` on, ``width`` columns from ``x0`` on, mirrored beyond the borders."""
    h, w = plane.shape
    inner = min(w, width + x0)
    for i in range(BLOCK):
        source = _reflect(y + i, h)
        for x in range(-x0):
            rows[i, x] = plane[source, _reflect(x + x0, w)]
        for x in range(inner):
            rows[i, x - x0] = plane[source, x]
        for x in range(inner, width + x0):
            rows[i, x - x0] = plane[source, _reflect(x, w)]


@kernel
def _blocks(rows: Plane, step: int, n: int, phases: Plane, coefficients: Plane) -> None:
    """Transform the strip along its rows: ``coefficients[8 i + j, l]`` of block ``l``."""
    m = n + BLOCK // step
    columns = np.empty((BLOCK, n), np.float32)
    for i in range(BLOCK):
        for p in range(step):
            for q in range(m):
                phases[p, q] = rows[i, q * step + p]
        for k in range(BLOCK):
            for l in range(n):
                columns[k, l] = phases[k % step, l + k // step]
        forward(columns, coefficients[8 * i : 8 * i + 8], n)


@kernel
def _gains(
    noisy: Plane,
    pilot: Plane,
    variance: Plane,
    shape: Plane,
    threshold: float,
    wiener: bool,
    n: int,
    weight: Plane,
    spread: Plane,
) -> None:
    """Shrink ``noisy`` in place; weight and posterior variance per pixel of every block.

    The noise of coefficient ``k`` has ``shape[k]`` times the block's variance.
    """
    energy = np.ones(n, np.float32)
    kept = np.ones(n, np.float32)
    t2 = np.float32(threshold * threshold)
    one = np.float32(1.0)
    zero = np.float32(0.0)
    tiny = np.float32(1e-12)
    for l in range(n):
        kept[l] = shape[0]
    for k in range(1, 64):
        a = shape[k]
        if wiener:
            for l in range(n):
                p2 = pilot[k, l] * pilot[k, l] + tiny
                g = p2 / (p2 + a * variance[l])
                noisy[k, l] *= g
                energy[l] += g * g
                kept[l] += a * g
        else:
            b = t2 * a
            for l in range(n):
                c = noisy[k, l]
                g = one if c * c >= b * variance[l] else zero
                noisy[k, l] = c * g
                energy[l] += g
                kept[l] += a * g
    for l in range(n):
        weight[l] = one / ((variance[l] + tiny) * (one + energy[l]))
        spread[l] = variance[l] * kept[l] * np.float32(1.0 / 64.0)


@kernel
def _overlap(
    coefficients: Plane,
    weight: Plane,
    spread: Plane,
    window: Plane,
    step: int,
    n: int,
    phases: Plane,
    rows: Plane,
    mass: Plane,
    second: Plane,
) -> None:
    """Back along the rows and added up with window and weight; ``mass`` and ``second`` once per column."""
    m = n + BLOCK // step
    columns = np.empty((BLOCK, n), np.float32)
    for i in range(BLOCK):
        backward(coefficients[8 * i : 8 * i + 8], columns, n)
        phases[:, :m] = 0
        for k in range(BLOCK):
            a = window[k]
            for l in range(n):
                phases[k % step, l + k // step] += a * weight[l] * columns[k, l]
        for p in range(step):
            for q in range(m):
                rows[i, q * step + p] = phases[p, q]
    for part in range(2):
        phases[:, :m] = 0
        for k in range(BLOCK):
            a = window[k]
            for l in range(n):
                v = weight[l] if part == 0 else weight[l] * spread[l]
                phases[k % step, l + k // step] += a * v
        for p in range(step):
            for q in range(m):
                if part == 0:
                    mass[q * step + p] = phases[p, q]
                else:
                    second[q * step + p] = phases[p, q]


@parallel_kernel
def shrink_planes(
    noisy: NDArray[np.float32],
    pilot: NDArray[np.float32],
    variance: NDArray[np.float32],
    shape: Plane,
    window: Plane,
    step: int,
    threshold: float,
    wiener: bool,
    out: NDArray[np.float32],
    out_variance: NDArray[np.float32],
) -> None:
    """Shrink planes ``(c, h, w)``; ``variance`` is per pixel, ``shape`` (64,) per frequency; each band has one owner.

    Blocks stand at multiples of ``step`` from ``step - 8`` on, so that every pixel lies in (8 / step)^2 of them.
    """
    c, h, w = noisy.shape
    bands = (h + BAND - 1) // BAND
    first = step - BLOCK
    n = (w - 1 - first) // step + 1
    m = n + BLOCK // step
    width = m * step
    for task in numba.prange(c * bands):
        channel = task // bands
        top = (task % bands) * BAND
        bottom = min(top + BAND, h)
        strip = np.empty((BLOCK, width), np.float32)
        down = np.empty((BLOCK, width), np.float32)
        phases = np.empty((step, m), np.float32)
        own = np.empty((64, n), np.float32)
        guide = np.empty((64, n), np.float32)
        level = np.empty(n, np.float32)
        weight = np.empty(n, np.float32)
        spread = np.empty(n, np.float32)
        mass = np.empty(width, np.float32)
        second = np.empty(width, np.float32)
        total = np.zeros((bottom - top, w), np.float32)
        masses = np.zeros((bottom - top, w), np.float32)
        seconds = np.zeros((bottom - top, w), np.float32)
        for y in range(top + first, bottom, step):
            # Block means of the variance: sums over eight rows, then over eight columns of each block.
            _load(variance[channel], y, first, strip, width)
            for x in range(width):
                s = np.float32(0.0)
                for i in range(BLOCK):
                    s += strip[i, x]
                mass[x] = s * np.float32(1.0 / 64.0)
            for l in range(n):
                s = np.float32(0.0)
                for k in range(BLOCK):
                    s += mass[l * step + k]
                level[l] = s
            _load(noisy[channel], y, first, strip, width)
            forward(strip, down, width)
            _blocks(down, step, n, phases, own)
            if wiener:
                _load(pilot[channel], y, first, strip, width)
                forward(strip, down, width)
                _blocks(down, step, n, phases, guide)
            _gains(own, guide, level, shape, threshold, wiener, n, weight, spread)
            _overlap(own, weight, spread, window, step, n, phases, strip, mass, second)
            backward(strip, down, width)
            for i in range(BLOCK):
                row = y + i - top
                if 0 <= row < bottom - top:
                    a = window[i]
                    for x in range(w):
                        total[row, x] += a * down[i, x - first]
                        masses[row, x] += a * mass[x - first]
                        seconds[row, x] += a * second[x - first]
        for i in range(bottom - top):
            for x in range(w):
                out[channel, top + i, x] = total[i, x] / masses[i, x]
                out_variance[channel, top + i, x] = seconds[i, x] / masses[i, x]
