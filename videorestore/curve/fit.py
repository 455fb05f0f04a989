"""One electroGP over a shot whose frames are in known order.

Frames may be any array that can be cut as ``frames[i]`` and ``frames[:, y0:y1]`` and has a shape
``(n, height, width, channels)``: an array in memory or one mapped from a file, float32 or integers on the 0..255
scale. Pixels stream by in strips of rows; only a strip is ever held in double form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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

LEAST_SD = 0.05
"""Noise that is always believed: samples are rounded (0..255 scale)."""

OFF_GRID = 0.1
"""Share of the usual step by which times may be off whole steps where frames are taken to be absent in longer ones."""

_Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShotCurve:
    """A curve through the frames of a shot.

    Attributes
    ----------
    x : ndarray, shape (n,)
        Latent positions of the frames in (0, 1), in order; equal frames share theirs.
    times : ndarray, shape (n,)
        Their times in seconds, or their numbers.
    shape : tuple of int
        Height, width, channels.
    posterior : CurvePosterior
        What was fitted; its pixels run through the frame in memory order.
    closed : bool
    """

    x: _Doubles
    times: _Doubles
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
        """Strips of rows ``y0, y1``, their pixels ``(n, k)`` in the frames of the fit, and where these stand."""
        return _strips(frames)


def _strips(frames: Any) -> Iterator[tuple[int, int, FloatArray, slice]]:
    """See `ShotCurve.strips`; pixels are fresh float32."""
    n, height, width, channels = frames.shape
    step = max(1, STRIP // max(1, n * width * channels))
    for y0 in range(0, height, step):
        y1 = min(height, y0 + step)
        part = np.array(frames[:, y0:y1], np.float32)
        yield y0, y1, part.reshape(n, -1), slice(y0 * width * channels, y1 * width * channels)


def fit_shot(
    frames: Any,
    *,
    times: Sequence[float] | _Doubles | None = None,
    sigma: float | None = None,
    closed: bool = False,
    callback: Callable[[str, int, float], None] | None = None,
) -> ShotCurve:
    """Fit one curve to frames in known order.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
    times : sequence of float, optional
        Seconds; by default the frame numbers. Whole steps that are left out are frames that are absent.
    sigma : float, optional
        Known sd of the noise.
    closed : bool
        The last frame leads back to the first.
    callback : callable, optional
        Called with stage, step and value of the objective at every step of the search.
    """
    clock = _clock(frames, times)

    def chunks() -> Iterator[FloatArray]:
        for _, _, block, _ in _strips(frames):
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
        numbers=None if closed else numbers_of(clock),
    )
    with one_thread():
        fitted = fit_curve(chunks, len(frames), options)
    x = np.asarray(fitted.x, np.float64)
    if x[0] > x[-1] and not closed:
        # The model orders the ends by its own rule when the first and the last frame are alike.
        x = np.maximum.accumulate(x)
    height, width, channels = frames.shape[1:]
    return ShotCurve(
        x=x, times=clock, shape=(height, width, channels), posterior=CurvePosterior(fitted), closed=closed
    )


def numbers_of(times: _Doubles) -> _Doubles | None:
    """Whole numbers ``(n,)`` of frames at these times, with room for those that are absent; None where the rate varies."""
    steps = np.diff(times)
    usual = float(np.median(steps))
    if not usual > 0:
        return None
    counts = np.rint(steps / usual)
    if counts.min() < 1 or np.abs(steps / usual - counts).max() > OFF_GRID:
        return None
    return np.concatenate([[0.0], np.cumsum(counts)])


def _clock(frames: Any, times: Sequence[float] | _Doubles | None) -> _Doubles:
    """The time of every frame."""
    shape = tuple(frames.shape)
    if len(shape) != 4:
        raise InputError(
            f"frames must have shape (n, height, width, channels), got {shape}; add the missing axis."
        )
    n = shape[0]
    if n < 3:
        raise InputError(f"a curve needs at least 3 frames that can be seen, got {n}; give more frames.")
    clock = np.arange(n, dtype=np.float64) if times is None else np.asarray(times, np.float64)
    if len(clock) != n:
        raise InputError(
            f"there must be one time for each of the {n} frames, got {len(clock)}; pass as many times."
        )
    return clock
