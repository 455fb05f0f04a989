"""Compiled kernels of the overlapped 8x8 cosine transform.

Layout: the columns of a band of image rows are sorted once by their place modulo the step (``phases``), so that the
k-th column of all blocks of a row lies side by side in memory; the sums are kept in that order and sorted back at the
end. A strip of eight rows is transformed down its columns, then along its rows. Every inner loop runs over the blocks
of a strip or over a whole row; arrays are cut to their parts before it, because an index that is a sum may be negative
to the compiler, which then makes no vector loop. For the same reason ``np.divide`` stands for ``/``: no test for 0.
"""

from __future__ import annotations

import math

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
def _sorted(plane: Plane, y: int, x: int, step: int, m: int, out: Plane) -> None:
    """Rows from ``y`` on, columns from ``x`` on, mirrored beyond the borders: column ``step q + p`` goes to ``p m + q``."""
    h, w = plane.shape
    for i in range(out.shape[0]):
        source = plane[_reflect(y + i, h)]
        target = out[i]
        first = -(x // step)
        last = min(max((w - x) // step, first), m)
        for p in range(step):
            for q in range(first):
                target[p * m + q] = source[_reflect(x + q * step + p, w)]
            inner = target[p * m + first : p * m + last]
            reading = source[x + first * step + p : x + last * step]
            for q in range(last - first):
                inner[q] = reading[q * step]
            for q in range(last, m):
                target[p * m + q] = source[_reflect(x + q * step + p, w)]


@kernel
def _back(row: Plane, first: int, step: int, m: int, out: Plane) -> None:
    """A row of sorted columns, from column ``first`` on, in the order of the image."""
    for p in range(step):
        # The first block starts left of the image.
        skipped = (step - 1 - first - p) // step
        source = row[p * m + skipped : (p + 1) * m]
        target = out[first + skipped * step + p :]
        for q in range((target.shape[0] + step - 1) // step):
            target[q * step] = source[q]


@kernel
def _blocks(rows: Plane, step: int, m: int, n: int, columns: Plane, coefficients: Plane) -> None:
    """Transform a strip of sorted rows along them: ``coefficients[8 i + j, l]`` of block ``l``."""
    for i in range(BLOCK):
        row = rows[i]
        for k in range(BLOCK):
            at = (k % step) * m + k // step
            source, target = row[at : at + n], columns[k]
            for l in range(n):
                target[l] = source[l]
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
    gain: Plane,
    energy: Plane,
    kept: Plane,
) -> None:
    """Shrink ``noisy`` in place; weight and posterior variance per pixel of every block.

    The noise of coefficient ``k`` has ``shape[k]`` times the block's variance. The last three are for work.
    """
    t2 = np.float32(threshold * threshold)
    one = np.float32(1.0)
    zero = np.float32(0.0)
    tiny = np.float32(1e-12)
    for l in range(n):
        energy[l] = one
        kept[l] = shape[0]
    for k in range(1, 64):
        a = shape[k]
        own = noisy[k]
        if wiener:
            guide = pilot[k]
            for l in range(n):
                p2 = guide[l] * guide[l] + tiny
                gain[l] = np.divide(p2, p2 + a * variance[l])
        else:
            b = t2 * a
            for l in range(n):
                gain[l] = one if own[l] * own[l] >= b * variance[l] else zero
        for l in range(n):
            own[l] *= gain[l]
        for l in range(n):
            g = gain[l]
            energy[l] += g * g
            kept[l] += a * g
    for l in range(n):
        weight[l] = np.divide(one, (variance[l] + tiny) * (one + energy[l]))
        spread[l] = variance[l] * kept[l] * np.float32(1.0 / 64.0)


@kernel
def _spread_out(values: Plane, window: Plane, step: int, m: int, n: int, out: Plane) -> None:
    """Sorted columns of the sum of the blocks' windows, each times its ``values[l]``."""
    out[:] = 0
    for k in range(BLOCK):
        a = window[k]
        at = (k % step) * m + k // step
        target = out[at : at + n]
        for l in range(n):
            target[l] += a * values[l]


@kernel
def _overlap(
    coefficients: Plane, weight: Plane, window: Plane, step: int, m: int, n: int, columns: Plane, rows: Plane
) -> None:
    """Back along the rows and added up with window and weight, into sorted columns."""
    for i in range(BLOCK):
        backward(coefficients[8 * i : 8 * i + 8], columns, n)
        row = rows[i]
        row[:] = 0
        for k in range(BLOCK):
            a = window[k]
            at = (k % step) * m + k // step
            source, target = columns[k], row[at : at + n]
            for l in range(n):
                target[l] += a * weight[l] * source[l]


@kernel
def _add(rows: Plane, window: Plane, y: int, total: Plane) -> None:
    """Add the rows of a strip, with the window, to the rows of a band from ``y`` on, as far as it owns them."""
    for i in range(BLOCK):
        if 0 <= y + i < total.shape[0]:
            a = window[i]
            source, target = rows[i], total[y + i]
            for x in range(target.shape[0]):
                target[x] += a * source[x]


@kernel
def _add_same(row: Plane, window: Plane, y: int, total: Plane) -> None:
    """Like :func:`_add`, for a strip whose rows are all the same."""
    for i in range(BLOCK):
        if 0 <= y + i < total.shape[0]:
            a = window[i]
            target = total[y + i]
            for x in range(target.shape[0]):
                target[x] += a * row[x]


@kernel
def _levels(rows: Plane, step: int, m: int, n: int, sums: Plane, level: Plane) -> None:
    """Means over the blocks of a strip of sorted rows."""
    sums[:] = 0
    for i in range(BLOCK):
        row = rows[i]
        for x in range(sums.shape[0]):
            sums[x] += row[x]
    level[:] = 0
    for k in range(BLOCK):
        at = (k % step) * m + k // step
        source = sums[at : at + n]
        for l in range(n):
            level[l] += source[l]
    for l in range(n):
        level[l] *= np.float32(1.0 / 64.0)


@parallel_kernel(lambda noisy, *_: noisy.shape[0] * ((noisy.shape[1] + BAND - 1) // BAND))
def shrink_planes(
    start: int,
    stop: int,
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
    h, w = noisy.shape[1:]
    bands = (h + BAND - 1) // BAND
    first = step - BLOCK
    n = (w - 1 - first) // step + 1
    m = n + BLOCK // step
    width = m * step
    for task in range(start, stop):
        channel = task // bands
        top = (task % bands) * BAND
        bottom = min(top + BAND, h)
        strips = (bottom - top - first - 1) // step + 1
        height = (strips - 1) * step + BLOCK
        # What is done to several arrays stands in a loop over them: each call is compiled where it stands.
        rows = np.empty((3, height, width), np.float32)
        for k in range(3 if wiener else 2):
            source = noisy if k == 0 else variance if k == 1 else pilot
            _sorted(source[channel], top + first, first, step, m, rows[k])
        strip = np.empty((BLOCK, width), np.float32)
        down = np.empty((BLOCK, width), np.float32)
        columns = np.empty((BLOCK, n), np.float32)
        coefficients = np.empty((2, 64, n), np.float32)
        level = np.empty(n, np.float32)
        weights = np.empty((2, n), np.float32)
        weight, spread = weights[0], weights[1]
        work = np.empty((3, n), np.float32)
        line = np.empty(width, np.float32)
        total = np.zeros((bottom - top, width), np.float32)
        sums = np.zeros((2, bottom - top, width), np.float32)
        masses, seconds = sums[0], sums[1]
        for s in range(strips):
            y = s * step
            _levels(rows[1, y : y + BLOCK], step, m, n, line, level)
            for k in range(2 if wiener else 1):
                forward(rows[2 * k, y : y + BLOCK], down, width)
                _blocks(down, step, m, n, columns, coefficients[k])
            own, guide = coefficients[0], coefficients[1]
            _gains(own, guide, level, shape, threshold, wiener, n, weight, spread, work[0], work[1], work[2])
            _overlap(own, weight, window, step, m, n, columns, strip)
            backward(strip, down, width)
            _add(down, window, y + first, total)
            for l in range(n):
                spread[l] *= weight[l]
            for k in range(2):
                _spread_out(weights[k], window, step, m, n, line)
                _add_same(line, window, y + first, sums[k])
        for i in range(bottom - top):
            for x in range(width):
                masses[i, x] = np.divide(np.float32(1.0), max(masses[i, x], np.float32(1e-30)))
            for x in range(width):
                total[i, x] *= masses[i, x]
                seconds[i, x] *= masses[i, x]
            _back(total[i], first, step, m, out[channel, top + i])
            _back(seconds[i], first, step, m, out_variance[channel, top + i])
