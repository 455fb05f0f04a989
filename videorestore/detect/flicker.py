"""Brightness that jumps from frame to frame, and the gain and offset that take it back to its smooth course."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.detect.measures import GRID, Measures

_HALF = 10  # frames on either side of the smooth course
_LENGTH = 4.0  # its length scale in frames
_ROUNDS = 4
_NOTICED = (
    0.02  # jumps below this, one by one and typically, are not seen: a camera that controls its gain has them
)
_STROBE = 0.25  # a film does not flicker by more than this: that is a light that was switched
_ALIKE = 0.7  # correlation of the blocks of pictures that can be compared
_TOGETHER = 1.1  # a jump of the whole picture exceeds what its blocks differ by
_OFTEN, _LEAST = 0.15, 5  # share and number of frames that jump where there is flicker; flashes are fewer


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
    """Compare every frame with its neighbours, block by block.

    Blocks in which something moves disagree with the rest and lose their weight, so that only what happens to the
    whole picture counts, again and again. Nothing is compared across a cut.

    Parameters
    ----------
    measures : Measures
    starts : list of int
        First frames of new shots.
    skip : ndarray of bool, shape (n,)
        Frames without content of their own.
    """
    n = len(measures)
    steady = np.tile([1.0, 0.0], (n, 1))
    blocks = measures.blocks.reshape(n, GRID[0] * GRID[1]).astype(np.float64)
    edges = [0, *starts, n]
    shots = [[k for k in range(a, b) if not skip[k]] for a, b in zip(edges[:-1], edges[1:])]
    jumps = [jump for good in shots for jump in _jumps(blocks, good)]
    if len(jumps) < _LEAST:
        return Flicker(sd=0.0, present=False, gains=steady)
    sizes = np.array([size for size, _ in jumps])
    # A jump is the second difference of three frames, whose variance is one and a half times theirs.
    sd = float(1.4826 * np.median(np.abs(sizes)) / np.sqrt(1.5))
    events = sum(together and abs(size) > _NOTICED for size, together in jumps)
    present = _NOTICED < sd < _STROBE and events >= max(_LEAST, _OFTEN * len(jumps))
    if not present:
        return Flicker(sd=round(sd, 5), present=False, gains=steady)
    gains = steady.copy()
    # By rank, not by place: what moves stays in the picture, and its brightness in the ranks.
    ranked = np.sort(blocks, axis=1)
    for good in shots:
        if len(good) >= _LEAST:
            for k in good:
                gains[k] = _robust_line(ranked[k], _course(ranked, good, k))
    return Flicker(sd=round(sd, 5), present=True, gains=gains)


def _jumps(blocks: NDArray[np.float64], good: list[int]) -> list[tuple[float, bool]]:
    """How far each frame lies off the mean of its neighbours, relative, and whether all its blocks say so.

    A slow change of light has hardly any second difference; things that pass by move a part of the blocks.
    """
    found = []
    for before, k, after in zip(good[:-2], good[1:-1], good[2:]):
        if after - before > 4:
            continue
        expected = blocks[before] + (blocks[after] - blocks[before]) * ((k - before) / (after - before))
        if _unlike(blocks[k], expected):
            continue
        middle = max(float(np.median(expected)), 16.0)
        gain, offset = _robust_line(expected, blocks[k])
        jump = (gain - 1) * float(np.median(expected)) + offset
        spread = 1.4826 * float(np.median(np.abs(blocks[k] - gain * expected - offset)))
        found.append((jump / middle, abs(jump) > _TOGETHER * spread))
    return found


def _unlike(one: NDArray[np.float64], two: NDArray[np.float64]) -> bool:
    """Whether two pictures show different things, whatever their light."""
    a, b = one - one.mean(), two - two.mean()
    return float(a @ b) < _ALIKE * float(np.sqrt((a @ a) * (b @ b)))


def _course(blocks: NDArray[np.float64], good: list[int], k: int) -> NDArray[np.float64]:
    """Posterior mean at frame k of a smooth course through the block means around: local linear regression."""
    near = np.array(good[bisect_left(good, k - _HALF) : bisect_right(good, k + _HALF)])
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
