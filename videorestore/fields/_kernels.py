"""Kernels of the missing lines: fields read along motion, and the posterior of a line given the lines around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Floats = NDArray[np.float32]

SHARPNESS = np.float32(-0.6)
"""Slope of the cubic that reads between two columns; -0.5 is Catmull and Rom's, -0.75 OpenCV's."""

TICKS = 32
"""Steps of a tabulated covariance to a line of the frame."""

LANES = 128
"""Columns that are worked on side by side: so many that the compiler's vectors pay; with 8 it took half as long again."""

NOTHING = 1e12
"""Variance of a line that there is not."""


@kernel
def cubic(t: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Weights of four columns for a place ``t`` (0..1) between the middle two."""
    square = t * t
    cube = square * t
    before = SHARPNESS * (cube - np.float32(2.0) * square + t)
    left = (SHARPNESS + np.float32(2.0)) * cube - (SHARPNESS + np.float32(3.0)) * square + np.float32(1.0)
    behind = SHARPNESS * (square - cube)
    return before, left, np.float32(1.0) - before - left - behind, behind


@parallel_kernel(lambda lines, parity, flow, *_: flow.shape[0], grain=8)
def sample(
    start: int, stop: int, lines: Floats, parity: int, flow: Floats, offsets: Floats, values: Floats
) -> None:
    """Read the three nearest lines of a field at the places a flow points to.

    Parameters
    ----------
    lines : (m, w) float32
        The lines that the field has: 0, 2, ... of the frame for ``parity`` 0, else 1, 3, ...
    flow : (h, w, 2) float32
        From every pixel of a frame to its place in the field's frame.
    offsets : (h, w) float32, written
        How far below its place the nearest line lies, in lines of the frame.
    values : (h, w, 3) float32, written
        The line above the nearest one, that one, the one below.
    """
    count, width = lines.shape
    for y in range(start, stop):
        for x in range(width):
            # Beyond the border the last line is read, as the last column is: there is none to be extrapolated from.
            row = min(max(np.float32(y) + flow[y, x, 1], np.float32(0.0)), np.float32(flow.shape[0] - 1))
            base = int(np.floor((row - np.float32(parity)) * np.float32(0.5) + np.float32(0.5)))
            base = min(max(base, 0), count - 1)
            offsets[y, x] = np.float32(2 * base + parity) - row
            column = min(max(np.float32(x) + flow[y, x, 0], np.float32(0.0)), np.float32(width - 1))
            left = int(column)
            w0, w1, w2, w3 = cubic(column - np.float32(left))
            before, right, behind = max(left - 1, 0), min(left + 1, width - 1), min(left + 2, width - 1)
            for q in range(3):
                r = min(max(base + q - 1, 0), count - 1)
                values[y, x, q] = (
                    w0 * lines[r, before] + w1 * lines[r, left] + w2 * lines[r, right] + w3 * lines[r, behind]
                )


@parallel_kernel(lambda own, *_: own.shape[0], grain=2)
def krige(
    start: int,
    stop: int,
    own: Floats,
    offsets: Floats,
    values: Floats,
    errors: Floats,
    texture: Floats,
    rough: NDArray[np.int64],
    tables: NDArray[np.float64],
    model: NDArray[np.float64],
    parity: int,
    height: int,
    mean: Floats,
    sd: Floats,
) -> None:
    """Posterior mean and sd of the missing lines of a field: a Gaussian process along the vertical.

    Its variogram is a power of the distance. The lines of the field itself are known but for noise; those of other fields,
    read along motion, have an error that neighbouring lines share in part, so that at least their detail can be trusted.

    Parameters
    ----------
    own : (m, w, 4) float32
        The field's lines at distance -3, -1, 1, 3 from each missing one.
    offsets, values : (s, m, w), (s, m, w, 3) float32
        See `sample`; at the missing lines.
    errors : (s, m, w) float32
        Variance of the error of each field along motion.
    texture : (m, w) float32
        Variogram at distance 2.
    rough : (m, w) int64
        Which of the ``tables`` holds the variogram's shape.
    tables : (t + 1, d) float64
        By distance in steps of 1 / `TICKS` of a line: covariances of unit texture, and last that of the shared error.
    model : (2,) float64
        White share of the error, noise variance.
    parity, height : int
        Of the field and its frame: lines beyond the border are copies, and say nothing.
    mean, sd : (m, w) float32, written
    """
    sources, width = offsets.shape[0], texture.shape[1]
    white, noise, lanes = model[0], model[1], min(LANES, width)
    most, last, far = 4 + 3 * sources, tables.shape[0] - 1, tables.shape[1] - 2
    # Columns side by side: the innermost loops become vectors.
    factor, inverse = np.empty((most, most, lanes)), np.empty((most, lanes))
    place, value, towards = np.empty((most, lanes)), np.empty((most, lanes)), np.empty((most, lanes))
    solved, beyond, error = np.empty((most, lanes)), np.empty((most, lanes)), np.empty((sources, lanes))
    centre, scale, entry, rest = np.empty(lanes), np.empty(lanes), np.empty(lanes), np.empty(lanes)
    estimate, variance = np.empty(lanes), np.empty(lanes)
    shape = np.empty(lanes, np.int64)
    for y in range(start, stop):
        row = 2 * y + 1 - parity
        for first in range(0, width, lanes):
            count = min(lanes, width - first)
            for lane in range(count):
                x = first + lane
                middle = 0.5 * (own[y, x, 1] + own[y, x, 2])
                centre[lane], scale[lane], shape[lane] = middle, texture[y, x], rough[y, x]
                for q in range(4):
                    place[q, lane], value[q, lane] = 2 * q - 3, own[y, x, q] - middle
                for j in range(sources):
                    error[j, lane] = errors[j, y, x]
                    for q in range(3):
                        n = 4 + 3 * j + q
                        place[n, lane] = offsets[j, y, x] + 2 * (q - 1)
                        value[n, lane] = values[j, y, x, q] - middle
                for n in range(most):
                    inside = -0.5 < row + place[n, lane] < height - 0.5
                    beyond[n, lane] = noise if inside else NOTHING
                estimate[lane] = middle
                variance[lane] = scale[lane] * tables[shape[lane], 0] + noise
            for i in range(most):
                for k in range(i + 1):
                    for lane in range(count):
                        apart = min(abs(place[i, lane] - place[k, lane]) * TICKS, float(far))
                        tick = int(apart)
                        low, high = tables[shape[lane], tick], tables[shape[lane], tick + 1]
                        entry[lane] = scale[lane] * (low + (apart - tick) * (high - low))
                    if k >= 4 and (i - 4) // 3 == (k - 4) // 3:
                        j = (i - 4) // 3
                        # Lines of one field lie two or four lines of the frame from each other.
                        shared = (1.0 - white) * tables[last, min(2 * (i - k) * TICKS, far)]
                        if i == k:
                            shared += white
                        for lane in range(count):
                            entry[lane] += error[j, lane] * shared
                    if i == k:
                        for lane in range(count):
                            entry[lane] += beyond[i, lane]
                    for m in range(k):
                        for lane in range(count):
                            entry[lane] -= factor[i, m, lane] * factor[k, m, lane]
                    if i == k:
                        for lane in range(count):
                            inverse[i, lane] = 1.0 / np.sqrt(max(entry[lane], 1e-9))
                    else:
                        for lane in range(count):
                            factor[i, k, lane] = entry[lane] * inverse[k, lane]
                for lane in range(count):
                    apart = min(abs(place[i, lane]) * TICKS, float(far))
                    tick = int(apart)
                    low, high = tables[shape[lane], tick], tables[shape[lane], tick + 1]
                    entry[lane] = scale[lane] * (low + (apart - tick) * (high - low))
                    rest[lane] = value[i, lane]
                for m in range(i):
                    for lane in range(count):
                        entry[lane] -= factor[i, m, lane] * towards[m, lane]
                        rest[lane] -= factor[i, m, lane] * solved[m, lane]
                for lane in range(count):
                    towards[i, lane] = entry[lane] * inverse[i, lane]
                    solved[i, lane] = rest[lane] * inverse[i, lane]
                    estimate[lane] += towards[i, lane] * solved[i, lane]
                    variance[lane] -= towards[i, lane] * towards[i, lane]
            for lane in range(count):
                mean[y, first + lane] = estimate[lane]
                sd[y, first + lane] = np.sqrt(max(variance[lane], 0.0))


@kernel
def streaks(
    beyond: Floats, level: float, most: float, least: float, shortest: int, found: NDArray[np.float64]
) -> int:
    """Runs along lines that leave a range one way: the stretches of the largest sums above ``level``.

    Parameters
    ----------
    beyond : (m, w) float32
    level, most : float
        What is taken off each value, and the most that is left of one.
    least, shortest : float, int
        Sum and columns that a run has at least.
    found : (n, 5) float64, written
        Line, first column, the one behind the last, sign and sum of each run.

    Returns
    -------
    int
        How many there are; more than ``n`` are left out.
    """
    height, width = beyond.shape
    count = 0
    for y in range(height):
        for sign in (1, -1):
            total, best = 0.0, 0.0
            start, first, last = 0, 0, 0
            for x in range(width + 1):
                value = -total - 1.0
                if x < width:
                    value = min(sign * beyond[y, x] - level, most)
                total += value
                if total <= 0.0:
                    if best >= least and last - first >= shortest and count < len(found):
                        found[count, 0], found[count, 1], found[count, 2] = y, first, last
                        found[count, 3], found[count, 4] = sign, best
                        count += 1
                    total, best, start = 0.0, 0.0, x + 1
                elif total > best:
                    best, first, last = total, start, x + 1
    return count
