"""The standard deviation of an interpolated pixel, from what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import parallel_kernel
from videorestore.motion.warp import Floats

Bytes = NDArray[np.uint8]

# Levels of sd per level of each term (see `weigh`): those with which 95 % of the true values of hidden frames lie within
# 1.96 sd, clip by clip, over natural clips. The first is the rounding of the frames that the error is measured against.
# They belong to the gap, the doubt where there is texture, the unrest, and the mean of gap and unrest.
COEFFICIENTS = np.array([0.1, 0.69, 0.84, 0.215, 0.195], dtype=np.float32)

COPIED = np.float32(0.95)  # part of the sd that is gone where all pixels around are copies
_COPIED_BOX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about the reliability of each pixel, all ``(h, w)``, float32 where nothing else is said.

    Attributes
    ----------
    gap : absolute difference of the two frames along the path, in levels
    doubt : sd of the place on the trajectory, in pixels
    unrest : how far the frames are from what their own neighbours in time foretell, in levels
    copied : how many of 15 x 15 pixels around are the same in both frames to the bit, uint8
    flicker : sd of the brightness of the whole frame, in levels; a number
    """

    gap: Floats
    doubt: Floats
    unrest: Floats
    copied: Bytes
    flicker: float


def deviation(mean: Floats, evidence: Evidence) -> Floats:
    """Standard deviation ``(h, w)`` of an interpolated frame ``(h, w, c)``."""
    texture = np.empty(mean.shape[:2], np.float32)
    slope(mean, texture)
    gap, sd = _box(evidence.gap, 7), np.empty_like(texture)
    # A coder that repeats pixels from one frame to the next repeats them in the frames between as well.
    # Some pixels of any quiet scene are the same by chance: most of those around must be.
    share = np.arange(_COPIED_BOX**2 + 1, dtype=np.float32) / _COPIED_BOX**2
    left = np.float32(1.0) - COPIED * share * np.sqrt(share)
    weigh(
        _box(texture, 5), gap, evidence.doubt, evidence.unrest, evidence.copied, left,
        np.float32(evidence.flicker**2), sd,
    )  # fmt: skip
    return sd


@parallel_kernel(lambda texture, *_: texture.shape[0], grain=8)
def weigh(
    start: int, stop: int,
    texture: Floats, gap: Floats, doubt: Floats, unrest: Floats, copied: Bytes, left: Floats, flicker: np.float32,
    sd: Floats,
) -> None:  # fmt: skip
    """Write the sd: a sum of terms, all ``(h, w)``, with the `COEFFICIENTS`; of it ``left`` is left by how many are ``copied``."""
    zero = np.float32(0.0)
    for y in range(start, stop):
        for x in range(texture.shape[1]):
            total = COEFFICIENTS[0] + COEFFICIENTS[1] * gap[y, x] + COEFFICIENTS[3] * unrest[y, x]
            total += COEFFICIENTS[2] * min(doubt[y, x], np.float32(3.0)) * texture[y, x]
            # Running sums of a box may fall a hair below zero.
            total += COEFFICIENTS[4] * np.sqrt(max(gap[y, x] * unrest[y, x], zero))
            sd[y, x] = np.sqrt(total * total + flicker) * left[copied[y, x]]


def copied(same: Bytes) -> Bytes:
    """How many of the 15 x 15 pixels around ``(h, w)`` two frames have in common to the bit, given where they do, by 1."""
    counts = cv2.boxFilter(
        same, -1, (_COPIED_BOX, _COPIED_BOX), normalize=False, borderType=cv2.BORDER_REFLECT
    )
    return np.asarray(counts)


@parallel_kernel(lambda mean, *_: mean.shape[0], grain=8)
def slope(start: int, stop: int, mean: Floats, steep: Floats) -> None:
    """Write the length of the brightness gradient (Sobel), in levels per pixel, of a frame ``(h, w, c)``."""
    height, width, channels = mean.shape
    two = np.float32(2.0)
    grey = np.empty((stop - start + 2, width + 2), np.float32)
    for y in range(start - 1, stop + 1):
        row = grey[y - start + 1]
        inside = min(max(y, 0), height - 1)
        for x in range(width):
            total = np.float32(0.0)
            for c in range(channels):
                total += mean[inside, x, c]
            row[x + 1] = total / np.float32(8 * channels)
        row[0], row[width + 1] = row[1], row[width]
    for y in range(start, stop):
        above, here, below = grey[y - start], grey[y - start + 1], grey[y - start + 2]
        for x in range(1, width + 1):
            right = above[x + 1] + two * here[x + 1] + below[x + 1]
            left = above[x - 1] + two * here[x - 1] + below[x - 1]
            down = below[x - 1] + two * below[x] + below[x + 1]
            up = above[x - 1] + two * above[x] + above[x + 1]
            steep[y, x - 1] = np.sqrt((right - left) * (right - left) + (down - up) * (down - up))


def _box(values: Floats, size: int) -> Floats:
    return np.asarray(cv2.blur(values, (size, size), borderType=cv2.BORDER_REFLECT), dtype=np.float32)
