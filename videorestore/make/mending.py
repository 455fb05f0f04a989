"""Mending frames, those on disk part by part, so that memory grows neither with their number nor with their size."""

from __future__ import annotations

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.make.engines import Engine
from videorestore.make.spool import Room, Spool, Stack
from videorestore.make.tiles import parts


def missing_values(frames: Stack) -> Mask:
    """Where a value is NaN: ``(n, height, width)`` of frames ``(n, height, width, channels)``, one after the other."""
    missing = np.zeros(frames.shape[:3], np.bool_)
    for k in range(len(frames)):
        missing[k] = np.isnan(frames[k]).any(axis=-1)
    return missing


def mend(
    engine: Engine, frames: Stack, masks: Mask, low: int, high: int, side: int, room: Room
) -> tuple[FloatArray | Spool, FloatArray | Spool]:
    """Frames ``low`` to ``high`` with the masked pixels regenerated, and their sd (0 where kept).

    Parameters
    ----------
    masks : ndarray of bool, shape (n, height, width)
    side : int
        Of the parts of pictures on disk. Neighbouring parts fade into each other where both are mended.
    room : Room
        For the result.
    """
    if isinstance(frames, np.ndarray):
        return engine.inpaint(frames, masks, low, high)
    height, width, channels = frames.shape[1:]
    shape = (high - low, height, width, channels)
    mended, sd = room.stack(shape), room.sd_stack(shape)
    for box, weight in pulse.counted(parts(height, width, side)):
        holes = np.ascontiguousarray(masks[(slice(None), *box)])
        if not holes[low:high].any():
            continue
        values, spread = engine.inpaint(frames[(slice(None), *box)], holes, low, high)
        for k, hole in enumerate(holes[low:high]):
            if hole.any():
                place = slice(k, k + 1), *box
                mended[place] += weight * np.where(hole[..., None], values[k], 0)
                sd[place] += weight * spread[k]
    for k in range(high - low):
        mended[k] = np.where(masks[low + k][..., None], mended[k], frames[low + k])
    return mended, sd
