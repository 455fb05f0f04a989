"""Denoise a shot that lies on a curve: posterior along the curve, then in space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray
from videorestore.curve.blocks import Blocks, wiener
from videorestore.curve.fit import ShotCurve, fit_shot
from videorestore.spatial.noise import LUMA, Noise
from videorestore.spatial.planes import from_planes, to_planes, variance_from_planes, variance_to_planes
from videorestore.spatial.stein import Divergence, Pair

TILE = 96
"""Side of the tiles that are filtered one by one, in pixels."""

_HALO = 24
"""Pixels around a tile that its blocks may read; more than two passes of the largest block reach back."""

_AT_ONCE = 2_000_000
"""Values that are brought through the curve at once."""

_LOST = 1.5
"""Error variance of the spatial pilot over its claim: thresholds lose detail that the claim does not count."""

_BOX = (7, 7)
"""Pixels over which the brightness that a noise variance belongs to, and a misfit, are looked up."""

_LEAST = np.float32(0.01)
"""Least variance of noise, which may vanish in black and white."""

_LARGE = Blocks(size=16, depth=64, step=8, stride=32)
"""Blocks that see more of smooth places and of what rests; their mean with the small ones is taken."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beside:
    """Another estimate of the frames, from elsewhere: half of the pilot, and weighed against the result in every place.

    Attributes
    ----------
    mean, sd : array, shape (n, height, width, channels)
        Means of the samples as they are stored, as here.
    divergence : Divergence
        Of the result less this estimate.
    """

    mean: Any
    sd: Any
    divergence: Divergence


def denoise(
    frames: Any,
    noise: Noise,
    *,
    beside: Beside | None = None,
    out: Any = None,
    out_sd: Any = None,
) -> tuple[Any, Any, ShotCurve]:
    """Posterior mean of every frame of a shot on one curve.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        In order; 0..255 scale.
    noise : Noise
    beside : Beside, optional
        Another estimate to be joined with.
    out, out_sd : arrays to write to, optional
        Of the shape of the frames, for example mapped from a file.

    Returns
    -------
    mean : array, shape (n, height, width, channels), float32
        Of the samples as they are stored: where noise was clipped, see `Noise.unclip`.
    sd : array, likewise
        Posterior sd of the clean pixel; the noise itself is not in it.
    fit : ShotCurve
        The curve that was laid through the frames.
    """
    _, height, width, _ = frames.shape
    mean = np.empty(frames.shape, np.float32) if out is None else out
    sd = np.empty(frames.shape, np.float32) if out_sd is None else out_sd
    fit = fit_shot(frames, sigma=noise.sd)
    weights = fit.posterior.weights(fit.x)
    for y0 in pulse.counted(range(0, height, TILE)):
        for x0 in pulse.counted(range(0, width, TILE)):
            y1, x1 = min(height, y0 + TILE), min(width, x0 + TILE)
            top, bottom = max(0, y0 - _HALO), min(height, y1 + _HALO)
            left, right = max(0, x0 - _HALO), min(width, x1 + _HALO)
            noisy = np.array(frames[:, top:bottom, left:right], np.float32)
            rows, columns = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
            if noise.sd <= 0:
                values, spread = noisy, np.zeros_like(noisy)
            else:
                along = _along(weights, fit.shape, noisy, top, left)
                values, spread = _tile(noisy, along, noise, _cut(beside, top, bottom, left, right))
            mean[:, y0:y1, x0:x1] = values[:, rows, columns]
            sd[:, y0:y1, x0:x1] = spread[:, rows, columns]
    return mean, sd, fit


def _cut(beside: Beside | None, top: int, bottom: int, left: int, right: int) -> Beside | None:
    if beside is None:
        return None
    box = slice(None), slice(top, bottom), slice(left, right)
    mean, sd = (np.asarray(part[box], np.float32) for part in (beside.mean, beside.sd))
    return replace(beside, mean=mean, sd=sd)


def _tile(
    noisy: FloatArray, along: tuple[FloatArray, FloatArray], noise: Noise, beside: Beside | None
) -> tuple[FloatArray, FloatArray]:
    """Mean and sd ``(n, h, w, c)`` of a tile from its data, and its mean and sd along the curve."""
    if noise.monochrome and noisy.shape[-1] == 3:
        # All channels carry the noise of the luma: they move with it, and their differences stay.
        luma = (noisy @ LUMA)[..., None]
        if beside is not None:
            beside = replace(beside, mean=(beside.mean @ LUMA)[..., None], sd=beside.sd[..., :1])
        lit = (along[0] @ LUMA)[..., None], (along[1] @ LUMA)[..., None]
        mean, sd = _tile(luma, lit, replace(noise, monochrome=False), beside)
        return noisy + (mean - luma), np.repeat(sd, 3, axis=-1)
    if beside is None:
        mean, left, variance = _posterior(noisy, along, noise, None)
        return mean, _calibrated(left, variance)
    pair = _pair(noisy, along, noise, beside.mean, beside.sd)
    weight = pair.weight(beside.divergence)
    mean = pair.first + weight * (pair.second - pair.first)
    return mean, beside.sd * np.sqrt(pair.spared(weight))


def pair_with(frames: FloatArray, noise: Noise, fit: ShotCurve, mean: FloatArray, sd: FloatArray) -> Pair:
    """Another estimate of all frames ``(n, h, w, c)``, and the one on the curve that is made with its help."""
    along = _along(fit.posterior.weights(fit.x), fit.shape, frames, 0, 0)
    return _pair(frames, along, noise, mean, sd)


def _pair(
    noisy: FloatArray, along: tuple[FloatArray, FloatArray], noise: Noise, mean: FloatArray, sd: FloatArray
) -> Pair:
    second, left, variance = _posterior(noisy, along, noise, mean)
    return Pair(
        data=noisy,
        noise=variance,
        first=mean,
        second=second,
        first_left=np.asarray(np.square(sd) / variance, np.float32),
        second_left=left,
    )


def _posterior(
    noisy: FloatArray, along: tuple[FloatArray, FloatArray], noise: Noise, beside: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, share of the noise's variance that is left, and that variance; ``beside`` is half of the pilot, if given."""
    variance = np.empty_like(noisy)
    for k in range(len(noisy)):
        # It varies with the brightness, which the curve knows.
        bright = cv2.blur(along[0][k], _BOX, borderType=cv2.BORDER_REFLECT).reshape(noisy.shape[1:])
        variance[k] = noise.variance(bright)
    np.maximum(variance, _LEAST, out=variance)
    level = variance_to_planes(variance)
    data, pilot = _pilot(noisy, *along, level)
    values, left = _filtered(data, pilot, level, None if beside is None else to_planes(beside))
    return from_planes(values), variance_from_planes(left) / variance, variance


def _along(
    weights: Any, shape: tuple[int, int, int], noisy: FloatArray, top: int, left: int
) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and sd along the curve for a rectangle of pixels, some rows at a time.

    Pixels are independent of each other here, and double precision is held for few of them only.
    """
    n, rows, columns, channels = noisy.shape
    width = shape[1]
    mean, sd = np.empty_like(noisy), np.empty_like(noisy)
    across = np.arange(left * channels, (left + columns) * channels, dtype=np.intp)
    step = max(1, _AT_ONCE // max(1, n * columns * channels))
    for y in range(0, rows, step):
        stop = min(rows, y + step)
        start = np.arange(top + y, top + stop, dtype=np.intp)[:, None] * (width * channels)
        part = (n, stop - y, columns, channels)
        m, s = weights.apply(noisy[:, y:stop].reshape(n, -1), (start + across).ravel())
        mean[:, y:stop], sd[:, y:stop] = m.reshape(part), s.reshape(part)
    return mean, sd


def _pilot(
    noisy: FloatArray, along: FloatArray, spread: FloatArray, level: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """First guess of a tile.

    Parameters
    ----------
    noisy, along, spread : ndarray, shape (n, h, w, c)
        Data, posterior mean along the curve and its sd.
    level : ndarray, shape (n, c, h, w)
        Variance of the noise in the planes.

    Returns
    -------
    data, pilot : ndarray, shape (n, c, h, w)
        Data and guess as planes.
    """
    from videorestore.spatial.dct import shrink_in_planes

    data = to_planes(noisy)
    pilot = np.empty_like(data)
    for i in range(len(data)):
        # Two opinions on every frame: the curve's, and that of the frame alone. The curve's is trusted as far as
        # it explains the data around.
        own, own_variance = shrink_in_planes(data[i], level[i])
        claimed = variance_to_planes(np.square(spread[i]))
        smooth, smooth_variance = shrink_in_planes(to_planes(along[i]), claimed)
        misfit = (np.square(smooth - data[i]) - level[i]).mean(axis=0)
        misfit = np.maximum(cv2.blur(misfit, _BOX, borderType=cv2.BORDER_REFLECT), 0)
        a = smooth_variance.mean(axis=0) + misfit
        b = _LOST * own_variance.mean(axis=0)
        trust = b / (a + b + 1e-9)
        pilot[i] = trust * smooth + (1 - trust) * own
    return data, pilot


def _filtered(
    data: FloatArray, pilot: FloatArray, level: FloatArray, beside: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Spatial posterior mean and variance ``(n, c, h, w)`` of the planes of a tile."""
    mean, _ = wiener(data, pilot, level)
    if beside is not None:
        mean += beside
        mean /= 2
    small, small_variance = wiener(data, mean, level)
    mean, variance = wiener(data, mean, level, blocks=_LARGE)
    mean += small
    variance += small_variance
    mean /= 2
    variance /= 2
    return mean, variance


def _calibrated(left: FloatArray, variance: FloatArray) -> FloatArray:
    """Sd of the clean pixel from the share of the noise's variance that the filter claims to leave.

    The filter takes the pilot's energies for the true ones. Where little is left of the noise that overstates the
    error, at moving edges it understates it; the line was fitted to planted noise on clips that lie on curves.
    """
    share = np.sqrt(left)
    factor = np.clip(0.7 + 2.35 * share, 0.7, 1.55)
    return np.asarray(share * factor * np.sqrt(variance), np.float32)
