"""Missing pixels on a curve: from all other frames and from the seen pixels of the same frame.

The curve and motion between the neighbours each say what a frame should look like. Where the frame is seen their
errors are known; the mixture that explains the seen pixels best is taken, and what it misses there is carried on
into the unseen ones by kriging.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.curve.fit import ShotCurve, fit_shot
from videorestore.errors import InputError

_CONTRAST = 6.0
"""Root mean square error to which better guesses are scaled before they are fused."""

_POOR = 2.0
"""Guesses whose mean squared error is so many times that of the best are left out."""

_UNSEEN = np.float32(400)
"""Variance of what a curve says of pixels that no frame shows."""

_DOUBTED = np.float32(0.05)
"""Trust in it, of 1."""

FEWEST = 4
"""Frames that a curve can be fitted to."""


def inpaint(
    frames: FloatArray,
    masks: Mask,
) -> tuple[FloatArray, FloatArray]:
    """Regenerate missing pixels of frames in known order.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        What stands under the mask is never read and may be NaN.
    masks : ndarray of bool, shape (n, height, width)
        True where a pixel is missing.

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
    made = np.array(frames, np.float32)
    sd = np.zeros_like(made)
    wanted = np.flatnonzero(masks.any(axis=(1, 2)))
    if not len(wanted):
        return made, sd
    never = np.asarray(masks.all(axis=0), np.bool_)
    guess, _ = opinion(made, masks)
    filled = np.where(masks[..., None], guess, made)
    result = filled.copy()
    for i in wanted:
        around = _between(filled, int(i))
        candidates = [guess[i]] if around is None else [guess[i], around]
        result[i], sd[i] = complete(made[i], masks[i], candidates, doubtful=never)
    return result, sd


def opinion(frames: FloatArray, masks: Mask) -> tuple[FloatArray, FloatArray]:
    """Every frame as the others tell it, and the variance of that; parameters as of `inpaint`.

    Returns
    -------
    mean : ndarray, float32, shape (n, height, width, channels)
    variance : ndarray, float32, shape (n, height, width)
        Mean over the channels, noise included.
    """
    filled = _prefill(frames, masks)
    if len(frames) < FEWEST:
        return filled, np.full(masks.shape, _UNSEEN, np.float32)
    fit = fit_shot(filled)
    for _ in range(2):
        guess, variance = _leave_one_out(filled, fit)
        filled[masks] = guess[masks]
    return guess, np.where(masks.all(axis=0), _UNSEEN, variance).astype(np.float32)


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
    trust, variance = np.ones(mask.shape, np.float32), np.zeros(mask.shape, np.float32)
    if doubtful is not None:
        trust, variance = np.where(doubtful, _DOUBTED, trust), np.where(doubtful, _UNSEEN, variance)
    # The fusion's regularisation is set for errors of some levels; on a clip known better than that the same
    # picture with more contrast is mended and scaled back.
    errors = [float(np.mean(np.square((g - held)[known]))) for g in guesses]
    least = min(errors)
    gain = np.float32(np.clip(_CONTRAST / max(np.sqrt(least), 1e-3), 1, 8))
    # Deep in a hole nothing nearby tells the guesses apart: there the whole picture does.
    options = [
        Guess(
            pixels=gain * np.asarray(g, np.float32),
            trust=trust,
            variance=variance,
            usual=float(gain) ** 2 * error,
        )
        for g, error in zip(guesses, errors)
        if error < _POOR * least + 1e-6
    ]
    mean, spread = fuse(gain * held, known, options, gain * spatial, gain * spatial_sd)
    mean = np.where(known[..., None], np.asarray(frame, np.float32), mean / gain)
    return mean, (np.sqrt(np.maximum(spread, 0)) / gain).astype(np.float32)


def _between(filled: FloatArray, skip: int) -> FloatArray | None:
    """Motion between the frames around the time of frame ``skip``, without it."""
    from videorestore.motion.interpolate import interpolate

    rows = [k for k in range(max(0, skip - 2), min(len(filled), skip + 3)) if k != skip]
    if len(rows) < 2 or not rows[0] < skip < rows[-1]:
        return None
    made = interpolate(filled[rows], np.array(rows, np.float64), np.array([skip], np.float64))
    return np.asarray(made.frames[0], np.float32)


def _prefill(frames: FloatArray, masks: Mask) -> FloatArray:
    """Missing pixels interpolated in time between the nearest frames that show them; unseen ones from around."""
    from videorestore.spatial.kriging import fill

    n = len(frames)
    filled = np.where(masks[..., None], np.float32(0), frames).astype(np.float32)
    before = np.full(masks.shape[1:], -1)
    last = np.empty(masks.shape, np.int32)
    for i in range(n):
        before = np.where(masks[i], before, i)
        last[i] = before
    after: Any = np.full(masks.shape[1:], -1, np.int32)
    never = np.asarray(masks.all(axis=0), np.bool_)
    for i in range(n - 1, -1, -1):
        after = np.where(masks[i], after, i)
        hole = masks[i] & ~never
        if not hole.any():
            continue
        earlier, later = last[i][hole], after[hole]
        a, b = np.where(earlier < 0, later, earlier), np.where(later < 0, earlier, later)
        y, x = np.nonzero(hole)
        share = np.where(b > a, (i - a) / np.where(b > a, b - a, 1), 0.5)
        share = np.clip(share, 0, 1)[:, None].astype(np.float32)
        filled[i, y, x] = (1 - share) * frames[a, y, x] + share * frames[b, y, x]
    if never.any():
        for i in range(n):
            filled[i], _ = fill(filled[i], ~never)
    return filled


def _leave_one_out(frames: FloatArray, fit: ShotCurve) -> tuple[FloatArray, FloatArray]:
    """Every frame predicted by the curve from the others, and the variance ``(n, h, w)`` of that."""
    made = np.array(frames, np.float32)
    variance = np.zeros(made.shape[:3], np.float32)
    rows = np.asarray(fit.posterior.fit.rows)
    where = np.searchsorted(fit.x[rows], fit.x)
    where = np.clip(where, 0, len(rows) - 1)
    width, channels = fit.shape[1:]
    for y0, y1, block, columns in fit.strips(frames):
        mean, sd = fit.posterior.leave_one_out(block, columns)
        shape = (len(fit.x), y1 - y0, width, channels)
        made[:, y0:y1] = mean[where].reshape(shape)
        variance[:, y0:y1] = np.square(sd[where]).reshape(shape).mean(axis=3)
    return made, variance
