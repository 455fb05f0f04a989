"""Compiled kernels of the posterior along motion: how well a neighbour fits, and its part in the mean.

``np.divide`` stands for ``/``, which would be compiled with a test for 0 and not as a vector loop. Images ``(h, w, c)`` come as
their rows ``(h, w c)``: only then the compiler sees that the samples of a single channel lie side by side. Loops are short: with
more than four or five arrays the compiler makes no vector loop, as each of them might lie where another one does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]


def rows(image: Floats) -> Floats:
    """An image ``(h, w, c)`` as its rows ``(h, w c)``."""
    return image.reshape(image.shape[0], -1)


@kernel
def squared_difference(a: Floats, b: Floats, out: Floats) -> None:
    """``out[y, x]`` = mean over the channels of the squared difference of two images as rows ``(h, w c)``."""
    h, w = out.shape
    c = a.shape[1] // w
    share = np.float32(1.0 / c)
    for y in range(h):
        own, other, target = a[y], b[y], out[y]
        if c == 1:
            for x in range(w):
                d = own[x] - other[x]
                target[x] = d * d
        else:
            for x in range(w):
                s = np.float32(0.0)
                for q in range(c):
                    d = own[x * c + q] - other[x * c + q]
                    s += d * d
                target[x] = s * share


@kernel
def plane_difference(a: Floats, b: Floats, out: Floats) -> None:
    """The same of two pictures as planes ``(c, h, w)``."""
    c, h, w = a.shape
    share = np.float32(1.0 / c)
    for y in range(h):
        target = out[y]
        for x in range(w):
            target[x] = np.float32(0.0)
        for q in range(c):
            own, other = a[q, y], b[q, y]
            for x in range(w):
                d = own[x] - other[x]
                target[x] += d * d * share


@kernel
def advance(flow: Floats, single_x: Floats, single_y: Floats, x: Floats, y: Floats) -> None:
    """Add a step, two planes ``(h, w)``, to ``flow`` (2, h, w); ``x``, ``y`` (h, w) become the places it leads to."""
    h, w = x.shape
    for i in range(h):
        across, down = flow[0, i], flow[1, i]
        for j in range(w):
            across[j] += single_x[i, j]
        for j in range(w):
            x[i, j] = np.float32(j) + across[j]
        for j in range(w):
            down[j] += single_y[i, j]
        for j in range(w):
            y[i, j] = np.float32(i) + down[j]


@kernel
def settle(
    moved: Floats,
    still: Floats,
    level: Floats,
    factor: float,
    margin: float,
    x: Floats,
    y: Floats,
    at_x: Floats,
    at_y: Floats,
    rest: Floats,
) -> None:
    """Where rest explains a place nearly as well as motion, it rests: ``at_x``, ``at_y`` are its own then.

    ``moved`` becomes the misfit that counts, ``rest`` is 1 or 0; all are ``(h, w)``.
    """
    h, w = moved.shape
    one, zero = np.float32(1.0), np.float32(0.0)
    for i in range(h):
        for j in range(w):
            limit = np.float32(factor) * moved[i, j] + np.float32(margin) * level[i, j]
            rest[i, j] = one if still[i, j] <= limit else zero
        for j in range(w):
            moved[i, j] = still[i, j] if rest[i, j] > zero else moved[i, j]
        for j in range(w):
            at_x[i, j] = np.float32(j) if rest[i, j] > zero else x[i, j]
        for j in range(w):
            at_y[i, j] = np.float32(i) if rest[i, j] > zero else y[i, j]


@kernel
def accumulate(
    warped: Floats,
    misfit: Floats,
    level: Floats,
    allowance: Floats,
    severity: float,
    rest: Floats,
    total: Floats,
    mass: Floats,
    squares: Floats,
    resting: Floats,
    weight: Floats,
) -> None:
    """Add a warped neighbour as rows ``(h, w c)`` with weight (v / (v + severity e))^2.

    ``v`` is the noise's variance ``level``, ``e`` the misfit beyond ``allowance``; all maps are ``(h, w)``.
    ``resting`` is the weight of those that ``rest``.
    """
    h, w = misfit.shape
    tiny = np.float32(1e-9)
    for y in range(h):
        for x in range(w):
            v = level[y, x]
            e = max(misfit[y, x] - allowance[y, x], np.float32(0.0))
            r = np.divide(v, v + np.float32(severity) * e + tiny)
            weight[y, x] = r * r
        for x in range(w):
            resting[y, x] += weight[y, x] * rest[y, x]
        for x in range(w):
            mass[y, x] += weight[y, x]
        for x in range(w):
            squares[y, x] += weight[y, x] * weight[y, x]
        _add(warped[y], weight[y], total[y])


@kernel
def _add(row: Floats, weight: Floats, total: Floats) -> None:
    """Add a row ``(w c)`` with the weights ``(w)`` of its pixels."""
    w = weight.shape[0]
    c = row.shape[0] // w
    if c == 1:
        for x in range(w):
            total[x] += weight[x] * row[x]
    else:
        for x in range(w):
            for q in range(c):
                total[x * c + q] += weight[x] * row[x * c + q]


@kernel
def accumulate_given(
    warped: Floats,
    given: Floats,
    misfit: Floats,
    level: Floats,
    severity: float,
    total: Floats,
    mass: Floats,
    squares: Floats,
) -> None:
    """Like :func:`accumulate`, of planes ``(c, h, w)``, with the weight that another plane ``given`` has as its largest."""
    h, w = misfit.shape
    tiny = np.float32(1e-9)
    weight = np.empty(w, np.float32)
    for y in range(h):
        for x in range(w):
            v = level[y, x]
            r = np.divide(v, v + np.float32(severity) * max(misfit[y, x], np.float32(0.0)) + tiny)
            weight[x] = r * r * given[y, x]
        for x in range(w):
            mass[y, x] += weight[x]
        for x in range(w):
            squares[y, x] += weight[x] * weight[x]
        for q in range(warped.shape[0]):
            source, target = warped[q, y], total[q, y]
            for x in range(w):
                target[x] += weight[x] * source[x]


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
