"""Whole frames that are not there: missing ones, and new ones between those that are.

Two opinions: the curve at the latent position that belongs to the time, and motion between the frames around.
Runs of frames next to the gap are hidden and predicted in the same way; their errors say, place by place, whom to
believe and how far off the result is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.curve.fit import ShotCurve, fit_shot
from videorestore.errors import InputError
from videorestore.spatial.noise import Noise

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]

_NOISY = 2.5
"""Above this noise sd frames are denoised before motion is measured and blended."""

_WINDOW = 5.0
"""Sigma of the window in which errors of hidden frames are averaged, in pixels."""

_AROUND = 12
"""Frames on either side of a gap that are denoised with it, and as many more as twice the gap is long."""

_SPREAD = 6
"""Between frames that are hidden for trial where no frame is missing."""

_NEARER = 0.4
"""Squared error of a frame between two that follow each other, over that of a hidden frame between its neighbours."""

_DOUBT = 0.03
"""Share of the noise variance by which the level of the noise may be off."""


def fill(
    frames: Any,
    missing: Sequence[int],
    times: Sequence[float] | _Doubles | None = None,
    *,
    fit: ShotCurve | None = None,
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
    fit : ShotCurve, optional
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
        fit = fit_shot(frames, times=clock, missing=wanted.tolist(), sigma=sigma)
    made = np.empty((len(wanted), *frames.shape[1:]), np.float32)
    sd = np.empty_like(made)
    runs = _runs(np.unique(wanted))
    for run, (mean, deviation) in zip(runs, _fill_gaps(frames, fit, [clock[run] for run in runs])):
        for j, number in enumerate(run):
            at = np.flatnonzero(wanted == number)
            made[at], sd[at] = mean[j], deviation[j]
    return made, sd


def upsample(
    frames: Any,
    times: Sequence[float] | _Doubles,
    targets: Sequence[float] | _Doubles,
    *,
    fit: ShotCurve | None = None,
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
    fit : ShotCurve, optional
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
        fit = fit_shot(frames, times=clock, sigma=sigma)
    made = np.empty((len(wanted), *frames.shape[1:]), np.float32)
    sd = np.zeros_like(made)
    position = np.searchsorted(clock, wanted)
    same = (position < len(clock)) & (clock[np.minimum(position, len(clock) - 1)] == wanted)
    for k in np.flatnonzero(same):
        made[k] = frames[int(position[k])]
    new = np.flatnonzero(~same)
    parts = [new[position[new] == before] for before in np.unique(position[new])]
    parts = [part[np.argsort(wanted[part], kind="stable")] for part in parts]
    if parts:
        found = _fill_gaps(frames, fit, [wanted[part] for part in parts], within=True)
        for part, (mean, deviation) in zip(parts, found):
            made[part], sd[part] = mean, deviation
    return made, sd


def _runs(numbers: _Ints) -> list[_Ints]:
    """Runs of consecutive numbers."""
    return np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1)


def _fill_gaps(
    frames: Any, fit: ShotCurve, gaps: Sequence[_Doubles], *, within: bool = False
) -> list[tuple[FloatArray, FloatArray]]:
    """Frames at the times of some gaps, each between two frames of the fit.

    Gaps whose neighbourhoods touch share the denoised frames and the judgement of the two opinions.
    ``within`` says that no frame is missing: the errors of hidden frames are then those of a step twice as long.
    """
    own = _curve_frames(frames, fit, np.concatenate(gaps))
    starts = np.cumsum([0, *(len(g) for g in gaps)])
    lefts = [int(np.searchsorted(fit.times, g[0], side="right")) - 1 for g in gaps]
    results: dict[int, tuple[FloatArray, FloatArray]] = {}
    for near, members in _neighbourhoods(len(fit.rows), lefts, [1 if within else len(g) for g in gaps]):
        window = np.stack([np.asarray(frames[int(fit.rows[k])], np.float32) for k in near])
        times = fit.times[near]
        shared = fit if len(near) == len(fit.rows) else None
        clean, left_over = _cleaned(window, times, fit.noise_sd, shared)
        trials: dict[int, _Trial | None] = {}
        for k in members:
            part = slice(int(starts[k]), int(starts[k + 1]))
            mean: FloatArray = own[0][part]
            sd: FloatArray = own[1][part]
            moved = _moved(clean, times, gaps[k])
            if moved is not None:
                length = 1 if within else len(gaps[k])
                if length not in trials:
                    local = [lefts[j] - int(near[0]) for j in members]
                    hidden = _hideouts(len(near), length, [] if within else local)
                    trials[length] = _try(window, times, clean, left_over, fit.noise_sd, hidden, length)
                trial = trials[length]
                if trial is None:
                    sd = np.asarray(np.sqrt(np.square(sd) + np.square(mean - moved) / 4), np.float32)
                    mean = np.asarray((mean + moved) / 2, np.float32)
                else:
                    mean, sd = trial.settle(mean, moved, lefts[k] - int(near[0]), within)
            results[k] = (np.asarray(mean, np.float32), np.asarray(sd, np.float32))
    return [results[k] for k in range(len(gaps))]


def _neighbourhoods(
    n: int, lefts: Sequence[int], lengths: Sequence[int]
) -> Iterator[tuple[_Ints, list[int]]]:
    """Stretches of frames around gaps, with the numbers of the gaps in each; gaps come in order."""
    low, high, members = 0, -1, list[int]()
    for k, (left, length) in enumerate(zip(lefts, lengths)):
        reach = _AROUND + 2 * length
        first, last = max(0, left + 1 - reach), min(n, left + 1 + reach)
        if members and first > high:
            yield np.arange(low, high), members
            members = []
        if not members:
            low = first
        members.append(k)
        high = max(high, last)
    if members:
        yield np.arange(low, high), members


def _cleaned(
    window: FloatArray, times: _Doubles, noise_sd: float, fit: ShotCurve | None
) -> tuple[FloatArray, float]:
    """The window without noise, and the mean variance of the error that stays."""
    if noise_sd <= _NOISY or len(window) < 4:
        return window, 0.0
    from videorestore.curve.denoise import denoise

    if fit is None:
        fit = fit_shot(window, times=times, sigma=noise_sd)
    mean, sd, _ = denoise(window, Noise.white(noise_sd, clipped=False), fit=fit)
    return np.asarray(mean), float(np.square(sd).mean())


def _curve_frames(frames: Any, fit: ShotCurve, targets: _Doubles) -> tuple[FloatArray, FloatArray]:
    """The curve at some times; noise that it leaves is shrunk in space."""
    from videorestore.spatial.dct import shrink

    mean, sd = fit.predict(frames, fit.place(targets))
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


def _hideouts(n: int, length: int, gaps: Sequence[int]) -> list[int]:
    """Where runs of frames are hidden for trial: beside every gap, or, without gaps, spread over the stretch.

    ``gaps`` are the frames before them. Two frames stay between a hidden run and the next one, a gap or an end.
    """
    places: list[int] = []
    wanted = [p for g in gaps for p in (g - length - 1, g + 3)] if gaps else list(range(2, n, _SPREAD))
    for first in sorted(wanted):
        free = all(not first - 2 < g + 1 < first + length + 2 for g in gaps)
        if 2 <= first <= n - 2 - length and free and (not places or first >= places[-1] + length + 2):
            places.append(first)
    return places


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Trial:
    """Both opinions on hidden runs of frames.

    Attributes
    ----------
    first : list of int
        Where the runs begin.
    curve, moved : ndarray, shape (runs, length, height, width)
        Squared errors of the opinions, averaged around every pixel.
    own, other : ndarray, shape (runs, length, height, width, channels)
        What they said, less the truth.
    floor : float
        Error of the truth itself, which is denoised.
    factor : float
        Variance of the result over what these errors say, by the noisy frames.
    """

    first: list[int]
    curve: FloatArray
    moved: FloatArray
    own: FloatArray
    other: FloatArray
    floor: float
    factor: float = 1.0

    def settle(
        self, own: FloatArray, moved: FloatArray, left: int, within: bool
    ) -> tuple[FloatArray, FloatArray]:
        """The mixture of both opinions on the frames of a gap, and its sd."""
        weight, variance = self.mixed(left)
        count, length = len(own), len(weight)
        position = np.clip(np.arange(count) * length // max(1, count), 0, length - 1)
        share = weight[position][..., None]
        # Half a step instead of two halves: what motion misses grows a little slower than with the square.
        variance = (np.float32(_NEARER) if within else np.float32(1)) * variance[position]
        variance = np.float32(self.factor) * (variance + np.float32(self.floor)) + np.float32(0.02)
        return share * moved + (1 - share) * own, np.broadcast_to(np.sqrt(variance)[..., None], own.shape)

    def mixed(self, left: int) -> tuple[FloatArray, FloatArray]:
        """Weight of motion and squared error of the mixture, each (length, height, width), near a frame."""
        near = np.argsort([abs(f - left) for f in self.first], kind="stable")[:2]
        curve, moved = self.curve[near].mean(axis=0), self.moved[near].mean(axis=0)
        floor = np.float32(self.floor + 0.02)
        weight = np.square(curve + floor)
        weight /= weight + np.square(moved + floor)
        rest = weight[None, ..., None] * self.other[near] + (1 - weight[None, ..., None]) * self.own[near]
        square = np.square(rest).mean(axis=(0, 4))
        return weight, np.stack([cv2.GaussianBlur(s, (0, 0), _WINDOW) for s in square])


def _try(
    window: FloatArray,
    times: _Doubles,
    clean: FloatArray,
    floor: float,
    noise_sd: float,
    first: list[int],
    length: int,
) -> _Trial | None:
    """Hide runs of frames of a stretch, all at once, and let both opinions make them from the rest.

    The rest is denoised anew: frames that were denoised together with the hidden ones would give these away.
    """
    hidden = np.array([f + j for f in first for j in range(length)], np.int64)
    rest = np.setdiff1d(np.arange(len(window)), hidden)
    if not first or len(rest) < 4:
        return None
    fit = fit_shot(window[rest], times=times[rest], sigma=noise_sd if noise_sd > _NOISY else None)
    near, _ = _cleaned(window[rest], times[rest], noise_sd, fit)
    moved = _moved(near, times[rest], times[hidden])
    if moved is None:
        return None
    own, _ = _curve_frames(window[rest], fit, times[hidden])
    shape = (len(first), length, *window.shape[1:])
    errors = []
    for guess in (own, moved):
        square = np.square(guess - clean[hidden]).mean(axis=3)
        errors.append(np.stack([cv2.GaussianBlur(s, (0, 0), _WINDOW) for s in square]).reshape(shape[:4]))
    trial = _Trial(
        first=first,
        curve=errors[0],
        moved=errors[1],
        own=(own - clean[hidden]).reshape(shape),
        other=(moved - clean[hidden]).reshape(shape),
        floor=floor,
    )
    if noise_sd <= _NOISY:
        return trial
    # The noise of a hidden frame is independent of what was made without it: it shows the error as it is.
    claimed, actual = 0.0, 0.0
    for k, start in enumerate(first):
        weight, variance = trial.mixed(start)
        at = slice(k * length, (k + 1) * length)
        mean = weight[..., None] * moved[at] + (1 - weight[..., None]) * own[at]
        claimed += float(variance.mean()) + floor
        actual += float(np.square(window[hidden[at]] - mean).mean()) - noise_sd**2
    doubt = _DOUBT * noise_sd**2 * len(first)
    factor = (max(actual, 0.0) + doubt) / (claimed + doubt)
    return replace(trial, factor=float(np.clip(factor, 0.5, 4)))
