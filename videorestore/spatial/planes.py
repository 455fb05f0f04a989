"""Colour as planes in which channels are nearly independent, and white noise stays white."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray

Basis = NDArray[np.float64]
"""Rows of unit length: what each plane is made of. Variances of white noise are the same in all planes."""

OPPONENT: Basis = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
"""Orthonormal: brightness, red less blue, green against both."""

_YCBCR = np.array([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
LUMA_CHROMA: Basis = _YCBCR / np.linalg.norm(_YCBCR, axis=1, keepdims=True)
"""Luma and chroma as codecs keep them: only there is the noise of a 4:2:0 file at full resolution in one plane."""


def to_planes(image: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Image ``(..., h, w, c)`` as contiguous planes ``(..., c, h, w)``; a basis applies to three channels only."""
    *lead, h, w, c = image.shape
    if c == 1:
        return np.ascontiguousarray(image, np.float32).reshape(*lead, 1, h, w)
    planes = np.empty((*lead, c, h, w), np.float32)
    for own, out in zip(image.reshape(-1, h, w, c), planes.reshape(-1, c, h, w)):
        cv2.split(_mixed(np.ascontiguousarray(own, np.float32), basis), list(out))
    return planes


def from_planes(planes: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Inverse of :func:`to_planes`."""
    return _mixed(interleaved(planes), None if basis is None else np.linalg.inv(basis).astype(np.float64))


def variance_to_planes(variance: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Variances ``(..., h, w, c)`` of independent channels as those of :func:`to_planes`' planes."""
    return to_planes(variance, basis=None if basis is None else np.square(basis))


def variance_from_planes(variance: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Variances of planes ``(..., c, h, w)`` as those of the image's channels, the planes taken as independent."""
    return _mixed(interleaved(variance), None if basis is None else np.square(np.linalg.inv(basis)))


def interleaved(planes: FloatArray) -> FloatArray:
    """Planes ``(..., c, h, w)`` as images ``(..., h, w, c)``."""
    *lead, c, h, w = planes.shape
    if c == 1:
        return np.ascontiguousarray(planes, np.float32).reshape(*lead, h, w, 1)
    images = np.empty((*lead, h, w, c), np.float32)
    # NumPy copies sample by sample where the last axis moves; this takes an eighth of the time.
    for own, image in zip(planes.reshape(-1, c, h, w), images.reshape(-1, h, w, c)):
        cv2.merge([np.ascontiguousarray(p, np.float32) for p in own], image)
    return images


def _mixed(image: FloatArray, basis: Basis | None) -> FloatArray:
    """Image ``(..., h, w, c)`` in another basis, if it has three channels and there is one."""
    if basis is None or image.shape[-1] != 3:
        return image
    rows = np.ascontiguousarray(image, np.float32).reshape(-1, image.shape[-2], 3)
    return np.asarray(cv2.transform(rows, basis), np.float32).reshape(image.shape)


def plane_mean(planes: FloatArray) -> FloatArray:
    """Mean ``(..., h, w)`` over planes ``(..., c, h, w)``; a single one is itself."""
    return planes[..., 0, :, :] if planes.shape[-3] == 1 else planes.mean(axis=-3)
