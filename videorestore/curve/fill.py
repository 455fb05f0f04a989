"""Whole frames that are not there, on a curve: alone, or beside what motion makes of them.

The curve's own claim does not know that things move, nor how surely a time tells the latent position. So the frames around
a new one are foreseen from the others, in closed form and at the positions that their neighbours' times tell: their errors,
place by place, are those of the new one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray

if TYPE_CHECKING:
    # Who asks only how much noise is much needs no statistics.
    from videorestore.curve.fit import ShotCurve
    from videorestore.model.posterior import Weights

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]

_REACH = 2
"""Frames on either side of a new one whose errors are looked at; the worst counts."""

_AROUND = 3.0
"""Sigma of the window in which squared errors are averaged, in pixels."""

NOISY = 2.5
"""Noise sd above which frames are denoised before motion is sought in them, and what the curve leaves of it is shrunk in space."""

_MOTION = np.float32(0.3)
"""Squared error of motion over the variance that it claims, which is made to cover 95 %: .3 to 1.2 on natural clips."""

_ROUNDING = np.float32(1 / 12)
"""Variance of samples that were rounded."""


def opinion(
    frames: Any, fit: ShotCurve, targets: _Doubles, *, noise_sd: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """New frames on a curve, and how far off they are.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        The frames of the fit.
    fit : ShotCurve
    targets : ndarray, shape (m,)
        Times between those of the frames.
    noise_sd : float
        Noise of the frames, as far as it is sure.

    Returns
    -------
    mean : ndarray, float32, shape (m, height, width, channels)
    variance : ndarray, float32, shape (m, height, width, 1)
        Of the clean frame.
    """
    beside = [_beside(fit, time) for time in targets]
    near = np.unique(np.concatenate(beside))
    count, (height, width, channels) = len(targets), fit.shape
    weights = fit.posterior.weights(np.append(fit.place(targets), foreseen(fit, near)))
    weights = without(weights, count, fit, near)
    mean, sd = np.empty((2, count, height, width, channels), np.float32)
    error, claim = np.empty((2, len(near), height, width), np.float32)
    for y0, y1, block, columns in fit.strips(frames):
        made, spread = (part.reshape(-1, y1 - y0, width, channels) for part in weights.apply(block, columns))
        seen = block[near].reshape(made[count:].shape)
        noise = fit.posterior.fit.noise_var[columns].reshape(y1 - y0, width, channels)
        mean[:, y0:y1], sd[:, y0:y1] = made[:count], spread[:count]
        error[:, y0:y1] = np.square(seen - made[count:]).mean(axis=3)
        claim[:, y0:y1] = (np.square(spread[count:]) + noise).mean(axis=3)
    for picture in (*error, *claim):
        picture[...] = cv2.GaussianBlur(picture, (0, 0), _AROUND, borderType=cv2.BORDER_REFLECT)
    variance = np.empty((count, height, width, 1), np.float32)
    for k, members in enumerate(beside):
        at = np.searchsorted(near, members)
        # In a gap the curve itself claims to be less sure than it was of the frames beside.
        wider = np.maximum(np.square(sd[k]).mean(axis=2) / np.maximum(claim[at].mean(axis=0), 1e-6), 1)
        variance[k, ..., 0] = np.maximum(error[at].max(axis=0) - np.float32(noise_sd**2), 0) * wider
    if noise_sd > NOISY:
        from videorestore.spatial.dct import shrink

        for k in range(count):
            mean[k], _ = shrink(mean[k], sd[k])
    return mean, variance + _ROUNDING


def weigh(
    moved: FloatArray, moved_sd: FloatArray, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What motion and the curve say together, and its sd: each counts as far as it is sure, in every place.

    Parameters
    ----------
    moved, moved_sd : ndarray, shape (m, height, width, channels)
        Along motion.
    mean, variance : ndarray
        See `opinion`.
    """
    claimed = np.square(moved_sd)
    weight = _MOTION * claimed / (_MOTION * claimed + variance)
    step = mean - moved
    spread = claimed + weight * (variance - claimed) + weight * (1 - weight) * np.square(step)
    return np.asarray(moved + weight * step, np.float32), np.asarray(np.sqrt(spread), np.float32)


def _beside(fit: ShotCurve, time: float) -> _Ints:
    """Frames of the fit around a time."""
    after = int(np.searchsorted(fit.times, time))
    return np.arange(max(0, after - _REACH), min(len(fit.times), after + _REACH))


def foreseen(fit: ShotCurve, numbers: _Ints) -> _Doubles:
    """Latent positions of some frames, told by the times and positions of their neighbours."""
    from scipy.interpolate import PchipInterpolator

    places = fit.x[numbers].astype(np.float64)
    for k, number in enumerate(numbers):
        others = np.arange(max(0, number - 2), min(len(fit.times), number + 3))
        others = others[
            np.append(True, np.diff(fit.times[others]) > 0) & (fit.times[others] != fit.times[number])
        ]
        if len(others) > 1:
            at = np.clip(fit.times[number], fit.times[others[0]], fit.times[others[-1]])
            places[k] = PchipInterpolator(fit.times[others], fit.x[others])(at)
    return places


def without(weights: Weights, first: int, fit: ShotCurve, numbers: _Ints) -> Weights:
    """Weights of which the rows from ``first`` on have nothing of the frames ``numbers``, each of its own."""
    matrix, variance = weights.matrix.copy(), weights.variance.copy()
    known = weights.posterior.x
    rows = first + np.arange(len(numbers))
    own = np.clip(np.searchsorted(known, fit.x[numbers]), 0, len(known) - 1)
    for g, inverse in enumerate(weights.posterior.inverse):
        share, spared = matrix[g, rows, own], inverse[own, own]
        matrix[g, rows] -= (share / spared)[:, None] * inverse[own]
        variance[g, rows] += share * share / spared
    return replace(weights, matrix=matrix, variance=variance)
