"""Damaged pixels of a shot as masks, and what kind of damage they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.detect.lines import find_lines
from videorestore.detect.spikes import find_spikes
from videorestore.errors import InputError

REACH = 4
"""Frames on either side that the verdict on a frame depends on."""

Kind = Literal["dust", "blotch", "scratch", "line", "dropout"]

_WHOLE = 0.4  # a larger share of a frame is no local damage
_DUST = 40  # pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged place.

    Attributes
    ----------
    frame : int
        Number in the frames that were passed.
    kind : {"dust", "blotch", "scratch", "line", "dropout"}
        A ``line`` is a scratch that stays over many frames.
    box : tuple of int
        x, y, width, height.
    """

    frame: int
    kind: Kind
    box: tuple[int, int, int, int]


def find_damage(
    frames: FloatArray, *, noise_sd: float = 0.0, start: int = 0, stop: int | None = None
) -> tuple[Mask, list[Damage]]:
    """Find dust, blotches, scratches, lines and dropouts.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        One shot on the 0..255 scale. At least 3 frames, or nothing is found.
    noise_sd : float
        Standard deviation of the noise; thresholds rise with it.
    start, stop : int
        Only these frames are judged; they depend on up to `REACH` frames on either side.

    Returns
    -------
    masks : ndarray of bool, shape (stop - start, height, width)
    damage : list of Damage
        Connected places in order of frame, then from top to bottom.
    """
    if frames.ndim != 4:
        raise InputError(
            f"frames must have shape (n, height, width, channels), got {frames.shape}; add the missing axis."
        )
    stop = len(frames) if stop is None else stop
    if not 0 <= start <= stop <= len(frames):
        raise InputError(
            f"start and stop must lie in 0..{len(frames)} in this order, got {start}, {stop}; change them."
        )
    masks = np.zeros((stop - start, *frames.shape[1:3]), np.bool_)
    damage: list[Damage] = []
    for k in range(start, stop):
        first, last = max(0, k - REACH), min(len(frames), k + REACH + 1)
        near = frames[first:last]
        spikes = find_spikes(near, k - first, noise_sd)
        if spikes.mean() > _WHOLE:
            continue
        lines = find_lines(near, k - first, noise_sd)
        masks[k - start] = spikes | lines
        damage += _places(spikes & ~lines, k, None) + _places(lines, k, "line")
    return masks, damage


def _places(mask: Mask, frame: int, kind: Kind | None) -> list[Damage]:
    if not mask.any():
        return []
    joined = cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8))
    count, labels = cv2.connectedComponents(joined, connectivity=8)
    places = []
    for label in range(1, count):
        rows, columns = np.nonzero((labels == label) & mask)
        x, y = int(columns.min()), int(rows.min())
        width, height = int(columns.max()) - x + 1, int(rows.max()) - y + 1
        box = (x, y, width, height)
        places.append(Damage(frame=frame, kind=kind or _kind(width, height, len(rows)), box=box))
    return sorted(places, key=lambda place: (place.box[1], place.box[0]))


def _kind(width: int, height: int, area: int) -> Kind:
    if width >= 8 * height and width >= 16:
        return "dropout"
    if height >= 4 * width and height >= 12:
        return "scratch"
    if area >= 64 and area > 0.9 * width * height:
        return "dropout"
    return "dust" if area <= _DUST else "blotch"
