"""The posterior along motion: a frame and its neighbours, warped onto it and weighed by how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.motion._kernels_denoise import (
    accumulate,
    accumulate_given,
    add_tie,
    advance,
    plane_difference,
    rows,
    settle,
    squared_difference,
)

Flows = list[Sequence[FloatArray]]
"""From every frame to the next, or back, one less than there are frames: planes ``(h, w)`` of what is across and down."""

BOX = (7, 7)
_ALLOWANCE = np.float32(1.0)
"""Misfit of two pilots of the same picture, in units of the pilot's own variance."""
_SEVERITY, _LUMA_SEVERITY = 8.0, 1.6
"""Pilots show only a part of what differs: their misfit counts so many times. Luma alone shows most of it."""
_REST_FACTOR, _REST_MARGIN = 1.15, 0.01
"""A place counts as resting where its misfit is less than so many times that of the motion, and so much noise."""
_MOVING_TRUST = 0.3
"""How far patches take the mean along motion for data where all moves; 1 where all rests."""
_INDEPENDENT = 1.2
"""Mean squared difference of noise from which on it counts as independent, in units of its variance: warping
smooths, and the level is seldom underestimated after a codec."""
CHROMA_BOX = (5, 5)
CHROMA_ALLOWANCE = 2 / 8
"""Two means over a box of chroma differ by this share of the noise's variance: its noise is smooth."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pictures:
    """Noisy frames ``(n, h, w, c)``, cleaner pilots of them, and variances of the noise ``(n, h, w)``.

    ``doubt`` is the variance of the pilots. ``chroma`` (n, 2, h / 2, w / 2) follows the motion of the others, its
    noise has the variances ``chroma_level`` (n, h / 2, w / 2), of which means over a box differ by ``chroma_allowance``.
    ``growth`` (n,) is the variance of every frame over the usual one.
    """

    noisy: FloatArray
    pilot: FloatArray
    level: FloatArray
    doubt: FloatArray
    forward: Flows
    backward: Flows
    growth: FloatArray
    coded: bool
    chroma: FloatArray | None = None
    chroma_level: FloatArray | None = None
    chroma_allowance: float = CHROMA_ALLOWANCE


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Along:
    """Mean of a frame along motion ``(h, w, c)``, and maps ``(h, w)``.

    Attributes
    ----------
    left : share of the variance that is left.
    trust : how far patches may take the mean for data.
    own : share of the mean that the frame's own noise has.
    common : share of the noise that the frame has in common with its neighbours, after a codec.
    chroma, chroma_left : the mean and the share for the chroma, where there is any.
    """

    mean: FloatArray
    left: FloatArray
    trust: FloatArray
    own: FloatArray
    common: FloatArray | None = None
    chroma: FloatArray | None = None
    chroma_left: FloatArray | None = None


class _ChromaSum:
    """Sums over the neighbours for the chroma of one frame, planes ``(2, h, w)`` at half the resolution."""

    def __init__(self, pictures: Pictures, t: int) -> None:
        assert pictures.chroma is not None and pictures.chroma_level is not None
        self._all, self._level = pictures.chroma, pictures.chroma_level[t]
        self._allowance = np.float32(pictures.chroma_allowance)
        self._total = self._all[t].copy()
        self._smooth = self._blurred(self._total)
        h, w = self._level.shape
        self._size = (w, h)
        self._misfit = np.empty((h, w), np.float32)
        self._mass, self._squares = np.ones((h, w), np.float32), np.ones((h, w), np.float32)

    @staticmethod
    def _blurred(planes: FloatArray) -> FloatArray:
        out = np.empty_like(planes)
        for plane, smooth in zip(planes, out):
            cv2.blur(plane, CHROMA_BOX, dst=smooth, borderType=cv2.BORDER_REFLECT)
        return out

    def add(self, s: int, x: FloatArray, y: FloatArray, weight: FloatArray) -> None:
        """A neighbour, read at the places ``x``, ``y`` (h, w) of the full resolution."""
        x, y, given = (cv2.resize(p, self._size, interpolation=cv2.INTER_AREA) for p in (x, y, weight))
        x, y = x * 0.5 - 0.25, y * 0.5 - 0.25
        warped = np.stack([remap(plane, x, y, cv2.INTER_CUBIC) for plane in self._all[s]])
        plane_difference(self._blurred(warped), self._smooth, self._misfit)
        misfit = cv2.blur(self._misfit, CHROMA_BOX, borderType=cv2.BORDER_REFLECT)
        misfit -= self._allowance * self._level
        accumulate_given(
            warped, given, misfit, self._level, _LUMA_SEVERITY, self._total, self._mass, self._squares
        )

    def mean(self) -> FloatArray:
        return np.asarray(self._total / self._mass)

    def left(self, common: FloatArray | None) -> FloatArray:
        left = np.asarray(self._squares / np.square(self._mass), dtype=np.float32)
        if common is None:
            return left
        small = cv2.resize(common, self._size, interpolation=cv2.INTER_AREA)
        return np.asarray(left + small * (np.float32(1) - left), dtype=np.float32)


def along_motion(pictures: Pictures, t: int, distance: int) -> Along:
    """Weighted mean of frame ``t`` and its neighbours up to a distance on each side."""
    noisy, smooth, level = pictures.noisy, pictures.pilot, pictures.level[t]
    allowance = _ALLOWANCE * pictures.doubt[t]
    n, h, w, c = noisy.shape
    severity = _LUMA_SEVERITY if c == 1 else _SEVERITY
    total = noisy[t].copy()
    mass, squares = np.ones((h, w), np.float32), np.ones((h, w), np.float32)
    tied, resting = np.zeros((h, w), np.float32), np.zeros((h, w), np.float32)
    x, y, at_x, at_y, rest, weight, misfit = (np.empty((h, w), np.float32) for _ in range(7))
    chroma = None if pictures.chroma is None else _ChromaSum(pictures, t)
    for side in (1, -1):
        flow = np.zeros((2, h, w), np.float32)
        for k in range(1, distance + 1):
            s = t + side * k
            if not 0 <= s < n:
                break
            single = pictures.forward[s - 1] if side == 1 else pictures.backward[s]
            across, down = single if k == 1 else (remap(plane, x, y, cv2.INTER_LINEAR) for plane in single)
            advance(flow, across, down, x, y)
            squared_difference(rows(remap(smooth[s], x, y, cv2.INTER_LINEAR)), rows(smooth[t]), misfit)
            moved = cv2.blur(misfit, BOX, borderType=cv2.BORDER_REFLECT)
            squared_difference(rows(smooth[s]), rows(smooth[t]), misfit)
            still = cv2.blur(misfit, BOX, borderType=cv2.BORDER_REFLECT)
            # Motion on noisy pictures is never quite 0: where rest explains as much, nothing is interpolated.
            settle(moved, still, level, _REST_FACTOR, _REST_MARGIN, x, y, at_x, at_y, rest)
            warped = remap(noisy[s], at_x, at_y, cv2.INTER_CUBIC)
            if pictures.growth[s] > pictures.growth[t]:
                # A noisier neighbour counts by its variance: the misfit that makes its weight the ratio of the two.
                ratio = np.sqrt(pictures.growth[s] / pictures.growth[t])
                moved += (ratio - 1) / np.float32(severity) * level
            sums = rows(total), mass, squares, resting, weight
            accumulate(rows(warped), moved, level, allowance, severity, rest, *sums)
            if chroma is not None:
                chroma.add(s, at_x, at_y, weight)
            if pictures.coded:
                # By the luma: chroma is smooth after a codec, its samples are no measure.
                one, other = (np.ascontiguousarray(p[..., 0]) for p in (warped, noisy[t]))
                squared_difference(one, other, misfit)
                difference = cv2.blur(misfit, (9, 9), borderType=cv2.BORDER_REFLECT)
                add_tie(weight, difference, level, _INDEPENDENT, tied)
    left = np.asarray(squares / np.square(mass), dtype=np.float32)
    own = np.asarray(1 / mass, dtype=np.float32)
    others = np.maximum(mass - np.float32(1), np.float32(1e-6))
    trust = np.asarray(_MOVING_TRUST + (1 - _MOVING_TRUST) * np.square(resting / others), dtype=np.float32)
    common = None
    if pictures.coded:
        common = np.asarray(tied / others, dtype=np.float32)
        own = np.asarray(own + common * (1 - own), dtype=np.float32)
        left = np.asarray(left + common * (np.float32(1) - left), dtype=np.float32)
    return Along(
        mean=total / mass[..., None],
        left=left,
        trust=trust,
        own=own,
        common=common,
        chroma=None if chroma is None else chroma.mean(),
        chroma_left=None if chroma is None else chroma.left(common),
    )


def remap(image: FloatArray, x: FloatArray, y: FloatArray, method: int) -> FloatArray:
    """An image ``(h, w)`` or ``(h, w, c)`` read at the places ``x``, ``y``; beyond the border the nearest pixel."""
    warped = cv2.remap(image, x, y, method, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, dtype=np.float32).reshape(*x.shape, *image.shape[2:])
