"""Compiled kernels of the posterior along motion: how well a neighbour fits, and its part in the mean.

Pictures are planes ``(c, h, w)`` with even sides; what is known of a place is known of every block of 2 x 2 pixels, in maps
``(h / 2, w / 2)``. ``np.divide`` stands for ``/``, which would be compiled with a test for 0 and not as a vector loop. Loops are
short: with more than four or five arrays the compiler makes no vector loop, as each of them might lie where another one does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]

EDGE = 8
"""Pixels that pictures have around them, in which their border is repeated: all that is read beyond it lies there."""


@kernel
def advance(flow: Floats, step_x: Floats, step_y: Floats, x: Floats, y: Floats) -> None:
    """Add a step, two planes ``(h, w)``, to ``flow`` (2, h, w); ``x``, ``y`` (h, w) become the places it leads to."""
    h, w = x.shape
    for i in range(h):
        across, down = flow[0, i], flow[1, i]
        for j in range(w):
            across[j] += step_x[i, j]
        for j in range(w):
            x[i, j] = np.float32(j) + across[j]
        for j in range(w):
            down[j] += step_y[i, j]
        for j in range(w):
            y[i, j] = np.float32(i) + down[j]


@kernel
def settle(
    moved: Floats, still: Floats, level: Floats, factor: float, margin: float, flow: Floats, way: Floats
) -> None:
    """Where rest explains a place nearly as well as motion, it rests: its ``way`` (2, h, w) is none.

    Elsewhere it is twice the ``flow`` (2, h, w), in pixels of the full resolution. ``moved`` (h, w) becomes the misfit that counts.
    """
    h, w = moved.shape
    zero, two = np.float32(0.0), np.float32(2.0)
    rest = np.empty(w, np.float32)
    for i in range(h):
        for j in range(w):
            limit = np.float32(factor) * moved[i, j] + np.float32(margin) * level[i, j]
            rest[j] = zero if still[i, j] <= limit else two
        for j in range(w):
            moved[i, j] = moved[i, j] if rest[j] > zero else still[i, j]
        for j in range(w):
            way[0, i, j] = rest[j] * flow[0, i, j]
        for j in range(w):
            way[1, i, j] = rest[j] * flow[1, i, j]


@kernel
def weigh(
    misfit: Floats,
    level: Floats,
    allowance: Floats,
    severity: float,
    way: Floats,
    sums: Floats,
    weight: Floats,
) -> None:
    """The ``weight`` (h, w) of a neighbour, (v / (v + severity e))^2, added to the ``sums`` (3, h, w).

    ``v`` is the noise's variance ``level``, ``e`` the misfit beyond ``allowance``. Summed are weights, their squares, and the weights
    of what rests, which has no ``way`` (2, h, w).
    """
    h, w = misfit.shape
    zero, tiny = np.float32(0.0), np.float32(1e-9)
    for y in range(h):
        own = weight[y]
        for x in range(w):
            v = level[y, x]
            e = max(misfit[y, x] - allowance[y, x], zero)
            r = np.divide(v, v + np.float32(severity) * e + tiny)
            own[x] = r * r
        mass, squares, resting = sums[0, y], sums[1, y], sums[2, y]
        for x in range(w):
            mass[x] += own[x]
        for x in range(w):
            squares[x] += own[x] * own[x]
        for x in range(w):
            moves = abs(way[0, y, x]) + abs(way[1, y, x])
            resting[x] += zero if moves > zero else own[x]


@kernel
def _cubic(t: Any) -> Any:
    """Weights of four samples in a row for a place ``t`` of the way from the second to the third."""
    one, sharp = np.float32(1.0), np.float32(-0.75)
    u = one - t
    a = sharp * t * u * u
    d = sharp * u * t * t
    b = ((sharp + np.float32(2.0)) * t - (sharp + np.float32(3.0))) * t * t + one
    return a, b, one - a - b - d, d


@kernel
def _place(at: Any, length: int) -> Any:
    """The sample of a row with `EDGE` before a place, and how far the place lies behind it.

    No place is farther out than where all that is read is the same. The number has no sign, so that no index is tested for one.
    """
    inside = min(max(at, np.float32(-4.0)), np.float32(length + 3)) + np.float32(EDGE)
    low = np.uint64(inside)
    return low, inside - np.float32(low)


@kernel
def fit(source: Floats, own: Floats, flow: Floats, out: Floats) -> None:
    """Mean squared difference of every block of a picture ``own`` from ``source``, read bilinearly along the ``flow``.

    Pictures ``(c, h, w)`` have an edge of `EDGE` around them. ``flow`` (2, rows, columns) is in blocks like ``out`` (rows, columns).
    """
    c = own.shape[0]
    rows, columns = out.shape
    share, one, two = np.float32(0.25 / c), np.float32(1.0), np.float32(2.0)
    for i in range(rows):
        across, down, found = flow[0, i], flow[1, i], out[i]
        for j in range(np.uint64(columns)):
            x, right = _place(two * (np.float32(j) + across[j]), 2 * columns)
            y, low = _place(two * (np.float32(i) + down[j]), 2 * rows)
            left, up = one - right, one - low
            at = np.uint64(2) * j + np.uint64(EDGE)
            total = np.float32(0.0)
            for q in range(c):
                first, second, third = source[q, y], source[q, y + np.uint64(1)], source[q, y + np.uint64(2)]
                above, below = own[q, 2 * i + EDGE], own[q, 2 * i + EDGE + 1]
                p0, q0 = _between(first, x, left, right)
                p1, q1 = _between(second, x, left, right)
                p2, q2 = _between(third, x, left, right)
                d00, d01 = up * p0 + low * p1 - above[at], up * q0 + low * q1 - above[at + np.uint64(1)]
                d10, d11 = up * p1 + low * p2 - below[at], up * q1 + low * q2 - below[at + np.uint64(1)]
                total += d00 * d00 + d01 * d01 + d10 * d10 + d11 * d11
            found[j] = total * share


@kernel
def _between(row: Floats, x: Any, left: Any, right: Any) -> Any:
    """Two places in a row side by side, each between two samples."""
    middle = row[x + np.uint64(1)]
    return left * row[x] + right * middle, left * middle + right * row[x + np.uint64(2)]


@kernel
def fit_at_rest(source: Floats, own: Floats, out: Floats) -> None:
    """The same without motion."""
    c = own.shape[0]
    rows, columns = out.shape
    share, zero = np.float32(0.25 / c), np.float32(0.0)
    squares = np.empty(2 * columns, np.float32)
    for i in range(rows):
        for x in range(2 * columns):
            squares[x] = zero
        for q in range(c):
            for a in range(2):
                y = 2 * i + a + EDGE
                one, other = source[q, y, EDGE : EDGE + 2 * columns], own[q, y, EDGE : EDGE + 2 * columns]
                for x in range(2 * columns):
                    d = one[x] - other[x]
                    squares[x] += d * d
        for j in range(columns):
            out[i, j] = share * (squares[2 * j] + squares[2 * j + 1])


@kernel
def _pair(row: Floats, x: Any, u: Any) -> Any:
    """Two places in a row side by side, each between four samples."""
    a1, a2, a3 = row[x], row[x + np.uint64(1)], row[x + np.uint64(2)]
    one = u[0] * row[x - np.uint64(1)] + u[1] * a1 + u[2] * a2 + u[3] * a3
    return one, u[0] * a1 + u[1] * a2 + u[2] * a3 + u[3] * row[x + np.uint64(3)]


@kernel
def carry(
    source: Floats, own: Floats, way: Floats, weight: Floats, tied: bool, total: Floats, apart: Floats
) -> None:
    """Add what a neighbour ``source`` shows, read cubically along the ``way`` of every block, with its weight to ``total`` (c, h, w).

    ``source`` and ``own`` (c, h, w) have an edge of `EDGE` around them, ``way`` (2, h / 2, w / 2) is in pixels.
    ``tied``: ``apart`` (h / 2, w / 2) becomes the mean squared difference of the first plane from the picture's ``own``.
    """
    c, h, w = total.shape
    rows, columns = weight.shape
    wide, squares, moving = np.empty(w, np.float32), np.empty(w, np.float32), np.empty(columns, np.uint64)
    quarter, zero = np.float32(0.25), np.float32(0.0)
    for i in range(rows):
        count = np.uint64(0)
        across, down, share, difference = way[0, i], way[1, i], weight[i], apart[i]
        for j in range(np.uint64(columns)):
            rests = across[j] == zero and down[j] == zero
            wide[np.uint64(2) * j] = wide[np.uint64(2) * j + np.uint64(1)] = share[j] if rests else zero
            moving[count] = j
            count += np.uint64(not rests)
        for q in range(c):
            for a in range(2):
                given, target = source[q, 2 * i + a + EDGE, EDGE : EDGE + w], total[q, 2 * i + a]
                for x in range(w):
                    target[x] += wide[x] * given[x]
        if tied:
            for a in range(2):
                y = 2 * i + a + EDGE
                one, other = source[0, y, EDGE : EDGE + w], own[0, y, EDGE : EDGE + w]
                for x in range(w):
                    d = one[x] - other[x]
                    squares[x] = (squares[x] if a == 1 else zero) + d * d
            for j in range(columns):
                difference[j] = quarter * (squares[2 * j] + squares[2 * j + 1])
        for k in range(count):
            j = moving[k]
            x, right = _place(np.float32(np.uint64(2) * j) + across[j], w)
            y, low = _place(np.float32(2 * i) + down[j], h)
            u, v = _cubic(right), _cubic(low)
            at, after = np.uint64(2) * j, np.uint64(2) * j + np.uint64(1)
            for q in range(c):
                plane = source[q]
                a0, b0 = _pair(plane[y - np.uint64(1)], x, u)
                a1, b1 = _pair(plane[y], x, u)
                a2, b2 = _pair(plane[y + np.uint64(1)], x, u)
                a3, b3 = _pair(plane[y + np.uint64(2)], x, u)
                a4, b4 = _pair(plane[y + np.uint64(3)], x, u)
                p00, p10 = (
                    v[0] * a0 + v[1] * a1 + v[2] * a2 + v[3] * a3,
                    v[0] * a1 + v[1] * a2 + v[2] * a3 + v[3] * a4,
                )
                p01, p11 = (
                    v[0] * b0 + v[1] * b1 + v[2] * b2 + v[3] * b3,
                    v[0] * b1 + v[1] * b2 + v[2] * b3 + v[3] * b4,
                )
                above, below = total[q, 2 * i], total[q, 2 * i + 1]
                above[at] += share[j] * p00
                above[after] += share[j] * p01
                below[at] += share[j] * p10
                below[after] += share[j] * p11
                if tied and q == 0:
                    upper, lower = own[0, 2 * i + EDGE, EDGE:], own[0, 2 * i + EDGE + 1, EDGE:]
                    d00, d01, d10, d11 = (
                        p00 - upper[at],
                        p01 - upper[after],
                        p10 - lower[at],
                        p11 - lower[after],
                    )
                    difference[j] = quarter * (d00 * d00 + d01 * d01 + d10 * d10 + d11 * d11)


@kernel
def fit_samples(source: Floats, own: Floats, way: Floats, out: Floats) -> None:
    """What `fit` does for blocks, for single samples: ``way`` (2, h, w) is in pixels, of which a sample has two a side."""
    c = own.shape[0]
    h, w = out.shape
    share, half, one = np.float32(1.0 / c), np.float32(0.5), np.float32(1.0)
    for i in range(h):
        across, down, found = way[0, i], way[1, i], out[i]
        for j in range(np.uint64(w)):
            x, right = _place(np.float32(j) + half * across[j], w)
            y, low = _place(np.float32(i) + half * down[j], h)
            left, at = one - right, j + np.uint64(EDGE)
            total = np.float32(0.0)
            for q in range(c):
                first, second = source[q, y], source[q, y + np.uint64(1)]
                above = left * first[x] + right * first[x + np.uint64(1)]
                below = left * second[x] + right * second[x + np.uint64(1)]
                d = (one - low) * above + low * below - own[q, i + EDGE, at]
                total += d * d
            found[j] = total * share


@kernel
def _single(row: Floats, x: Any, u: Any) -> Any:
    """A place between four samples of a row."""
    return (
        u[0] * row[x - np.uint64(1)]
        + u[1] * row[x]
        + u[2] * row[x + np.uint64(1)]
        + u[3] * row[x + np.uint64(2)]
    )


@kernel
def carry_samples(
    source: Floats,
    way: Floats,
    given: Floats,
    misfit: Floats,
    level: Floats,
    allowance: float,
    severity: float,
    total: Floats,
    sums: Floats,
) -> None:
    """What `weigh` and `carry` do, for single samples, whose weights are a part of those ``given`` (h, w).

    ``allowance`` is in units of the ``level``; ``sums`` (2, h, w) are of the weights and their squares.
    """
    h, w = misfit.shape
    weight, wide, moving = np.empty(w, np.float32), np.empty(w, np.float32), np.empty(w, np.uint64)
    tiny, zero, half = np.float32(1e-9), np.float32(0.0), np.float32(0.5)
    for y in range(h):
        for x in range(w):
            v = level[y, x]
            e = max(misfit[y, x] - np.float32(allowance) * v, zero)
            r = np.divide(v, v + np.float32(severity) * e + tiny)
            weight[x] = r * r * given[y, x]
        mass, squares = sums[0, y], sums[1, y]
        for x in range(w):
            mass[x] += weight[x]
        for x in range(w):
            squares[x] += weight[x] * weight[x]
        across, down, count = way[0, y], way[1, y], np.uint64(0)
        for j in range(np.uint64(w)):
            rests = across[j] == zero and down[j] == zero
            wide[j] = weight[j] if rests else zero
            moving[count] = j
            count += np.uint64(not rests)
        for q in range(total.shape[0]):
            own, target = source[q, y + EDGE, EDGE : EDGE + w], total[q, y]
            for x in range(w):
                target[x] += wide[x] * own[x]
        for k in range(count):
            j = moving[k]
            at, right = _place(np.float32(j) + half * across[j], w)
            row, low = _place(np.float32(y) + half * down[j], h)
            u, v4 = _cubic(right), _cubic(low)
            for q in range(total.shape[0]):
                plane = source[q]
                value = (
                    v4[0] * _single(plane[row - np.uint64(1)], at, u)
                    + v4[1] * _single(plane[row], at, u)
                    + v4[2] * _single(plane[row + np.uint64(1)], at, u)
                    + v4[3] * _single(plane[row + np.uint64(2)], at, u)
                )
                total[q, y, j] += weight[j] * value


@kernel
def add_tie(weight: Floats, difference: Floats, level: Floats, scale: float, tied: Floats) -> None:
    """Add ``weight`` times the share of the noise that a neighbour has in common with the frame itself.

    ``difference`` is the mean squared difference of the noisy pictures: ``scale`` times the variance where their
    noise is independent, nearly 0 where a codec repeated it.
    """
    h, w = weight.shape
    for y in range(h):
        for x in range(w):
            share = np.divide(difference[y, x], np.float32(scale) * level[y, x] + np.float32(1e-9))
            common = np.float32(1.0) - share
            tied[y, x] += weight[y, x] * min(max(common, np.float32(0.0)), np.float32(1.0))
