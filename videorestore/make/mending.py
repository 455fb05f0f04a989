"""Mending frames that lie on disk, part by part, so that memory grows neither with their number nor with their size."""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.make.engines import Engine
from videorestore.make.spool import Patched, Spool
from videorestore.make.tiles import spans


def missing_values(frames: Any) -> Mask:
    """Where a value is NaN: ``(n, height, width)`` of frames ``(n, height, width, channels)``, one after the other."""
    missing = np.zeros(frames.shape[:3], np.bool_)
    for k in range(len(frames)):
        missing[k] = np.isnan(frames[k]).any(axis=-1)
    return missing


def mend_on_disk(
    engine: Engine, frames: Spool, masks: Mask, low: int, high: int, side: int, scratch: str
) -> tuple[Patched, Patched]:
    """Frames with the masked pixels of ``low`` to ``high`` regenerated, and their sd (0 where kept).

    Parameters
    ----------
    masks : ndarray of bool, shape (n, height, width)
    side : int
        Of the parts of the picture. Neighbouring parts fade into each other where both are mended.
    scratch : str
        Folder for the result.
    """
    height, width = frames.shape[1:3]
    shape = (high - low, *frames.shape[1:])
    mended, sd = Spool(scratch, shape), Spool(scratch, shape, np.float16)
    for row, column in pulse.counted([(r, c) for r in spans(height, side) for c in spans(width, side)]):
        box = slice(row.start, row.stop), slice(column.start, column.stop)
        holes = np.ascontiguousarray(masks[:, box[0], box[1]])
        if not holes[low:high].any():
            continue
        values, spread = engine.inpaint(frames[(slice(None), *box)], holes, low, high)
        weight = (row.weights[:, None] * column.weights[None, :])[:, :, None]
        for k, hole in enumerate(holes[low:high]):
            if hole.any():
                place = slice(k, k + 1), *box
                mended[place] += weight * np.where(hole[..., None], values[k], 0)
                sd[place] += weight * spread[k]
    for k in range(high - low):
        picture: FloatArray = frames[low + k]
        mended[k] = np.where(masks[low + k][..., None], mended[k], picture)
    return Patched(frames, mended, low), Patched(None, sd, low)


def add_sd(sd: Spool, known: Patched, low: int) -> None:
    """Raise the sd of frames from ``low`` on to what was known before."""
    for k in range(len(sd)):
        sd[k] = np.maximum(sd[k], known[low + k])
