"""A frame beyond the good ones of its shot: nothing stands on its other side.

Motion is taken to go on, or the nearest frame is repeated: whichever would have given that nearest frame better from
the ones behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from videorestore.clip import FloatArray
from videorestore.motion.flow import luma, medium_flow
from videorestore.motion.warp import inside, warp

FARTHEST = 2.0
"""Steps over which motion may be taken to go on."""

_ROUNDS = 3
_CLEARLY = 0.9  # moving also smooths, which makes any error a little smaller


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beyond:
    """A frame outside of the known ones.

    Attributes
    ----------
    frame : ndarray, shape (height, width, channels)
    sd : float or None
        Root mean square error that the same way has had on the nearest frame; None where nothing could be tried.
    moved : bool
        Motion was taken to go on; False where the nearest frame is repeated.
    """

    frame: FloatArray
    sd: float | None
    moved: bool


def beyond(frames: Sequence[FloatArray], steps: float) -> Beyond:
    """The frame ``steps`` steps before the first (or behind the last) of a shot.

    Parameters
    ----------
    frames : sequence of ndarray, shape (height, width, channels)
        The nearest frame first, then those farther off; three of them are used.
    steps : float
        Distance from the nearest frame, in units of that to the next.
    """
    nearest = np.asarray(frames[0], np.float32)
    if len(frames) < 3:
        return Beyond(frame=nearest, sd=None, moved=False)
    moved, still = (
        float(np.sqrt(np.square(made - nearest).mean()))
        for made in (_carried(frames[1], frames[2], 1.0), np.asarray(frames[1], np.float32))
    )
    if steps > FARTHEST or moved > _CLEARLY * still:
        return Beyond(frame=nearest, sd=still * steps, moved=False)
    return Beyond(frame=_carried(frames[0], frames[1], steps), sd=moved * steps, moved=True)


def _carried(near: FloatArray, far: FloatArray, steps: float) -> FloatArray:
    """The nearer frame moved away from the farther one as it moved from it."""
    flow = medium_flow(luma(near), luma(far))
    way = np.float32(steps) * flow
    for _ in range(_ROUNDS):
        way = np.float32(steps) * warp(flow, way, method="linear")
    made = warp(near, way, method="cubic")
    # What comes in over the border was never seen.
    return np.asarray(np.where(inside(way)[..., None], made, near), np.float32)
