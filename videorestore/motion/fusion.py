"""What two frames show at a place between them: exact spline reading along candidate paths, and the blend of these."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion._kernels_spline import filter_columns, filter_rows, read_four, read_spline
from videorestore.motion._kernels_ways import SAME, WAY, around, between
from videorestore.motion.warp import Floats

Bytes = NDArray[np.uint8]

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
    return bool(apart < SAME)


@kernel
def path_between(
    line: Floats, left: np.uintp, right: np.uintp, across: np.float32, m: int, way: Floats
) -> None:
    """One of some paths between two places on a line."""
    before, after = left + np.uintp(WAY * m), right + np.uintp(WAY * m)
    for k in range(WAY):
        one = line[before + np.uintp(k)]
        way[m, k] = one + across * (line[after + np.uintp(k)] - one)


@parallel_kernel(lambda earlier, later, still, passing, first, second, ways, *_: ways.shape[0], grain=32)
def look(
    start: int, stop: int,
    earlier: Floats, later: Floats, still: Bytes, passing: bool, first: Floats, second: Floats,
    ways: Floats, agree: Bytes, size: int, support: Floats, share: np.float32,
    mean: Floats, others: Floats, gaps: Floats, costs: Floats, single: Bytes,
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
    ways, agree : (rows, columns, 8 m) float32 and (rows, columns) uint8
        See `ways_along`.
    size : int
        Pixels of the frames, along an axis, to a row or column of these.
    support : (m, rows, columns) float32
        How well each candidate is supported.
    share : float32
        Place in time between the frames, 0..1.
    mean : (h, w, c) float32, written
        Mean of both frames along the first candidate, by time and visibility.
    others : (m - 1, h, w, c) float32, written
        Along the other ones, where they are others.
    gaps : (rows, columns, m) float32, written
        Mean absolute difference of both, of all pixels that belong to a place.
    costs : (rows, columns, m) float32, written
        The same as far as both frames show the same thing there.
    single : (h, w) uint8, written
        1 where all candidates are one path.
    """
    height, width, channels = mean.shape
    rows, columns, candidates = gaps.shape
    read = first.shape[2]
    zero, one = np.float32(0.0), np.float32(1.0)
    scale, mean_of = one / np.float32(size), one / np.float32(channels)
    value0, value1 = np.empty(read, np.float32), np.empty(read, np.float32)
    found = np.empty((candidates, 2), np.float32)
    line, way = np.empty(columns * candidates * WAY, np.float32), np.empty((candidates, WAY), np.float32)
    step = np.uintp(candidates * WAY)
    for row in range(start, stop):
        for column in range(columns):
            for m in range(candidates):
                gaps[row, column, m] = costs[row, column, m] = zero
        low, high = row * size, min((row + 1) * size, height)
        for y in range(low, high):
            top, bottom, down = around(y, scale, rows)
            between(ways[top].reshape(-1), ways[bottom].reshape(-1), down, line)
            for column in range(columns):
                for x in range(column * size, min((column + 1) * size, width)):
                    left, right, across = around(x, scale, columns)
                    # Paths that are one at all places around are one in between.
                    alone = (
                        agree[top, left] & agree[top, right] & agree[bottom, left] & agree[bottom, right]
                    ) != 0
                    count = 1 if alone else candidates
                    rests = still[y, x] != 0
                    if rests and passing and support[candidates - 1, top, left] > _HEAVY:
                        m = candidates - 1
                        path_between(line, left * step, right * step, across, m, way)
                        rests = max(abs(way[m, 2] - way[m, 0]), abs(way[m, 3] - way[m, 1])) <= _PASSES
                    if rests:
                        gap = zero
                        for c in range(channels):
                            a, b = earlier[y, x, c], later[y, x, c]
                            gap += abs(a - b)
                            mean[y, x, c] = a + share * (b - a)
                        gap *= mean_of
                        for m in range(candidates):
                            gaps[row, column, m] += gap
                            costs[row, column, m] += gap
                        single[y, x] = 1
                        continue
                    single[y, x] = alone
                    gap, cost = zero, zero
                    for m in range(count):
                        path_between(line, left * step, right * step, across, m, way)
                        known = -1
                        for k in range(m):
                            if same_way(way, m, k):
                                known = k
                                break
                        if known >= 0:
                            for c in range(channels):
                                others[m - 1, y, x, c] = (
                                    mean[y, x, c] if known == 0 else others[known - 1, y, x, c]
                                )
                            gaps[row, column, m] += found[known, 0]
                            costs[row, column, m] += found[known, 1]
                            continue
                        x0, y0 = np.float32(x) + way[m, 0], np.float32(y) + way[m, 1]
                        x1, y1 = np.float32(x) + way[m, 2], np.float32(y) + way[m, 3]
                        weight0, weight1 = way[m, 4], way[m, 5]
                        # A frame that does not hold the place shows nothing of it.
                        beyond0, beyond1 = outside(x0, y0, width, height), outside(x1, y1, width, height)
                        if beyond0 > 0 or beyond1 > 0:
                            weight0 *= np.exp(-beyond0)
                            weight1 *= np.exp(-beyond1)
                        part = weight0 / (weight0 + weight1)
                        if read == 4:
                            r0, g0, b0, _ = read_four(first, x0, y0)
                            r1, g1, b1, _ = read_four(second, x1, y1)
                            gap = abs(r0 - r1) + abs(g0 - g1) + abs(b0 - b1)
                            r1, g1, b1 = r1 + part * (r0 - r1), g1 + part * (g0 - g1), b1 + part * (b0 - b1)
                            if m == 0:
                                mean[y, x, 0], mean[y, x, 1], mean[y, x, 2] = r1, g1, b1
                            else:
                                others[m - 1, y, x, 0] = r1
                                others[m - 1, y, x, 1] = g1
                                others[m - 1, y, x, 2] = b1
                        else:
                            gap = zero
                            read_spline(first, x0, y0, value0)
                            read_spline(second, x1, y1, value1)
                            for c in range(channels):
                                gap += abs(value0[c] - value1[c])
                                value = value1[c] + part * (value0[c] - value1[c])
                                if m == 0:
                                    mean[y, x, c] = value
                                else:
                                    others[m - 1, y, x, c] = value
                        gap *= mean_of
                        cost = gap * way[m, 6]
                        found[m, 0], found[m, 1] = gap, cost
                        gaps[row, column, m] += gap
                        costs[row, column, m] += cost
                    for m in range(count, candidates):
                        gaps[row, column, m] += gap
                        costs[row, column, m] += cost
        for column in range(columns):
            pixels = np.float32((high - low) * (min((column + 1) * size, width) - column * size))
            for m in range(candidates):
                gaps[row, column, m] /= pixels
                costs[row, column, m] /= pixels


@parallel_kernel(lambda mean, *_: mean.shape[0], grain=128)
def fuse(
    start: int, stop: int, mean: Floats, others: Floats, weights: Floats, size: int, single: Bytes
) -> None:
    """Weighted mean of the candidates.

    Parameters
    ----------
    mean : (h, w, c) float32, changed
        The first candidate.
    others : (m - 1, h, w, c) float32
    weights : (rows, columns, m) float32
    size : int
        Pixels, along an axis, to one of these places.
    single : (h, w) uint8
        Not 0 where all candidates show the same.
    """
    rows, columns, candidates = weights.shape
    width, channels = mean.shape[1:]
    scale = np.float32(1.0) / np.float32(size)
    line, share = np.empty(columns * candidates, np.float32), np.empty(candidates, np.float32)
    for y in range(start, stop):
        top, bottom, down = around(y, scale, rows)
        between(weights[top].reshape(-1), weights[bottom].reshape(-1), down, line)
        for x in range(width):
            if single[y, x] != 0:
                continue
            left, right, across = around(x, scale, columns)
            step = np.uintp(candidates)
            for m in range(candidates):
                before, after = line[left * step + np.uintp(m)], line[right * step + np.uintp(m)]
                share[m] = before + across * (after - before)
            for c in range(channels):
                value = share[0] * mean[y, x, c]
                for m in range(1, candidates):
                    value += share[m] * others[m - 1, y, x, c]
                mean[y, x, c] = value


@parallel_kernel(lambda first, *_: first.shape[0], grain=128)
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
