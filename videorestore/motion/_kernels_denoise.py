"""Compiled kernels of the posterior along motion: how well a neighbour fits, and its part in the mean.

``np.divide`` stands for ``/``, which would be compiled with a test for 0 and not as a vector loop.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]


@kernel
def squared_difference(a: Floats, b: Floats, out: Floats) -> None:
    """``out[y, x]`` = mean over the channels of the squared difference of two images ``(h, w, c)``."""
    h, w, c = a.shape
    share = np.float32(1.0 / c)
    for y in range(h):
        for x in range(w):
            s = np.float32(0.0)
            for q in range(c):
                d = a[y, x, q] - b[y, x, q]
                s += d * d
            out[y, x] = s * share


@kernel
def advance(flow: Floats, single: Floats, x: Floats, y: Floats) -> None:
    """Add a step ``(h, w, 2)`` to ``flow``; ``x``, ``y`` (h, w) become the places it leads to."""
    h, w = x.shape
    for i in range(h):
        for j in range(w):
            flow[i, j, 0] += single[i, j, 0]
            flow[i, j, 1] += single[i, j, 1]
            x[i, j] = np.float32(j) + flow[i, j, 0]
            y[i, j] = np.float32(i) + flow[i, j, 1]


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
    for i in range(h):
        for j in range(w):
            if still[i, j] <= np.float32(factor) * moved[i, j] + np.float32(margin) * level[i, j]:
                moved[i, j] = still[i, j]
                at_x[i, j] = np.float32(j)
                at_y[i, j] = np.float32(i)
                rest[i, j] = np.float32(1.0)
            else:
                at_x[i, j] = x[i, j]
                at_y[i, j] = y[i, j]
                rest[i, j] = np.float32(0.0)


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
    """Add a warped neighbour ``(h, w, c)`` with weight (v / (v + severity e))^2.

    ``v`` is the noise's variance ``level``, ``e`` the misfit beyond ``allowance``; all maps are ``(h, w)``.
    ``resting`` is the weight of those that ``rest``.
    """
    h, w, c = warped.shape
    tiny = np.float32(1e-9)
    for y in range(h):
        for x in range(w):
            v = level[y, x]
            e = max(misfit[y, x] - allowance[y, x], np.float32(0.0))
            r = np.divide(v, v + np.float32(severity) * e + tiny)
            k = r * r
            weight[y, x] = k
            resting[y, x] += k * rest[y, x]
            mass[y, x] += k
            squares[y, x] += k * k
            for q in range(c):
                total[y, x, q] += k * warped[y, x, q]


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
    """Like :func:`accumulate`, with the weight that another plane ``given`` of the picture has as its largest."""
    h, w, c = warped.shape
    tiny = np.float32(1e-9)
    for y in range(h):
        for x in range(w):
            v = level[y, x]
            r = np.divide(v, v + np.float32(severity) * max(misfit[y, x], np.float32(0.0)) + tiny)
            k = r * r * given[y, x]
            mass[y, x] += k
            squares[y, x] += k * k
            for q in range(c):
                total[y, x, q] += k * warped[y, x, q]


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
