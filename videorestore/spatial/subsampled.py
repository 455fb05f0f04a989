"""Chroma at half the resolution of the picture, as most files keep it: found, taken out and put back.

The two directions are inverse to each other: :func:`scatter` keeps the mean over the four pixels of every sample,
and :func:`gather` takes that mean, as `videorestore.colour` does with files.
"""

from __future__ import annotations

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.spatial._kernels_planes import refine


def gather(planes: FloatArray) -> FloatArray:
    """Means over 2x2 pixels of planes ``(..., h, w)`` with even sides."""
    *rest, h, w = planes.shape
    out = np.empty((*rest, h // 2, w // 2), np.float32)
    for own, small in zip(np.asarray(planes, np.float32).reshape(-1, h, w), out.reshape(-1, h // 2, w // 2)):
        cv2.resize(own, (w // 2, h // 2), dst=small, interpolation=cv2.INTER_AREA)
    return out


def scatter(planes: FloatArray) -> FloatArray:
    """Planes ``(..., h, w)`` at twice the resolution, linear within each sample, with its mean unchanged."""
    *rest, h, w = planes.shape
    out = np.empty((*rest, 2 * h, 2 * w), np.float32)
    for own, fine in zip(planes.reshape(-1, h, w), out.reshape(-1, 2 * h, 2 * w)):
        refine(own, fine)
    return out


def doubled(maps: FloatArray) -> FloatArray:
    """Maps of blocks ``(..., h, w)`` as maps of pixels ``(..., 2 h, 2 w)``."""
    *lead, h, w = maps.shape
    out = np.empty((*lead, 2 * h, 2 * w), np.float32)
    for own, wide in zip(maps.reshape(-1, h, w), out.reshape(-1, 2 * h, 2 * w)):
        cv2.resize(own, (2 * w, 2 * h), dst=wide, interpolation=cv2.INTER_NEAREST)
    return out


def widened(picture: FloatArray) -> FloatArray:
    """A picture ``(h, w, c)`` of blocks of 2 x 2 pixels as one of pixels."""
    h, w = picture.shape[:2]
    return np.asarray(cv2.resize(picture, (2 * w, 2 * h), interpolation=cv2.INTER_NEAREST))


def recombined(luma: FloatArray, chroma: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Luma ``(h, w)`` and chroma ``(2, h / 2, w / 2)`` from such, by ``weights`` (3, 4) of the three and of one."""
    across = weights[1:, :1, None] * gather(luma) + weights[1:, 3:, None]
    across += np.tensordot(weights[1:, 1:3], chroma, 1)
    out = luma * weights[0, 0] + weights[0, 3]
    if np.abs(weights[0, 1:3]).max() > _NOTHING:
        out += scatter(np.tensordot(weights[0, 1:3], chroma, 1))
    return out, across


_NOTHING = 1e-6
"""Weights of chroma in luma that are rounding errors: both are of the same matrix."""

_SHARE, _ROUNDING = 0.1, 0.3
"""Samples of half the resolution may leave so much unexplained: of the noise's variance, and by rounding to 8 bit."""


def find_grid(chroma: FloatArray, sd: float) -> tuple[int, int] | None:
    """Row and column (0 or 1 each) at which the first whole chroma sample of a picture starts.

    Parameters
    ----------
    chroma : ndarray, shape (c, h, w)
        Planes in which white noise of the picture's channels keeps its sd.
    sd : float
        Of that noise.

    Returns
    -------
    tuple of int, or None
        None where the chroma has the full resolution. A part of a larger picture may start within a sample.
    """
    h, w = chroma.shape[-2:]
    if h < 16 or w < 16:
        return None
    rests = {}
    for y in (0, 1):
        for x in (0, 1):
            part = chroma[..., y : y + (h - y) // 2 * 2, x : x + (w - x) // 2 * 2]
            small = gather(part)
            # Interpolated or repeated. Slopes at the border are not those of the whole picture.
            rests[y, x] = min(
                float(np.mean(np.square(part - fine)[..., 4:-4, 4:-4], dtype=np.float64))
                for fine in (scatter(small), small.repeat(2, axis=-2).repeat(2, axis=-1))
            )
    best = min(rests, key=lambda place: rests[place])
    if rests[0, 0] <= 2 * rests[best] + 1e-6:
        best = (0, 0)
    return best if rests[best] <= _SHARE * sd * sd + _ROUNDING else None
