"""Shrinkage of overlapped 8x8 cosine blocks: the posterior mean of an image alone, without its neighbours in time.

A block's cosine coefficients are taken as independent Gaussians. A first pass keeps those that stand out of the
noise; their squares are the prior variances of a second pass, the empirical Wiener filter.
"""

from __future__ import annotations

import numpy as np

from videorestore.clip import FloatArray
from videorestore.spatial._kernels_dct import shrink_planes
from videorestore.spatial.planes import from_planes, to_planes, variance_from_planes, variance_to_planes
from videorestore.spatial.subsampled import gather, scatter

THRESHOLD = 2.7
"""Coefficients below this many standard deviations of the noise are dropped by the first pass."""

WINDOW: FloatArray = np.kaiser(8, 2.0).astype(np.float32)
"""Of the eight samples of a block, along one axis."""

WHITE: FloatArray = np.ones(64, np.float32)
"""Shape of noise that has the same variance at all frequencies."""
WHITE.flags.writeable = False


def share_in_mean(shape: FloatArray, box: tuple[int, int]) -> float:
    """Variance of the mean over a box of ``(rows, columns)`` of noise, over that of a pixel.

    ``shape`` (64,) is its variance by frequency, row by row. White noise has one over the number of pixels.
    """
    # An integral over frequencies by trapezoids: from the lowest to half the sampling rate, which has no coefficient.
    half = np.arange(9) * np.pi / 16
    ends = np.array([0.5, *[1.0] * 7, 0.5])
    wide = np.pad(np.reshape(shape, (8, 8)), ((0, 1), (0, 1)), mode="edge") * np.outer(ends, ends)
    responses = (np.square(np.r_[1.0, np.sin(k * half[1:]) / (k * np.sin(half[1:]))]) for k in box)
    return float((wide * np.outer(*responses)).sum() / wide.sum())


def halved(shape: FloatArray) -> FloatArray:
    """Variances ``(64,)`` by frequency, over their mean, of noise whose pixels are averaged in squares of four."""
    at = np.arange(8) / 2
    response = np.square(np.cos(at * np.pi / 16))
    grid = np.asarray(shape, np.float64).reshape(8, 8)
    rows = np.array([np.interp(at, np.arange(8), row) for row in grid])
    both = np.array([np.interp(at, np.arange(8), column) for column in rows.T]).T * np.outer(
        response, response
    )
    return np.asarray(both.ravel() / both.mean(), np.float32)


def with_low_band(fine: FloatArray, noisy: FloatArray, variance: FloatArray, shape: FloatArray) -> FloatArray:
    """Shrunk planes ``(c, h, w)``, with what is smooth over whole blocks taken from a shrinkage at half their resolution.

    A block keeps its mean, which for smooth noise is most of it. ``noisy``, ``variance`` and ``shape`` are those of the
    shrinkage that gave ``fine``.
    """
    h, w = fine.shape[1:]
    pad = ((0, 0), (0, h % 2), (0, w % 2))
    small, level, own = (gather(np.pad(p, pad, mode="edge")) for p in (noisy, variance, fine))
    low, _ = shrink_in_planes(
        small, level * np.float32(share_in_mean(shape, (2, 2))), step=2, first_step=4, shape=halved(shape)
    )
    return np.asarray(fine + scatter(low - own)[:, :h, :w])


def shrink_in_planes(
    planes: FloatArray,
    variance: FloatArray,
    *,
    step: int = 4,
    shape: FloatArray = WHITE,
    first_step: int | None = None,
    out: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Like :func:`shrink`, on planes ``(c, h, w)`` with variances.

    ``step`` is the distance of the blocks: 4 is quick, 2 a little better at four times the cost. ``shape`` (64,) multiplies the variance of each frequency, row by row; ``first_step`` is that of the first pass,
    the second's unless given. Returns the planes and their posterior variances, in ``out`` where that is given.
    """
    shape = np.array(shape, np.float32)
    pilot = np.empty_like(planes)
    mean, spread = out or (np.empty_like(planes), np.empty_like(planes))
    given = (variance, shape, WINDOW)
    shrink_planes(planes, planes, *given, first_step or step, THRESHOLD, False, pilot, spread)
    shrink_planes(planes, pilot, *given, step, THRESHOLD, True, mean, spread)
    return mean, spread


def shrink(image: FloatArray, sd: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Denoise one image ``(h, w, c)`` by shrinking its overlapped 8x8 cosine coefficients.

    Parameters
    ----------
    image : ndarray, shape (h, w, c)
        Any size from 1x1 on; beyond the borders it is mirrored.
    sd : float or ndarray that broadcasts to the image
        Standard deviation of the noise of every pixel. Where it is 0 the image passes through.

    Returns
    -------
    image, sd : ndarray, float32, shape (h, w, c)
        Posterior mean and standard deviation of every pixel.
    """
    pixels = np.asarray(image, np.float32)
    variance = np.broadcast_to(np.square(np.asarray(sd, np.float32)), pixels.shape)
    mean, spread = shrink_in_planes(to_planes(pixels), variance_to_planes(variance))
    return from_planes(mean), np.sqrt(variance_from_planes(spread))
