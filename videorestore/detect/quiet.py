"""No part of a noisy picture is quieter than its noise: the quietest blocks bound the noise from above.

Motion that could not be followed looks like noise between frames, but not within them.
"""

from __future__ import annotations

import numpy as np

from videorestore.clip import FloatArray
from videorestore.detect.noise_blocks import COSINES
from videorestore.spatial.noise import LUMA, LUMA_GAIN, is_monochrome
from videorestore.spatial.quantiles import chi_square_quantile

_BLOCK = 8
_SHARE = 0.1  # of the blocks, the quietest ones, are listened to
_PICTURES = 4
_DARK, _BRIGHT = 12.0, 243.0  # beyond these levels noise is cut off


def quietest_sd(frames: FloatArray, margin: float = 0.0) -> float:
    """Upper bound of the standard deviation of white noise, from single frames.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        RGB or grey on the 0..255 scale.
    margin : float
        Levels from black and white within which noise of the strength in question is cut off.

    Returns
    -------
    float
        Per channel. Noise that lost its high frequencies in a codec may be stronger than this.
    """
    n, height, width, channels = frames.shape
    rows, columns = height // _BLOCK, width // _BLOCK
    if not rows or not columns:
        return 0.0
    chosen = np.unique(np.linspace(0, n - 1, min(n, _PICTURES)).astype(int))
    part = np.asarray(frames[chosen, : rows * _BLOCK, : columns * _BLOCK], np.float32)
    grey = part @ LUMA if channels == 3 else part[..., 0]
    blocks = grey.reshape(len(chosen), rows, _BLOCK, columns, _BLOCK).transpose(0, 1, 3, 2, 4)
    blocks = blocks.reshape(-1, _BLOCK, _BLOCK)
    level = blocks.mean(axis=(1, 2))
    inner = (level > max(_DARK, margin)) & (level < min(_BRIGHT, 255.0 - margin))
    if inner.sum() >= 20:
        blocks = blocks[inner]
    fine = np.add.outer(np.arange(_BLOCK), np.arange(_BLOCK)) >= _BLOCK - 1
    energy = np.square(COSINES @ blocks @ COSINES.T)[:, fine].mean(axis=1)
    freedom = int(fine.sum())
    usual = chi_square_quantile(freedom, _SHARE) / freedom
    gain = LUMA_GAIN if channels == 3 and not is_monochrome(part) else 1.0
    return float(np.sqrt(np.quantile(energy, _SHARE) / usual) / gain)


def lively_sd(frames: FloatArray) -> float:
    """Standard deviation of what changes between frames in a usual block, per channel.

    Texture that stands still does not change, and noise that a codec froze does so only where it is coded anew.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        RGB or grey on the 0..255 scale.
    """
    n, height, width, channels = frames.shape
    rows, columns = height // _BLOCK, width // _BLOCK
    if n < 2 or not rows or not columns:
        return 0.0
    part = np.asarray(frames[:, : rows * _BLOCK, : columns * _BLOCK], np.float32)
    grey = part @ LUMA if channels == 3 else part[..., 0]
    steps = np.diff(grey, axis=0).reshape(n - 1, rows, _BLOCK, columns, _BLOCK)
    gain = LUMA_GAIN if channels == 3 else 1.0
    return float(np.median(steps.std(axis=(2, 4))) / np.sqrt(2) / gain)
