"""Compiled kernels of what rests: the light of a frame, how well a state fits, and its mass.

Each output element has one owner. ``np.divide`` stands for ``/``, which would be compiled with a test for 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]


@kernel
def expect(
    level: Floats,
    mass: Floats,
    left: Floats,
    own: Floats,
    shared: int,
    distance: int,
    noise: Floats,
    common: Floats,
    expected: Floats,
) -> None:
    """Variances of a state's ``noise``, of what it has in ``common`` with a mean along motion, and ``expected`` of their difference.

    All are ``(h, w)``. A neighbour's share in the mean is (1 - own) / (2 distance); of the state, ``shared`` frames are in it.
    """
    h, w = level.shape
    share = np.float32(0.5 / distance)
    one, tiny = np.float32(1.0), np.float32(1e-6)
    for y in range(h):
        for x in range(w):
            v, m = level[y, x], mass[y, x]
            of_state = np.divide(v, m)
            both = v * min(np.divide(np.float32(shared), m), one) * (one - own[y, x]) * share
            noise[y, x] = of_state
            common[y, x] = both
            expected[y, x] = max(v * left[y, x] + of_state - np.float32(2.0) * both, tiny)


@kernel
def largest_excess(around: Floats, expected: Floats, chance: float, misfit: Floats) -> None:
    """``misfit`` becomes what ``around`` has beyond ``chance`` times what is ``expected``, where that is more; all ``(h, w)``."""
    h, w = around.shape
    for y in range(h):
        for x in range(w):
            misfit[y, x] = max(misfit[y, x], around[y, x] - np.float32(chance) * expected[y, x])


@kernel
def share_below(values: Floats, limits: Floats, factor: float) -> float:
    """Share of the ``values`` (h, w) that lie below ``factor`` times their ``limits``."""
    h, w = values.shape
    count = 0
    for y in range(h):
        for x in range(w):
            count += values[y, x] < np.float32(factor) * limits[y, x]
    return float(count / (h * w))


@kernel
def lose(mass: Floats, misfit: Floats, level: Floats, severity: float, out: Floats) -> None:
    """The ``mass`` that a misfit leaves, mass / (1 + mass q / v) with q = ``severity`` times the misfit; all ``(h, w)``."""
    h, w = mass.shape
    for y in range(h):
        for x in range(w):
            m = mass[y, x]
            q = np.float32(severity) * misfit[y, x]
            out[y, x] = np.divide(m, np.float32(1.0) + np.divide(m * q, level[y, x] + np.float32(1e-6)))


@kernel
def light_sums(
    mean: Floats, wanted: Floats, hold: Floats, noise: Floats, common: Floats, cell: int, out: Floats
) -> None:
    """Means over cells of ``cell`` x ``cell`` blocks, ``out`` (4 c + 1, rows, columns).

    Of each plane of two pictures ``(c, 2 h, 2 w)``: both, their product less what noise has in common, the first's square less its
    ``noise``; and of ``hold``. Maps are ``(h, w)``; cells at the border have fewer blocks.
    """
    h, w = hold.shape
    c, rows, columns = mean.shape[0], out.shape[1], out.shape[2]
    sums = np.empty((4, 2 * w), np.float32)
    one, other, product, square = sums[0], sums[1], sums[2], sums[3]
    for q in range(c):
        for i in range(rows):
            top, bottom = i * cell, min((i + 1) * cell, h)
            # Down the columns first, in vector loops.
            for x in range(2 * w):
                one[x] = other[x] = product[x] = square[x] = np.float32(0.0)
            for y in range(2 * top, 2 * bottom):
                a, b = mean[q, y], wanted[q, y]
                for x in range(2 * w):
                    one[x] += a[x]
                for x in range(2 * w):
                    square[x] += a[x] * a[x]
                for x in range(2 * w):
                    other[x] += b[x]
                for x in range(2 * w):
                    product[x] += a[x] * b[x]
            for j in range(columns):
                left, right = 2 * j * cell, 2 * min((j + 1) * cell, w)
                share = np.float32(0.5 / ((bottom - top) * (right - left)))
                s = t = p = o = np.float32(0.0)
                for x in range(left, right):
                    s += one[x]
                    t += other[x]
                    p += product[x]
                    o += square[x]
                out[q, i, j], out[c + q, i, j] = s * share, t * share
                out[2 * c + q, i, j], out[3 * c + q, i, j] = p * share, o * share
    for i in range(rows):
        top, bottom = i * cell, min((i + 1) * cell, h)
        for j in range(columns):
            left, right = j * cell, min((j + 1) * cell, w)
            share = np.float32(1.0 / ((bottom - top) * (right - left)))
            shared = own = kept = np.float32(0.0)
            for y in range(top, bottom):
                for x in range(left, right):
                    shared += common[y, x]
                    own += noise[y, x]
                    kept += hold[y, x]
            out[4 * c, i, j] = kept * share
            for q in range(c):
                out[2 * c + q, i, j] -= shared * share
                out[3 * c + q, i, j] -= own * share


@kernel
def relight(
    mean: Floats, wanted: Floats, lines: Floats, cell: int, lit: Floats, difference: Floats, square: Floats
) -> None:
    """``lit`` = offset + slope mean, planes ``(c, 2 h, 2 w)``; of its ``difference`` from ``wanted`` the means ``(c, h, w)`` over blocks, and the
    mean ``square`` (h, w).

    ``lines`` (2 c, rows, columns) has the slopes and offsets of the middles of cells of ``cell`` pixels; in between they are linear.
    """
    h, w = square.shape
    c, width = mean.shape[0], 2 * square.shape[1]
    count, columns = lines.shape[1:]
    one, zero, quarter = np.float32(1.0), np.float32(0.0), np.float32(0.25)
    share = np.float32(0.25 / c)
    slopes, offsets = np.empty((count, width), np.float32), np.empty((count, width), np.float32)
    scratch = np.empty((4, width), np.float32)
    slope, offset, apart, squares = scratch[0], scratch[1], scratch[2], scratch[3]
    for q in range(c):
        for x in range(width):
            at = (np.float32(x) + np.float32(0.5)) / np.float32(cell) - np.float32(0.5)
            j = min(max(int(at), 0), max(columns - 2, 0))
            right = min(max(at - np.float32(j), zero), one)
            far = min(j + 1, columns - 1)
            for i in range(count):
                slopes[i, x] = (one - right) * lines[q, i, j] + right * lines[q, i, far]
                offsets[i, x] = (one - right) * lines[c + q, i, j] + right * lines[c + q, i, far]
        for y in range(h):
            for x in range(width):
                apart[x] = squares[x] = zero
            for k in range(2):
                at = (np.float32(2 * y + k) + np.float32(0.5)) / np.float32(cell) - np.float32(0.5)
                i = min(max(int(at), 0), max(count - 2, 0))
                down = min(max(at - np.float32(i), zero), one)
                below = min(i + 1, count - 1)
                for x in range(width):
                    slope[x] = (one - down) * slopes[i, x] + down * slopes[below, x]
                for x in range(width):
                    offset[x] = (one - down) * offsets[i, x] + down * offsets[below, x]
                own, other, new = mean[q, 2 * y + k], wanted[q, 2 * y + k], lit[q, 2 * y + k]
                for x in range(width):
                    new[x] = offset[x] + slope[x] * own[x]
                for x in range(width):
                    apart[x] += new[x] - other[x]
                for x in range(width):
                    d = new[x] - other[x]
                    squares[x] += d * d
            for x in range(w):
                difference[q, y, x] = quarter * (apart[2 * x] + apart[2 * x + 1])
            for x in range(w):
                square[y, x] = (square[y, x] if q > 0 else zero) + share * (
                    squares[2 * x] + squares[2 * x + 1]
                )


@kernel
def mean_square(planes: Floats, out: Floats) -> None:
    """``out[y, x]`` = mean over the planes ``(c, h, w)`` of their squares."""
    c, h, w = planes.shape
    share = np.float32(1.0 / c)
    for y in range(h):
        target = out[y]
        for x in range(w):
            target[x] = np.float32(0.0)
        for q in range(c):
            own = planes[q, y]
            for x in range(w):
                target[x] += own[x] * own[x] * share


@kernel
def take_in(noisy: Floats, news: Floats, mean: Floats, mass: Floats) -> None:
    """A frame ``(c, 2 h, 2 w)`` becomes a part of a mean with so much ``mass``; ``news`` (h, w) is what it adds to that."""
    c = noisy.shape[0]
    h, w = mass.shape
    share = np.empty(2 * w, np.float32)
    for y in range(h):
        for x in range(w):
            total = mass[y, x] + news[y, x]
            share[2 * x] = share[2 * x + 1] = np.divide(news[y, x], total)
            mass[y, x] = total
        for q in range(c):
            for k in range(2):
                own, target = noisy[q, 2 * y + k], mean[q, 2 * y + k]
                for x in range(2 * w):
                    target[x] += share[x] * (own[x] - target[x])


@kernel
def join(own: Floats, other: Floats, mass: Floats, mean: Floats) -> None:
    """Add another picture ``(c, 2 h, 2 w)`` to a sum of pictures ``mean``, by its share ``mass / own`` (h, w)."""
    c = mean.shape[0]
    h, w = own.shape
    share = np.empty(2 * w, np.float32)
    for y in range(h):
        for x in range(w):
            share[2 * x] = share[2 * x + 1] = np.divide(mass[y, x], own[y, x])
        for q in range(c):
            for k in range(2):
                given, target = other[q, 2 * y + k], mean[q, 2 * y + k]
                for x in range(2 * w):
                    target[x] += share[x] * (given[x] - target[x])
