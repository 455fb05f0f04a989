"""Two estimates of the same noisy samples, weighed place by place by Stein's unbiased estimate of their error.

For y = truth + noise of variance v and estimates f, g of the truth with d = g - f, the squared error of f + w d is,
up to what does not depend on w, 2 w d (f - y) + w^2 d^2 + 2 w v div d, all expected and summed over a window. Its
minimum is w = -sum[d (f - y) / v + div d] / sum[d^2 / v]. It costs about v / K for K samples in a window, so that no
threshold is needed. Means of clipped samples are judged as they are stored: Stein's identity holds for what is linear
in them.

The divergence div d is what both estimates make of a sample's own noise. Posterior variances over v tell it but for
three factors, which one random probe finds (Ramani, Blu and Unser, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray

WINDOW, WINDOW_FRAMES = 24, 9
"""Pixels and frames of a window; two boxes of this side, one after the other, so that weights change smoothly."""

_NEAR, _NEAR_FRAMES = 12, 3
"""Pixels and frames over which the gap of two estimates is averaged."""

PROBE = 0.1
"""Length of the probe as a share of the noise sd."""

_SPARED = np.float32(0.25)
"""Least share of a variance that is left: half of the sd."""

_TINY = np.float32(1e-9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """What of a sample's own noise is in the difference of two estimates, told by what they claim.

    Factors on the shares of the noise's variance that the ``first`` and the ``second`` leave, and on the squared ``gap``
    between them in units of that variance.
    """

    first: float
    second: float
    gap: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Two estimates of noisy samples, all ``(n, h, w, c)``.

    Attributes
    ----------
    data : ndarray
        The samples.
    noise : ndarray
        Variance of their noise.
    first, second : ndarray
        The estimates.
    first_left, second_left : ndarray
        Shares of the noise's variance that they claim to leave.
    """

    data: FloatArray
    noise: FloatArray
    first: FloatArray
    second: FloatArray
    first_left: FloatArray
    second_left: FloatArray

    def learn(self, probed: FloatArray) -> Divergence:
        """The factors by least squares.

        Parameters
        ----------
        probed : ndarray, shape (n, h, w, c)
            A probe of unit variance, times the change of ``second - first`` that it made, over its length.
        """
        told = np.stack([np.broadcast_to(part, probed.shape).ravel() for part in self._told()])
        told = told.astype(np.float64)
        factors = np.linalg.lstsq(told @ told.T, told @ probed.ravel().astype(np.float64), rcond=None)[0]
        return Divergence(first=float(factors[0]), second=float(factors[1]), gap=float(factors[2]))

    def _told(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        squares = np.square(self.second - self.first) / self.noise
        return self.first_left, self.second_left, _around(squares, _NEAR, _NEAR_FRAMES)

    def weight(self, divergence: Divergence) -> FloatArray:
        """Weight ``(n, h, w, 1)`` of the second estimate that has the least estimated error."""
        gap = self.second - self.first
        told = self._told()
        own = divergence.first * told[0] + divergence.second * told[1] + divergence.gap * told[2]
        against = _around(gap * (self.first - self.data) / self.noise + own, WINDOW, WINDOW_FRAMES)
        squares = _around(gap * gap / self.noise, WINDOW, WINDOW_FRAMES)
        return np.clip(-against / np.maximum(squares, _TINY), 0, 1)

    def spared(self, weight: FloatArray) -> FloatArray:
        """Share ``(n, h, w, 1)`` of the first estimate's variance that is left at such weights.

        The estimated error falls by w^2 d^2, or more where the weight reaches 1.
        """
        step = np.square(weight * (self.second - self.first))
        taken = _around(step, WINDOW, WINDOW_FRAMES) / np.maximum(
            _around(self.first_left * self.noise, WINDOW, WINDOW_FRAMES), _TINY
        )
        return np.asarray(np.maximum(1 - taken, _SPARED))

    def gain(self, weight: FloatArray, probed: FloatArray) -> float:
        """By how much the mean squared error of ``first`` falls with such weights; ``probed`` as in :meth:`learn`."""
        step = weight * (self.second - self.first)
        change = 2 * step * (self.first - self.data) + step * step + 2 * self.noise * weight * probed
        return -float(np.mean(change, dtype=np.float64))


def _around(values: NDArray[np.floating], side: int, frames: int) -> FloatArray:
    """Mean ``(n, h, w, 1)`` over the channels and a smooth window."""
    from scipy.ndimage import uniform_filter1d

    flat = values.mean(axis=-1, dtype=np.float32)
    for picture in flat:
        for _ in range(2):
            picture[...] = cv2.boxFilter(picture, -1, (side, side), borderType=cv2.BORDER_REFLECT)
    return np.asarray(uniform_filter1d(flat, min(frames, len(flat)), axis=0, mode="nearest"))[..., None]
