"""Slow twin of the overlapped cosine shrinkage: one block after the other, with SciPy's transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

Image = NDArray[np.float64]


def _mirror(i: int, n: int) -> int:
    i %= 2 * n
    return i if i < n else 2 * n - 1 - i


def _pass(
    noisy: Image, pilot: Image | None, variance: Image, shape: Image, step: int, threshold: float
) -> tuple[Image, Image]:
    h, w = noisy.shape
    edge = np.kaiser(8, 2.0)
    window = np.outer(edge, edge)
    total, mass, second = np.zeros((h, w)), np.zeros((h, w)), np.zeros((h, w))
    for y in range(step - 8, h, step):
        for x in range(step - 8, w, step):
            rows = [_mirror(y + i, h) for i in range(8)]
            columns = [_mirror(x + j, w) for j in range(8)]
            block = dctn(noisy[np.ix_(rows, columns)], norm="ortho")
            level = variance[np.ix_(rows, columns)].mean()
            if pilot is None:
                gain = (np.square(block) >= threshold**2 * level * shape).astype(float)
            else:
                p = np.square(dctn(pilot[np.ix_(rows, columns)], norm="ortho")) + 1e-12
                gain = p / (p + level * shape)
            gain[0, 0] = 1.0
            weight = 1 / ((level + 1e-12) * (1 + np.square(gain).sum()))
            restored = idctn(block * gain, norm="ortho")
            for i in range(8):
                for j in range(8):
                    if 0 <= y + i < h and 0 <= x + j < w:
                        a = weight * window[i, j]
                        total[y + i, x + j] += a * restored[i, j]
                        mass[y + i, x + j] += a
                        second[y + i, x + j] += a * level * (gain * shape).sum() / 64
    return total / mass, second / mass


def shrink_plane(
    noisy: Image,
    variance: Image,
    *,
    step: int = 4,
    threshold: float = 2.7,
    shape: Image | None = None,
    first_step: int | None = None,
) -> tuple[Image, Image]:
    """Mean and variance of one plane: hard threshold, then Wiener with that as pilot."""
    shape = np.ones((8, 8)) if shape is None else shape
    pilot, _ = _pass(noisy, None, variance, shape, first_step or step, threshold)
    return _pass(noisy, pilot, variance, shape, step, threshold)
