"""No part of a noisy picture is quieter than its noise: the quietest blocks bound the noise from above.

Motion that could not be followed looks like noise between frames, but not within them.
"""

from __future__ import annotations

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.detect.noise_blocks import COSINES
from videorestore.spatial.noise import LUMA, LUMA_GAIN, is_monochrome
from videorestore.spatial.quantiles import chi_square_quantile

_BLOCK = 8
_SHARE = 0.1  # of the blocks, the quietest ones, are listened to
_PICTURES = 4
_DARK, _BRIGHT = 12.0, 243.0  # beyond these levels noise is cut off
_PROBE, _PROBES = 16, 24  # side of the places whose like is sought, and about how many
_LUCK = 0.6  # squared difference of two noisy places over what is usual, at the best of a hundred thousand


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


def unmatched_sd(frames: FloatArray, margin: float = 0.0) -> float:
    """Upper bound of the standard deviation of white noise: what no other place of the same frame shows again, by luma.

    Noise does not repeat itself; stripes and tiles do, however fast they move.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        RGB or grey on the 0..255 scale.
    margin : float
        Levels from black and white within which noise of the strength in question is cut off.

    Returns
    -------
    float
        Per channel; infinite where a frame is too small, or too dark or bright, to tell.
    """
    n, height, width, channels = frames.shape
    frame = np.asarray(frames[n // 2], np.float32)
    grey = np.ascontiguousarray(frame @ LUMA if channels == 3 else frame[..., 0])
    gain = LUMA_GAIN if channels == 3 and not is_monochrome(frame[None]) else 1.0
    pace = max(_PROBE, round(float(np.sqrt(height * width / _PROBES))))
    least = []
    for y, x in np.ndindex(max(0, height - _PROBE) // pace + 1, max(0, width - _PROBE) // pace + 1):
        top, left = y * pace, x * pace
        place = grey[top : top + _PROBE, left : left + _PROBE]
        if margin < place.mean() < 255.0 - margin:
            off = cv2.matchTemplate(grey, place, cv2.TM_SQDIFF)
            # Itself is not another place.
            off[
                max(0, top - _PROBE // 2) : top + _PROBE // 2, max(0, left - _PROBE // 2) : left + _PROBE // 2
            ] = np.inf
            least.append(float(off.min()) / place.size)
    if len(least) < _PROBES // 3:
        return float("inf")
    return float(np.sqrt(max(np.median(least), 0.0) / (2 * _LUCK)) / gain)


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
