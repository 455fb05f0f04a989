"""Holes that stay where they are while the picture moves: each place is followed until it comes out from behind.

A fixed logo hides a place for as long as the camera takes to carry it across. Frames that are followed as a whole are
too costly to go that far and few of them are new; here only the missing pixels travel, and the known ones beside them,
so that what is seen far away is judged by what the same way gives where the truth is known.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.motion.inpaint_fusion import BAND, Guess

_SURE = 0.05  # less trust than this is none
_DRIFT = 0.2  # variance in levels that every frame on the way adds


def follow(
    k: int, step: int, reach: int, hidden: Mask, frames: FloatArray, known: Mask,
    flow: Callable[[int, int], FloatArray],
) -> Guess | None:  # fmt: skip
    """What becomes of the hidden places of frame k in later (step 1) or earlier (step -1) frames.

    Parameters
    ----------
    hidden : (h, w) bool
        The places asked for.
    frames : (n, h, w, c) float32
    known : (n, h, w) bool
    flow : callable
        The flow from a frame to its neighbour, and trust in it ``(h, w, 3)``.

    Returns
    -------
    Guess or None
        None if none of the places came to sight within ``reach`` frames.
    """
    height, width = hidden.shape
    box = np.ones((2 * BAND + 1,) * 2, np.uint8)
    rows, columns = np.nonzero(cv2.dilate(hidden.astype(np.uint8), box))
    behind = hidden[rows, columns]
    place = np.stack([columns, rows], axis=1).astype(np.float32)
    trust = np.ones(len(rows), np.float32)
    values = np.zeros((len(rows), frames.shape[3]), np.float32)
    found = np.zeros(len(rows), np.float32)
    steps = np.zeros(len(rows), np.float32)
    left = np.arange(len(rows))
    for distance in range(1, reach + 1):
        j = k + step * distance
        if not 0 <= j < len(frames) or not behind[left].any():
            break
        at = place[left]
        way = _read(flow(j - step, j), at)
        trust[left] = np.minimum(trust[left], way[:, 2])
        at = at + way[:, :2]
        place[left] = at
        trust[left] *= (at >= 0).all(axis=1) & (at[:, 0] <= width - 1) & (at[:, 1] <= height - 1)
        # A known pixel waits as long as the missing ones beside it: it counts as seen outside the rim only.
        bare = cv2.erode(known[j].astype(np.uint8), np.ones((3, 3), np.uint8), borderValue=1)
        clear = cv2.erode(known[j].astype(np.uint8), box, borderValue=1)
        share = np.where(
            behind[left], _read(bare.astype(np.float32), at), _read(clear.astype(np.float32), at)
        )
        lost = trust[left] < _SURE
        seen = (share > 0.99) & ~lost
        now = left[seen]
        values[now] = _read(frames[j], place[now], cubic=True)
        found[now], steps[now] = trust[now], distance
        left = left[~seen & ~lost]
    if not found[behind].any():
        return None
    pixels = np.zeros((height, width, frames.shape[3]), np.float32)
    sight = np.zeros((height, width), np.float32)
    variance = np.full((height, width), 1e4, np.float32)
    pixels[rows, columns], sight[rows, columns] = values, found
    variance[rows, columns] = np.where(found > 0, _DRIFT * steps, np.float32(1e4))
    return Guess(pixels=pixels, trust=sight, variance=variance, usual=400.0)


def _read(image: FloatArray, at: FloatArray, *, cubic: bool = False) -> FloatArray:
    """Values ``(m,)`` or ``(m, channels)`` of an image at places ``(m, 2)``, column first."""
    if not len(at):
        return np.zeros((0, *image.shape[2:]), np.float32)
    # OpenCV allows at most 32767 rows.
    count = -(-len(at) // 1024)
    padded = np.zeros((count * 1024, 2), np.float32)
    padded[: len(at)] = at
    made = cv2.remap(
        np.ascontiguousarray(image, np.float32), padded.reshape(count, 1024, 2), None,
        cv2.INTER_CUBIC if cubic else cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    return np.asarray(made, np.float32).reshape(count * 1024, *image.shape[2:])[: len(at)]
