"""Compiled cores of trajectories. Shapes and meanings are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

Bytes = NDArray[np.uint8]
Numbers = NDArray[np.float32]

FLOW_SD = np.float32(0.1)  # error of a flow vector in pixels where nothing speaks against it
MISS_SD = np.float32(0.7)  # the same per pixel of forward-backward inconsistency
HIDDEN = np.float32(2.0)  # inconsistency in pixels that speaks for a pixel being hidden
KNOWN = np.float32(
    0.5
)  # inconsistency in pixels up to which the motion from the frame before is taken for sure
_WORST_MISS = np.float32(20.0)  # inconsistency beyond which nothing gets worse


@kernel
def read_two(image: Floats, x: np.float32, y: np.float32) -> tuple[np.float32, np.float32]:
    """Both channels of an image ``(h, w, 2)`` at a place, bilinear; beyond the border the nearest place on it."""
    height, width = image.shape[:2]
    x = min(max(x, np.float32(0.0)), np.float32(width - 1))
    y = min(max(y, np.float32(0.0)), np.float32(height - 1))
    left, top = int(x), int(y)
    right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
    u, v = x - np.float32(left), y - np.float32(top)
    p, q = np.float32(1.0) - u, np.float32(1.0) - v
    a, b, c, d = p * q, u * q, p * v, u * v
    return (
        a * image[top, left, 0]
        + b * image[top, right, 0]
        + c * image[bottom, left, 0]
        + d * image[bottom, right, 0],
        a * image[top, left, 1]
        + b * image[top, right, 1]
        + c * image[bottom, left, 1]
        + d * image[bottom, right, 1],
    )


@kernel
def read_one(image: NDArray[np.generic], x: np.float32, y: np.float32) -> np.float32:
    """An image ``(h, w)`` at a place, bilinear; beyond the border the nearest place on it."""
    height, width = image.shape
    x = min(max(x, np.float32(0.0)), np.float32(width - 1))
    y = min(max(y, np.float32(0.0)), np.float32(height - 1))
    left, top = int(x), int(y)
    right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
    u, v = x - np.float32(left), y - np.float32(top)
    upper = np.float32(image[top, left]) * (np.float32(1.0) - u) + np.float32(image[top, right]) * u
    lower = np.float32(image[bottom, left]) * (np.float32(1.0) - u) + np.float32(image[bottom, right]) * u
    return upper * (np.float32(1.0) - v) + lower * v


@parallel_kernel(lambda first, *_: first.shape[0], grain=128)
def judge(
    start: int,
    stop: int,
    first: Bytes,
    second: Bytes,
    there: Floats,
    back: Floats,
    miss: Floats,
    difference: Floats,
) -> None:
    """What speaks against a flow, pixel by pixel.

    Parameters
    ----------
    first, second : (h, w) uint8
    there, back : (h, w, 2) float32
        Flow from the first to the second frame and back.
    miss : (h, w) float32, written
        Distance in pixels by which going there and back misses the start.
    difference : (h, w) float32, written
        Absolute difference of the first frame and the second read along the flow.
    """
    height, width = first.shape
    zero, one = np.float32(0.0), np.float32(1.0)
    for y in range(start, stop):
        for x in range(width):
            u, v = there[y, x, 0], there[y, x, 1]
            # Both are read at one place, whose neighbours and weights are found once.
            to_x = min(max(np.float32(x) + u, zero), np.float32(width - 1))
            to_y = min(max(np.float32(y) + v, zero), np.float32(height - 1))
            left, top = np.uintp(to_x), np.uintp(to_y)
            right, bottom = (
                min(left + np.uintp(1), np.uintp(width - 1)),
                min(top + np.uintp(1), np.uintp(height - 1)),
            )
            across, down = to_x - np.float32(left), to_y - np.float32(top)
            a, b = (one - across) * (one - down), across * (one - down)
            c, d = (one - across) * down, across * down
            for k in range(2):
                way = a * back[top, left, k] + b * back[top, right, k]
                way += c * back[bottom, left, k] + d * back[bottom, right, k]
                if k == 0:
                    u += way
                else:
                    v += way
            miss[y, x] = np.sqrt(u * u + v * v)
            seen = a * np.float32(second[top, left]) + b * np.float32(second[top, right])
            seen += c * np.float32(second[bottom, left]) + d * np.float32(second[bottom, right])
            difference[y, x] = abs(np.float32(first[y, x]) - seen)


@parallel_kernel(lambda other, *_: other.shape[0], grain=128)
def take_better(
    start: int,
    stop: int,
    other: Floats,
    left: Floats,
    seed: Floats,
    slipped: Floats,
    flow: Floats,
    residual: Floats,
) -> None:
    """Replace a flow where another one leaves 5 % less unexplained, or the start of that one, if it has left it.

    Parameters
    ----------
    other, seed : (h, w, 2) float32
        The other flow, and its start.
    left, slipped : (h, w) float32
        Their residuals.
    flow, residual : (h, w, 2) and (h, w) float32, changed
    """
    width = left.shape[1]
    for y in range(start, stop):
        for x in range(width):
            back = slipped[y, x] < np.float32(0.8) * left[y, x]
            remaining = slipped[y, x] if back else left[y, x]
            if remaining < np.float32(0.95) * residual[y, x]:
                residual[y, x] = remaining
                for k in range(2):
                    flow[y, x, k] = seed[y, x, k] if back else other[y, x, k]


@kernel
def _error(miss: np.float32) -> np.float32:
    """Error variance per axis of a place that a flow with this inconsistency leads to."""
    sd = MISS_SD * min(miss, _WORST_MISS)
    return sd * sd + FLOW_SD * FLOW_SD


@parallel_kernel(lambda vectors, *_: vectors.shape[0], grain=128)
def past_hidden(
    start: int,
    stop: int,
    vectors: Floats,
    miss: Floats,
    behind: Floats,
    behind_miss: Floats,
    steps: np.float32,
    whole: Floats,
    known: Floats,
) -> None:
    """The way to the other frame; for pixels hidden there, by going on as they came.

    What is hidden in the other frame has no match in it, but mostly one in the frame before.

    Parameters
    ----------
    vectors, behind : (h, w, 2) float32
        Flow to the other frame, and to the frame before.
    miss, behind_miss : (h, w) float32
        Their inconsistency.
    steps : float32
        Time to the other frame over the time to the frame before.
    whole : (h, w, 2) float32, written
    known : (h, w) float32, written
        How far it goes on as it came, 0..1.
    """
    width = miss.shape[1]
    one = np.float32(1.0)
    # An error of the velocity grows with the time for which it is taken to last.
    belief = min(one / steps, one)
    for y in range(start, stop):
        for x in range(width):
            off, sure = miss[y, x] / HIDDEN, behind_miss[y, x] / KNOWN
            share = (one - np.exp(-off * off)) * np.exp(-sure * sure) * belief
            known[y, x] = share
            for k in range(2):
                value = vectors[y, x, k]
                whole[y, x, k] = value + share * (-steps * behind[y, x, k] - value)


@parallel_kernel(lambda here, near, far, behind, *_: behind.shape[0], grain=128)
def unrest(
    start: int,
    stop: int,
    here: Bytes,
    near: Bytes,
    far: Bytes,
    behind: Floats,
    ahead: Floats,
    size: int,
    share: np.float32,
    out: Floats,
) -> None:
    """Absolute difference ``(rows, columns)`` of a frame and the mean of its neighbours, each read along its flow.

    ``share`` is the weight of ``near``, which is read along ``behind``; ``far`` is read along ``ahead``. ``size`` is the
    number of pixels of the frames, along an axis, to one of the flows; of each square of these one is looked at.
    """
    scale = np.float32(size)
    for y in range(start, stop):
        for x in range(behind.shape[1]):
            at_x, at_y = np.float32(size * x), np.float32(size * y)
            a = read_one(near, at_x + scale * behind[y, x, 0], at_y + scale * behind[y, x, 1])
            b = read_one(far, at_x + scale * ahead[y, x, 0], at_y + scale * ahead[y, x, 1])
            seen = np.float32(here[size * y, size * x])
            out[y, x] = abs(seen - (share * a + (np.float32(1.0) - share) * b))


@parallel_kernel(lambda whole, *_: whole.shape[0], grain=128)
def bend_paths(
    start: int,
    stop: int,
    whole: Floats,
    miss: Floats,
    behind: Floats,
    behind_miss: Floats,
    ahead: Floats,
    ahead_miss: Floats,
    weights: Numbers,
    bend: Floats,
    variance: Floats,
    judged: Floats,
) -> None:
    """How far a curved path is from the straight one, and what is to be known to judge that.

    Parameters
    ----------
    whole, behind, ahead : (h, w, 2) float32
        From the pixels to the other frame and to the frame before; from the other frame to the one beyond it.
    miss, behind_miss, ahead_miss : (h, w) float32
        Inconsistency of these flows.
    weights : (3,) float32
        Of the places in the other frame, the one before and the one beyond, for the bend; 0 for a frame that is absent.
    bend : (h, w, 2) float32, written
    variance : (h, w) float32, written
        Error variance per axis of the bend.
    judged : (h, w, 2) float32, written
        1 / variance, and the bend's square over the variance.
    """
    width = miss.shape[1]
    for y in range(start, stop):
        for x in range(width):
            u, v = whole[y, x, 0], whole[y, x, 1]
            back_u, back_v = behind[y, x, 0], behind[y, x, 1]
            far_u, far_v, far_miss = np.float32(0.0), np.float32(0.0), np.float32(0.0)
            if weights[2] != 0:
                to_x, to_y = np.float32(x) + u, np.float32(y) + v
                far_u, far_v = read_two(ahead, to_x, to_y)
                far_u, far_v = far_u + u, far_v + v
                far_miss = miss[y, x] + read_one(ahead_miss, to_x, to_y)
            bend_u = weights[0] * u + weights[1] * back_u + weights[2] * far_u
            bend_v = weights[0] * v + weights[1] * back_v + weights[2] * far_v
            error = weights[0] * weights[0] * _error(miss[y, x])
            error += weights[1] * weights[1] * _error(behind_miss[y, x])
            error += weights[2] * weights[2] * _error(far_miss)
            bend[y, x, 0] = bend_u
            bend[y, x, 1] = bend_v
            variance[y, x] = error
            trust = np.float32(1.0) / error
            judged[y, x, 0] = trust
            judged[y, x, 1] = trust * (bend_u * bend_u + bend_v * bend_v)


@parallel_kernel(lambda whole, *_: whole.shape[0], grain=128)
def shrink_bend(
    start: int,
    stop: int,
    whole: Floats,
    bend: Floats,
    variance: Floats,
    around: Floats,
    share: np.float32,
    rest: np.float32,
    shake: np.float32,
    place: Floats,
    doubt: Floats,
) -> None:
    """Take the bend as far as it stands out from its errors.

    The Wiener factor signal / (signal + error), the signal estimated around each place from what the errors leave
    unexplained.

    Parameters
    ----------
    whole, bend : (h, w, 2) float32
    variance : (h, w) float32
    around : (h, w, 2) float32
        Local means of what `bend_paths` judged.
    share : float32
        Place in time between the frames, 0..1.
    rest : float32
        Variance of the place around the best path, over that of the bend.
    shake : float32
        Variance per axis of the place for other reasons, in square pixels.
    place : (h, w, 2) float32, written
        Displacement at that time.
    doubt : (h, w) float32, written
        Standard deviation of that place in pixels.
    """
    width = variance.shape[1]
    zero, two = np.float32(0.0), np.float32(2.0)
    for y in range(start, stop):
        for x in range(width):
            usual = np.float32(1.0) / around[y, x, 0]
            signal = max(around[y, x, 1] * usual - two * usual, zero)
            error = variance[y, x]
            kept = signal / (signal + two * error)
            u, v = bend[y, x, 0], bend[y, x, 1]
            place[y, x, 0] = share * whole[y, x, 0] + kept * u
            place[y, x, 1] = share * whole[y, x, 1] + kept * v
            chosen = kept * error + kept * (np.float32(1.0) - kept) * (u * u + v * v)
            # The signal is that of both axes.
            doubt[y, x] = np.sqrt(chosen + rest * signal / two + shake)
