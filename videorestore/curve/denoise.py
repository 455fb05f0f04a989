"""Denoise a shot that lies on a curve: posterior along the curve, then in space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore import pulse
from videorestore.clip import FloatArray
from videorestore.curve.blocks import Blocks, wiener
from videorestore.curve.fit import ShotCurve, fit_shot
from videorestore.errors import InputError

TILE = 96
"""Side of the tiles that are filtered one by one, in pixels."""

_HALO = 24
"""Pixels around a tile that its blocks may read; more than two passes of the largest block reach back."""

_SMALL = 12_000_000
"""Clips with fewer values are also filtered with large blocks."""

_AT_ONCE = 2_000_000
"""Values that are brought through the curve at once."""

_LOST = 1.5
"""Error variance of the spatial pilot over its claim: thresholds lose detail that the claim does not count."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenoiseInfo:
    """What was learnt on the way.

    Attributes
    ----------
    noise_sd : float
        Sd of the noise that was removed.
    x : ndarray, shape (n,)
        Latent position of every frame.
    fit : ShotCurve
    """

    noise_sd: float
    x: NDArray[np.float64]
    fit: ShotCurve


def denoise(
    frames: Any,
    *,
    sigma: float | None = None,
    strength: float = 1.0,
    fit: ShotCurve | None = None,
    out: Any = None,
    out_sd: Any = None,
) -> tuple[Any, Any, DenoiseInfo]:
    """Posterior mean of every frame of a shot on one curve.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        In order; 0..255 scale.
    sigma : float, optional
        Sd of the noise; estimated from the fit by default.
    strength : float
        1 is the posterior mean; other factors scale the noise sd that is believed.
    fit : ShotCurve, optional
        A fit of these frames, all of them.
    out, out_sd : arrays to write to, optional
        Of the shape of the frames, for example mapped from a file.

    Returns
    -------
    mean : array, shape (n, height, width, channels), float32
    sd : array, likewise
        Posterior sd of the clean pixel; the noise itself is not in it.
    info : DenoiseInfo
    """
    if sigma is not None and not sigma >= 0:
        raise InputError(
            f"sigma must be a standard deviation >= 0 on the 0..255 scale, got {sigma}; pass another."
        )
    if not strength >= 0:
        raise InputError(f"strength must be >= 0, got {strength}; 1 is the posterior mean.")
    from videorestore.spatial.dct import from_planes, variance_from_planes

    n, height, width, channels = frames.shape
    mean = np.empty(frames.shape, np.float32) if out is None else out
    sd = np.empty(frames.shape, np.float32) if out_sd is None else out_sd
    if fit is None:
        fit = fit_shot(frames, sigma=sigma)
    if len(fit.rows) != n:
        raise InputError(
            f"the fit must cover all {n} frames, it covers {len(fit.rows)}; fill missing frames first."
        )
    level = (fit.noise_sd if sigma is None else float(sigma)) * strength
    weights = fit.posterior.weights(fit.x)
    large = n * height * width * channels <= _SMALL
    for y0 in pulse.counted(range(0, height, TILE)):
        for x0 in pulse.counted(range(0, width, TILE)):
            y1, x1 = min(height, y0 + TILE), min(width, x0 + TILE)
            top, bottom = max(0, y0 - _HALO), min(height, y1 + _HALO)
            left, right = max(0, x0 - _HALO), min(width, x1 + _HALO)
            noisy = np.array(frames[:, top:bottom, left:right], np.float32)
            rows, columns = slice(y0 - top, y1 - top), slice(x0 - left, x1 - left)
            if level <= 0:
                mean[:, y0:y1, x0:x1] = noisy[:, rows, columns]
                sd[:, y0:y1, x0:x1] = 0
                continue
            data, pilot = _pilot(noisy, *_along(weights, fit.shape, noisy, top, left), level)
            del noisy
            values, variance = _filtered(data, pilot, level, large=large)
            mean[:, y0:y1, x0:x1] = from_planes(values[..., rows, columns])
            deviation = np.sqrt(variance_from_planes(variance[..., rows, columns]))
            sd[:, y0:y1, x0:x1] = _calibrated(deviation, level)
    return mean, sd, DenoiseInfo(noise_sd=level, x=fit.x, fit=fit)


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
    noisy: FloatArray, along: FloatArray, spread: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """First guess of a tile.

    Parameters
    ----------
    noisy, along, spread : ndarray, shape (n, h, w, c)
        Data, posterior mean along the curve and its sd.
    level : float
        Sd of the noise.

    Returns
    -------
    data, pilot : ndarray, shape (n, c, h, w)
        Data and guess as planes.
    """
    from videorestore.spatial.dct import shrink_in_planes, to_planes, variance_to_planes

    data = to_planes(noisy)
    noise = np.full(data.shape[1:], level * level, np.float32)
    pilot = np.empty_like(data)
    for i in range(len(data)):
        # Two opinions on every frame: the curve's, and that of the frame alone. The curve's is trusted as far as
        # it explains the data around.
        own, own_variance = shrink_in_planes(data[i], noise)
        claimed = variance_to_planes(np.square(spread[i]))
        smooth, smooth_variance = shrink_in_planes(to_planes(along[i]), claimed)
        misfit = np.square(smooth - data[i]).mean(axis=0)
        misfit = np.maximum(cv2.blur(misfit, (7, 7), borderType=cv2.BORDER_REFLECT) - level * level, 0)
        a = smooth_variance.mean(axis=0) + misfit
        b = _LOST * own_variance.mean(axis=0)
        trust = b / (a + b + 1e-9)
        pilot[i] = trust * smooth + (1 - trust) * own
    return data, pilot


def _filtered(
    data: FloatArray, pilot: FloatArray, level: float, *, large: bool
) -> tuple[FloatArray, FloatArray]:
    """Spatial posterior mean and variance of the planes of a tile; ``large`` also filters with large blocks.

    The mean takes the place of the pilot, which is not needed again.
    """
    mean, variance = pilot, np.empty_like(data)
    for k in range(data.shape[1]):
        field = np.broadcast_to(np.float32(level * level), data[:, k].shape)
        first, _ = wiener(data[:, k], pilot[:, k], field)
        mean[:, k], variance[:, k] = wiener(data[:, k], first, field)
        if large:
            wide, wide_variance = wiener(
                data[:, k], first, field, blocks=Blocks(size=16, depth=16, step=4, stride=4)
            )
            mean[:, k] = (mean[:, k] + wide) / 2
            variance[:, k] = (variance[:, k] + wide_variance) / 2
    return mean, variance


def _calibrated(deviation: FloatArray, level: float) -> FloatArray:
    """Sd of the clean pixel from the filter's own claim.

    The filter takes the pilot's energies for the true ones. Where little is left of the noise that overstates the
    error, at moving edges it understates it; the line was fitted to planted noise on clips that lie on curves.
    """
    factor = np.clip(0.7 + 2.35 * deviation / np.float32(level), 0.7, 1.55)
    return np.asarray(deviation * factor, np.float32)
