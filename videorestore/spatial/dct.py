"""Shrinkage of overlapped 8x8 cosine blocks: the posterior mean of an image alone, without its neighbours in time.

A block's cosine coefficients are taken as independent Gaussians. A first pass keeps those that stand out of the
noise; their squares are the prior variances of a second pass, the empirical Wiener filter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.spatial._kernels_dct import shrink_planes

THRESHOLD = 2.7
"""Coefficients below this many standard deviations of the noise are dropped by the first pass."""

_OPPONENT = np.array(
    [
        [1 / np.sqrt(3), 1 / np.sqrt(3), 1 / np.sqrt(3)],
        [1 / np.sqrt(2), 0.0, -1 / np.sqrt(2)],
        [1 / np.sqrt(6), -2 / np.sqrt(6), 1 / np.sqrt(6)],
    ],
    dtype=np.float32,
)


def to_planes(image: FloatArray, *, opponent: bool = True) -> FloatArray:
    """Image ``(..., h, w, c)`` as contiguous planes ``(..., c, h, w)``; three channels in orthonormal opponent colours."""
    if opponent and image.shape[-1] == 3:
        image = image @ _OPPONENT.T
    return np.ascontiguousarray(np.moveaxis(image, -1, -3), dtype=np.float32)


def from_planes(planes: FloatArray, *, opponent: bool = True) -> FloatArray:
    """Inverse of :func:`to_planes`."""
    image = np.moveaxis(planes, -3, -1)
    if opponent and image.shape[-1] == 3:
        image = image @ _OPPONENT
    return np.ascontiguousarray(image, dtype=np.float32)


def variance_to_planes(variance: FloatArray, *, opponent: bool = True) -> FloatArray:
    """Variances ``(..., h, w, c)`` of independent channels as those of :func:`to_planes`' planes."""
    if opponent and variance.shape[-1] == 3:
        variance = variance @ np.square(_OPPONENT).T
    return np.ascontiguousarray(np.moveaxis(variance, -1, -3), dtype=np.float32)


def variance_from_planes(variance: FloatArray, *, opponent: bool = True) -> FloatArray:
    """Variances of planes ``(..., c, h, w)`` as those of the image's channels, the planes taken as independent."""
    image = np.moveaxis(variance, -3, -1)
    if opponent and image.shape[-1] == 3:
        image = image @ np.square(_OPPONENT)
    return np.ascontiguousarray(image, dtype=np.float32)


def kaiser(beta: float) -> NDArray[np.float32]:
    """Window of the eight samples of a block, along one axis."""
    return np.kaiser(8, beta).astype(np.float32)


def shrink_in_planes(
    planes: FloatArray,
    variance: FloatArray,
    *,
    pilot: FloatArray | None = None,
    step: int = 4,
    threshold: float = THRESHOLD,
    beta: float = 2.0,
) -> tuple[FloatArray, FloatArray]:
    """Like :func:`shrink`, on planes ``(c, h, w)`` with variances; nothing is checked.

    Returns the planes and their posterior variances.
    """
    window = kaiser(beta)
    out = np.empty_like(planes)
    spread = np.empty_like(planes)
    if pilot is None:
        pilot = np.empty_like(planes)
        shrink_planes(planes, planes, variance, window, step, threshold, False, pilot, spread)
    shrink_planes(planes, pilot, variance, window, step, threshold, True, out, spread)
    return out, spread


def shrink(
    image: ArrayLike,
    sd: ArrayLike,
    *,
    step: int = 4,
    threshold: float = THRESHOLD,
    opponent: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Denoise one image by shrinking its overlapped 8x8 cosine coefficients.

    Parameters
    ----------
    image : array, shape (h, w, c) or (h, w)
        Any size from 1x1 on; beyond the borders it is mirrored.
    sd : float or array, shape (h, w) or (h, w, c)
        Standard deviation of the noise of every pixel. Where it is 0 the image passes through.
    step : {1, 2, 4, 8}
        Distance of the blocks: 4 is quick, 2 a little better at four times the cost.
    threshold : float
        In standard deviations, of the first pass.
    opponent : bool
        Three channels are turned to luma and two colour differences first.

    Returns
    -------
    image, sd : ndarray, float32, shape (h, w, c) or (h, w)
        Posterior mean and standard deviation of every pixel.
    """
    pixels = np.asarray(image, dtype=np.float32)
    flat = pixels.ndim == 2
    if flat:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or 0 in pixels.shape:
        raise InputError(f"image must have shape (h, w, c) or (h, w), got {np.shape(image)}; pass one image.")
    if step not in (1, 2, 4, 8):
        raise InputError(f"step must be 1, 2, 4 or 8, got {step}; 4 is the usual one.")
    noise = np.asarray(sd, dtype=np.float32)
    if noise.ndim == 2:
        noise = noise[..., None]
    try:
        variance = np.broadcast_to(np.square(noise), pixels.shape)
    except ValueError as error:
        raise InputError(
            f"sd must be a number or have shape {pixels.shape[:2]} or {pixels.shape}, got {np.shape(sd)}; "
            "crop or resize it like the image."
        ) from error
    mean, spread = shrink_in_planes(
        to_planes(pixels, opponent=opponent),
        variance_to_planes(variance, opponent=opponent),
        step=step,
        threshold=threshold,
    )
    result = from_planes(mean, opponent=opponent)
    deviation = np.sqrt(variance_from_planes(spread, opponent=opponent))
    if flat:
        return result[..., 0], deviation[..., 0]
    return result, deviation
