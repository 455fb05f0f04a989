"""The standard deviation of an interpolated pixel, from what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from videorestore.motion.warp import Floats

# Levels of sd per level of each of the `terms`: those with which 95 % of the true values of hidden frames lie within
# 1.96 sd, clip by clip, over natural clips. The first is the rounding of the frames that the error is measured against.
COEFFICIENTS = np.array([0.1, 0.69, 0.84, 0.215, 0.195], dtype=np.float32)

COPIED = np.float32(0.95)  # part of the sd that is gone where all pixels around are copies
_COPIED_BOX = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about the reliability of each pixel, all ``(h, w)`` float32.

    Attributes
    ----------
    gap : absolute difference of the two frames along the path, in levels
    doubt : sd of the place on the trajectory, in pixels
    unrest : how far the frames are from what their own neighbours in time foretell, in levels
    copied : share of the pixels around that are the same in both frames to the bit, 0..1
    flicker : sd of the brightness of the whole frame, in levels; a number
    """

    gap: Floats
    doubt: Floats
    unrest: Floats
    copied: Floats
    flicker: float


def terms(mean: Floats, evidence: Evidence) -> list[Floats]:
    """The terms, each ``(h, w)``, of which the sd is a sum with the `COEFFICIENTS` after the first."""
    texture, gap = _box(_slope(mean), 5), _box(evidence.gap, 7)
    return [
        gap,
        np.minimum(evidence.doubt, np.float32(3.0)) * texture,
        evidence.unrest,
        # Running sums of a box may fall a hair below zero.
        np.sqrt(np.maximum(gap * evidence.unrest, np.float32(0.0))),
    ]


def deviation(mean: Floats, evidence: Evidence) -> Floats:
    """Standard deviation ``(h, w)`` of an interpolated frame ``(h, w, c)``."""
    sd = np.full(mean.shape[:2], COEFFICIENTS[0], np.float32)
    for coefficient, term in zip(COEFFICIENTS[1:], terms(mean, evidence), strict=True):
        sd += coefficient * term
    if evidence.flicker > 0:
        sd = np.hypot(sd, np.float32(evidence.flicker))
    # A coder that repeats pixels from one frame to the next repeats them in the frames between as well.
    # Some pixels of any quiet scene are the same by chance: most of those around must be.
    sd *= np.float32(1.0) - COPIED * evidence.copied * np.sqrt(evidence.copied)
    return sd


def copied(first: Floats, second: Floats) -> Floats:
    """Share ``(h, w)`` of the pixels around that two frames ``(h, w, c)`` have in common to the bit."""
    same = first[..., 0] == second[..., 0]
    for channel in range(1, first.shape[2]):
        same &= first[..., channel] == second[..., channel]
    share = _box(same.astype(np.float32), _COPIED_BOX)
    return np.asarray(np.clip(share, 0.0, 1.0, out=share), dtype=np.float32)


def _slope(mean: Floats) -> Floats:
    """Length of the brightness gradient, in levels per pixel."""
    grey = np.asarray(cv2.transform(mean, np.full((1, mean.shape[2]), 1.0 / mean.shape[2], np.float32)))
    across = cv2.Sobel(grey, cv2.CV_32F, 1, 0, scale=0.125, borderType=cv2.BORDER_REFLECT)
    down = cv2.Sobel(grey, cv2.CV_32F, 0, 1, scale=0.125, borderType=cv2.BORDER_REFLECT)
    # Not cv2.magnitude, whose last bit depends on where in memory the arrays lie.
    return np.asarray(np.sqrt(across * across + down * down), dtype=np.float32)


def _box(values: Floats, size: int) -> Floats:
    return np.asarray(cv2.blur(values, (size, size), borderType=cv2.BORDER_REFLECT), dtype=np.float32)
