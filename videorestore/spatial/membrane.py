"""Smooth fills from what is known: a push-pull membrane and a normalised Gaussian mean."""

from __future__ import annotations

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.errors import InputError

_FULL = 1e-6
"""A weight below this counts as nothing known."""


def push_pull(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Fill an image smoothly where its weight is low.

    Weighted means are pushed down a pyramid until everything is covered, then pulled up again into the
    places with weight below one: a cheap membrane through the known pixels.

    Parameters
    ----------
    values : ndarray, shape (height, width) or (height, width, channels)
        Values where the weight is zero are never read and may be NaN.
    weights : ndarray, shape (height, width)
        Trust in every pixel, 0 (hole) to 1 (known, returned as it is). Booleans are fine.

    Returns
    -------
    ndarray, shape of values
        Zero everywhere if nothing at all is known.
    """
    values, trust = _checked(values, weights)
    flat = values.reshape(*values.shape[:2], -1)
    filled = _pull(np.where(trust[..., None] > 0, flat, np.float32(0)), trust)
    return filled.reshape(values.shape)


def gaussian_mean(
    values: FloatArray, weights: FloatArray, sigma: float, *, fallback: FloatArray | float = 0.0
) -> FloatArray:
    """Normalised Gaussian mean of the known pixels.

    Parameters
    ----------
    values : ndarray, shape (height, width) or (height, width, channels)
        Values where the weight is zero are never read and may be NaN.
    weights : ndarray, shape (height, width)
        Trust in every pixel, 0 or more.
    sigma : float
        Standard deviation of the window in pixels.
    fallback : float or ndarray that broadcasts to values
        Returned, gradually, where (almost) nothing is known within the window.

    Returns
    -------
    ndarray, shape of values
    """
    values, trust = _checked(values, weights)
    spread = trust.reshape(trust.shape + (1,) * (values.ndim - 2))
    top = blur(np.where(spread > 0, values * spread, np.float32(0)), sigma)
    below = blur(trust, sigma).reshape(spread.shape)
    floor = np.float32(1e-3)
    mean: FloatArray = (top + floor * np.asarray(fallback, np.float32)) / (below + floor)
    return mean


def blur(image: FloatArray, sigma: float) -> FloatArray:
    """Gaussian blur of an image ``(height, width[, channels])``, mirrored at the borders."""
    size = 2 * int(np.ceil(3 * sigma)) + 1
    blurred = cv2.GaussianBlur(
        np.ascontiguousarray(image, np.float32), (size, size), sigma, borderType=cv2.BORDER_REFLECT
    )
    return np.asarray(blurred, np.float32).reshape(image.shape)


def _pull(values: FloatArray, trust: FloatArray) -> FloatArray:
    """One level of the pyramid; ``values`` is zero where ``trust`` is."""
    height, width = trust.shape
    if trust.min() >= 1 or max(height, width) == 1:
        return values
    pad = ((0, height % 2), (0, width % 2))
    weight: FloatArray = np.pad(trust, pad)
    load: FloatArray = np.pad(values * trust[..., None], (*pad, (0, 0)))
    below = _halved(weight[..., None])
    means = _halved(load) / np.maximum(below, np.float32(_FULL))
    # One known pixel of four is enough to know the coarse pixel.
    coarse = _pull(means.astype(np.float32), np.minimum(4 * below[..., 0], 1).astype(np.float32))
    rough = cv2.resize(coarse, (weight.shape[1], weight.shape[0]), interpolation=cv2.INTER_LINEAR)
    rough = rough.reshape(*weight.shape, -1)[:height, :width]
    keep = trust[..., None]
    return np.where(keep >= 1, values, keep * values + (1 - keep) * rough).astype(np.float32)


def _halved(image: FloatArray) -> FloatArray:
    """Mean of each 2 x 2 block."""
    total: FloatArray = image[::2, ::2] + image[1::2, ::2] + image[::2, 1::2] + image[1::2, 1::2]
    return total * np.float32(0.25)


def _checked(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    if values.ndim not in (2, 3) or weights.shape != values.shape[:2]:
        raise InputError(
            f"weights must have the height and width of the values {values.shape}, got {weights.shape}; "
            "crop them alike."
        )
    trust = np.clip(np.asarray(weights, np.float32), 0, None)
    return np.asarray(values, np.float32), trust
