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

    Of each channel of two pictures ``(h, w, c)``: both, their product less what noise has in common, the first's square less
    its ``noise``; and of ``hold``. Maps are ``(h, w)``; cells at the border have fewer pixels.
    """
    h, w, c = mean.shape
    for i in range(out.shape[0]):
        out[i] = 0
        bottom = min((i + 1) * cell, h)
        for y in range(i * cell, bottom):
            for x in range(w):
                sums = out[i, x // cell]
                for q in range(c):
                    a, b = mean[y, x, q], wanted[y, x, q]
                    sums[q] += a
                    sums[c + q] += b
                    sums[2 * c + q] += a * b - common[y, x]
                    sums[3 * c + q] += a * a - noise[y, x]
                sums[4 * c] += hold[y, x]
        for j in range(out.shape[1]):
            out[i, j] /= np.float32((bottom - i * cell) * (min((j + 1) * cell, w) - j * cell))


@kernel
def relight(
    mean: Floats, wanted: Floats, lines: Floats, cell: int, lit: Floats, difference: Floats, square: Floats
) -> None:
    """``lit`` = offset + slope mean, its ``difference`` from ``wanted``, all ``(h, w, c)``, and the mean ``square`` of that.

    ``lines`` (rows, columns, 2 c) has the slopes and offsets of the middles of cells; in between they are linear.
    """
    h, w, c = mean.shape
    rows, columns = lines.shape[:2]
    share, one, zero = np.float32(1.0 / c), np.float32(1.0), np.float32(0.0)
    row = np.empty((columns, 2 * c), np.float32)
    for y in range(h):
        at = (np.float32(y) + np.float32(0.5)) / np.float32(cell) - np.float32(0.5)
        i = min(max(int(np.floor(at)), 0), max(rows - 2, 0))
        down = min(max(at - np.float32(i), zero), one)
        below = min(i + 1, rows - 1)
        for j in range(columns):
            for q in range(2 * c):
                row[j, q] = (one - down) * lines[i, j, q] + down * lines[below, j, q]
        for x in range(w):
            at = (np.float32(x) + np.float32(0.5)) / np.float32(cell) - np.float32(0.5)
            j = min(max(int(np.floor(at)), 0), max(columns - 2, 0))
            right = min(max(at - np.float32(j), zero), one)
            near, far = row[j], row[min(j + 1, columns - 1)]
            s = zero
            for q in range(c):
                slope = (one - right) * near[q] + right * far[q]
                offset = (one - right) * near[c + q] + right * far[c + q]
                value = offset + slope * mean[y, x, q]
                d = value - wanted[y, x, q]
                lit[y, x, q] = value
                difference[y, x, q] = d
                s += d * d
            square[y, x] = s * share


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
