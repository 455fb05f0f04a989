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
    """Means over cells of ``cell`` x ``cell`` pixels, ``out`` (rows, columns, 4 c + 1).

    Of each channel of two pictures as rows ``(h, w c)``: both, their product less what noise has in common, the first's square
    less its ``noise``; and of ``hold``. Maps are ``(h, w)``; cells at the border have fewer pixels.
    """
    h, w = hold.shape
    c = mean.shape[1] // w
    sums, maps = np.empty((4, w * c), np.float32), np.empty((3, w), np.float32)
    one, other, product, square = sums[0], sums[1], sums[2], sums[3]
    shared, own, kept = maps[0], maps[1], maps[2]
    for i in range(out.shape[0]):
        top, bottom = i * cell, min((i + 1) * cell, h)
        # Down the columns first, in vector loops.
        for k in range(w * c):
            one[k] = other[k] = product[k] = square[k] = np.float32(0.0)
        for x in range(w):
            shared[x] = own[x] = kept[x] = np.float32(0.0)
        for y in range(top, bottom):
            a, b = mean[y], wanted[y]
            for k in range(w * c):
                one[k] += a[k]
            for k in range(w * c):
                square[k] += a[k] * a[k]
            for k in range(w * c):
                other[k] += b[k]
            for k in range(w * c):
                product[k] += a[k] * b[k]
            for x in range(w):
                shared[x] += common[y, x]
            for x in range(w):
                own[x] += noise[y, x]
            for x in range(w):
                kept[x] += hold[y, x]
        for j in range(out.shape[1]):
            left, right = j * cell, min((j + 1) * cell, w)
            share = np.float32(1.0 / ((bottom - top) * (right - left)))
            for k in range(4 * c + 1):
                out[i, j, k] = np.float32(0.0)
            for x in range(left, right):
                for q in range(c):
                    k = x * c + q
                    out[i, j, q] += one[k] * share
                    out[i, j, c + q] += other[k] * share
                    out[i, j, 2 * c + q] += (product[k] - shared[x]) * share
                    out[i, j, 3 * c + q] += (square[k] - own[x]) * share
                out[i, j, 4 * c] += kept[x] * share


@kernel
def relight(
    mean: Floats, wanted: Floats, lines: Floats, cell: int, lit: Floats, difference: Floats, square: Floats
) -> None:
    """``lit`` = offset + slope mean, its ``difference`` from ``wanted``, as rows ``(h, w c)``, and the mean ``square`` of that.

    ``lines`` (rows, columns, 2 c) has the slopes and offsets of the middles of cells; in between they are linear.
    """
    h, w = square.shape
    c = mean.shape[1] // w
    count, columns = lines.shape[:2]
    share, one, zero = np.float32(1.0 / c), np.float32(1.0), np.float32(0.0)
    slopes, offsets = np.empty((count, w * c), np.float32), np.empty((count, w * c), np.float32)
    for x in range(w):
        at = (np.float32(x) + np.float32(0.5)) / np.float32(cell) - np.float32(0.5)
        j = min(max(int(at), 0), max(columns - 2, 0))
        right = min(max(at - np.float32(j), zero), one)
        far = min(j + 1, columns - 1)
        for i in range(count):
            for q in range(c):
                slopes[i, x * c + q] = (one - right) * lines[i, j, q] + right * lines[i, far, q]
                offsets[i, x * c + q] = (one - right) * lines[i, j, c + q] + right * lines[i, far, c + q]
    slope, offset = np.empty(w * c, np.float32), np.empty(w * c, np.float32)
    for y in range(h):
        at = (np.float32(y) + np.float32(0.5)) / np.float32(cell) - np.float32(0.5)
        i = min(max(int(at), 0), max(count - 2, 0))
        down = min(max(at - np.float32(i), zero), one)
        below = min(i + 1, count - 1)
        for x in range(w * c):
            slope[x] = (one - down) * slopes[i, x] + down * slopes[below, x]
        for x in range(w * c):
            offset[x] = (one - down) * offsets[i, x] + down * offsets[below, x]
        own, other, new, apart, total = mean[y], wanted[y], lit[y], difference[y], square[y]
        for x in range(w * c):
            new[x] = offset[x] + slope[x] * own[x]
        for x in range(w * c):
            apart[x] = new[x] - other[x]
        if c == 1:
            for x in range(w):
                total[x] = apart[x] * apart[x]
        else:
            for x in range(w):
                s = zero
                for q in range(c):
                    s += apart[x * c + q] * apart[x * c + q]
                total[x] = s * share


@kernel
def mean_square(values: Floats, out: Floats) -> None:
    """``out[y, x]`` = mean over the channels of the squares of an image ``(h, w, c)``."""
    h, w, c = values.shape
    share = np.float32(1.0 / c)
    for y in range(h):
        for x in range(w):
            s = np.float32(0.0)
            for q in range(c):
                s += values[y, x, q] * values[y, x, q]
            out[y, x] = s * share


@kernel
def take_in(noisy: Floats, news: Floats, mean: Floats, mass: Floats) -> None:
    """A frame ``(h, w, c)`` becomes a part of a mean with so much ``mass``; ``news`` (h, w) is what it adds to that."""
    h, w, c = noisy.shape
    for y in range(h):
        for x in range(w):
            total = mass[y, x] + news[y, x]
            share = np.divide(news[y, x], total)
            mass[y, x] = total
            for q in range(c):
                mean[y, x, q] += share * (noisy[y, x, q] - mean[y, x, q])
