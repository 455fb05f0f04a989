"""What two frames show at a place between them: exact spline reading, visibility, and the blend of both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

_POLE = np.float32(np.sqrt(3.0) - 2.0)
_TAIL = 12  # the pole's power is below the rounding of 8 bits after as many samples
_STRIP = 64  # columns that are filtered side by side
_SAME = np.float32(0.25)  # paths closer than this, in pixels, are one path
TEMPERATURE = np.float32(4.0)  # levels of disagreement that divide the weight of a path by e
_LEAST = np.float32(0.02)  # of `_BASE`, that is left to a frame in which something else covers the pixel
_BASE = np.float32(1.0)  # weight of a frame in which the pixel seems hidden; 2 where it is seen


def spline_coefficients(frame: Floats) -> Floats:
    """Coefficients ``(h + 3, w + 3, c)`` of the cubic B-spline through the pixels of a frame ``(h, w, c)``.

    Coefficient (1, 1) belongs to pixel (0, 0); the border holds the mirrored ones that a reader needs. Three channels
    get a fourth, empty one: a place is then four numbers that are read and weighed at once.
    """
    height, width, channels = frame.shape
    inner = np.zeros((height, width, 4 if channels == 3 else channels), np.float32)
    inner[..., :channels] = frame
    filter_columns(inner)
    filter_rows(inner)
    coefficients = np.empty((height + 3, width + 3, inner.shape[2]), np.float32)
    coefficients[1:-2, 1:-2] = inner
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


@parallel_kernel(lambda pixels: pixels.shape[0], grain=8)
def filter_rows(start: int, stop: int, pixels: Floats) -> None:
    """`filter_line` along every row of ``(h, w, c)``, in place."""
    for y in range(start, stop):
        filter_line(pixels[y])


@parallel_kernel(lambda pixels: (pixels.shape[1] * pixels.shape[2] + _STRIP - 1) // _STRIP)
def filter_columns(start: int, stop: int, pixels: Floats) -> None:
    """`filter_line` along every column of ``(h, w, c)``, in place: columns side by side, as they lie in memory."""
    height, width, channels = pixels.shape
    lines = pixels.reshape(height, width * channels)
    if height == 1:
        return
    six = np.float32(6.0)
    for strip in range(start, stop):
        low, high = strip * _STRIP, min((strip + 1) * _STRIP, width * channels)
        head = lines[0, low:high].copy()
        power = np.float32(1.0)
        for k in range(1, _TAIL):
            power *= _POLE
            place = k % (2 * height - 2)
            mirror = min(place, 2 * height - 2 - place)
            for x in range(low, high):
                head[x - low] += power * lines[mirror, x]
        for x in range(low, high):
            lines[0, x] = head[x - low]
        for k in range(1, height):
            for x in range(low, high):
                lines[k, x] += _POLE * lines[k - 1, x]
        factor = _POLE / (_POLE * _POLE - np.float32(1.0))
        for x in range(low, high):
            lines[height - 1, x] = factor * (lines[height - 1, x] + _POLE * lines[height - 2, x])
        for back in range(1, height):
            k = height - 1 - back
            for x in range(low, high):
                lines[k, x] = _POLE * (lines[k + 1, x] - lines[k, x])
        for k in range(height):
            for x in range(low, high):
                lines[k, x] *= six


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
def read_four(
    coefficients: Floats, x: np.float32, y: np.float32
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    """The four values of a spline ``(h, w, 4)`` at a place; beyond the border the nearest place on it."""
    height, width = coefficients.shape[:2]
    x = min(max(x, np.float32(0.0)), np.float32(width - 4))
    y = min(max(y, np.float32(0.0)), np.float32(height - 4))
    # Unsigned, so that no index has to be checked for counting from the end.
    column, row = np.uintp(x), np.uintp(y)
    a0, a1, a2, a3 = spline_weights(x - np.float32(column))
    d0, d1, d2, d3 = spline_weights(y - np.float32(row))
    zero, one, two, three = np.uintp(0), np.uintp(1), np.uintp(2), np.uintp(3)
    red = green = blue = spare = np.float32(0.0)
    for j in range(4):
        at = row + np.uintp(j)
        d = d0 if j == 0 else d1 if j == 1 else d2 if j == 2 else d3
        for i in range(4):
            to = column + np.uintp(i)
            weight = d * (a0 if i == 0 else a1 if i == 1 else a2 if i == 2 else a3)
            red += weight * coefficients[at, to, zero]
            green += weight * coefficients[at, to, one]
            blue += weight * coefficients[at, to, two]
            spare += weight * coefficients[at, to, three]
    return red, green, blue, spare


@kernel
def read_spline(coefficients: Floats, x: np.float32, y: np.float32, out: Floats) -> None:
    """Values ``(c,)`` of a spline ``(h, w, c)`` at a place; beyond the border the nearest place on it."""
    height, width, channels = coefficients.shape
    if channels == 4:
        out[0], out[1], out[2], out[3] = read_four(coefficients, x, y)
        return
    x = min(max(x, np.float32(0.0)), np.float32(width - 4))
    y = min(max(y, np.float32(0.0)), np.float32(height - 4))
    column, row = np.uintp(x), np.uintp(y)
    a0, a1, a2, a3 = spline_weights(x - np.float32(column))
    d0, d1, d2, d3 = spline_weights(y - np.float32(row))
    one, two, three = np.uintp(1), np.uintp(2), np.uintp(3)
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


@parallel_kernel(lambda earlier, *_: earlier.shape[0], grain=4)
def look(
    start: int, stop: int,
    earlier: Floats, later: Floats, still: Floats, first: Floats, second: Floats,
    there: Floats, back: Floats, sure_there: Floats, sure_back: Floats, size: int, paths: Floats,
    share: np.float32, blends: Floats, gaps: Floats, costs: Floats,
) -> None:  # fmt: skip
    """Read both frames along the candidate paths through every pixel of the frame between them.

    Parameters
    ----------
    earlier, later : (h, w, c) float32
        The frames.
    still : (h, w) float32
        Not 0 where the pixel stands still, whatever the paths say.
    first, second : (h + 3, w + 3, c) float32
        `spline_coefficients` of the frames.
    there, back : (h / size, w / size, 2) float32
        Flow from the first to the second frame and back.
    sure_there, sure_back : (h / size, w / size) float32
        How sure either flow is of what it follows, 0..1: see `sure`.
    size : int
        Pixels of the frames, along an axis, to one of the flows, whose vectors count their own pixels.
    paths : (m, h, w, k) float32, k >= 4
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
    channels, read = blends.shape[3], first.shape[2]
    zero, one = np.float32(0.0), np.float32(1.0)
    # From places in the frames to places in the flows: the middles of pixels are half a pixel from their borders.
    scale, shift = one / np.float32(size), (one / np.float32(size) - one) / np.float32(2.0)
    square = np.float32(size * size)
    for y in range(start, stop):
        value0, value1 = np.empty(read, np.float32), np.empty(read, np.float32)
        for x in range(width):
            if still[y, x] != zero:
                difference = zero
                for c in range(channels):
                    a, b = earlier[y, x, c], later[y, x, c]
                    difference += abs(a - b)
                    for m in range(candidates):
                        blends[m, y, x, c] = a + share * (b - a)
                for m in range(candidates):
                    gaps[y, x, m] = costs[y, x, m] = difference / np.float32(channels)
                continue
            for m in range(candidates):
                p0, p1, p2, p3 = paths[m, y, x, 0], paths[m, y, x, 1], paths[m, y, x, 2], paths[m, y, x, 3]
                known = -1
                for k in range(m):
                    apart = max(abs(p0 - paths[k, y, x, 0]), abs(p1 - paths[k, y, x, 1]))
                    apart = max(apart, abs(p2 - paths[k, y, x, 2]), abs(p3 - paths[k, y, x, 3]))
                    if apart < _SAME:
                        known = k
                        break
                if known >= 0:
                    for c in range(channels):
                        blends[m, y, x, c] = blends[known, y, x, c]
                    gaps[y, x, m] = gaps[y, x, known]
                    costs[y, x, m] = costs[y, x, known]
                    continue
                x0, y0 = np.float32(x) + p0, np.float32(y) + p1
                x1, y1 = np.float32(x) + p2, np.float32(y) + p3
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


@parallel_kernel(lambda costs, *_: costs.shape[0], grain=4)
def fuse(
    start: int, stop: int,
    costs: Floats, support: Floats, size: int, paths: Floats, blends: Floats, gaps: Floats,
    mean: Floats, evidence: Floats,
) -> None:  # fmt: skip
    """Weighted mean of the candidates, and of what speaks against them.

    Parameters
    ----------
    costs : (h, w, m) float32
        Disagreement of the frames around each place, in levels over `TEMPERATURE`.
    support : (m, h, w) float32
        How well each candidate is supported.
    size : int
        Pixels, along an axis, to one of the paths.
    paths : (m, h / size, w / size, 6) float32
        The last two are the doubt, in their own pixels, and the unrest of each path.
    blends : (m, h, w, c) float32
    gaps : (h, w, m) float32
    mean : (h, w, c) float32, written
    evidence : (3, h, w) float32, written
        Gap, doubt and unrest.
    """
    candidates, _, width, channels = blends.shape
    for y in range(start, stop):
        weights = np.empty(candidates, np.float32)
        row = y // size
        for x in range(width):
            column = x // size
            # Candidates that show the same differ in their support alone.
            alike = True
            for m in range(1, candidates):
                for c in range(channels):
                    alike = alike and blends[m, y, x, c] == blends[0, y, x, c]
            total = np.float32(1e-20)
            for m in range(candidates):
                weights[m] = support[m, y, x] + np.float32(1e-3)
                if not alike:
                    weights[m] *= np.exp(-costs[y, x, m] / TEMPERATURE)
                total += weights[m]
            gap = doubt = unrest = np.float32(0.0)
            for m in range(candidates):
                weights[m] /= total
                gap += weights[m] * gaps[y, x, m]
                doubt += weights[m] * paths[m, row, column, 4]
                unrest += weights[m] * paths[m, row, column, 5]
            evidence[0, y, x] = gap
            evidence[1, y, x] = doubt * np.float32(size)
            evidence[2, y, x] = unrest
            for c in range(channels):
                value = blends[0, y, x, c]
                if not alike:
                    value *= weights[0]
                    for m in range(1, candidates):
                        value += weights[m] * blends[m, y, x, c]
                mean[y, x, c] = value


@parallel_kernel(lambda first, *_: first.shape[0], grain=8)
def agreeing(start: int, stop: int, first: Floats, second: Floats, limit: np.float32, agree: Floats) -> None:
    """Write 0 to ``agree`` (h, w) where two frames ``(h, w, c)`` differ by more than the limit."""
    _, width, channels = first.shape
    for y in range(start, stop):
        for x in range(width):
            worst = np.float32(0.0)
            for c in range(channels):
                worst = max(worst, abs(first[y, x, c] - second[y, x, c]))
            if worst > limit:
                agree[y, x] = np.float32(0.0)
