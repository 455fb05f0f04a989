"""Compiled cores of the candidate paths through a frame between two others, on the grid on which paths are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

Bytes = NDArray[np.uint8]

SAME = np.float32(0.25)  # paths closer than this, in pixels, are one path
TEMPERATURE = np.float32(4.0)  # levels of disagreement that divide the weight of a path by e
_LEAST = np.float32(0.02)  # of `_BASE`, that is left to a frame in which something else covers the pixel
_BASE = np.float32(1.0)  # weight of a frame in which the pixel seems hidden; 2 where it is seen
WAY = 8  # numbers of a candidate path: see `ways_along`


@kernel
def misses(
    flow: Floats, x: np.float32, y: np.float32, wanted_x: np.float32, wanted_y: np.float32
) -> np.float32:
    """Squared distance between a flow read (bilinear) at a place and the one wanted there."""
    height, width = flow.shape[:2]
    x = min(max(x, np.float32(0.0)), np.float32(width - 1))
    y = min(max(y, np.float32(0.0)), np.float32(height - 1))
    # Unsigned, as in `read_four`.
    left, top = np.uintp(x), np.uintp(y)
    right, bottom = min(left + np.uintp(1), np.uintp(width - 1)), min(top + np.uintp(1), np.uintp(height - 1))
    u, v = x - np.float32(left), y - np.float32(top)
    zero, one = np.uintp(0), np.uintp(1)
    upper = flow[top, left, zero] + u * (flow[top, right, zero] - flow[top, left, zero])
    lower = flow[bottom, left, zero] + u * (flow[bottom, right, zero] - flow[bottom, left, zero])
    off_x = upper + v * (lower - upper) - wanted_x
    upper = flow[top, left, one] + u * (flow[top, right, one] - flow[top, left, one])
    lower = flow[bottom, left, one] + u * (flow[bottom, right, one] - flow[bottom, left, one])
    off_y = upper + v * (lower - upper) - wanted_y
    square: np.float32 = off_x * off_x + off_y * off_y
    return square


@kernel
def covered(sure: Floats, x: np.float32, y: np.float32, visible: np.float32) -> np.float32:
    """How far a frame may show a pixel that does not seem visible at a place of it, 0..1.

    Where the flow there is sure, and yet leads elsewhere, something else covers the pixel.
    """
    height, width = sure.shape
    row = np.uintp(min(max(y + np.float32(0.5), np.float32(0.0)), np.float32(height - 1)))
    column = np.uintp(min(max(x + np.float32(0.5), np.float32(0.0)), np.float32(width - 1)))
    return max(np.float32(1.0) - (np.float32(1.0) - visible) * sure[row, column], _LEAST)


@kernel
def around(pixel: int, scale: np.float32, count: int) -> tuple[np.uintp, np.uintp, np.float32]:
    """The two of ``count`` elements, ``scale`` to a pixel, around the middle of a pixel, and how far it is on the way."""
    place = (np.float32(pixel) + np.float32(0.5)) * scale - np.float32(0.5)
    place = min(max(place, np.float32(0.0)), np.float32(count - 1))
    low = np.uintp(place)
    return low, min(low + np.uintp(1), np.uintp(count - 1)), place - np.float32(low)


@kernel
def between(upper: Floats, lower: Floats, down: np.float32, line: Floats) -> None:
    """Numbers ``(n,)`` of a line between two lines."""
    for k in range(line.shape[0]):
        line[k] = upper[k] + down * (lower[k] - upper[k])


@parallel_kernel(lambda paths, *_: paths.shape[1], grain=128)
def ways_along(
    start: int, stop: int,
    paths: Floats, there: Floats, back: Floats, sure_there: Floats, sure_back: Floats, size: int, share: np.float32,
    ways: Floats, agree: Bytes,
) -> None:  # fmt: skip
    """What is to be known of the candidate paths to read both frames along them, on their own grid.

    Parameters
    ----------
    paths : (m, rows, columns, k) float32, k >= 4
        From each place to its places in the first (x, y) and the second frame (x, y), for m candidates.
    there, back : (rows, columns, 2) float32
        Flow from the first to the second frame and back.
    sure_there, sure_back : (rows, columns) float32
        How sure either flow is of what it follows, 0..1: see `sure`.
    size : int
        Pixels of the frames, along an axis, to one of the flows and paths, whose vectors count their own pixels.
    share : float32
        Place in time between the frames, 0..1.
    ways : (rows, columns, 8 m) float32, written
        Of each candidate the path in pixels of the frames, weights of the first and of the second frame, by time and
        visibility, and how far both show the same thing: the flows agree with the path.
    agree : (rows, columns) uint8, written
        1 where all candidates are one path.
    """
    candidates, _, columns, _ = paths.shape
    one, scale = np.float32(1.0), np.float32(size)
    for y in range(start, stop):
        for x in range(columns):
            agree[y, x] = 1
            for m in range(candidates):
                at = WAY * m
                for k in range(4):
                    ways[y, x, at + k] = scale * paths[m, y, x, k]
                same = m > 0
                for k in range(4):
                    same = same and abs(ways[y, x, at + k] - ways[y, x, k]) < SAME
                if same:
                    for k in range(4, WAY):
                        ways[y, x, at + k] = ways[y, x, k]
                    continue
                if m > 0:
                    agree[y, x] = 0
                x0, y0 = np.float32(x) + paths[m, y, x, 0], np.float32(y) + paths[m, y, x, 1]
                x1, y1 = np.float32(x) + paths[m, y, x, 2], np.float32(y) + paths[m, y, x, 3]
                visible0 = np.exp(-scale * scale * misses(there, x0, y0, x1 - x0, y1 - y0))
                visible1 = np.exp(-scale * scale * misses(back, x1, y1, x0 - x1, y0 - y1))
                ways[y, x, at + 4] = (one - share) * (
                    visible0 + _BASE * covered(sure_there, x0, y0, visible0)
                )
                ways[y, x, at + 5] = share * (visible1 + _BASE * covered(sure_back, x1, y1, visible1))
                ways[y, x, at + 6] = min(visible0, visible1)
                ways[y, x, at + 7] = np.float32(0.0)


@parallel_kernel(lambda costs, *_: costs.shape[0], grain=128)
def weigh_candidates(
    start: int, stop: int, costs: Floats, support: Floats, size: int, paths: Floats, gaps: Floats, weights: Floats,
    evidence: Floats,
) -> None:  # fmt: skip
    """Weights of the candidates at every place of their grid, and what speaks against their mean.

    Parameters
    ----------
    costs : (rows, columns, m) float32
        Disagreement of the frames around each place, in levels over `TEMPERATURE`.
    support : (m, rows, columns) float32
        How well each candidate is supported.
    size : int
        Pixels, along an axis, to one of the paths.
    paths : (m, rows, columns, 6) float32
        The last two are the doubt, in their own pixels, and the unrest of each path.
    gaps : (rows, columns, m) float32
    weights : (rows, columns, m) float32, written
        Their sum is 1.
    evidence : (3, rows, columns) float32, written
        Gap, doubt in pixels of the frame, and unrest.
    """
    _, columns, candidates = costs.shape
    for y in range(start, stop):
        for x in range(columns):
            total = np.float32(1e-20)
            least = costs[y, x, 0]
            for m in range(1, candidates):
                least = min(least, costs[y, x, m])
            for m in range(candidates):
                weight = support[m, y, x] + np.float32(1e-3)
                if costs[y, x, m] > least:
                    weight *= np.exp((least - costs[y, x, m]) / TEMPERATURE)
                weights[y, x, m] = weight
                total += weight
            gap = doubt = unrest = np.float32(0.0)
            for m in range(candidates):
                weights[y, x, m] /= total
                gap += weights[y, x, m] * gaps[y, x, m]
                doubt += weights[y, x, m] * paths[m, y, x, 4]
                unrest += weights[y, x, m] * paths[m, y, x, 5]
            evidence[0, y, x] = gap
            evidence[1, y, x] = doubt * np.float32(size)
            evidence[2, y, x] = unrest
