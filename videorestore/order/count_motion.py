"""The way across a gap in steps of one frame, by motion."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.motion.flow import luma, medium_flow
from videorestore.motion.warp import grid, inside, warp

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]

_SIDE = 128
"""Longest side of the pictures in which motion is measured."""

_SCAN = 15
"""Lengths of the way, in steps, at which the flow across a gap may start."""

_LIMIT = 40.0
"""Difference in levels above which a pixel counts as lost."""


class Ways:
    """Motion around a gap of a window of frames.

    Parameters
    ----------
    window : ndarray, shape (n, height, width, channels)
    before : int
        Frames before the gap.
    """

    def __init__(self, window: FloatArray, before: int) -> None:
        height, width = window.shape[1:3]
        scale = _SIDE / max(height, width)
        scale = min(max(scale, 48 / min(height, width)), 2.0)
        size = (max(16, round(width * scale)), max(16, round(height * scale)))
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
        smooth = [cv2.GaussianBlur(f, (0, 0), 0.7) for f in window]
        self._pictures = [
            luma(cv2.resize(f, size, interpolation=method).reshape(size[1], size[0], -1)) for f in smooth
        ]
        self._soft = [cv2.GaussianBlur(p.astype(np.float32), (0, 0), 1.2) for p in self._pictures]
        self._before = before
        self._steps: dict[tuple[int, int], Any] = {}
        self.moving = before >= 2 and len(window) - before >= 2

    def measure(self, a: _Ints, b: _Ints) -> _Doubles:
        """Logs ``(m, 4)`` of the ways from frames ``a`` to frames ``b``: by flow, and by its start; there and back."""
        values = np.empty((len(a), 4))
        for k, (i, j) in enumerate(zip(a.tolist(), b.tolist())):
            values[k, 0], values[k, 2] = self._way(i, j, 1)
            values[k, 1], values[k, 3] = self._way(j, i, -1)
        return np.asarray(np.log(np.clip(values, 0.5, 25)))

    def _step(self, at: int, away: int) -> Any:
        """Motion per frame on the grid of a frame, in the sense of time, from the two frames before or behind it."""
        key = (at, away)
        if key not in self._steps:
            low, high = (0, self._before) if at < self._before else (self._before, len(self._pictures))
            flows = [
                away * medium_flow(self._pictures[at], self._pictures[at + away * k]) / k
                for k in (1, 2)
                if low <= at + away * k < high
            ]
            self._steps[key] = np.mean(flows, axis=0).astype(np.float32)
        return self._steps[key]

    def _way(self, here: int, there: int, sense: int) -> tuple[float, float]:
        """Way from one frame to the other in mean steps of both, and in own steps where the flow starts."""
        own, other = self._step(here, -sense), self._step(there, sense)
        height, width = own.shape[:2]
        x, y = grid(height, width)
        speed = np.sqrt(np.square(own).sum(axis=2))
        weight = np.minimum(speed, np.quantile(speed, 0.95))
        total = float(weight.sum())
        least, start = np.inf, 1
        for steps in range(1, _SCAN + 1):
            to_x, to_y = x + sense * steps * own[..., 0], y + sense * steps * own[..., 1]
            seen = weight * ((to_x >= 0) & (to_x <= width - 1) & (to_y >= 0) & (to_y <= height - 1))
            mass = float(seen.sum())
            if mass <= 0.15 * total:
                break
            found = cv2.remap(
                self._soft[there], to_x, to_y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
            )
            miss = float((seen * np.minimum(np.abs(self._soft[here] - found), _LIMIT)).sum()) / mass
            if miss < least:
                least, start = miss, steps
        begin = (sense * start * own).astype(np.float32)
        flow = medium_flow(self._pictures[here], self._pictures[there], start=begin)
        # The mean of the steps at both ends: speed may change on the way.
        mean = sense * (own + warp(other, flow, method="linear")) / 2
        difference = np.abs(
            self._pictures[here].astype(np.float32) - warp(self._pictures[there], flow, method="linear")
        )
        squared = np.square(mean).sum(axis=2) * (inside(flow) & (difference < 25))
        share = np.minimum(squared, np.quantile(squared, 0.9)) / np.maximum(squared, 1e-9)
        bottom = float((share * squared).sum())
        usable = share * (squared > 0)
        top = float((usable * (mean * flow).sum(axis=2)).sum())
        return (top / bottom if bottom > 1e-9 else 1.0), float(start)
