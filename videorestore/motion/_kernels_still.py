"""Compiled cores of what other frames show at the very place of a missing pixel. Shapes are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.compiled import kernel, parallel_kernel

Doubles = NDArray[np.float64]


@kernel
def _middle(values: Doubles, count: int) -> float:
    """Mean of the middle half of values (count,), which are put into order."""
    for i in range(1, count):
        value = values[i]
        at = i
        while at > 0 and values[at - 1] > value:
            values[at] = values[at - 1]
            at -= 1
        values[at] = value
    cut = count // 4
    total = 0.0
    for i in range(cut, count - cut):
        total += values[i]
    return total / max(count - 2 * cut, 1)


@parallel_kernel(lambda frames, shown, *_: shown.shape[1], grain=32)
def resting(
    start: int, stop: int, frames: FloatArray, shown: Mask, wide: Mask, own: int, top: int, left: int,
    mean: FloatArray, near: FloatArray, apart: FloatArray, sides: FloatArray, count: FloatArray,
) -> None:  # fmt: skip
    """What other frames show at the very place of a pixel, in a box of them with the corner ``top``, ``left``.

    frames (n, H, W, c), shown (n, h, w) and wide (h, w): where pixels of frames are known, and where they are asked for;
    own: the frame that is left out. Written are mean (h, w, c) of the middle half of the values, which wastes little of the
    data and yet ignores what merely passes by; near (h, w, c): the mean of the nearest before and the nearest after; apart
    (h, w): a quarter of their squared difference; sides (h, w): how many of these two there are; count (h, w): of all.
    """
    n = frames.shape[0]
    channels = frames.shape[3]
    values = np.empty(n, np.float64)
    for y in range(start, stop):
        for x in range(shown.shape[2]):
            if not wide[y, x]:
                continue
            before, after, seen = -1, -1, 0
            for k in range(n):
                if k != own and shown[k, y, x]:
                    seen += 1
                    if k < own:
                        before = k
                    elif after < 0:
                        after = k
            count[y, x] = seen
            if seen == 0:
                continue
            sides[y, x] = (before >= 0) + (after >= 0)
            one = before if before >= 0 else after
            two = after if after >= 0 else before
            gap = np.float32(0.0)
            for c in range(channels):
                m = 0
                for k in range(n):
                    if k != own and shown[k, y, x]:
                        values[m] = frames[k, y + top, x + left, c]
                        m += 1
                mean[y, x, c] = _middle(values, m)
                a = frames[one, y + top, x + left, c]
                b = frames[two, y + top, x + left, c]
                near[y, x, c] = np.float32(0.5) * (a + b)
                gap += (a - b) * (a - b)
            apart[y, x] = gap / np.float32(4 * channels)


@parallel_kernel(lambda frames, masks, k, *_: masks.shape[1], grain=32)
def settle(
    start: int, stop: int, frames: FloatArray, masks: Mask, k: int, reach: int, fewest: int, same: float, near: float,
    made: FloatArray,
) -> None:  # fmt: skip
    """Missing pixels of frame k take the value of the frames around exactly, where these have one and the same.

    frames (n, h, w, c), masks (n, h, w); at least ``fewest`` of ``reach`` frames on either side show the place and differ by
    no more than ``same``, and what was made (h, w, c), which is written, is no more than ``near`` off.
    """
    first, last = max(0, k - reach), min(masks.shape[0], k + reach + 1)
    channels = frames.shape[3]
    for y in range(start, stop):
        for x in range(masks.shape[2]):
            if not masks[k, y, x]:
                continue
            seen = 0
            alike = True
            one = 0
            for j in range(first, last):
                if masks[j, y, x]:
                    continue
                if seen == 0:
                    one = j
                seen += 1
                for c in range(channels):
                    alike = alike and abs(frames[j, y, x, c] - frames[one, y, x, c]) <= same
            if seen < fewest or not alike:
                continue
            for c in range(channels):
                alike = alike and abs(made[y, x, c] - frames[one, y, x, c]) <= near
            if alike:
                for c in range(channels):
                    made[y, x, c] = frames[one, y, x, c]
