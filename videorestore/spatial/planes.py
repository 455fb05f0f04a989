"""Colour as planes in which channels are nearly independent, and white noise stays white."""

from __future__ import annotations

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
    if basis is not None and image.shape[-1] == 3:
        image = image @ basis.T.astype(np.float32)
    return np.ascontiguousarray(np.moveaxis(image, -1, -3), dtype=np.float32)


def from_planes(planes: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Inverse of :func:`to_planes`."""
    image = np.moveaxis(planes, -3, -1)
    if basis is not None and image.shape[-1] == 3:
        image = image @ np.linalg.inv(basis).T.astype(np.float32)
    return np.ascontiguousarray(image, dtype=np.float32)


def variance_to_planes(variance: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Variances ``(..., h, w, c)`` of independent channels as those of :func:`to_planes`' planes."""
    if basis is not None and variance.shape[-1] == 3:
        variance = variance @ np.square(basis).T.astype(np.float32)
    return np.ascontiguousarray(np.moveaxis(variance, -1, -3), dtype=np.float32)


def variance_from_planes(variance: FloatArray, *, basis: Basis | None = OPPONENT) -> FloatArray:
    """Variances of planes ``(..., c, h, w)`` as those of the image's channels, the planes taken as independent."""
    image = np.moveaxis(variance, -3, -1)
    if basis is not None and image.shape[-1] == 3:
        image = image @ np.square(np.linalg.inv(basis)).T.astype(np.float32)
    return np.ascontiguousarray(image, dtype=np.float32)
