"""The posterior along motion: a frame and its neighbours, warped onto it and weighed by how well they fit.

Motion, fit and weight belong to blocks of 2 x 2 pixels: nothing smaller could tell them, and maps are a quarter as large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.motion._kernels_denoise import (
    EDGE,
    add_tie,
    advance,
    carry,
    carry_samples,
    fit,
    fit_at_rest,
    fit_samples,
    settle,
    weigh,
)
from videorestore.spatial.subsampled import doubled

Flows = list[Sequence[FloatArray]]
"""From every frame to the next, or back, one less than there are frames: planes ``(h / 2, w / 2)`` of what is across and down, in
pixels of half the resolution."""

_BOX, _TIE_BOX = (3, 3), (5, 5)
"""Blocks over which misfits are averaged, twice: nearer ones count for more, which is up to .07 dB better than a box of 5 once (six
clips); and over which differences of the noise are averaged."""
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
    """Noisy frames and cleaner pilots of them, planes ``(n, c, h, w)`` with an edge (see `edged`) around.

    ``level`` and ``doubt`` (n, h / 2, w / 2) are the variances of the noise, and of the pilots. ``chroma`` (n, 2, h / 2, w / 2) and
    means of it over boxes, ``smooth``, have an edge, too. It follows the motion of the others, its noise has the variances
    ``chroma_level`` (n, h / 2, w / 2), of which means over a box differ by ``chroma_allowance``. ``growth`` (n,) is the variance of every frame over the usual one.
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
    smooth: FloatArray | None = None
    chroma_level: FloatArray | None = None
    chroma_allowance: float = CHROMA_ALLOWANCE


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Along:
    """Mean of a frame along motion ``(c, h, w)``, and maps ``(h / 2, w / 2)``.

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
        assert (
            pictures.chroma is not None and pictures.smooth is not None and pictures.chroma_level is not None
        )
        self._all, self._smooth = pictures.chroma, pictures.smooth
        self._own, self._level = pictures.smooth[t], pictures.chroma_level[t]
        self._allowance = pictures.chroma_allowance
        self._total = np.ascontiguousarray(self._all[t, :, EDGE:-EDGE, EDGE:-EDGE])
        h, w = self._level.shape
        self._misfit, self._sums = np.empty((h, w), np.float32), np.ones((2, h, w), np.float32)

    def add(self, s: int, way: FloatArray, weight: FloatArray) -> None:
        """A neighbour, read along the ``way`` (2, h, w) in pixels of the full resolution."""
        fit_samples(self._smooth[s], self._own, way, self._misfit)
        misfit = cv2.blur(self._misfit, CHROMA_BOX, borderType=cv2.BORDER_REFLECT)
        carry_samples(
            self._all[s],
            way,
            weight,
            misfit,
            self._level,
            self._allowance,
            _LUMA_SEVERITY,
            self._total,
            self._sums,
        )

    def mean(self) -> FloatArray:
        return np.asarray(self._total / self._sums[0])

    def left(self, common: FloatArray | None) -> FloatArray:
        left = np.asarray(self._sums[1] / np.square(self._sums[0]), dtype=np.float32)
        if common is None:
            return left
        return np.asarray(left + common * (np.float32(1) - left), dtype=np.float32)


def along_motion(pictures: Pictures, t: int, distance: int) -> Along:
    """Weighted mean of frame ``t`` and its neighbours up to a distance on each side."""
    noisy, pilot, level = pictures.noisy, pictures.pilot, pictures.level[t]
    allowance = _ALLOWANCE * pictures.doubt[t]
    n, c = noisy.shape[:2]
    h, w = level.shape
    severity = _LUMA_SEVERITY if c == 1 else _SEVERITY
    total = np.ascontiguousarray(noisy[t, :, EDGE:-EDGE, EDGE:-EDGE])
    sums = np.ones((3, h, w), np.float32)
    mass, squares, resting = sums
    resting[:] = 0
    tied = np.zeros((h, w), np.float32)
    x, y, weight, misfit, apart = (np.empty((h, w), np.float32) for _ in range(5))
    way = np.empty((2, h, w), np.float32)
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
            fit(pilot[s], pilot[t], flow, misfit)
            moved = _averaged(misfit)
            fit_at_rest(pilot[s], pilot[t], misfit)
            still = _averaged(misfit)
            # Motion on noisy pictures is never quite 0: where rest explains as much, nothing is interpolated.
            settle(moved, still, level, _REST_FACTOR, _REST_MARGIN, flow, way)
            if pictures.growth[s] > pictures.growth[t]:
                # A noisier neighbour counts by its variance: the misfit that makes its weight the ratio of the two.
                ratio = np.sqrt(pictures.growth[s] / pictures.growth[t])
                moved += (ratio - 1) / np.float32(severity) * level
            weigh(moved, level, allowance, severity, way, sums, weight)
            carry(noisy[s], noisy[t], way, weight, pictures.coded, total, apart)
            if chroma is not None:
                chroma.add(s, way, weight)
            if pictures.coded:
                # By the luma: chroma is smooth after a codec, its samples are no measure.
                difference = cv2.blur(apart, _TIE_BOX, borderType=cv2.BORDER_REFLECT)
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
    total /= doubled(mass)
    return Along(
        mean=total,
        left=left,
        trust=trust,
        own=own,
        common=common,
        chroma=None if chroma is None else chroma.mean(),
        chroma_left=None if chroma is None else chroma.left(common),
    )


def edged(planes: FloatArray) -> FloatArray:
    """Planes ``(c, h, w)`` with their border repeated around them, as wide as kernels read beyond it."""
    sides = (EDGE, EDGE, EDGE, EDGE)
    return np.stack([cv2.copyMakeBorder(plane, *sides, cv2.BORDER_REPLICATE) for plane in planes])


def smoothed(planes: FloatArray) -> FloatArray:
    """Means of planes ``(c, h, w)`` over boxes of `CHROMA_BOX`."""
    return np.stack([cv2.blur(plane, CHROMA_BOX, borderType=cv2.BORDER_REFLECT) for plane in planes])


def _averaged(maps: FloatArray) -> FloatArray:
    once = cv2.blur(maps, _BOX, borderType=cv2.BORDER_REFLECT)
    return np.asarray(cv2.blur(once, _BOX, dst=once, borderType=cv2.BORDER_REFLECT))


def remap(plane: FloatArray, x: FloatArray, y: FloatArray, method: int) -> FloatArray:
    """A plane ``(h, w)`` read at the places ``x``, ``y``; beyond the border the nearest pixel."""
    return np.asarray(cv2.remap(plane, x, y, method, borderMode=cv2.BORDER_REPLICATE), dtype=np.float32)
