"""How sure it is that a spot is damage, and that a film has any.

Of a spot: how it differs from what its neighbours show there along their own motion, by a logistic regression on what was
planted in, and found by mistake on, some natural clips; whether the like of it is seen again; and how much moves where it is.
Of a film: all its spots together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import cv2
import numpy as np

from videorestore.clip import FloatArray

WEIGHTS = (0.35, -0.43, 6.27, 4.53, -2.78, 2.35)
BIAS = -14.57
"""Of a logistic regression on the spots of ten natural clips: clean, with damage planted, under noise of sd 9, and where the film
weaves by some pixels. Of five other clips it ranks damage above things in 98 % of all pairs (`scripts/calibrate spots`)."""

_ENOUGH = 30.0  # evidence beyond which a spot is just larger
_BEYOND = 2.0  # less sure at the ends of a shot, where motion is only assumed to go on: never quite

SURE = 4.5
"""Log odds above which no spot of a clean natural clip was seen."""

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


def features(
    off: FloatArray, unrest: FloatArray, evidence: float, left: float, flew: bool, noise_sd: float
) -> tuple[float, ...]:
    """What tells damage from things, one value for each of the weights.

    Parameters
    ----------
    off : ndarray, shape (m, channels)
        Pixels of the spot, less the mean of what its neighbours in time show there.
    unrest : ndarray, shape (m,)
        How much these disagree around.
    evidence : float
        Sum over the spot of how far pixels stand out, in units of the local threshold.
    left : float
        Share of the spot that the frame's own motion does not explain.
    flew : bool
        The spot stands elsewhere in a neighbour.
    noise_sd : float
    """
    # Damage differs by one step everywhere; a misplaced texture differs up and down.
    step = float(np.abs(off.mean(axis=0)).max())
    size = np.abs(off).max(axis=1)
    return (
        np.log1p(float(np.partition(size, len(size) // 4)[len(size) // 4])),
        np.log1p(float(np.hypot(unrest.mean(), noise_sd))),
        min(left, 1.0),
        step / max(float(np.abs(off).mean(axis=0).max()), 1.0),
        float(flew),
        np.log1p(min(evidence, _ENOUGH)),
    )


def log_odds(values: Sequence[float], inner: bool) -> float:
    """Log odds of damage by its `features`; ``inner``: there are frames on both sides."""
    odds = BIAS + sum(w * v for w, v in zip(WEIGHTS, values))
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
