"""What two frames show at a place between them: exact spline reading, visibility, and the blend of both."""

from __future__ import annotations

import numba
import numpy as np

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

_POLE = np.float32(np.sqrt(3.0) - 2.0)
_TAIL = 12  # the pole's power is below the rounding of 8 bits after as many samples
_BASE = np.float32(1.0)  # weight of a frame in which the pixel seems hidden; 2 where it is seen


def spline_coefficients(frame: Floats) -> Floats:
    """Coefficients ``(h, w, c)`` of the cubic B-spline through the pixels of a frame ``(h, w, c)``."""
    coefficients = np.array(frame, dtype=np.float32, order="C")
    filter_columns(coefficients)
    filter_rows(coefficients)
    return coefficients


@kernel
def filter_line(line: Floats) -> None:
    """Turn samples ``(n, c)`` into B-spline coefficients in place, the ends mirrored."""
    count, channels = line.shape
    if count == 1:
        return
    for c in range(channels):
        start = line[0, c]
        power = np.float32(1.0)
        for k in range(1, min(_TAIL, 2 * count - 2)):
            power *= _POLE
            start += power * line[k if k < count else 2 * count - 2 - k, c]
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
def spline_weights(offset: np.float32, weights: Floats) -> None:
    """Values ``(4,)`` of the cubic B-splines at -1, 0, 1, 2 for a place ``offset`` in [0, 1) after 0."""
    rest = np.float32(1.0) - offset
    weights[0] = rest * rest * rest / np.float32(6.0)
    weights[1] = np.float32(2.0 / 3.0) - np.float32(0.5) * offset * offset * (np.float32(2.0) - offset)
    weights[2] = np.float32(2.0 / 3.0) - np.float32(0.5) * rest * rest * (np.float32(2.0) - rest)
    weights[3] = offset * offset * offset / np.float32(6.0)


@kernel
def read_spline(
    coefficients: Floats, x: np.float32, y: np.float32, across: Floats, down: Floats, out: Floats
) -> None:
    """Value ``(c,)`` of a spline at a place; beyond the border the nearest place on it."""
    height, width, channels = coefficients.shape
    x = min(max(x, np.float32(0.0)), np.float32(width - 1))
    y = min(max(y, np.float32(0.0)), np.float32(height - 1))
    column, row = int(x), int(y)
    spline_weights(x - np.float32(column), across)
    spline_weights(y - np.float32(row), down)
    for c in range(channels):
        out[c] = np.float32(0.0)
    for j in range(4):
        # Mirrored at the ends, as the coefficients are.
        at_y = abs(row - 1 + j)
        if at_y >= height:
            at_y = max(2 * height - 2 - at_y, 0)
        for i in range(4):
            at_x = abs(column - 1 + i)
            if at_x >= width:
                at_x = max(2 * width - 2 - at_x, 0)
            weight = down[j] * across[i]
            for c in range(channels):
                out[c] += weight * coefficients[at_y, at_x, c]


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
    first: Floats,
    second: Floats,
    there: Floats,
    back: Floats,
    paths: Floats,
    share: np.float32,
    blend: Floats,
    gap: Floats,
    seen: Floats,
) -> None:
    """Read both frames along the paths through every pixel of the frame between them.

    Parameters
    ----------
    first, second : (h, w, c) float32
        Spline coefficients of the frames.
    there, back : (h, w, 2) float32
        Flow from the first to the second frame and back.
    paths : (h, w, 4) float32
        From each pixel to its places in the first (x, y) and the second frame (x, y).
    share : float32
        Place in time between the frames, 0..1.
    blend : (h, w, c) float32, written
        Mean of both, by time and visibility.
    gap : (h, w) float32, written
        Mean absolute difference of both.
    seen : (h, w) float32, written
        How far both frames show the same thing there: 1 where the flows agree with the path, 0 where one does not.
    """
    height, width, channels = first.shape
    one = np.float32(1.0)
    for y in numba.prange(height):
        across, down = np.empty(4, np.float32), np.empty(4, np.float32)
        value0, value1 = np.empty(channels, np.float32), np.empty(channels, np.float32)
        for x in range(width):
            x0, y0 = x + paths[y, x, 0], y + paths[y, x, 1]
            x1, y1 = x + paths[y, x, 2], y + paths[y, x, 3]
            read_spline(first, x0, y0, across, down, value0)
            read_spline(second, x1, y1, across, down, value1)
            u, v = x1 - x0, y1 - y0
            visible0 = np.exp(-misses(there, x0, y0, u, v))
            visible1 = np.exp(-misses(back, x1, y1, -u, -v))
            weight0, weight1 = (one - share) * (visible0 + _BASE), share * (visible1 + _BASE)
            # A frame that does not hold the place shows nothing of it.
            weight0 *= np.exp(-outside(x0, y0, width, height))
            weight1 *= np.exp(-outside(x1, y1, width, height))
            total = weight0 + weight1 + np.float32(1e-12)
            difference = np.float32(0.0)
            for c in range(channels):
                blend[y, x, c] = (weight0 * value0[c] + weight1 * value1[c]) / total
                difference += abs(value0[c] - value1[c])
            gap[y, x] = difference / np.float32(channels)
            seen[y, x] = min(visible0, visible1)
