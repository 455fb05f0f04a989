"""What two frames show at a place between them: exact spline reading, visibility, and the blend of both."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

_POLE = np.float32(np.sqrt(3.0) - 2.0)
_TAIL = 12  # the pole's power is below the rounding of 8 bits after as many samples
_SAME = np.float32(0.1)  # paths closer than this, in pixels, are one path
TEMPERATURE = np.float32(4.0)  # levels of disagreement that divide the weight of a path by e
_BASE = np.float32(1.0)  # weight of a frame in which the pixel seems hidden; 2 where it is seen


def spline_coefficients(frame: Floats) -> Floats:
    """Coefficients ``(h + 3, w + 3, c)`` of the cubic B-spline through the pixels of a frame ``(h, w, c)``.

    Coefficient (1, 1) belongs to pixel (0, 0); the border holds the mirrored ones that a reader needs.
    """
    coefficients = np.array(frame, dtype=np.float32, order="C")
    filter_columns(coefficients)
    filter_rows(coefficients)
    rows, columns = (_mirrored(length) for length in frame.shape[:2])
    return np.ascontiguousarray(coefficients[rows][:, columns])


def _mirrored(length: int) -> NDArray[np.intp]:
    """Numbers of the elements at -1, 0, ..., length + 1 of a line mirrored at its ends."""
    period = max(2 * length - 2, 1)
    places = np.abs(np.arange(-1, length + 2)) % period
    return np.minimum(places, period - places) if length > 1 else np.zeros(4, np.intp)


@kernel
def filter_line(line: Floats) -> None:
    """Turn samples ``(n, c)`` into B-spline coefficients in place, the ends mirrored."""
    count, channels = line.shape
    if count == 1:
        return
    for c in range(channels):
        start = line[0, c]
        power = np.float32(1.0)
        for k in range(1, _TAIL):
            power *= _POLE
            place = k % (2 * count - 2)
            start += power * line[min(place, 2 * count - 2 - place), c]
        line[0, c] = start
    for k in range(1, count):
        for c in range(channels):
            line[k, c] += _POLE * line[k - 1, c]
    for c in range(channels):
        line[count - 1, c] = (_POLE / (_POLE * _POLE - np.float32(1.0))) * (
            line[count - 1, c] + _POLE * line[count - 2, c]
        )
    for back in range(1, count):
        k = count - 1 - back
        for c in range(channels):
            line[k, c] = _POLE * (line[k + 1, c] - line[k, c])
    for k in range(count):
        for c in range(channels):
            line[k, c] *= np.float32(6.0)


@parallel_kernel
def filter_rows(pixels: Floats) -> None:
    """`filter_line` along every row of ``(h, w, c)``, in place."""
    for y in numba.prange(pixels.shape[0]):
        filter_line(pixels[y])


@parallel_kernel
def filter_columns(pixels: Floats) -> None:
    """`filter_line` along every column of ``(h, w, c)``, in place."""
    for x in numba.prange(pixels.shape[1]):
        filter_line(pixels[:, x])


@kernel
def spline_weights(offset: np.float32) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """Values of the cubic B-splines at -1, 0, 1, 2 for a place ``offset`` in [0, 1) after 0."""
    rest = np.float32(1.0) - offset
    return (
        rest * rest * rest * np.float32(1.0 / 6.0),
        np.float32(2.0 / 3.0) - np.float32(0.5) * offset * offset * (np.float32(2.0) - offset),
        np.float32(2.0 / 3.0) - np.float32(0.5) * rest * rest * (np.float32(2.0) - rest),
        offset * offset * offset * np.float32(1.0 / 6.0),
    )


@kernel
def read_spline(coefficients: Floats, x: np.float32, y: np.float32, out: Floats) -> None:
    """Value ``(c,)`` of a spline at a place; beyond the border the nearest place on it."""
    height, width, channels = coefficients.shape
    x = min(max(x, np.float32(0.0)), np.float32(width - 4))
    y = min(max(y, np.float32(0.0)), np.float32(height - 4))
    # Unsigned, so that no index has to be checked for counting from the end.
    column, row = np.uintp(x), np.uintp(y)
    a0, a1, a2, a3 = spline_weights(x - np.float32(column))
    d0, d1, d2, d3 = spline_weights(y - np.float32(row))
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
    if channels == 3:
        # The usual case written out: sums in registers, several times as fast as the general one.
        red = green = blue = np.float32(0.0)
        for j in range(4):
            at = row + np.uintp(j)
            d = d0 if j == 0 else d1 if j == 1 else d2 if j == 2 else d3
            for i in range(4):
                to = column + np.uintp(i)
                weight = d * (a0 if i == 0 else a1 if i == 1 else a2 if i == 2 else a3)
                red += weight * coefficients[at, to, 0]
                green += weight * coefficients[at, to, 1]
                blue += weight * coefficients[at, to, 2]
        out[0], out[1], out[2] = red, green, blue
        return
    for c in range(channels):
        total = np.float32(0.0)
        for j in range(4):
            at = row + np.uintp(j)
            line = (
                a0 * coefficients[at, column, c]
                + a1 * coefficients[at, column + one, c]
                + a2 * coefficients[at, column + two, c]
                + a3 * coefficients[at, column + three, c]
            )
            total += (d0 if j == 0 else d1 if j == 1 else d2 if j == 2 else d3) * line
        out[c] = total


@kernel
def misses(
    flow: Floats, x: np.float32, y: np.float32, wanted_x: np.float32, wanted_y: np.float32
) -> np.float32:
    """Squared distance between a flow read (bilinear) at a place and the one wanted there."""
    height, width = flow.shape[:2]
    x = min(max(x, np.float32(0.0)), np.float32(width - 1))
    y = min(max(y, np.float32(0.0)), np.float32(height - 1))
    left, top = int(x), int(y)
    right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
    u, v = x - np.float32(left), y - np.float32(top)
    total = np.float32(0.0)
    for k in range(2):
        upper = flow[top, left, k] + u * (flow[top, right, k] - flow[top, left, k])
        lower = flow[bottom, left, k] + u * (flow[bottom, right, k] - flow[bottom, left, k])
        off = upper + v * (lower - upper) - (wanted_x if k == 0 else wanted_y)
        total += off * off
    return total


@kernel
def outside(x: np.float32, y: np.float32, width: int, height: int) -> np.float32:
    """Distance in pixels by which a place lies beyond the frame, at most 8."""
    beyond = max(-x, x - np.float32(width - 1), np.float32(0.0))
    beyond = max(beyond, -y, y - np.float32(height - 1))
    return min(beyond, np.float32(8.0))


@parallel_kernel
def look(
    splines: tuple[Floats, Floats],
    flows: tuple[Floats, Floats],
    paths: tuple[Floats, Floats, Floats],
    share: np.float32,
    blends: Floats,
    gaps: Floats,
    costs: Floats,
) -> None:
    """Read both frames along the candidate paths through every pixel of the frame between them.

    Parameters
    ----------
    splines : two (h + 3, w + 3, c) float32
        `spline_coefficients` of the frames.
    flows : two (h, w, 2) float32
        Flow from the first to the second frame and back.
    paths : m of (h, w, k) float32, k >= 4
        From each pixel to its places in the first (x, y) and the second frame (x, y), for m candidates.
    share : float32
        Place in time between the frames, 0..1.
    blends : (m, h, w, c) float32, written
        Mean of both, by time and visibility.
    gaps : (h, w, m) float32, written
        Mean absolute difference of both.
    costs : (h, w, m) float32, written
        The same as far as both frames show the same thing there: the flows agree with the path.
    """
    height, width, candidates = gaps.shape
    first, second = splines
    there, back = flows
    channels = first.shape[2]
    one = np.float32(1.0)
    for y in numba.prange(height):
        value0, value1 = np.empty(channels, np.float32), np.empty(channels, np.float32)
        for x in range(width):
            for m in range(candidates):
                path = paths[m][y, x]
                known = -1
                for k in range(m):
                    other = paths[k][y, x]
                    apart = np.float32(0.0)
                    for i in range(4):
                        apart = max(apart, abs(path[i] - other[i]))
                    if apart < _SAME:
                        known = k
                        break
                if known >= 0:
                    for c in range(channels):
                        blends[m, y, x, c] = blends[known, y, x, c]
                    gaps[y, x, m] = gaps[y, x, known]
                    costs[y, x, m] = costs[y, x, known]
                    continue
                x0, y0 = np.float32(x) + path[0], np.float32(y) + path[1]
                x1, y1 = np.float32(x) + path[2], np.float32(y) + path[3]
                read_spline(first, x0, y0, value0)
                read_spline(second, x1, y1, value1)
                u, v = x1 - x0, y1 - y0
                visible0 = np.exp(-misses(there, x0, y0, u, v))
                visible1 = np.exp(-misses(back, x1, y1, -u, -v))
                weight0, weight1 = (one - share) * (visible0 + _BASE), share * (visible1 + _BASE)
                # A frame that does not hold the place shows nothing of it.
                beyond0, beyond1 = outside(x0, y0, width, height), outside(x1, y1, width, height)
                if beyond0 > 0 or beyond1 > 0:
                    weight0 *= np.exp(-beyond0)
                    weight1 *= np.exp(-beyond1)
                part = weight0 / (weight0 + weight1)
                difference = np.float32(0.0)
                for c in range(channels):
                    blends[m, y, x, c] = value1[c] + part * (value0[c] - value1[c])
                    difference += abs(value0[c] - value1[c])
                gaps[y, x, m] = difference / np.float32(channels)
                costs[y, x, m] = gaps[y, x, m] * min(visible0, visible1)


@parallel_kernel
def fuse(
    costs: Floats,
    supports: tuple[Floats, Floats, Floats],
    paths: tuple[Floats, Floats, Floats],
    blends: Floats,
    gaps: Floats,
    mean: Floats,
    evidence: Floats,
) -> None:
    """Weighted mean of the candidates, and of what speaks against them.

    Parameters
    ----------
    costs : (h, w, m) float32
        Disagreement of the frames around each place, in levels over `TEMPERATURE`.
    supports : m of (h, w) float32
        How well each candidate is supported.
    paths : m of (h, w, 6) float32
        The last two are the doubt and the unrest of each path.
    blends : (m, h, w, c) float32
    gaps : (h, w, m) float32
    mean : (h, w, c) float32, written
    evidence : (3, h, w) float32, written
        Gap, doubt and unrest.
    """
    candidates, height, width, channels = blends.shape
    for y in numba.prange(height):
        weights = np.empty(candidates, np.float32)
        for x in range(width):
            total = np.float32(1e-20)
            for m in range(candidates):
                weights[m] = (supports[m][y, x] + np.float32(1e-3)) * np.exp(-costs[y, x, m] / TEMPERATURE)
                total += weights[m]
            gap = doubt = unrest = np.float32(0.0)
            for m in range(candidates):
                weights[m] /= total
                gap += weights[m] * gaps[y, x, m]
                doubt += weights[m] * paths[m][y, x, 4]
                unrest += weights[m] * paths[m][y, x, 5]
            evidence[0, y, x] = gap
            evidence[1, y, x] = doubt
            evidence[2, y, x] = unrest
            for c in range(channels):
                value = np.float32(0.0)
                for m in range(candidates):
                    value += weights[m] * blends[m, y, x, c]
                mean[y, x, c] = value


@parallel_kernel
def agreeing(frames: Floats, base: int, limit: np.float32, agree: Floats) -> None:
    """1 in ``agree`` (h, w) where no frame ``(n, h, w, c)`` differs from number ``base`` by more than the limit."""
    count, height, width, channels = frames.shape
    for y in numba.prange(height):
        for x in range(width):
            worst = np.float32(0.0)
            for k in range(count):
                for c in range(channels):
                    worst = max(worst, abs(frames[k, y, x, c] - frames[base, y, x, c]))
            agree[y, x] = np.float32(1.0) if worst <= limit else np.float32(0.0)
