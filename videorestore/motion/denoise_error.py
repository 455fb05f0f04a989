"""How far a denoised picture is from the truth: more than the posterior variance, whose covariance is an estimate.

What does not stand out of the noise is dropped and counts as not there, so the posterior variance is too small. If all
that the noise can hide were there, the error would be the noise itself. Errors were measured to lie between the two on a
scale of ratios, midway on smooth clips and nearer to the noise on textured ones: the variance is a geometric mean of both.
"""

from __future__ import annotations

import numpy as np

from videorestore.clip import FloatArray
from videorestore.spatial.noise import Noise

LUMA, CLAIM = 1.04, 0.4
"""Of the geometric mean, and the power of the posterior variance in it (ten clips at sd 10 and 50; `scripts/calibrate sd`)."""
CHROMA, CODED_CHROMA = 2.2, 3.0
"""Of the posterior variance: chroma hides little, a codec takes some of it (measured, `scripts/calibrate sd`)."""
_DOUBT = 2.5
"""How much an interval of the level that is as wide as the level itself raises the variance (measured)."""
_LOST = 0.37
"""Part of the squared width of the interval that a codec took of the picture (measured)."""
_TINY = np.float32(1e-9)


def luma_share(variance: FloatArray, guide: FloatArray, noise: FloatArray) -> FloatArray:
    """Luma's part ``(n, 1, h, w)`` of a variance that is known for all planes together.

    Parameters
    ----------
    variance, guide, noise : ndarray, shape (n, c, h, w)
        What is left, the same share of the noise in all planes; what is left in the guide, known for each plane; and
        the noise. The planes of the guide tell where the share belongs.
    """
    c = variance.shape[1]
    if c == 1:
        return variance
    shares = guide / np.maximum(noise, _TINY)
    part = np.float32(c) * shares[:, :1] / np.maximum(shares.sum(axis=1, keepdims=True), _TINY)
    return np.asarray(variance[:, :1] * part)


def error_variance(
    luma: FloatArray, along: FloatArray, chroma: FloatArray, noise: Noise
) -> tuple[FloatArray, FloatArray]:
    """Variance of the error in luma and chroma.

    Parameters
    ----------
    luma, along : ndarray, shape (n, 1, h, w)
        Posterior variance, and that of the noise in the mean along motion, in which structure was looked for.
    chroma : ndarray, shape (n, 2, ...)
        Posterior variance, at any resolution; of grey pictures empty (n, 0, ...).
    noise : Noise
        As it was assumed.
    """
    doubt = 1 + _DOUBT * ((noise.high - noise.low) / noise.sd) ** 2
    factor = doubt * (CODED_CHROMA if noise.codec else CHROMA)
    hidden = along * np.power(luma / np.maximum(along, _TINY), np.float32(CLAIM))
    return np.float32(doubt * LUMA) * hidden, np.float32(factor) * chroma


def lost_to_codec(noise: Noise) -> float:
    """Variance in every channel of what a codec took of the picture."""
    return _LOST * (noise.high - noise.low) ** 2 if noise.codec else 0.0
