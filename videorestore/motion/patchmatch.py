"""Large motion: whole-pixel matches by PatchMatch at half size, as seeds for the flow.

A gradient method finds what moves less than its pyramid can follow. Small things that move far are matched
here by random search (Barnes et al. 2009) where the flow leaves a residual, checked in both directions, and
given to the flow as a start.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel
from videorestore.motion.warp import Floats, warp

Ints = NDArray[np.int32]

_RADIUS = 3  # patches of 7 x 7
_ROW = 3 * (2 * _RADIUS + 1)  # samples in a row of a patch in colour
_SWEEPS = 3
_STRIDE = 2  # of the rows and columns at half size that are searched
WON = np.float32(0.7)  # share of the cost of its start that a better match at most has
_REACH = 24  # first radius of the random search, halved until 1
_NEAR = 6  # radius from which on only what was improved is searched around
_NEARBY = 3  # tries that are enough there
_EFFORT = 0.07  # random tries per pixel of the frame, sweep and radius, shared by the pixels in question
_SPARE = 3000  # tries that any frame has, however small
_MOST_TRIES = 12
_WORD = 0xFFFFFFFF  # of the random numbers: 32 bits, in integers that cannot overflow
_FEWEST = 9  # pixels at half size that must gain
_EXPLAINED = 8.0, 10.0  # residual of the flow in levels up to which nothing else is sought; in noisy frames
_USUAL = 1.5  # the same over the residual of the best quarter: noise cannot be explained by anything
_SPARSE = 3  # every third pixel, both ways, tells the residual of the best quarter
_GOOD = 5.0  # mean absolute difference in levels under which a match is left alone


def halved(frame: NDArray[np.generic]) -> Floats:
    """A frame ``(h, w, c)`` at half size, ``(rows, columns, c)``, by area means."""
    height, width, channels = frame.shape
    small = ((width + 1) // 2, (height + 1) // 2)
    image = cv2.resize(np.ascontiguousarray(frame, dtype=np.float32), small, interpolation=cv2.INTER_AREA)
    return np.asarray(image, np.float32).reshape(small[1], small[0], channels)


def seeds(
    first: Floats,
    second: Floats,
    flows: tuple[Floats, Floats],
    residuals: tuple[Floats, Floats],
) -> tuple[Floats | None, Floats | None]:
    """Starts for the flows between two frames, there and back, where PatchMatch finds better matches.

    Parameters
    ----------
    first, second : (rows, columns, c) float32
        The frames as of `halved`.
    flows : two (h, w, 2) float32
        There and back.
    residuals : two (h, w) float32
        What the flows leave unexplained, in levels; only there is anything sought.

    Returns
    -------
    two (h, w, 2) float32
        ``None`` where nothing better was found.
    """
    height, width = flows[0].shape[:2]
    if min(height, width) < 16:
        return None, None
    small, channels = (first.shape[1], first.shape[0]), first.shape[2]
    images = [image.reshape(small[1], small[0] * channels) for image in (first, second)]
    scale = np.array([small[0] / width, small[1] / height], dtype=np.float32)
    known = [cv2.resize(flow, small) * scale for flow in flows]
    starts = [np.rint(flow).astype(np.int32) for flow in known]
    left = [cv2.resize(r, small, interpolation=cv2.INTER_AREA) for r in residuals]
    doubtful = [r > np.clip(_USUAL * np.quantile(r[::_SPARSE, ::_SPARSE], 0.25), *_EXPLAINED) for r in left]
    budget = int(_EFFORT * small[0] * small[1]) + _SPARE
    searched = [
        search(a, b, channels, start, where, _STRIDE, _SWEEPS, _REACH, budget, np.float32(_GOOD))
        for a, b, start, where in zip(images, images[::-1], starts, doubtful)
    ]
    results: list[Floats | None] = []
    for way in (0, 1):
        found, cost, start_cost = searched[way]
        better = (cost < WON * start_cost) & (start_cost > _GOOD)
        better &= _returns(found, searched[1 - way][0])
        better = cv2.boxFilter(better.astype(np.float32), -1, (5, 5)) > 0.5
        if np.count_nonzero(better) < _FEWEST:
            results.append(None)
            continue
        start = np.where(better[..., None], found.astype(np.float32), known[way])
        start = np.stack([cv2.medianBlur(np.ascontiguousarray(start[..., k]), 5) for k in (0, 1)], axis=2)
        results.append(cv2.resize(start, (width, height)) / scale)
    return results[0], results[1]


def _returns(forward: Ints, backward: Ints) -> NDArray[np.bool_]:
    """Where going there and back ends within 3 pixels of the start."""
    vectors = forward.astype(np.float32)
    miss = vectors + warp(backward.astype(np.float32), vectors, method="nearest")
    return np.asarray(np.hypot(miss[..., 0], miss[..., 1]) < 3.0)


@kernel
def whole_cost(
    first: Floats, second: Floats, top: np.uintp, left: np.uintp, other_top: np.uintp, other_left: np.uintp,
    limit: np.float32,
) -> np.float32:  # fmt: skip
    """`patch_cost` of patches in colour that lie inside both frames, given by their corners.

    The usual case, with lengths that the compiler knows: several times as fast as the general one.
    """
    count = np.float32(_ROW * (2 * _RADIUS + 1))
    total = np.float32(0.0)
    for j in range(_RADIUS):
        for k in range(_ROW):
            total += abs(
                first[top + np.uintp(j), left + np.uintp(k)]
                - second[other_top + np.uintp(j), other_left + np.uintp(k)]
            )
    if total > limit * count:
        return total / count
    for j in range(_RADIUS, 2 * _RADIUS + 1):
        for k in range(_ROW):
            total += abs(
                first[top + np.uintp(j), left + np.uintp(k)]
                - second[other_top + np.uintp(j), other_left + np.uintp(k)]
            )
    return total / count


@kernel
def patch_cost(
    first: Floats, second: Floats, channels: int, y: int, x: int, dy: int, dx: int, limit: np.float32
) -> np.float32:
    """Mean absolute difference of two 7 x 7 patches of frames ``(h, w * c)``.

    Given up, at some value above it, beyond ``limit``. The channels of a row lie side by side, so that a row of a
    patch is one stretch.
    """
    height, width = first.shape[0], first.shape[1] // channels
    if (
        channels == 3
        and min(y, x, y + dy, x + dx) >= _RADIUS
        and max(y, y + dy) < height - _RADIUS
        and max(x, x + dx) < width - _RADIUS
    ):
        return whole_cost(
            first, second, np.uintp(y - _RADIUS), np.uintp(3 * (x - _RADIUS)),
            np.uintp(y + dy - _RADIUS), np.uintp(3 * (x + dx - _RADIUS)), limit,
        )  # fmt: skip
    top, bottom = max(-_RADIUS, -y, -(y + dy)), min(_RADIUS, height - 1 - y, height - 1 - y - dy)
    left, right = max(-_RADIUS, -x, -(x + dx)), min(_RADIUS, width - 1 - x, width - 1 - x - dx)
    count = (bottom - top + 1) * (right - left + 1) * channels
    limit_sum = limit * count
    from_x, to_x = (x + left) * channels, (x + dx + left) * channels
    total = np.float32(0.0)
    for j in range(top, bottom + 1):
        for k in range((right - left + 1) * channels):
            total += abs(first[y + j, from_x + k] - second[y + dy + j, to_x + k])
        if total > limit_sum:
            break
    return total / np.float32(count)


@kernel
def search(
    first: Floats,
    second: Floats,
    channels: int,
    start: Ints,
    doubtful: NDArray[np.bool_],
    stride: int,
    sweeps: int,
    reach: int,
    budget: int,
    good: np.float32,
) -> tuple[Ints, Floats, Floats]:
    """Displacements of least patch cost, found from a start by propagation and random search.

    Parameters
    ----------
    first, second : (h, w * c) float32
    channels : int
        c
    start : (h, w, 2) int32, x first
    doubtful : (h, w) bool
        Pixels to search for; the others keep their start, at cost 0.
    stride : int
        Only every so many rows and columns are searched for; the pixels between take up what was found beside them.
    sweeps, reach : int
    budget : int
        Random tries for each sweep and radius, shared by the pixels in question; each has one at least.
    good : float32
        Pixels whose cost is below are left alone.

    Returns
    -------
    found (h, w, 2) int32, its cost (h, w), cost of the start (h, w)

    Notes
    -----
    The random numbers depend on the pixel and the sweep only.
    """
    height, width = start.shape[:2]
    found = np.empty((height, width, 2), np.int32)
    cost = np.empty((height, width), np.float32)
    for y in range(height):
        for x in range(width):
            dx = min(max(start[y, x, 0], -x), width - 1 - x)
            dy = min(max(start[y, x, 1], -y), height - 1 - y)
            found[y, x, 0] = dx
            found[y, x, 1] = dy
            cost[y, x] = np.float32(0.0)
            if doubtful[y, x] and y % stride == 0 and x % stride == 0:
                cost[y, x] = patch_cost(first, second, channels, y, x, dy, dx, np.float32(1e9))
    start_cost = cost.copy()
    bad = 0
    for y in range(height):
        for x in range(width):
            bad += 1 if cost[y, x] >= good else 0
    # The fewer pixels are in question, the more is tried for each: a small thing has few chances to be hit.
    tries = min(max(budget // max(bad, 1), 1), _MOST_TRIES)
    rows, columns = (height + stride - 1) // stride, (width + stride - 1) // stride
    for sweep in range(sweeps):
        step = 1 if sweep % 2 == 0 else -1
        for j in range(rows):
            y = stride * (j if step == 1 else rows - 1 - j)
            for i in range(columns):
                x = stride * (i if step == 1 else columns - 1 - i)
                best = cost[y, x]
                if best < good:
                    continue
                best_dx, best_dy = found[y, x, 0], found[y, x, 1]
                for side in range(2):
                    ny, nx = (y, x - step * stride) if side == 0 else (y - step * stride, x)
                    if ny < 0 or ny >= height or nx < 0 or nx >= width:
                        continue
                    dx, dy = found[ny, nx, 0], found[ny, nx, 1]
                    if (dx == best_dx and dy == best_dy) or not (
                        0 <= x + dx < width and 0 <= y + dy < height
                    ):
                        continue
                    value = patch_cost(first, second, channels, y, x, dy, dx, best)
                    if value < best:
                        best, best_dx, best_dy = value, dx, dy
                state = ((y * 73856093) ^ (x * 19349663) ^ (sweep * 83492791 + 12345)) & _WORD
                radius, left = reach, tries
                # Nearby only around what was found just now: a wrong match is not mended by a little.
                while radius > _NEAR or (radius >= 1 and best < cost[y, x]):
                    span = 2 * radius + 1
                    state = (state * 1664525 + 1013904223) & _WORD
                    dx = best_dx + (state >> 8) % span - radius
                    state = (state * 1664525 + 1013904223) & _WORD
                    dy = best_dy + (state >> 8) % span - radius
                    left -= 1
                    if left == 0:
                        radius //= 2
                        left = tries if radius > _NEAR else min(tries, _NEARBY)
                    if not (0 <= x + dx < width and 0 <= y + dy < height):
                        continue
                    value = patch_cost(first, second, channels, y, x, dy, dx, best)
                    if value < best:
                        best, best_dx, best_dy = value, dx, dy
                cost[y, x] = best
                found[y, x, 0] = best_dx
                found[y, x, 1] = best_dy
    for y in range(height):
        for x in range(width):
            if doubtful[y, x] and (y % stride != 0 or x % stride != 0):
                take_up(first, second, channels, stride, y, x, found, cost, start_cost)
    return found, cost, start_cost


@kernel
def take_up(
    first: Floats, second: Floats, channels: int, stride: int, y: int, x: int, found: Ints, cost: Floats,
    start_cost: Floats,
) -> None:  # fmt: skip
    """Try at a pixel what the searched ones at the corners of its cell have gained by; nothing if they have not."""
    height, width = cost.shape
    top, left = y - y % stride, x - x % stride
    best, best_dx, best_dy = np.float32(-1.0), found[y, x, 0], found[y, x, 1]
    for corner in range(4):
        ny, nx = top + stride * (corner // 2), left + stride * (corner % 2)
        if ny >= height or nx >= width:
            continue
        if not cost[ny, nx] < WON * start_cost[ny, nx]:
            continue
        if best < 0:
            best = patch_cost(first, second, channels, y, x, best_dy, best_dx, np.float32(1e9))
            start_cost[y, x] = best
        dx, dy = found[ny, nx, 0], found[ny, nx, 1]
        if (dx == best_dx and dy == best_dy) or not (0 <= x + dx < width and 0 <= y + dy < height):
            continue
        value = patch_cost(first, second, channels, y, x, dy, dx, best)
        if value < best:
            best, best_dx, best_dy = value, dx, dy
    if best >= 0:
        cost[y, x] = best
        found[y, x, 0] = best_dx
        found[y, x, 1] = best_dy
