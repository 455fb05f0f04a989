"""Compiled kernels between planes and pixels: chroma to twice its resolution, planes to channels with their sd."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]


@kernel
def refine(plane: Floats, out: Floats) -> None:
    """A plane ``(h, w)`` at twice the resolution ``(2 h, 2 w)``, linear within each sample, first down, then across."""
    h, w = plane.shape
    eighth = np.float32(0.125)
    row = np.empty(w + 2, np.float32)
    inner = row[1 : w + 1]
    for y in range(h):
        above, own, below = plane[max(y - 1, 0)], plane[y], plane[min(y + 1, h - 1)]
        for half in range(2):
            share = eighth if half == 1 else -eighth
            for x in range(w):
                inner[x] = own[x] + share * (below[x] - above[x])
            row[0], row[w + 1] = row[1], row[w]
            left, right = row[:w], row[2 : w + 2]
            target = out[2 * y + half]
            for x in range(w):
                slope = eighth * (right[x] - left[x])
                target[2 * x] = inner[x] - slope
                target[2 * x + 1] = inner[x] + slope


@kernel
def colour_pixels(
    planes: Floats,
    luma: Floats,
    chroma: Floats,
    step: int,
    inverse: Floats,
    squares: Floats,
    extra: float,
    top: int,
    left: int,
    mean: Floats,
    sd: Floats,
) -> None:
    """Channels ``mean`` (h, w, 3) from three ``planes`` from ``(top, left)`` on, and their ``sd``.

    The variances are ``luma`` (rows, columns) and ``chroma`` (2, rows / step, columns / step); ``extra`` is added to that of
    every channel. ``inverse`` (3, 3) leads from planes to channels, ``squares`` from their variances.
    """
    h, w = mean.shape[:2]
    wide = np.empty((2, left + w + step), np.float32)
    row = np.empty((6, w), np.float32)
    for y in range(h):
        at = top + y
        a, b, c = (
            planes[0, at, left : left + w],
            planes[1, at, left : left + w],
            planes[2, at, left : left + w],
        )
        for k in range(2):
            source = chroma[k, at // step]
            for i in range(source.shape[0]):
                for j in range(step):
                    if i * step + j < wide.shape[1]:
                        wide[k, i * step + j] = source[i]
        p, q, r = luma[at, left : left + w], wide[0, left : left + w], wide[1, left : left + w]
        for k in range(3):
            value, error = row[k], row[3 + k]
            for x in range(w):
                value[x] = inverse[k, 0] * a[x] + inverse[k, 1] * b[x] + inverse[k, 2] * c[x]
            for x in range(w):
                total = squares[k, 0] * p[x] + squares[k, 1] * q[x] + squares[k, 2] * r[x]
                error[x] = np.sqrt(total + np.float32(extra))
        for x in range(w):
            for k in range(3):
                mean[y, x, k] = row[k, x]
                sd[y, x, k] = row[3 + k, x]


@kernel
def to_bytes(plane: Floats, scale: float, out: NDArray[np.uint8]) -> None:
    """``scale`` times a plane ``(h, w)``, rounded to 0..255."""
    h, w = plane.shape
    for y in range(h):
        for x in range(w):
            value = plane[y, x] * np.float32(scale) + np.float32(0.5)
            out[y, x] = np.uint8(min(max(value, np.float32(0.0)), np.float32(255.0)))
