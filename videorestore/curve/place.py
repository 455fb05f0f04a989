"""Loose frames on a curve: where a partly seen frame without known position belongs, and what it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.curve.fit import ShotCurve
from videorestore.curve.inpaint import complete
from videorestore.errors import InputError

_Doubles = NDArray[np.float64]

DRAWS, THINNED = 200, 10
"""Steps of the Markov chain of a position, and of how many one is used."""

FOREIGN, ROUNDING, ALIKE = 2.5, 2.0, 0.6
"""A frame belongs nowhere if its misfit exceeds so many times the curve's usual error and rounding (0..255 scale), and so
large a part of the median difference between two frames."""


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


def place(
    frames: Any,
    fit: ShotCurve,
    loose: FloatArray,
    masks: Mask,
    *,
    method: Literal["map", "mh"] = "map",
    seed: int = 0,
) -> list[Placed]:
    """Find the places of loose, partly seen frames on the curve, and complete them.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        The frames of the fit.
    fit : ShotCurve
    loose : ndarray, shape (m, height, width, channels)
    masks : ndarray of bool, shape (m, height, width)
        True where a pixel of a loose frame is missing.
    method : {"map", "mh"}
        The most probable position, or Metropolis-Hastings draws of it.

    Returns
    -------
    list of Placed
        In the order of ``loose``.
    """
    masks = np.asarray(masks, np.bool_)
    _check(fit, loose, masks, method)
    seen = np.array(loose, np.float32)
    seen[masks] = np.nan
    flat = seen.reshape(len(seen), -1)

    def chunks() -> Any:
        for _, _, block, _ in fit.strips(frames):
            yield block

    placements = fit.posterior.place(chunks, flat)
    alike = _likeness(frames, fit, flat)
    usual = float(np.sqrt(np.mean(np.square(_own_errors(frames, fit)))))
    rng = np.random.default_rng(seed)
    placed: list[Placed] = []
    for k, placement in enumerate(placements):
        mode = float(placement.mode())
        pair = _best_pair(fit, mode, alike.error[k])
        guesses, x = _guesses(frames, fit, mode, pair, float(alike.share[k, pair]), seen[k])
        _, x_sd = placement.moments()
        if method == "mh":
            draws = np.asarray(placement.sample(DRAWS, rng).x)[::THINNED]
            x_sd = float(np.std(draws))
            # The draws matter only while they stay at the mode that the check against the seen pixels took.
            close = draws[np.abs(draws - x) < 5 * x_sd + 1e-6]
            if len(close):
                guesses[0] = fit.predict(frames, close)[0].mean(axis=0)
        misfit = min(float(np.sqrt(np.nanmean(np.square(guess - seen[k])))) for guess in guesses)
        frame, sd = complete(np.asarray(loose[k], np.float32), masks[k], guesses)
        placed.append(
            Placed(
                x=x,
                x_sd=float(x_sd) if np.isfinite(x_sd) else _spare(fit, pair),
                index=pair + 1,
                frame=frame,
                sd=sd,
                misfit=misfit,
                refused=misfit > FOREIGN * usual + ROUNDING and misfit > ALIKE * alike.typical,
            )
        )
    return placed


def _spare(fit: ShotCurve, pair: int) -> float:
    """Sd of a position of which no more is known than the pair of frames that it lies between."""
    return 0.25 * abs(float(fit.x[pair + 1] - fit.x[pair])) if pair + 1 < len(fit.x) else 0.0


def _check(fit: ShotCurve, loose: FloatArray, masks: Mask, method: str) -> None:
    if loose.shape[1:] != fit.shape or masks.shape != loose.shape[:3]:
        raise InputError(
            f"loose frames must have the shape {fit.shape} of the clip and masks their height and width, "
            f"got {loose.shape[1:]} and {masks.shape[1:]}; crop or resize them."
        )
    if method not in ("map", "mh"):
        raise InputError(f"method must be 'map' or 'mh', got {method!r}; choose one.")
    empty = np.flatnonzero(masks.all(axis=(1, 2)))
    if len(empty):
        raise InputError(
            f"a loose frame must show at least one pixel, frame {empty[0]} shows none; leave it out."
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Likeness:
    """How loose frames compare with those of the fit at the pixels that they show.

    Attributes
    ----------
    share, error : ndarray, shape (m, n - 1)
        For each pair of frames in a row (on a closed curve also the last and the first): where between them the
        straight line comes nearest to the loose frame, and its mean squared error there.
    typical : float
        Median rms difference between two frames of the fit.
    """

    share: _Doubles
    error: _Doubles
    typical: float


def _likeness(frames: Any, fit: ShotCurve, flat: FloatArray) -> _Likeness:
    seen = ~np.isnan(flat)
    zero = np.where(seen, flat, np.float32(0))
    n = len(fit.x)
    total = np.zeros((len(flat), n))
    steps = np.zeros((len(flat), n))
    gram = np.zeros((n, n))
    values = 0
    for _, _, block, columns in fit.strips(frames):
        s, z = seen[:, columns].astype(np.float32), zero[:, columns]
        total += (np.square(z) * s).sum(axis=1)[:, None] - 2 * z @ block.T + s @ np.square(block).T
        steps += s @ np.square(np.roll(block, -1, axis=0) - block).T
        gram += block @ block.T
        values += block.shape[1]
    count = np.maximum(seen.sum(axis=1), 1)[:, None]
    total, steps = np.maximum(total, 0) / count, steps / count
    after = np.roll(total, -1, axis=1)
    safe = np.maximum(steps, 1e-12)
    share = np.clip((total - after + steps) / (2 * safe), 0, 1)
    error = total + share * (after - total - steps) + share * share * steps
    if not fit.closed:
        share, error = share[:, :-1], error[:, :-1]
    size = np.diag(gram)
    pairs = np.maximum(size[:, None] + size[None, :] - 2 * gram, 0) / values
    upper = np.sqrt(pairs[np.triu_indices(n, 1)])
    return _Likeness(share=share, error=error, typical=float(np.median(upper)))


def _own_errors(frames: Any, fit: ShotCurve, count: int = 12) -> list[float]:
    """Root mean square errors of frames of the fit, each predicted from the others."""
    rows = np.asarray(fit.posterior.fit.rows)
    pick = np.unique(np.linspace(1, len(rows) - 2, min(count, len(rows) - 2)).astype(int))
    total = np.zeros(len(pick))
    values = 0
    for _, _, block, columns in fit.strips(frames):
        mean, _ = fit.posterior.leave_one_out(block, columns)
        total += np.square(mean[pick] - block[rows[pick]], dtype=np.float64).sum(axis=1)
        values += block.shape[1]
    return [float(np.sqrt(t / values)) for t in total]


def _best_pair(fit: ShotCurve, mode: float, error: _Doubles) -> int:
    """The pair of frames that a loose one lies between: the posterior mode's, unless another explains it better."""
    pair = int(np.searchsorted(fit.x, mode)) - 1
    pair = pair % len(fit.x) if fit.closed else min(max(pair, 0), len(error) - 1)
    best = int(np.argmin(error))
    return best if error[pair] > 1.1 * error[best] else pair


def _guesses(
    frames: Any, fit: ShotCurve, mode: float, pair: int, share: float, seen: FloatArray
) -> tuple[list[FloatArray], float]:
    """What the curve, motion and a straight blend say between two frames, and the latent position found there.

    Parameters
    ----------
    mode : float
        Mode of the posterior of the position.
    pair : int
        The loose frame lies between this frame of the fit and the next.
    share : float
        Where between them, by the straight line.
    seen : ndarray, shape (height, width, channels)
        The loose frame, NaN where it is not seen.
    """
    from videorestore.motion.interpolate import interpolate

    n = len(fit.x)
    around = [pair - 1, pair, pair + 1, pair + 2]
    if not fit.closed:
        around = [k for k in around if 0 <= k < n]
    at = np.array([fit.x[k % n] + k // n for k in around])
    low, high = fit.x[pair], fit.x[(pair + 1) % n] + (pair + 1) // n
    inside = low < mode < high
    place = (mode - low) / (high - low) if inside and high > low else share
    keep = [j for j in range(len(around)) if j == 0 or at[j] > at[j - 1] + 1e-9]
    window = np.stack([np.asarray(frames[around[j] % n], np.float32) for j in keep])
    clock = np.array([around[j] - pair for j in keep], np.float64)
    first = np.asarray(frames[pair], np.float32)
    second = np.asarray(frames[(pair + 1) % n], np.float32)
    guesses: list[FloatArray] = []
    if len(keep) >= 2 and clock[0] <= 0 and clock[-1] >= 1:
        trial = np.unique(np.clip(np.append(np.arange(0.05, 1, 0.1), place), 0.02, 0.98))
        moved = interpolate(window, clock, trial).frames
        error = np.nanmean(np.square(moved - seen), axis=(1, 2, 3))
        best = int(np.argmin(error))
        guesses.append(np.asarray(moved[best], np.float32))
        if not inside:
            place = float(trial[best])
    x = float(low + place * (high - low))
    curve = fit.predict(frames, np.array([x % 1.0 if fit.closed else x]))[0][0]
    return [curve, *guesses, ((1 - share) * first + share * second).astype(np.float32)], x
