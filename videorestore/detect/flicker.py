"""Brightness that jumps from frame to frame, and the gain and offset that take it back to its smooth course."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.measures import GRID, Measures

_HALF = 10  # frames on either side of the smooth course
_LENGTH = 4.0  # its length scale in frames
_ROUNDS = 4
_NOTICED = 0.012  # relative jumps below this are not worth a correction

_EXPLAINED = 0.6  # what the correction may leave of the blocks' jumps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flicker:
    """Global flicker of a clip.

    Attributes
    ----------
    sd : float
        Standard deviation of the relative jumps of brightness; 0.01 is one per cent.
    present : bool
    gains : ndarray, shape (n, 2)
        Gain and offset of every frame: ``gain * pixels + offset`` is steady. All (1, 0) where there is no flicker.
    """

    sd: float
    present: bool
    gains: NDArray[np.float64]


def find_flicker(measures: Measures, starts: list[int], skip: NDArray[np.bool_]) -> Flicker:
    """Compare every frame with the smooth course of its neighbours, block by block.

    Blocks in which something moves disagree with the rest and lose their weight, so that only what happens to the
    whole picture counts. Nothing is compared across a cut.

    Parameters
    ----------
    measures : Measures
    starts : list of int
        First frames of new shots.
    skip : ndarray of bool, shape (n,)
        Frames without content of their own.
    """
    n = len(measures)
    gains = np.tile([1.0, 0.0], (n, 1))
    jumps = np.full(n, np.nan)
    before, after = 0.0, 0.0
    blocks = measures.blocks.reshape(n, GRID[0] * GRID[1]).astype(np.float64)
    edges = [0, *starts, n]
    for first, stop in zip(edges[:-1], edges[1:]):
        good = [k for k in range(first, stop) if not skip[k]]
        if len(good) < 5:
            continue
        for k in good:
            course = _course(blocks, good, k)
            gain, offset = _robust_line(blocks[k], course)
            gains[k] = gain, offset
            before += float(np.median(np.abs(blocks[k] - course)))
            after += float(np.median(np.abs(gain * blocks[k] + offset - course)))
            middle = float(np.median(course))
            jumps[k] = (gain * float(np.median(blocks[k])) + offset - float(np.median(blocks[k]))) / max(
                middle, 16.0
            )
    if np.isfinite(jumps).sum() < 5:
        return Flicker(sd=0.0, present=False, gains=np.tile([1.0, 0.0], (n, 1)))
    seen = jumps[np.isfinite(jumps)]
    sd = float(1.4826 * np.median(np.abs(seen - np.median(seen))))
    # A change of the whole picture explains most of what happens in its blocks; passing things do not.
    present = sd > _NOTICED and after < _EXPLAINED * before
    if not present:
        gains = np.tile([1.0, 0.0], (n, 1))
    return Flicker(sd=round(sd, 5), present=present, gains=gains)


def _course(blocks: NDArray[np.float64], good: list[int], k: int) -> NDArray[np.float64]:
    """Posterior mean at frame k of a smooth course through the block means around: local linear regression."""
    near = np.array([j for j in good if abs(j - k) <= _HALF])
    time = (near - k) / _LENGTH
    weight = np.exp(-0.5 * time**2)
    total, first, second = weight.sum(), (weight * time).sum(), (weight * time**2).sum()
    spread = total * second - first**2
    if spread < 1e-9:
        return np.asarray(blocks[k])
    smoother = weight * (second - first * time) / spread
    return np.asarray(smoother @ blocks[near])


def _robust_line(values: NDArray[np.float64], target: NDArray[np.float64]) -> tuple[float, float]:
    """Gain near one and offset that map the values on the target, most blocks agreeing."""
    weight = np.ones(len(values))
    gain, offset = 1.0, 0.0
    for _ in range(_ROUNDS):
        total = weight.sum()
        a, b = (weight @ values) / total, (weight @ target) / total
        # The ridge holds the gain at one where the picture has no contrast to measure it by.
        variance = (weight @ (values - a) ** 2) / total
        gain = ((weight @ ((values - a) * (target - b))) / total + 50.0) / (variance + 50.0)
        gain = float(np.clip(gain, 0.5, 2.0))
        offset = float(b - gain * a)
        miss = np.abs(gain * values + offset - target)
        scale = 1.4826 * np.median(miss) + 0.3
        weight = 1 / (1 + (miss / (2 * scale)) ** 2)
    return gain, offset
