"""How sure it is that a spot is damage, and that a film has any.

Of a spot: the frame against what motion makes of its neighbours without it, by a logistic regression on what was planted
in, and found by mistake on, some natural clips; whether the like of it is seen again; and how much moves where it is.
Of a film: all its spots together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.motion.flow import FlowCache
from videorestore.motion.interpolate import interpolate

_WEIGHTS = (2.06, -1.58, 5.62, 3.23, -3.73, 1.78, 3.41)
_BIAS = -17.69
_ENOUGH = 30.0  # evidence beyond which a spot is just larger
_BEYOND = 2.0  # less sure at the ends of a shot, where motion is only assumed to go on: never quite

SURE = 4.5
"""Log odds above which no spot of a clean clip was seen."""

_AGAIN = {False: 0.64, True: -1.3}
"""Log likelihood of damage against a thing for a spot whose like is seen again in the frames around, or not: 15 % of planted
and real dust has its like near by, 55 % of what stands out on clean clips."""

_TIED, _POWER = 0.5, 4
"""Share of the things that stand out where much moves, and the power of the rank of motion by which they do; the others and
dust are anywhere."""

GAIN = _AGAIN[False] - float(np.log(1 - _TIED))
"""Log odds that both of these can add at most."""

_DIRTY_FILMS = 0.05
"""Share of the films that are dirty, before one is looked at."""

_TOGETHER = 3
"""Spots of one frame that count in full; more of them may have one cause."""

_SMALLER = 4
"""Pixels along the side of a block in which motion is ranked."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What a frame should show.

    Attributes
    ----------
    mean : ndarray, shape (height, width, channels)
    sd : ndarray, shape (height, width)
        Of the channel that is known least.
    inner : bool
        There are frames on both sides.
    """

    mean: FloatArray
    sd: FloatArray
    inner: bool


def forecast(frames: FloatArray, flows: FlowCache) -> Forecast:
    """The frame in the middle of two or four frames, by the trajectories through them; none may repeat another."""
    times = np.arange(len(frames), dtype=np.float64) - (len(frames) - 1) / 2
    # The frame in question takes a step of its own between the two in the middle.
    times = np.asarray(times + 0.5 * np.sign(times), np.float64)
    made = interpolate(frames, times, np.zeros(1), cache=flows)
    return Forecast(made.frames[0], made.sd[0].max(axis=2), True)


def log_odds(
    miss: FloatArray, sd: FloatArray, spot: NDArray[np.bool_], evidence: float, left: float, flew: bool,
    noise_sd: float, inner: bool,
) -> float:  # fmt: skip
    """Log odds of damage.

    Parameters
    ----------
    miss : ndarray, shape (height, width, channels)
        Frame less forecast, around the spot.
    sd : ndarray, shape (height, width)
        Of the forecast.
    spot : ndarray of bool, shape (height, width)
    evidence : float
        Sum over the spot of how far pixels stand out, in units of the local threshold.
    left : float
        Share of the spot that the frame's own motion does not explain.
    flew : bool
        The spot stands elsewhere in a neighbour.
    noise_sd : float
    inner : bool
        There are frames on both sides.
    """
    inside = miss[spot]
    size = np.abs(inside)
    # Damage differs by one step everywhere; a misplaced texture differs up and down.
    step = float(np.abs(inside.mean(axis=0)).max())
    one_way = step / max(float(size.mean(axis=0).max()), 1.0)
    ordered = np.sort(size.max(axis=1))
    # numpy.quantile gives the same, and takes longer than all the rest.
    weak, middle = (
        float(np.interp(q * (len(ordered) - 1), np.arange(len(ordered)), ordered)) for q in (0.25, 0.5)
    )
    values = (
        np.log1p(weak),
        np.log1p(float(np.hypot(sd[spot].mean(), noise_sd))),
        min(left, 1.0),
        one_way,
        float(flew),
        np.log1p(min(evidence, _ENOUGH)),
        weak / max(middle, 1.0),
    )
    odds = _BIAS + sum(w * v for w, v in zip(_WEIGHTS, values))
    return float(odds if inner else min(odds - _BEYOND, SURE - 1))


def motion_ranks(frames: FloatArray) -> FloatArray:
    """For every block of a shot ``(n, height, width, channels)`` the share of blocks in which less moves, 0..1."""
    height, width = (max(1, side // _SMALLER) for side in frames.shape[1:3])
    small = np.stack(
        [
            cv2.resize(f, (width, height), interpolation=cv2.INTER_AREA)
            .reshape(height, width, -1)
            .mean(axis=2)
            for f in frames
        ]
    )
    # A spot changes a pixel twice in the whole stretch: the median does not see it.
    change = np.median(np.abs(np.diff(small, axis=0)), axis=0) if len(frames) > 1 else small[0] * 0
    change = cv2.blur(change.astype(np.float32), (7, 7))
    below = np.searchsorted(np.sort(change, axis=None), change.ravel()) / max(change.size - 1, 1)
    return np.asarray(below.reshape(change.shape), np.float32)


def place_odds(ranks: FloatArray, box: Sequence[int]) -> float:
    """Log likelihood of damage, which falls anywhere, against a thing, at a place (x, y, width, height) of `motion_ranks`."""
    x, y, width, height = box
    row, column = (y + height // 2) // _SMALLER, (x + width // 2) // _SMALLER
    rank = float(ranks[min(row, ranks.shape[0] - 1), min(column, ranks.shape[1] - 1)])
    return -float(np.log(1 - _TIED + _TIED * (_POWER + 1) * rank**_POWER))


def recurrence_odds(again: bool) -> float:
    """Log likelihood of damage, which strikes once, against a thing, by whether its like is seen again."""
    return _AGAIN[again]


def film_odds(spots: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Log odds that a film is dirty, and the share of its spots that is damage if it is.

    A share of the spots is damage, all the same until they are seen; on a clean film it is none. What the share is worth
    is summed over all of them.

    Parameters
    ----------
    spots : sequence of (int, float)
        Frame of each spot, and its log likelihood of damage against a thing.
    """
    before = float(np.log(_DIRTY_FILMS / (1 - _DIRTY_FILMS)))
    if not spots:
        return before, 0.0
    crowd = Counter(frame for frame, _ in spots)
    weight = np.array([min(1.0, _TOGETHER / crowd[frame]) for frame, _ in spots])
    ratio = np.exp(np.array([odds for _, odds in spots]))
    share = (np.arange(50) + 0.5) / 50
    likely = np.log1p(share[:, None] * (ratio - 1)) @ weight
    worth = np.exp(likely - likely.max())
    return before + float(likely.max() + np.log(worth.mean())), float((worth * share).sum() / worth.sum())
