"""Missing pixels on a curve: from all other frames and from the seen pixels of the same frame.

The curve and motion between the neighbours each say what a frame should look like. Where the frame is seen their
errors are known; the mixture that explains the seen pixels best is taken, and what it misses there is carried on
into the unseen ones by kriging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.curve.fit import CurveFit, fit_curve
from videorestore.errors import InputError

_Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """A loose frame in its place.

    Attributes
    ----------
    x, x_sd : float
        Latent position and its standard deviation.
    index : int
        How many frames of the fit come before it.
    frame, sd : ndarray, shape (height, width, channels)
        Completed frame, and the posterior sd of its pixels (zero where they were seen).
    misfit : float
        Root mean square error of the curve at the seen pixels, 0..255 scale.
    refused : bool
        It fits nowhere; the frame is then as good as the curve can make it and should not be used.
    """

    x: float
    x_sd: float
    index: int
    frame: FloatArray
    sd: FloatArray
    misfit: float
    refused: bool


def inpaint(
    frames: FloatArray, masks: Mask, *, times: Sequence[float] | _Doubles | None = None, fit: CurveFit | None = None
) -> tuple[FloatArray, FloatArray]:
    """Regenerate missing pixels of frames in known order.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        What stands under the mask is never read and may be NaN.
    masks : ndarray of bool, shape (n, height, width)
        True where a pixel is missing.
    times : sequence of float, optional
    fit : CurveFit, optional
        Of all frames.

    Returns
    -------
    frames : ndarray, float32, shape (n, height, width, channels)
        Pixels outside the masks are those of the input, bit for bit.
    sd : ndarray, likewise
        Posterior sd of the missing pixels; zero elsewhere.
    """
    masks = np.asarray(masks, np.bool_)
    if frames.ndim != 4 or masks.shape != frames.shape[:3]:
        raise InputError(
            f"masks must have the number, height and width of the frames {frames.shape}, got {masks.shape}; "
            "crop or resize the masks."
        )
    if masks.all():
        raise InputError("at least one pixel must be seen, but everything is masked; check the masks.")
    n = len(frames)
    made = np.array(frames, np.float32)
    sd = np.zeros_like(made)
    wanted = np.flatnonzero(masks.any(axis=(1, 2)))
    if not len(wanted):
        return made, sd
    clock = np.arange(n, dtype=np.float64) if times is None else np.asarray(times, np.float64)
    never = masks.all(axis=0)
    filled = _prefill(made, masks, clock)
    if n < 4:
        guess = filled.copy()
    else:
        if fit is None:
            fit = fit_curve(filled, times=clock)
        for _ in range(2):
            guess = _leave_one_out(filled, fit)
            filled[masks] = guess[masks]
    result = filled.copy()
    for i in wanted:
        around = _between(filled, clock, clock[i], skip=int(i))
        candidates = [guess[i]] if around is None else [guess[i], around]
        result[i], sd[i] = complete(made[i], masks[i], candidates, doubtful=never)
    return result, sd


def complete(
    frame: FloatArray, mask: Mask, guesses: Sequence[FloatArray], *, doubtful: Mask | None = None
) -> tuple[FloatArray, FloatArray]:
    """Fill the holes of one frame from guesses at the whole of it and from its seen pixels.

    Parameters
    ----------
    frame : ndarray, shape (height, width, channels)
        What stands under the mask is not read.
    mask : ndarray of bool, shape (height, width)
    guesses : sequence of ndarray, shape (height, width, channels)
        Made without this frame.
    doubtful : ndarray of bool, shape (height, width), optional
        Where the guesses themselves never saw anything.

    Returns
    -------
    frame, sd : ndarray, shape (height, width, channels)
    """
    from videorestore.motion.inpaint_fusion import Guess, fuse
    from videorestore.spatial.kriging import fill

    known = ~mask
    held = np.where(known[..., None], frame, np.float32(0)).astype(np.float32)
    if not known.any():
        mean = np.mean(guesses, axis=0).astype(np.float32)
        return mean, np.std(guesses, axis=0).astype(np.float32) + 1
    spatial, spatial_sd = fill(held, known)
    trust = np.ones(mask.shape, np.float32)
    if doubtful is not None:
        trust = np.where(doubtful, np.float32(0.05), trust)
    variance = np.zeros(mask.shape, np.float32)
    if doubtful is not None:
        variance = np.where(doubtful, np.float32(400), variance)
    options = [Guess(pixels=np.asarray(g, np.float32), trust=trust, variance=variance) for g in guesses]
    mean, spread = fuse(held, known, options, spatial, spatial_sd)
    mean = np.where(known[..., None], np.asarray(frame, np.float32), mean)
    return mean, np.sqrt(np.maximum(spread, 0)).astype(np.float32)


def place(
    frames: Any,
    fit: CurveFit,
    loose: FloatArray,
    masks: Mask,
    *,
    method: Literal["map", "mh"] = "map",
    refuse: bool = True,
    seed: int = 0,
) -> list[Placed]:
    """Find the places of loose, partly seen frames on the curve, and complete them.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        The frames of the fit.
    fit : CurveFit
    loose : ndarray, shape (m, height, width, channels)
    masks : ndarray of bool, shape (m, height, width)
        True where a pixel of a loose frame is missing.
    method : {"map", "mh"}
        The most probable position, or Metropolis-Hastings draws of it.
    refuse : bool
        Mark frames that fit nowhere.

    Returns
    -------
    list of Placed
        In the order of ``loose``.
    """
    height, width, channels = fit.shape
    masks = np.asarray(masks, np.bool_)
    if loose.shape[1:] != fit.shape or masks.shape != loose.shape[:3]:
        raise InputError(
            f"loose frames must have the shape {fit.shape} of the clip and masks their height and width, "
            f"got {loose.shape[1:]} and {masks.shape[1:]}; crop or resize them."
        )
    if method not in ("map", "mh"):
        raise InputError(f"method must be 'map' or 'mh', got {method!r}; choose one.")
    empty = np.flatnonzero(masks.all(axis=(1, 2)))
    if len(empty):
        raise InputError(f"a loose frame must show at least one pixel, frame {empty[0]} shows none; leave it out.")
    seen = np.array(loose, np.float32)
    seen[masks] = np.nan
    flat = seen.reshape(len(seen), -1)

    def chunks() -> Any:
        for _, _, block, _ in fit.strips(frames):
            yield block

    placements = fit.model.place_stream(chunks, flat)
    near, typical = _nearest(frames, fit, flat)
    usual = float(np.sqrt(np.mean([e * e for e in _own_errors(frames, fit)])))
    rng = np.random.default_rng(seed)
    placed: list[Placed] = []
    for k, placement in enumerate(placements):
        x = _best_position(frames, fit, flat[k], float(placement.mode()), near[k])
        _, x_sd = placement.moments()
        guesses, index = _guesses(frames, fit, x)
        if method == "mh":
            draws = np.asarray(placement.sample(200, rng).x)[::10]
            x_sd = float(np.std(draws))
            # The draws matter only while they stay at the mode that the check against the seen pixels took.
            close = draws[np.abs(draws - x) < 5 * x_sd + 1e-6]
            if len(close):
                guesses[0] = fit.predict(frames, close)[0].mean(axis=0)
        error = guesses[0].reshape(-1) - flat[k]
        misfit = float(np.sqrt(np.nanmean(np.square(error))))
        frame, sd = complete(np.asarray(loose[k], np.float32), masks[k], guesses)
        foreign = misfit > 2.5 * usual + 2 and misfit > 0.6 * typical
        placed.append(
            Placed(
                x=x, x_sd=float(x_sd), index=index, frame=frame, sd=sd, misfit=misfit, refused=bool(refuse and foreign)
            )
        )
    return placed


def _nearest(frames: Any, fit: CurveFit, flat: FloatArray) -> tuple[_Doubles, float]:
    """Mean squared differences ``(m, n)`` between loose frames and those of the fit where both are seen, and the
    median rms difference between two frames of the fit."""
    seen = ~np.isnan(flat)
    zero = np.where(seen, flat, np.float32(0))
    total = np.zeros((len(flat), len(fit.rows)))
    gram = np.zeros((len(fit.rows), len(fit.rows)))
    values = 0
    for _, _, block, columns in fit.strips(frames):
        s, z = seen[:, columns].astype(np.float32), zero[:, columns]
        total += (np.square(z) * s).sum(axis=1)[:, None] - 2 * z @ block.T + s @ np.square(block).T
        gram += block @ block.T
        values += block.shape[1]
    count = seen.sum(axis=1)[:, None]
    size = np.diag(gram)
    pairs = np.maximum(size[:, None] + size[None, :] - 2 * gram, 0) / values
    upper = np.sqrt(pairs[np.triu_indices(len(fit.rows), 1)])
    return np.maximum(total, 0) / np.maximum(count, 1), float(np.median(upper))


def _own_errors(frames: Any, fit: CurveFit, count: int = 12) -> list[float]:
    """Root mean square errors of frames of the fit, each predicted from the others."""
    rows = np.asarray(fit.model.fit_.rows)
    pick = np.unique(np.linspace(1, len(rows) - 2, min(count, len(rows) - 2)).astype(int))
    total = np.zeros(len(pick))
    values = 0
    for _, _, block, columns in fit.strips(frames):
        mean, _ = fit.model._posterior.leave_one_out(block, columns)
        total += np.square(mean[pick] - block[rows[pick]], dtype=np.float64).sum(axis=1)
        values += block.shape[1]
    return [float(np.sqrt(t / values)) for t in total]


def _best_position(frames: Any, fit: CurveFit, flat: FloatArray, mode: float, difference: _Doubles) -> float:
    """The posterior mode, unless the frames that look most alike lie elsewhere and explain the seen pixels better."""
    best = int(np.argmin(difference))
    beside = int(np.argmin(np.abs(fit.x - mode)))
    if abs(best - beside) <= 2:
        return mode
    low, high = fit.x[max(best - 1, 0)], fit.x[min(best + 1, len(fit.x) - 1)]
    trial = np.append(np.linspace(low, high, 9), mode)
    mean, _ = fit.predict(frames, trial)
    error = np.nanmean(np.square(mean.reshape(len(trial), -1) - flat), axis=1)
    return float(trial[int(np.argmin(error))])


def _guesses(frames: Any, fit: CurveFit, x: float) -> tuple[list[FloatArray], int]:
    """The curve and motion between the frames around a position, and how many frames come before it."""
    n = len(fit.x)
    index = int(np.searchsorted(fit.x, x))
    if fit.closed:
        order = [(index - 2) % n, (index - 1) % n, index % n, (index + 1) % n]
        at = [fit.x[k] + shift for k, shift in zip(order, _turns(order, index, n))]
    else:
        first = min(max(index - 2, 0), max(n - 4, 0))
        order = list(range(first, min(first + 4, n)))
        at = [float(fit.x[k]) for k in order]
    keep = [0] + [k for k in range(1, len(order)) if at[k] > at[k - 1] + 1e-9]
    window = np.stack([np.asarray(frames[int(fit.rows[order[k]])], np.float32) for k in keep])
    clock = np.array([at[k] for k in keep])
    guesses = [fit.predict(frames, np.array([x]))[0][0]]
    if len(keep) >= 2:
        from videorestore.motion.interpolate import interpolate

        inside = float(np.clip(x, clock[0], clock[-1]))
        # Positions are small numbers; motion between frames is measured in frames.
        scale = (len(clock) - 1) / (clock[-1] - clock[0])
        moved = interpolate(window, (clock - clock[0]) * scale, np.array([(inside - clock[0]) * scale]))
        guesses.append(np.asarray(moved.frames[0], np.float32))
        j = int(np.clip(np.searchsorted(clock, inside), 1, len(clock) - 1))
        share = (inside - clock[j - 1]) / (clock[j] - clock[j - 1])
        guesses.append(((1 - share) * window[j - 1] + share * window[j]).astype(np.float32))
    return guesses, index


def _turns(order: list[int], index: int, n: int) -> list[float]:
    """Whole turns to add so that positions around a cut rise."""
    return [(-1.0 if index - 2 + k < 0 else 1.0 if index - 2 + k >= n else 0.0) for k in range(len(order))]


def _between(filled: FloatArray, clock: _Doubles, time: float, *, skip: int) -> FloatArray | None:
    """Motion between the frames around a time, without frame ``skip``."""
    from videorestore.motion.interpolate import interpolate

    rows = [k for k in range(max(0, skip - 2), min(len(filled), skip + 3)) if k != skip]
    rows = [k for j, k in enumerate(rows) if j == 0 or clock[k] > clock[rows[j - 1]]]
    if len(rows) < 2 or not clock[rows[0]] < time < clock[rows[-1]]:
        return None
    return np.asarray(interpolate(filled[rows], clock[rows], np.array([time])).frames[0], np.float32)


def _prefill(frames: FloatArray, masks: Mask, clock: _Doubles) -> FloatArray:
    """Missing pixels interpolated in time between the nearest frames that show them; unseen ones from around."""
    from videorestore.spatial.kriging import fill

    n = len(frames)
    filled = np.where(masks[..., None], np.float32(0), frames).astype(np.float32)
    before = np.full(masks.shape[1:], -1)
    last = np.empty(masks.shape, np.int32)
    for i in range(n):
        before = np.where(masks[i], before, i)
        last[i] = before
    after = np.full(masks.shape[1:], -1)
    never = masks.all(axis=0)
    rows, columns = np.indices(masks.shape[1:])
    for i in range(n - 1, -1, -1):
        after = np.where(masks[i], after, i)
        hole = masks[i] & ~never
        if not hole.any():
            continue
        a = np.where(last[i] < 0, after, last[i])[hole]
        b = np.where(after < 0, last[i], after)[hole]
        y, x = rows[hole], columns[hole]
        span = clock[b] - clock[a]
        share = np.where(span > 0, (clock[i] - clock[a]) / np.where(span > 0, span, 1), 0.5)
        share = np.clip(share, 0, 1)[:, None].astype(np.float32)
        filled[i, y, x] = (1 - share) * frames[a, y, x] + share * frames[b, y, x]
    if never.any():
        for i in range(n):
            filled[i], _ = fill(filled[i], ~never)
    return filled


def _leave_one_out(frames: FloatArray, fit: CurveFit) -> FloatArray:
    """Every frame predicted by the curve from the others."""
    made = np.array(frames, np.float32)
    rows = np.asarray(fit.model.fit_.rows)
    where = np.searchsorted(fit.x[rows], fit.x)
    where = np.clip(where, 0, len(rows) - 1)
    width, channels = fit.shape[1:]
    for y0, y1, block, columns in fit.strips(frames):
        mean, _ = fit.model._posterior.leave_one_out(block, columns)
        made[fit.rows, y0:y1] = mean[where].reshape(len(fit.rows), y1 - y0, width, channels)
    return made
