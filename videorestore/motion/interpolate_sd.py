"""The standard deviation of an interpolated pixel, from what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import parallel_kernel
from videorestore.motion.warp import Floats, odd

Bytes = NDArray[np.uint8]

# Levels of sd per level of each term (see `weigh`): those with which 95 % of the true values of hidden frames lie within
# 1.96 sd, clip by clip, over natural clips. The first is the rounding of the frames that the error is measured against.
# They belong to the gap, the doubt where there is texture, the unrest, and the mean of gap and unrest.
COEFFICIENTS = np.array([0.1, 0.69, 0.84, 0.215, 0.195], dtype=np.float32)

COPIED = np.float32(0.95)  # part of the sd that is gone where all pixels around are copies
_COPIED_BOX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about the reliability of each place, all ``(rows, columns)``, float32 where nothing else is said.

    Attributes
    ----------
    gap : absolute difference of the two frames along the path, in levels
    size : pixels of a frame, along an axis, to one of these maps; a number
    doubt : sd of the place on the trajectory, in pixels
    unrest : how far the frames are from what their own neighbours in time foretell, in levels
    copied : how many of 15 x 15 pixels around are the same in both frames to the bit, uint8, ``(h, w)``
    flicker : sd of the brightness of the whole frame, in levels; a number
    """

    gap: Floats
    doubt: Floats
    unrest: Floats
    copied: Bytes
    flicker: float
    size: int = 1


def deviation(mean: Floats, evidence: Evidence) -> Floats:
    """Standard deviation ``(h, w)`` of an interpolated frame ``(h, w, c)``."""
    (height, width), size = mean.shape[:2], evidence.size
    rows, columns = evidence.gap.shape
    texture = np.empty((rows, columns), np.float32)
    slope(mean, size, texture)
    gap, sd = _box(evidence.gap, 7 / size), np.empty_like(texture)
    # A coder that repeats pixels from one frame to the next repeats them in the frames between as well.
    # Some pixels of any quiet scene are the same by chance: most of those around must be.
    share = np.arange(_COPIED_BOX**2 + 1, dtype=np.float32) / _COPIED_BOX**2
    left = np.float32(1.0) - COPIED * share * np.sqrt(share)
    weigh(
        _box(texture, 5 / size), gap, evidence.doubt, evidence.unrest, evidence.copied, size, left,
        np.float32(evidence.flicker**2), sd,
    )  # fmt: skip
    if size == 1:
        return sd
    large = cv2.resize(sd, (columns * size, rows * size), interpolation=cv2.INTER_LINEAR)
    return np.asarray(large[:height, :width], np.float32)


@parallel_kernel(lambda texture, *_: texture.shape[0], grain=128)
def weigh(
    start: int, stop: int,
    texture: Floats, gap: Floats, doubt: Floats, unrest: Floats, copied: Bytes, size: int, left: Floats,
    flicker: np.float32, sd: Floats,
) -> None:  # fmt: skip
    """Write the sd: a sum of terms, all ``(rows, columns)``, with the `COEFFICIENTS`.

    Of it ``left`` is left by how many are ``copied`` in the middle of the ``size`` pixels, along an axis, of a place.
    """
    zero = np.float32(0.0)
    height, width = copied.shape
    for y in range(start, stop):
        row = min(size * y + size // 2, height - 1)
        for x in range(texture.shape[1]):
            total = COEFFICIENTS[0] + COEFFICIENTS[1] * gap[y, x] + COEFFICIENTS[3] * unrest[y, x]
            total += COEFFICIENTS[2] * min(doubt[y, x], np.float32(3.0)) * texture[y, x]
            # Running sums of a box may fall a hair below zero.
            total += COEFFICIENTS[4] * np.sqrt(max(gap[y, x] * unrest[y, x], zero))
            sd[y, x] = (
                np.sqrt(total * total + flicker) * left[copied[row, min(size * x + size // 2, width - 1)]]
            )


def copied(same: Bytes) -> Bytes:
    """How many of the 15 x 15 pixels around ``(h, w)`` two frames have in common to the bit, given where they do, by 1."""
    counts = cv2.boxFilter(
        same, -1, (_COPIED_BOX, _COPIED_BOX), normalize=False, borderType=cv2.BORDER_REFLECT
    )
    return np.asarray(counts)


@parallel_kernel(lambda mean, size, steep: steep.shape[0], grain=128)
def slope(start: int, stop: int, mean: Floats, size: int, steep: Floats) -> None:
    """Write the length of the brightness gradient (Sobel), in levels per pixel, of a frame ``(h, w, c)``.

    ``steep`` (rows, columns) has its means over squares of ``size`` pixels a side.
    """
    height, width, channels = mean.shape
    two = np.float32(2.0)
    first, last = start * size, min(stop * size, height)
    grey = np.empty((last - first + 2, width + 2), np.float32)
    for y in range(first - 1, last + 1):
        row = grey[y - first + 1]
        inside = min(max(y, 0), height - 1)
        for x in range(width):
            total = np.float32(0.0)
            for c in range(channels):
                total += mean[inside, x, c]
            row[x + 1] = total / np.float32(8 * channels)
        row[0], row[width + 1] = row[1], row[width]
    line = np.empty(width, np.float32)
    for place in range(start, stop):
        low, high = place * size, min((place + 1) * size, height)
        line[:] = np.float32(0.0)
        for y in range(low, high):
            above, here, below = grey[y - first], grey[y - first + 1], grey[y - first + 2]
            for x in range(1, width + 1):
                right = above[x + 1] + two * here[x + 1] + below[x + 1]
                left = above[x - 1] + two * here[x - 1] + below[x - 1]
                down = below[x - 1] + two * below[x] + below[x + 1]
                up = above[x - 1] + two * above[x] + above[x + 1]
                line[x - 1] += np.sqrt((right - left) * (right - left) + (down - up) * (down - up))
        for column in range(steep.shape[1]):
            total = np.float32(0.0)
            left_most, right_most = column * size, min((column + 1) * size, width)
            for x in range(left_most, right_most):
                total += line[x]
            steep[place, column] = total / np.float32((high - low) * (right_most - left_most))


def _box(values: Floats, side: float) -> Floats:
    size = odd(side)
    return np.asarray(cv2.blur(values, (size, size), borderType=cv2.BORDER_REFLECT), dtype=np.float32)
