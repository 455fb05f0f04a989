"""How sure it is that a spot is damage: the frame against what motion makes of its neighbours without it.

The odds are a logistic regression on what was planted in, and found by mistake on, some natural clips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.motion.interpolate import interpolate

_WEIGHTS = (2.06, -1.58, 5.62, 3.23, -3.73, 1.78, 3.41)
_BIAS = -17.69
_ENOUGH = 30.0  # evidence beyond which a spot is just larger
_BEYOND = 2.0  # less sure at the ends of a shot, where motion is only assumed to go on: never quite

SURE = 4.5
"""Log odds above which no spot of a clean clip was seen."""


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


def forecast(frames: FloatArray) -> Forecast:
    """The frame in the middle of two or four frames, by the trajectories through them; none may repeat another."""
    times = np.arange(len(frames), dtype=np.float64) - (len(frames) - 1) / 2
    # The frame in question takes a step of its own between the two in the middle.
    times = np.asarray(times + 0.5 * np.sign(times), np.float64)
    made = interpolate(frames, times, np.zeros(1))
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
    weak, middle = (float(q) for q in np.quantile(size.max(axis=1), (0.25, 0.5)))
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
