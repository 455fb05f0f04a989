"""The standard deviation of an interpolated pixel, from what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from videorestore.motion.warp import Floats

# Levels of sd per level (or per pixel times slope) of each term, by quantile regression of the absolute error at
# 95 % over held-out frames of natural clips; see `terms` for their meaning.
COEFFICIENTS = np.array([0.4, 0.5, 0.5, 0.3, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1], dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about the reliability of each pixel, all ``(h, w)`` float32.

    Attributes
    ----------
    gap : mean absolute difference of the two frames along the path, in levels
    seen : 1 where both frames show the pixel, 0 where one hides it
    parting : sd between the candidate paths, in levels
    miss : forward-backward inconsistency of the flow, in pixels
    residual : what the flow leaves unexplained between the frames, in levels
    doubt : sd of the place on the trajectory, in pixels
    unrest : how far the frames are from what their neighbours foretell, in levels
    still : weight of standing still, or None
    share : place in time between the frames, 0..1
    """

    gap: Floats
    seen: Floats
    parting: Floats
    miss: Floats
    residual: Floats
    doubt: Floats
    unrest: Floats
    still: Floats | None
    share: float


def terms(mean: Floats, evidence: Evidence) -> Floats:
    """The terms ``(10, h, w)`` of which the sd is a sum with the `COEFFICIENTS`."""
    slope = _slope(mean)
    texture = _box(slope, 5)
    gap = _box(evidence.gap, 7)
    return np.stack(
        [
            np.ones_like(slope),
            gap,
            _box(evidence.gap, 3),
            _box(evidence.parting, 5),
            np.minimum(evidence.miss, 3.0) * texture,
            np.minimum(evidence.doubt, 3.0) * texture,
            _box(evidence.residual, 5),
            texture,
            evidence.unrest,
            np.sqrt(gap * evidence.unrest),
        ]
    )


def spread(mean: Floats, evidence: Evidence) -> Floats:
    """Standard deviation ``(h, w)`` of an interpolated frame ``(h, w, c)``."""
    return np.asarray(np.einsum("k,khw->hw", COEFFICIENTS, terms(mean, evidence)), dtype=np.float32)


def _slope(mean: Floats) -> Floats:
    """Length of the brightness gradient, in levels per pixel."""
    grey = np.asarray(cv2.transform(mean, np.full((1, mean.shape[2]), 1.0 / mean.shape[2], np.float32)))
    across = cv2.Sobel(grey, cv2.CV_32F, 1, 0, scale=0.125, borderType=cv2.BORDER_REFLECT)
    down = cv2.Sobel(grey, cv2.CV_32F, 0, 1, scale=0.125, borderType=cv2.BORDER_REFLECT)
    return np.asarray(np.hypot(across, down), dtype=np.float32)


def _box(values: Floats, size: int) -> Floats:
    return np.asarray(cv2.blur(values, (size, size), borderType=cv2.BORDER_REFLECT), dtype=np.float32)
