"""SSIM by its definition: one window after the other."""

from __future__ import annotations

import numpy as np


def ssim(a: np.ndarray, b: np.ndarray) -> float:
    """Mean over all 11 x 11 windows that lie inside, with Gaussian weights of sd 1.5."""
    offsets = np.arange(-5, 6)
    weights = np.exp(-(offsets[:, None] ** 2 + offsets[None, :] ** 2) / (2 * 1.5**2))
    weights /= weights.sum()
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    values = []
    for y in range(5, a.shape[0] - 5):
        for x in range(5, a.shape[1] - 5):
            p, q = (picture[y - 5 : y + 6, x - 5 : x + 6].astype(np.float64) for picture in (a, b))
            mp, mq = (weights * p).sum(), (weights * q).sum()
            vp, vq = (weights * (p - mp) ** 2).sum(), (weights * (q - mq) ** 2).sum()
            both = (weights * (p - mp) * (q - mq)).sum()
            values.append((2 * mp * mq + c1) * (2 * both + c2) / ((mp**2 + mq**2 + c1) * (vp + vq + c2)))
    return float(np.mean(values))
