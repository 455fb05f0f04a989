"""One electroGP over a shot whose frames are in known order.

Frames may be any array that can be cut as ``frames[i]`` and ``frames[:, y0:y1]`` and has a shape
``(n, height, width, channels)``: an array in memory or one mapped from a file, float32 or integers on the 0..255
scale. Pixels stream by in strips of rows; only a strip is ever held in double form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.model.joint.fit import fit_curve
from videorestore.model.options import Options
from videorestore.model.posterior import CurvePosterior
from videorestore.model.threads import one_thread

STRIP = 6_000_000
"""Values per strip of rows: bounds the working memory."""

STEPS = 120
"""Most steps of the search for a shot."""

LOOKED_AT = 24
"""Frames, evenly spread, that tell the noise."""

LEAST_SD = 0.05
"""Noise that is always believed: samples are rounded (0..255 scale)."""

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShotCurve:
    """A curve through the frames of a shot.

    Attributes
    ----------
    rows : ndarray of int, shape (m,)
        Frames that the curve was fitted to.
    x : ndarray, shape (m,)
        Their latent positions in (0, 1), in order; equal frames share theirs.
    times : ndarray, shape (m,)
        Their times in seconds, or their numbers.
    noise_sd : float
        Standard deviation of the noise, 0..255 scale.
    shape : tuple of int
        Height, width, channels.
    posterior : CurvePosterior
        What was fitted; its pixels run through the frame in memory order.
    closed : bool
    """

    rows: _Ints
    x: _Doubles
    times: _Doubles
    noise_sd: float
    shape: tuple[int, int, int]
    posterior: CurvePosterior
    closed: bool

    def place(self, times: Sequence[float] | _Doubles) -> _Doubles:
        """Latent positions of any times, monotone between those of the frames around; clamped to the span."""
        from scipy.interpolate import PchipInterpolator

        wanted = np.asarray(times, np.float64)
        distinct = np.flatnonzero(np.append(True, np.diff(self.times) > 0))
        known, x = self.times[distinct], self.x[distinct]
        if len(known) < 2:
            return np.full(wanted.shape, x[0])
        return np.asarray(PchipInterpolator(known, x)(np.clip(wanted, known[0], known[-1])))

    def predict(self, frames: Any, x: _Doubles) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and sd of the clean frames at latent positions.

        Parameters
        ----------
        frames : array, shape (n, height, width, channels)
            The frames of the fit.
        x : ndarray, shape (k,)

        Returns
        -------
        mean, sd : ndarray, shape (k, height, width, channels), float32
        """
        height, width, channels = self.shape
        mean = np.empty((len(x), height, width, channels), np.float32)
        sd = np.empty_like(mean)
        for y0, y1, block, columns in self.strips(frames):
            m, s = self.posterior.weights(x).apply(block, columns)
            mean[:, y0:y1] = m.reshape(len(x), y1 - y0, width, channels)
            sd[:, y0:y1] = s.reshape(len(x), y1 - y0, width, channels)
        return mean, sd

    def strips(self, frames: Any) -> Iterator[tuple[int, int, FloatArray, slice]]:
        """Strips of rows ``y0, y1``, their pixels ``(m, k)`` in the frames of the fit, and where these stand."""
        return _strips(frames, self.rows)


def _strips(frames: Any, rows: _Ints) -> Iterator[tuple[int, int, FloatArray, slice]]:
    """See `ShotCurve.strips`; pixels are fresh float32."""
    height, width, channels = frames.shape[1:]
    step = max(1, STRIP // max(1, len(rows) * width * channels))
    for y0 in range(0, height, step):
        y1 = min(height, y0 + step)
        if len(rows) == len(frames):
            part = np.array(frames[:, y0:y1], np.float32)
        else:
            part = np.stack([np.asarray(frames[int(i)][y0:y1], np.float32) for i in rows])
        yield y0, y1, part.reshape(len(rows), -1), slice(y0 * width * channels, y1 * width * channels)


def fit_shot(
    frames: Any,
    *,
    times: Sequence[float] | _Doubles | None = None,
    missing: Sequence[int] = (),
    sigma: float | None = None,
    closed: bool = False,
    callback: Callable[[str, int, float], None] | None = None,
) -> ShotCurve:
    """Fit one curve to frames in known order.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
    times : sequence of float, optional
        Seconds; by default the frame numbers.
    missing : sequence of int
        Frames whose content is worthless; they are left out.
    sigma : float, optional
        Known sd of the noise.
    closed : bool
        The last frame leads back to the first.
    callback : callable, optional
        Called with stage, step and value of the objective at every step of the search.
    """
    rows, clock = _rows(frames, times, missing)
    height, width, channels = frames.shape[1:]
    size = (height, width, channels)

    def chunks() -> Iterator[FloatArray]:
        for _, _, block, _ in _strips(frames, rows):
            yield block

    options = Options(
        r="auto",
        kernel="auto",
        init="order",
        hyper="pixel",
        periodic=closed,
        noise_var=None if sigma is None else max(float(sigma), LEAST_SD) ** 2,
        max_iter=STEPS,
        callback=callback,
        numbers=None if closed else rows.astype(np.float64),
    )
    with one_thread():
        fitted = fit_curve(chunks, len(rows), options)
    x = np.asarray(fitted.x, np.float64)
    if x[0] > x[-1] and not closed:
        # The model orders the ends by its own rule when the first and the last frame are alike.
        x = np.maximum.accumulate(x)
    fit = ShotCurve(
        rows=rows,
        x=x,
        times=clock[rows],
        noise_sd=0.0 if sigma is None else float(sigma),
        shape=size,
        posterior=CurvePosterior(fitted),
        closed=closed,
    )
    return fit if sigma is not None else replace(fit, noise_sd=noise_level(frames, fit))


def _rows(
    frames: Any, times: Sequence[float] | _Doubles | None, missing: Sequence[int]
) -> tuple[_Ints, _Doubles]:
    """Numbers of the frames to fit to, and the times of all."""
    shape = tuple(frames.shape)
    if len(shape) != 4:
        raise InputError(
            f"frames must have shape (n, height, width, channels), got {shape}; add the missing axis."
        )
    n = shape[0]
    rows = np.setdiff1d(np.arange(n, dtype=np.int64), np.asarray(list(missing), np.int64))
    if len(rows) < 3:
        raise InputError(
            f"a curve needs at least 3 frames that can be seen, got {len(rows)}; give more frames."
        )
    clock = np.arange(n, dtype=np.float64) if times is None else np.asarray(times, np.float64)
    if len(clock) != n:
        raise InputError(
            f"there must be one time for each of the {n} frames, got {len(clock)}; pass as many times."
        )
    return rows, clock


def noise_level(frames: Any, fit: ShotCurve) -> float:
    """Sd of white noise from what the curve leaves of some frames.

    The residual is differenced along both axes, so that motion that the curve misses, smooth in space, does not
    count; the median makes edges harmless. The share of the noise that the posterior followed is put back.
    """
    pick = np.unique(np.linspace(0, len(fit.rows) - 1, min(LOOKED_AT, len(fit.rows))).astype(int))
    height, width, channels = fit.shape
    if height < 4 or width < 4:
        return float(np.sqrt(np.median(fit.posterior.fit.noise_var)))
    weights = fit.posterior.weights(fit.x[pick])
    label = np.asarray(fit.posterior.fit.label)
    own = np.asarray(fit.posterior.fit.rows)
    at = np.searchsorted(own, pick)
    values: list[_Doubles] = []
    for y0, y1, block, columns in fit.strips(frames):
        mean, _ = weights.apply(block, columns, sd=False)
        group = label[columns]
        for k, row in enumerate(pick):
            rest = (block[row] - mean[k]).reshape(y1 - y0, width, channels)
            followed = np.ones(len(group))
            if at[k] < len(own) and own[at[k]] == row:
                for g in np.unique(group[group >= 0]):
                    w = weights.matrix[g][k]
                    followed[group == g] = 1 - 2 * w[at[k]] + np.sum(w * w)
            rest = rest / np.sqrt(np.maximum(followed, 1e-3)).reshape(rest.shape)
            high = (rest[1:, 1:] - rest[:-1, 1:] - rest[1:, :-1] + rest[:-1, :-1]) / 2
            high = high[np.isfinite(high)]
            step = max(1, high.size // 4000)
            values.append(np.abs(high.ravel()[::step]).astype(np.float64))
    merged = np.concatenate(values)
    return float(np.median(merged) / 0.6745) if merged.size else 0.0
