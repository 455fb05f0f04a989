"""Which model denoises better, without knowing the truth: Stein's unbiased estimate of the squared error.

For y = truth + white noise of sd s, E|f(y) - truth|^2 = E|f(y) - y|^2 - N s^2 + 2 s^2 E div f(y); the divergence is
found by one random probe (Ramani, Blu and Unser, 2008).
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray

Denoiser = Callable[[FloatArray], FloatArray]

PROBE = 0.1
"""Length of the probe as a share of the noise sd."""

CLEAR, BLUR, FEWEST = 3.0, (7, 7), 0.02
"""Samples are judged whose surroundings are so many sd away from black and white; if they are no more than a share, nothing
is known."""


def estimated_mse(
    denoiser: Denoiser, frames: FloatArray, core: slice, sd: float, *, monochrome: bool = False, seed: int = 0
) -> float:
    """Estimated mean squared error of ``denoiser(frames)`` against the unknown truth; NaN where nearly all noise is cut off.

    Where the noise is not white (after a codec) the level is off, even below zero, for all denoisers alike.

    Parameters
    ----------
    denoiser : callable
        From frames ``(n, h, w, c)`` to the estimate of ``frames[core]``.
    frames : ndarray, shape (n, h, w, c)
        Noisy, on the 0..255 scale.
    core : slice
        The frames that are judged.
    sd : float
        Of the noise.
    monochrome : bool
        All channels carry the same noise; then the probe is the same in all of them, too.
    """
    shape = (*frames.shape[:3], 1) if monochrome else frames.shape
    probe = np.broadcast_to(
        np.random.default_rng(seed).standard_normal(shape, dtype=np.float32), frames.shape
    )
    clear = unclipped(frames[core], sd)
    if clear.mean() <= FEWEST:
        return float("nan")
    step = np.float32(PROBE * sd)
    estimate = denoiser(frames)
    moved = denoiser(frames + step * probe)
    divergence = float(np.mean((probe[core] * (moved - estimate))[clear], dtype=np.float64)) / float(step)
    residual = float(np.mean(np.square(estimate - frames[core])[clear], dtype=np.float64))
    return residual - sd * sd + 2 * sd * sd * divergence


def unclipped(frames: FloatArray, sd: float) -> NDArray[np.bool_]:
    """Samples of frames ``(n, h, w, c)`` whose noise is not cut off at black or white.

    Noise that is cut off has another mean than the truth: what comes nearer to the truth looks worse there.
    """
    smooth = np.stack([cv2.blur(frame, BLUR).reshape(frame.shape) for frame in frames])
    return np.asarray((smooth > CLEAR * sd) & (smooth < 255 - CLEAR * sd))
