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
        Of the field and its frame: lines beyond the border are copies, and are left out.
    mean, sd : (m, w) float32, written
    """
    sources, width = offsets.shape[0], texture.shape[1]
    white, noise = model[0], model[1]
    most, last, far = 5 + 3 * sources, tables.shape[0] - 1, tables.shape[1] - 2
    for y in range(start, stop):
        row = 2 * y + 1 - parity
        factor = np.empty((most, most))
        place, value, towards, solved = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
        origin = np.empty(most, np.int64)
        for x in range(width):
            centre = 0.5 * (own[y, x, 1] + own[y, x, 2])
            scale, shape = float(texture[y, x]), rough[y, x]
            n = 0
            for q in range(4):
                place[n], value[n], origin[n] = 2 * q - 3, own[y, x, q] - centre, -1
                if -0.5 < row + place[n] < height - 0.5:
                    n += 1
            for j in range(sources):
                for q in range(3):
                    place[n], value[n] = offsets[j, y, x] + 2 * (q - 1), values[j, y, x, q] - centre
                    origin[n] = j
                    if -0.5 < row + place[n] < height - 0.5:
                        n += 1
            estimate, variance = float(centre), scale * tables[shape, 0] + noise
            for i in range(n):
                for k in range(i + 1):
                    apart = min(abs(place[i] - place[k]) * TICKS, float(far))
                    tick = int(apart)
                    part = apart - tick
                    entry = scale * (
                        tables[shape, tick] + part * (tables[shape, tick + 1] - tables[shape, tick])
                    )
                    if origin[i] == origin[k] and origin[i] >= 0:
                        error = errors[origin[i], y, x]
                        entry += error * (1.0 - white) * tables[last, tick]
                        if i == k:
                            entry += error * white
                    if i == k:
                        entry += noise
                    for m in range(k):
                        entry -= factor[i, m] * factor[k, m]
                    if i == k:
                        factor[i, i] = np.sqrt(max(entry, 1e-9))
                    else:
                        factor[i, k] = entry / factor[k, k]
                apart = min(abs(place[i]) * TICKS, float(far))
                tick = int(apart)
                part = apart - tick
                link = scale * (tables[shape, tick] + part * (tables[shape, tick + 1] - tables[shape, tick]))
                rest = value[i]
                for m in range(i):
                    link -= factor[i, m] * towards[m]
                    rest -= factor[i, m] * solved[m]
                towards[i], solved[i] = link / factor[i, i], rest / factor[i, i]
                estimate += towards[i] * solved[i]
                variance -= towards[i] * towards[i]
            mean[y, x] = estimate
            sd[y, x] = np.sqrt(max(variance, 0.0))


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
