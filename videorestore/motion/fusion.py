"""What two frames show at a place between them: exact spline reading, visibility, and the blend of both."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion._kernels_spline import filter_columns, filter_rows, read_four, read_spline
from videorestore.motion.warp import Floats

Bytes = NDArray[np.uint8]

_SAME = np.float32(0.25)  # paths closer than this, in pixels, are one path
TEMPERATURE = np.float32(4.0)  # levels of disagreement that divide the weight of a path by e
_LEAST = np.float32(0.02)  # of `_BASE`, that is left to a frame in which something else covers the pixel
_BASE = np.float32(1.0)  # weight of a frame in which the pixel seems hidden; 2 where it is seen
_PASSES = np.float32(1.5)  # pixels of motion of what passes over a pixel that stands still
_HEAVY = np.float32(2.0)  # its support


def spline_coefficients(frame: Floats) -> Floats:
    """Coefficients ``(h + 3, w + 3, c)`` of the cubic B-spline through the pixels of a frame ``(h, w, c)``.

    Coefficient (1, 1) belongs to pixel (0, 0); the border holds the mirrored ones that a reader needs. Three channels
    get a fourth that says nothing: a place is then four numbers that are read and weighed at once.
    """
    height, width, channels = frame.shape
    coefficients = np.empty((height + 3, width + 3, 4 if channels == 3 else channels), np.float32)
    inner = coefficients[1:-2]
    inner[:, [0, -2, -1]] = 0.0
    if channels == 3:
        cv2.cvtColor(frame, cv2.COLOR_RGB2RGBA, dst=inner[:, 1:-2])
    else:
        inner[:, 1:-2] = frame
    filter_columns(inner)
    filter_rows(inner)
    rows, columns = (_mirrored(length)[[0, -2, -1]] + 1 for length in (height, width))
    coefficients[1:-2, [0, -2, -1]] = coefficients[1:-2, columns]
    coefficients[[0, -2, -1]] = coefficients[rows]
    return coefficients


def _mirrored(length: int) -> NDArray[np.intp]:
    """Numbers of the elements at -1, 0, ..., length + 1 of a line mirrored at its ends."""
    period = max(2 * length - 2, 1)
    places = np.abs(np.arange(-1, length + 2)) % period
    return np.minimum(places, period - places) if length > 1 else np.zeros(4, np.intp)


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
def outside(x: np.float32, y: np.float32, width: int, height: int) -> np.float32:
    """Distance in pixels by which a place lies beyond the frame, at most 8."""
    beyond = max(-x, x - np.float32(width - 1), np.float32(0.0))
    beyond = max(beyond, -y, y - np.float32(height - 1))
    return min(beyond, np.float32(8.0))


@kernel
def same_way(ways: Floats, one: int, other: int) -> bool:
    """Whether two of some paths ``(n, 4)`` are one. (To cut them out first costs more than to compare them.)"""
    apart = max(abs(ways[one, 0] - ways[other, 0]), abs(ways[one, 1] - ways[other, 1]))
    apart = max(apart, abs(ways[one, 2] - ways[other, 2]), abs(ways[one, 3] - ways[other, 3]))
    return bool(apart < _SAME)


@kernel
def around(pixel: int, scale: np.float32, count: int) -> tuple[np.uintp, np.uintp, np.float32]:
    """The two of ``count`` elements, ``scale`` to a pixel, around the middle of a pixel, and how far it is on the way."""
    place = (np.float32(pixel) + np.float32(0.5)) * scale - np.float32(0.5)
    place = min(max(place, np.float32(0.0)), np.float32(count - 1))
    low = np.uintp(place)
    return low, min(low + np.uintp(1), np.uintp(count - 1)), place - np.float32(low)


@parallel_kernel(lambda earlier, *_: earlier.shape[0], grain=4)
def look(
    start: int, stop: int,
    earlier: Floats, later: Floats, still: Bytes, passing: bool, first: Floats, second: Floats,
    there: Floats, back: Floats, sure_there: Floats, sure_back: Floats, size: int, paths: Floats, support: Floats,
    share: np.float32, blends: Floats, gaps: Floats, costs: Floats, single: Bytes,
) -> None:  # fmt: skip
    """Read both frames along the candidate paths through every pixel of the frame between them.

    Parameters
    ----------
    earlier, later : (h, w, c) float32
        The frames.
    still : (h, w) uint8
        Not 0 where the pixel stands still, whatever the paths say.
    passing : bool
        But not where something that moves by itself arrives there, by the last of the paths.
    first, second : (h + 3, w + 3, c) float32
        `spline_coefficients` of the frames.
    there, back : (h / size, w / size, 2) float32
        Flow from the first to the second frame and back.
    sure_there, sure_back : (h / size, w / size) float32
        How sure either flow is of what it follows, 0..1: see `sure`.
    size : int
        Pixels of the frames, along an axis, to one of the flows and paths, whose vectors count their own pixels.
    paths : (m, h / size, w / size, k) float32, k >= 4
        From each pixel to its places in the first (x, y) and the second frame (x, y), for m candidates.
    support : (m, h / size, w / size) float32
        How well each candidate is supported.
    share : float32
        Place in time between the frames, 0..1.
    blends : (m, h, w, c) float32, written
        Mean of both, by time and visibility.
    gaps : (h, w, m) float32, written
        Mean absolute difference of both.
    costs : (h, w, m) float32, written
        The same as far as both frames show the same thing there: the flows agree with the path.
    single : (h, w) uint8, written
        1 where all candidates are one path: of blends and gaps, the first alone is written.
    """
    height, width, candidates = gaps.shape
    channels, read = blends.shape[3], first.shape[2]
    rows, columns = paths.shape[1:3]
    zero, one = np.float32(0.0), np.float32(1.0)
    # From places in the frames to places in the flows: the middles of pixels are half a pixel from their borders.
    scale, shift = one / np.float32(size), (one / np.float32(size) - one) / np.float32(2.0)
    square = np.float32(size * size)
    value0, value1 = np.empty(read, np.float32), np.empty(read, np.float32)
    line, way = np.empty((columns * candidates, 4), np.float32), np.empty((candidates, 4), np.float32)
    agree = np.empty(columns, np.bool_)
    for y in range(start, stop):
        top, bottom, down = around(y, scale, rows)
        for column in range(columns):
            for m in range(candidates):
                for k in range(4):
                    upper, lower = paths[m, top, column, k], paths[m, bottom, column, k]
                    line[column * candidates + m, k] = np.float32(size) * (upper + down * (lower - upper))
            agree[column] = True
            for m in range(1, candidates):
                agree[column] &= same_way(line, column * candidates + m, column * candidates)
        for x in range(width):
            left, right, across = around(x, scale, columns)
            # Paths that are one at both of the places around are one in between.
            alone = agree[left] and agree[right]
            for m in range(1 if alone and not passing else candidates):
                step = np.uintp(candidates)
                before, after = left * step + np.uintp(m), right * step + np.uintp(m)
                for k in range(4):
                    way[m, k] = line[before, k] + across * (line[after, k] - line[before, k])
            rests = still[y, x] != 0
            if rests and passing and support[candidates - 1, top, left] > _HEAVY:
                m = candidates - 1
                rests = max(abs(way[m, 2] - way[m, 0]), abs(way[m, 3] - way[m, 1])) <= _PASSES
            if rests:
                difference = zero
                for c in range(channels):
                    a, b = earlier[y, x, c], later[y, x, c]
                    difference += abs(a - b)
                    blends[0, y, x, c] = a + share * (b - a)
                gaps[y, x, 0] = difference / np.float32(channels)
                for m in range(candidates):
                    costs[y, x, m] = gaps[y, x, 0]
                single[y, x] = 1
                continue
            single[y, x] = alone
            for m in range(1 if alone else candidates):
                known = -1
                for k in range(m):
                    if same_way(way, m, k):
                        known = k
                        break
                if known >= 0:
                    for c in range(channels):
                        blends[m, y, x, c] = blends[known, y, x, c]
                    gaps[y, x, m] = gaps[y, x, known]
                    costs[y, x, m] = costs[y, x, known]
                    continue
                x0, y0 = np.float32(x) + way[m, 0], np.float32(y) + way[m, 1]
                x1, y1 = np.float32(x) + way[m, 2], np.float32(y) + way[m, 3]
                u, v = scale * (x1 - x0), scale * (y1 - y0)
                a0, b0 = scale * x0 + shift, scale * y0 + shift
                a1, b1 = scale * x1 + shift, scale * y1 + shift
                visible0 = np.exp(-square * misses(there, a0, b0, u, v))
                visible1 = np.exp(-square * misses(back, a1, b1, -u, -v))
                weight0 = (one - share) * (visible0 + _BASE * covered(sure_there, a0, b0, visible0))
                weight1 = share * (visible1 + _BASE * covered(sure_back, a1, b1, visible1))
                # A frame that does not hold the place shows nothing of it.
                beyond0, beyond1 = outside(x0, y0, width, height), outside(x1, y1, width, height)
                if beyond0 > 0 or beyond1 > 0:
                    weight0 *= np.exp(-beyond0)
                    weight1 *= np.exp(-beyond1)
                part = weight0 / (weight0 + weight1)
                difference = zero
                if read == 4:
                    r0, g0, b0, _ = read_four(first, x0, y0)
                    r1, g1, b1, _ = read_four(second, x1, y1)
                    blends[m, y, x, 0] = r1 + part * (r0 - r1)
                    blends[m, y, x, 1] = g1 + part * (g0 - g1)
                    blends[m, y, x, 2] = b1 + part * (b0 - b1)
                    difference = abs(r0 - r1) + abs(g0 - g1) + abs(b0 - b1)
                else:
                    read_spline(first, x0, y0, value0)
                    read_spline(second, x1, y1, value1)
                    for c in range(channels):
                        blends[m, y, x, c] = value1[c] + part * (value0[c] - value1[c])
                        difference += abs(value0[c] - value1[c])
                gaps[y, x, m] = difference / np.float32(channels)
                costs[y, x, m] = gaps[y, x, m] * min(visible0, visible1)
            if alone:
                for m in range(1, candidates):
                    costs[y, x, m] = costs[y, x, 0]


@parallel_kernel(lambda costs, *_: costs.shape[0], grain=4)
def fuse(
    start: int, stop: int,
    costs: Floats, support: Floats, size: int, paths: Floats, blends: Floats, gaps: Floats, single: Bytes,
    mean: Floats, evidence: Floats,
) -> None:  # fmt: skip
    """Weighted mean of the candidates, and of what speaks against them.

    Parameters
    ----------
    costs : (h, w, m) float32
        Disagreement of the frames around each place, in levels over `TEMPERATURE`.
    support : (m, h / size, w / size) float32
        How well each candidate is supported.
    size : int
        Pixels, along an axis, to one of the paths.
    paths : (m, h / size, w / size, 6) float32
        The last two are the doubt, in their own pixels, and the unrest of each path.
    blends : (m, h, w, c) float32
    gaps : (h, w, m) float32
    single : (h, w) uint8
        Not 0 where candidates show the same, and differ in their support alone; see `look`.
    mean : (h, w, c) float32, written
    evidence : (3, h, w) float32, written
        Gap, doubt and unrest.
    """
    candidates, _, width, channels = blends.shape
    rows, columns = support.shape[1:]
    weights, line = np.empty(candidates, np.float32), np.empty((columns, candidates), np.float32)
    usual = np.empty((columns, 2), np.float32)
    one, scale = np.float32(1.0), np.float32(1.0) / np.float32(size)
    for y in range(start, stop):
        top, bottom, down = around(y, scale, rows)
        row = np.uintp(y // size)
        for column in range(columns):
            doubt = unrest = total = np.float32(0.0)
            for m in range(candidates):
                upper, lower = support[m, top, column], support[m, bottom, column]
                weight = upper + down * (lower - upper) + np.float32(1e-3)
                doubt += weight * paths[m, row, column, 4]
                unrest += weight * paths[m, row, column, 5]
                line[column, m] = weight
                total += weight
            usual[column, 0], usual[column, 1] = np.float32(size) * doubt / total, unrest / total
        for x in range(width):
            left, right, across = around(x, scale, columns)
            near = right if across >= np.float32(0.5) else left
            if single[y, x] != 0:
                evidence[0, y, x] = gaps[y, x, 0]
                evidence[1, y, x], evidence[2, y, x] = usual[near, 0], usual[near, 1]
                for c in range(channels):
                    mean[y, x, c] = blends[0, y, x, c]
                continue
            total = np.float32(1e-20)
            for m in range(candidates):
                weights[m] = line[left, m] + across * (line[right, m] - line[left, m])
                weights[m] *= np.exp(-costs[y, x, m] / TEMPERATURE)
                total += weights[m]
            gap = doubt = unrest = np.float32(0.0)
            for m in range(candidates):
                weights[m] *= one / total
                gap += weights[m] * gaps[y, x, m]
                doubt += weights[m] * paths[m, row, near, 4]
                unrest += weights[m] * paths[m, row, near, 5]
            evidence[0, y, x] = gap
            evidence[1, y, x] = doubt * np.float32(size)
            evidence[2, y, x] = unrest
            for c in range(channels):
                value = weights[0] * blends[0, y, x, c]
                for m in range(1, candidates):
                    value += weights[m] * blends[m, y, x, c]
                mean[y, x, c] = value


@parallel_kernel(lambda first, *_: first.shape[0], grain=8)
def compare(
    start: int, stop: int, first: Floats, second: Floats, limit: np.float32, close: Bytes, same: Bytes
) -> None:
    """Write 1 to ``close`` (h, w) where two frames ``(h, w, c)`` differ by no more than the limit, to ``same`` where not at all."""
    _, width, channels = first.shape
    for y in range(start, stop):
        for x in range(width):
            worst = np.float32(0.0)
            for c in range(channels):
                worst = max(worst, abs(first[y, x, c] - second[y, x, c]))
            close[y, x] = worst <= limit
            same[y, x] = worst == np.float32(0.0)
