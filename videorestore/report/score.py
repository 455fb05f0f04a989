"""How near two pictures are, and which frame of one clip belongs to which of another."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

CEILING = 100.0
"""PSNR in dB of equal pictures: theirs is infinite, which JSON cannot hold."""

_WINDOW = 11
_SPREAD = 1.5
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """Frames of A and B that belong together by time.

    Attributes
    ----------
    pairs : tuple of (int, int)
        Numbers in A and in B, both rising.
    only_a, only_b : tuple of int
        Frames without a partner.
    """

    pairs: tuple[tuple[int, int], ...]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


def mse(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Mean squared difference of two arrays of the same shape; NaN on either side is left out."""
    difference = np.subtract(first, second, dtype=np.float32)
    squared = np.square(difference)
    mean = np.nanmean if np.isnan(squared).any() else np.mean
    return float(mean(squared, dtype=np.float64))


def psnr(error: float) -> float:
    """PSNR in dB of a mean squared error on the 0..255 scale, at most `CEILING`.

    >>> round(psnr(1.0), 2)
    48.13
    """
    if not error > 0:
        return CEILING
    return min(CEILING, 10 * math.log10(255.0**2 / error))


def ssim(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Structural similarity of two luma pictures (Wang et al. 2004).

    Parameters
    ----------
    first, second : ndarray, shape (height, width)
        On the 0..255 scale.

    Returns
    -------
    float
        Mean over all places where the Gaussian window (11 x 11, sd 1.5) lies inside the picture;
        over the whole picture with mirrored borders where that is smaller than the window.
    """
    a, b = first.astype(np.float64), second.astype(np.float64)

    def blur(values: NDArray[Any]) -> NDArray[Any]:
        window = (_WINDOW, _WINDOW)
        return cv2.GaussianBlur(values, window, _SPREAD, borderType=cv2.BORDER_REFLECT)  # type: ignore[no-any-return]

    mean_a, mean_b = blur(a), blur(b)
    var_a = blur(a * a) - mean_a * mean_a
    var_b = blur(b * b) - mean_b * mean_b
    both = blur(a * b) - mean_a * mean_b
    similarity = ((2 * mean_a * mean_b + _C1) * (2 * both + _C2)) / (
        (mean_a * mean_a + mean_b * mean_b + _C1) * (var_a + var_b + _C2)
    )
    edge = _WINDOW // 2
    inner = similarity[edge:-edge, edge:-edge] if min(a.shape) >= _WINDOW else similarity
    return float(inner.mean())


def luma(picture: NDArray[Any]) -> NDArray[np.float32]:
    """BT.601 luma of an RGB picture, or the grey one as it is, ``(height, width)``."""
    values = picture.astype(np.float32, copy=False)
    if values.shape[-1] == 1:
        return values[..., 0]
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    return values[..., :3] @ weights  # type: ignore[no-any-return]


def on_255(picture: NDArray[Any]) -> NDArray[np.float32]:
    """A uint8, uint16 (full scale) or float 0..1 picture as float32 on the 0..255 scale."""
    if picture.dtype == np.uint8:
        return picture.astype(np.float32)
    if picture.dtype == np.uint16:
        return picture.astype(np.float32) * np.float32(255 / 65535)
    return picture.astype(np.float32) * np.float32(255)


def same_colours(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two pictures with the same channels: alpha dropped, grey beside RGB repeated.

    Parameters
    ----------
    first, second : ndarray, shape (height, width, channels)
        Of one size.
    """
    first, second = (
        picture[..., :3] if picture.shape[-1] >= 3 else picture[..., :1] for picture in (first, second)
    )
    channels = max(first.shape[-1], second.shape[-1])
    shape = (*first.shape[:2], channels)
    return np.broadcast_to(first, shape), np.broadcast_to(second, shape)


def align(times_a: Sequence[Fraction], times_b: Sequence[Fraction]) -> Alignment:
    """Partners by time: the nearest frame within half a frame interval, each used once.

    Parameters
    ----------
    times_a, times_b : sequence of Fraction
        Seconds from the start of each clip, rising.
    """
    reach = min(_interval(times_a), _interval(times_b)) / 2
    claims: dict[int, int] = {}
    for i, at in enumerate(times_a):
        j = _nearest(times_b, at)
        if j is None or abs(times_b[j] - at) > reach:
            continue
        rival = claims.get(j)
        if rival is None or abs(times_a[i] - times_b[j]) < abs(times_a[rival] - times_b[j]):
            claims[j] = i
    pairs = tuple(sorted((i, j) for j, i in claims.items()))
    with_partner = {i for i, _ in pairs}
    return Alignment(
        pairs=pairs,
        only_a=tuple(i for i in range(len(times_a)) if i not in with_partner),
        only_b=tuple(j for j in range(len(times_b)) if j not in claims),
    )


def _interval(times: Sequence[Fraction]) -> Fraction:
    """Median step between frames; a single frame has all the time there is."""
    steps = sorted(later - earlier for earlier, later in zip(times, times[1:]))
    return steps[len(steps) // 2] if steps else Fraction(10**9)


def _nearest(times: Sequence[Fraction], at: Fraction) -> int | None:
    if not times:
        return None
    place = bisect_left(times, at)
    if place == 0:
        return 0
    if place == len(times):
        return place - 1
    return place if times[place] - at < at - times[place - 1] else place - 1
