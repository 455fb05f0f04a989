"""Vertical lines that stay on the film while the picture moves beneath them."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.motion.flow import fast_flow, luma

_SPAN = 9  # a line is much narrower than this
_BANDS = 12  # the height is judged in so many parts
_LEAST = 5.0  # contrast in levels
_OUT = 3.0  # times the usual contrast of narrow things, by which a line stands out
_SHARE = 0.84  # of the bands show the line
_STILL = 0.4  # pixels per frame: what moves less cannot be told from the picture
_ROWS = 4  # of which one is made: a line runs through all of them
_DRIFT = 2  # pixels by which a line may wander from frame to frame


def find_lines(frames: Any, k: int, noise_sd: float) -> Mask:
    """Persistent vertical lines ``(height, width)`` of frame k of ``(n, height, width, channels)``, in memory or on disk.

    A line counts if it runs (almost) through the whole height, is seen at the same place in both neighbouring
    frames, and the picture moves sideways against it. Where nothing moves, it cannot be told from a pole.
    """
    height, width = frames.shape[1:3]
    nothing = np.zeros((height, width), np.bool_)
    if len(frames) < 3 or height < 8 * _BANDS or width < 4 * _SPAN:
        return nothing
    least = _LEAST + 0.6 * noise_sd
    detail = _detail(frames[k])
    paths = _paths(detail, least)
    if not paths:
        return nothing
    first: list[tuple[NDArray[np.float64], int]] = []
    near = [j for j in (k - 1, k + 1, k - 2, k + 2) if 0 <= j < len(frames)][:2]
    for j in near:
        others = _paths(_detail(frames[j]), least)
        first = first or others
        paths = [
            (path, sign)
            for path, sign in paths
            if any(sign == s and np.median(np.abs(path - p)) <= _DRIFT * abs(j - k) for p, s in others)
        ]
        if not paths:
            return nothing
    flow = fast_flow(luma(frames[k]), luma(frames[near[0]]))[..., 0] / abs(near[0] - k)
    mask = nothing.copy()
    for path, sign in paths:
        columns = np.clip(
            np.rint(np.interp(np.arange(height), _centres(height), path)).astype(int), 0, width - 1
        )
        beside = np.concatenate(
            [flow[np.arange(height), np.clip(columns + d, 0, width - 1)] for d in (-12, -9, 9, 12)]
        )
        if np.median(np.abs(beside)) < _STILL:
            continue
        # A stripe of the picture goes where the picture goes; a line on the film does not.
        carried = float(np.median(beside)) * abs(near[0] - k)
        wandered = min((float(np.median(p - path)) for p, s in first if s == sign), key=abs)
        if abs(wandered - carried) < max(0.5 * _STILL, 0.6 * abs(carried)):
            continue
        for d in (-2, -1, 0, 1, 2):
            at = np.clip(columns + d, 0, width - 1)
            value = detail[np.arange(height) // _ROWS, at] * sign
            mask[np.arange(height), at] |= (value > 0.4 * least) | (d == 0)
    return mask


def _detail(frame: FloatArray) -> FloatArray:
    """What is narrow across ``(height / _ROWS, width)``: luma less its median along the row, smoothed along the column."""
    grey = luma(frame)
    grey = cv2.copyMakeBorder(grey, 0, -len(grey) % _ROWS, 0, 0, cv2.BORDER_REPLICATE).astype(np.float32)
    grey = cv2.resize(grey, (grey.shape[1], len(grey) // _ROWS), interpolation=cv2.INTER_AREA)
    half = _SPAN // 2
    padded = np.pad(grey, ((0, 0), (half, half)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _SPAN, axis=1)
    narrow = grey - np.median(windows, axis=2).astype(np.float32)
    return np.asarray(cv2.blur(narrow, (1, 3), borderType=cv2.BORDER_REFLECT), np.float32)


def _centres(height: int) -> NDArray[np.float64]:
    return (np.arange(_BANDS) + 0.5) * height / _BANDS


def _paths(detail: FloatArray, least: float) -> list[tuple[NDArray[np.float64], int]]:
    """Columns ``(_BANDS,)`` of lines from top to bottom, with the sign of their contrast."""
    height = len(detail)
    edges = np.linspace(0, height, _BANDS + 1).astype(int)
    bands = np.stack([np.median(detail[a:b], axis=0) for a, b in zip(edges[:-1], edges[1:])])
    # In a texture of narrow things none of them is a line.
    least = max(least, _OUT * 1.4826 * float(np.median(np.abs(bands))))
    found = []
    for sign in (1, -1):
        # A tilt of one pixel per band is allowed for.
        signed = cv2.dilate((sign * bands).astype(np.float32), np.ones((1, 3), np.uint8))
        score = (signed > least).mean(axis=0)
        score[:4] = score[-4:] = 0
        while score.max() >= _SHARE:
            column = int(score.argmax())
            path = _follow(sign * bands, column)
            values = (sign * bands)[np.arange(_BANDS), path.astype(int)]
            if (values > least).mean() >= _SHARE:
                found.append((path, sign))
            score[max(0, column - 4) : column + 5] = 0
    return found


def _follow(bands: FloatArray, column: int) -> NDArray[np.float64]:
    """The brightest column of every band near the line, not jumping by more than two."""
    width = bands.shape[1]
    path = np.zeros(_BANDS)
    at = column
    for band in range(_BANDS):
        low, high = max(0, at - 2), min(width, at + 3)
        at = low + int(bands[band, low:high].argmax())
        path[band] = at
    return path
