"""Whole frames that are not there: missing ones, and new ones between those that are.

Two opinions: the curve at the latent position that belongs to the time, and motion between the frames around.
Runs of frames next to the gap are hidden and predicted in the same way; their errors say, place by place, whom to
believe and how far off the result is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.curve.fit import CurveFit, fit_curve
from videorestore.errors import InputError

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]

_NOISY = 2.5
"""Above this noise sd frames are denoised before motion is measured and blended."""

_WINDOW = 5.0
"""Sigma of the window in which errors of hidden frames are averaged, in pixels."""

_AROUND = 12
"""Frames on either side of a gap that are denoised with it."""


def fill(
    frames: Any,
    missing: Sequence[int],
    times: Sequence[float] | _Doubles | None = None,
    *,
    fit: CurveFit | None = None,
    sigma: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Regenerate missing frames.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        With the missing frames in their places; what these hold is never read.
    missing : sequence of int
        Their numbers.
    times : sequence of float, optional
        Seconds of all n frames.
    fit : CurveFit, optional
        Of the other frames.
    sigma : float, optional
        Known sd of the noise.

    Returns
    -------
    frames, sd : ndarray, shape (len(missing), height, width, channels), float32
        In the order of ``missing``: mean and sd of the clean frame.
    """
    n = len(frames)
    wanted = np.asarray(list(missing), np.int64)
    if not len(wanted):
        empty = np.zeros((0, *frames.shape[1:]), np.float32)
        return empty, empty.copy()
    if wanted.min() < 0 or wanted.max() >= n:
        raise InputError(
            f"missing frames must have numbers from 0 to {n - 1}, got {wanted.max()}; correct the list."
        )
    clock = np.arange(n, dtype=np.float64) if times is None else np.asarray(times, np.float64)
    if fit is None:
        fit = fit_curve(frames, times=clock, missing=wanted.tolist(), sigma=sigma)
    made = np.empty((len(wanted), *frames.shape[1:]), np.float32)
    sd = np.empty_like(made)
    for run in _runs(np.unique(wanted)):
        mean, deviation = _fill_run(frames, fit, clock, clock[run])
        for j, number in enumerate(run):
            at = np.flatnonzero(wanted == number)
            made[at], sd[at] = mean[j], deviation[j]
    return made, sd


def upsample(
    frames: Any,
    times: Sequence[float] | _Doubles,
    targets: Sequence[float] | _Doubles,
    *,
    fit: CurveFit | None = None,
    sigma: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """New frames at any times of a shot.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
    times : sequence of float
        Seconds of the frames, rising.
    targets : sequence of float
        Times asked for; one that is the time of a frame returns that frame with sd zero.
    fit : CurveFit, optional
        Of all frames.

    Returns
    -------
    frames, sd : ndarray, shape (len(targets), height, width, channels), float32
    """
    clock = np.asarray(times, np.float64)
    wanted = np.asarray(targets, np.float64)
    if len(clock) != len(frames) or (np.diff(clock) <= 0).any():
        raise InputError(
            f"times must rise and be {len(frames)} like the frames, got {len(clock)}; correct them."
        )
    if fit is None:
        fit = fit_curve(frames, times=clock, sigma=sigma)
    made = np.empty((len(wanted), *frames.shape[1:]), np.float32)
    sd = np.zeros_like(made)
    position = np.searchsorted(clock, wanted)
    same = (position < len(clock)) & (clock[np.minimum(position, len(clock) - 1)] == wanted)
    for k in np.flatnonzero(same):
        made[k] = frames[int(position[k])]
    new = np.flatnonzero(~same)
    for before in np.unique(position[new]):
        part = new[position[new] == before]
        made[part], sd[part] = _fill_run(frames, fit, clock, wanted[part], within=True)
    return made, sd


def curve_score(frames: Any, *, hidden: int = 8, fit: CurveFit | None = None) -> dict[str, float]:
    """How well the shot lies on a curve: hidden frames predicted by the curve alone.

    Returns
    -------
    dict
        ``psnr`` of the hidden frames (against what is there, noise included), and ``score`` from 0 to 1: the share
        of the change between neighbours that a straight line misses and the curve explains or at least bears; 0.5
        means as good as the mean of the two neighbours.
    """
    n = len(frames)
    if n < 6:
        raise InputError(
            f"at least 6 frames are needed to see whether they lie on a curve, got {n}; give more."
        )
    if fit is None:
        fit = fit_curve(frames)
    pick = np.unique(np.linspace(1, len(fit.rows) - 2, min(hidden, len(fit.rows) - 2)).astype(int))
    own = np.zeros(len(pick))
    line = np.zeros(len(pick))
    values = 0
    rows = np.asarray(fit.model.fit_.rows)
    pick = pick[np.isin(pick, rows)] if np.isin(pick, rows).any() else rows[1:-1]
    own, line = own[: len(pick)], line[: len(pick)]
    at = np.searchsorted(rows, pick)
    for _, _, block, columns in fit.strips(frames):
        mean, _ = fit.model._posterior.leave_one_out(block, columns)
        own += np.square(mean[at] - block[pick], dtype=np.float64).sum(axis=1)
        straight = (block[np.maximum(pick - 1, 0)] + block[np.minimum(pick + 1, len(block) - 1)]) / 2
        line += np.square(straight - block[pick], dtype=np.float64).sum(axis=1)
        values += block.shape[1]
    error, straight_error = own.mean() / values, line.mean() / values
    psnr = float(min(99.0, 10 * np.log10(255.0**2 / max(error, 1e-6))))
    # White noise alone makes the line's error 1.5 sigma^2 and a good curve's little more than sigma^2.
    score = straight_error / (straight_error + error) if error + straight_error > 0 else 1.0
    return {"psnr": psnr, "score": float(np.clip(score, 0, 1))}


def _runs(numbers: _Ints) -> list[_Ints]:
    """Runs of consecutive numbers."""
    return np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)


def _fill_run(
    frames: Any, fit: CurveFit, clock: _Doubles, targets: _Doubles, *, within: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Frames at the times of one gap.

    ``within`` says that no frame is missing: the errors of hidden frames are then those of a step twice as long.
    """
    left = int(np.searchsorted(fit.times, targets[0], side="right")) - 1
    low, high = max(0, left + 1 - _AROUND), min(len(fit.rows), left + 1 + _AROUND)
    near = np.arange(low, high)
    window = np.stack([np.asarray(frames[int(fit.rows[k])], np.float32) for k in near])
    clean, left_over = _cleaned(window, fit)
    own, own_sd = _curve_frames(frames, fit, targets, ())
    moved = _moved(clean, fit.times[near], targets)
    if moved is None:
        return own, own_sd
    length = 1 if within else len(targets)
    errors = _contest(frames, fit, near, clean, left_over, left - low, length)
    if errors is None:
        apart = np.abs(own - moved) / 2
        deviation = np.sqrt(np.square(own_sd) + np.square(apart))
        return np.asarray((own + moved) / 2, np.float32), np.asarray(deviation, np.float32)
    position = np.clip(np.arange(len(targets)) * length // max(1, len(targets)), 0, length - 1)
    curve_error, moved_error = errors[0][position], errors[1][position]
    if within:
        shrink = np.float32(0.4)
        curve_error, moved_error = shrink * curve_error, shrink * moved_error
    weight = np.square(curve_error) / (np.square(curve_error) + np.square(moved_error) + 1e-6)
    weight = weight[..., None].astype(np.float32)
    mean = weight * moved + (1 - weight) * own
    apart = weight * (1 - weight) * np.square(moved - own)
    variance = weight * moved_error[..., None] + (1 - weight) * curve_error[..., None] + 0.25 * apart
    return mean.astype(np.float32), np.sqrt(variance + 0.05).astype(np.float32)


def _cleaned(window: FloatArray, fit: CurveFit) -> tuple[FloatArray, float]:
    """The window without noise, and the mean variance of the error that stays."""
    if fit.noise_sd <= _NOISY or len(window) < 4:
        return window, 0.0
    from videorestore.curve.denoise import denoise

    mean, sd, _ = denoise(window, sigma=fit.noise_sd)
    return np.asarray(mean), float(np.square(sd).mean())


def _curve_frames(
    frames: Any, fit: CurveFit, targets: _Doubles, hide: Sequence[int]
) -> tuple[FloatArray, FloatArray]:
    """The curve at some times, without hidden frames; noise that it leaves is shrunk in space."""
    from videorestore.spatial.dct import shrink

    mean, sd = fit.predict(frames, fit.place(targets), hide=hide)
    if fit.noise_sd > _NOISY:
        for k in range(len(mean)):
            mean[k], sd[k] = shrink(mean[k], sd[k])
    return mean, sd


def _moved(window: FloatArray, times: _Doubles, targets: _Doubles) -> FloatArray | None:
    """Motion between the frames of a window."""
    from videorestore.motion.interpolate import interpolate

    keep = np.flatnonzero(np.append(True, np.diff(times) > 0))
    if len(keep) < 2:
        return None
    return np.asarray(interpolate(window[keep], times[keep], targets).frames, np.float32)


def _contest(
    frames: Any, fit: CurveFit, near: _Ints, clean: FloatArray, left_over: float, left: int, length: int
) -> tuple[FloatArray, FloatArray] | None:
    """Mean squared errors ``(length, height, width)`` of both opinions on hidden runs on either side of the gap."""
    tests = []
    for first in (left - length - 1, left + 3):
        if first >= 2 and first + length <= len(near) - 2 and not first <= left < first + length:
            tests.append(np.arange(first, first + length))
    if not tests:
        return None
    height, width = clean.shape[1:3]
    curve_error = np.zeros((length, height, width), np.float32)
    moved_error = np.zeros_like(curve_error)
    for test in tests:
        rest = np.setdiff1d(np.arange(len(near)), test)
        targets = fit.times[near[test]]
        own, _ = _curve_frames(frames, fit, targets, fit.rows[near[test]].tolist())
        moved = _moved(clean[rest], fit.times[near[rest]], targets)
        if moved is None:
            return None
        for j, k in enumerate(test):
            for total, guess in ((curve_error, own[j]), (moved_error, moved[j])):
                square = np.square(guess - clean[k]).mean(axis=2)
                total[j] += cv2.GaussianBlur(square, (0, 0), _WINDOW) / len(tests)
    # Both opinions share the errors of the denoised frames that they are judged by.
    floor = np.float32(0.02 + left_over)
    return curve_error + floor, moved_error + floor
