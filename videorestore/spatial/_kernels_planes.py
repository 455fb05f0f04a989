"""Compiled kernels between planes and pixels: chroma to twice its resolution, luma to bytes."""

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
def to_bytes(plane: Floats, scale: float, out: NDArray[np.uint8]) -> None:
    """``scale`` times a plane ``(h, w)``, rounded to 0..255."""
    h, w = plane.shape
    for y in range(h):
        for x in range(w):
            value = plane[y, x] * np.float32(scale) + np.float32(0.5)
            out[y, x] = np.uint8(min(max(value, np.float32(0.0)), np.float32(255.0)))
