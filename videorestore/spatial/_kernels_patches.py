"""Compiled kernels of the patch posterior: search of similar patches, small linear systems, aggregation.

Patches are 8x8 with all channels. ``m`` is the number of patches in a group, ``o`` of those in the frame that is
being restored, ``d`` = 64 x channels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel
from videorestore.spatial._kernels_linear import cholesky, combine, invert, products, solve, transpose
from videorestore.spatial._lanes import LANES, PATCH, add_patch, copy_patch, squared_distances

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

MARGIN = LANES + PATCH
"""Columns that the search plane is padded by: patches are compared `LANES` at once."""


@kernel
def _scan(
    plane: Floats,
    t: int,
    cy: int,
    cx: int,
    radius: int,
    ref: Floats,
    near: Floats,
    corner: Ints,
    size: Any,
) -> Any:
    """Append all patches of one frame within ``radius`` of ``(cy, cx)``; returns how many are listed.

    They are listed `LANES` at a time, whose first one is at ``corner``; those too far to the right are at infinity.
    """
    h = plane.shape[0]
    w = plane.shape[1] - MARGIN
    top, bottom = max(cy - radius, 0), min(cy + radius, h - PATCH)
    left, right = max(cx - radius, 0), min(cx + radius, w - PATCH)
    for y in range(top, bottom + 1):
        for x in range(left, right + 1, LANES):
            squared_distances(plane, y, x, ref, near, size)
            for l in range(right - x + 1, LANES):
                near[size + l] = np.float32(np.inf)
            k = size // LANES
            corner[k, 0] = t
            corner[k, 1] = y
            corner[k, 2] = x
            size += LANES
    return size


@kernel
def _rank(values: Floats, size: int, k: int) -> Any:
    """Bits below which the k + 1 smallest of the first ``size`` values lie, or those of the largest of them where others equal it.

    Values are squared distances, or -1: their bits as integers have the same order. A place among the bits is guessed by how many
    values lie on either side of it, or halfway, in turns; counting is a plain vector loop. A quickselect would guess a branch at
    every value.
    """
    bits = values[:size].view(np.int32)
    low, high = np.int32(2**31 - 1), np.int32(-(2**31))
    for i in range(size):
        low = min(low, bits[i])
        high = max(high, bits[i])
    # At least k + 1 values lie at or below ``high``, and at most k below or at ``low``.
    low = np.int32(low - 1) if low > np.int32(-(2**31)) else low
    below, upto = np.int64(0), np.int64(size)
    halve = False
    while low < high - 1:
        wide = np.int64(high) - np.int64(low)
        step = wide >> 1 if halve else wide * (2 * (k + 1 - below) - 1) // (2 * (upto - below))
        halve = not halve
        middle = np.int32(np.int64(low) + min(max(step, np.int64(1)), wide - 1))
        count = np.int32(0)
        for i in range(size):
            count += np.int32(bits[i] <= middle)
        if count == k + 1:
            high = np.int32(middle + 1)
            break
        if count > k:
            high, upto = middle, np.int64(count)
        else:
            low, below = middle, np.int64(count)
    return high


@kernel
def _take(near: Floats, corner: Ints, size: Any, first: Any, wanted: int, place: Ints) -> Any:
    """Append the places of the nearest of those listed to ``place[:first]``, up to ``wanted``; they are listed no more."""
    limit = _rank(near, size, min(wanted - first, size) - 1)
    bits = near[:size].view(np.int32)
    far = np.float32(np.inf)
    taken = first
    for part in range(2):
        # Those below the limit, then as many equal to it as there is room for.
        low = limit if part else np.int32(-(2**31))
        high = limit if part else np.int32(limit - 1)
        for i in range(size):
            if bits[i] <= high and bits[i] >= low and taken < wanted and near[i] < far:
                k = i // LANES
                place[taken, 0] = corner[k, 0]
                place[taken, 1] = corner[k, 1]
                place[taken, 2] = corner[k, 2] + i % LANES
                near[i] = far
                taken += 1
        if taken == wanted:
            break
    return taken


@kernel
def search(
    planes: Floats,
    forward: Floats,
    backward: Floats,
    t: int,
    y: int,
    x: int,
    reach: int,
    own_radius: int,
    radius: int,
    own: int,
    group: int,
    ref: Floats,
    near: Floats,
    corner: Ints,
    place: Ints,
) -> tuple[int, int]:
    """The patches nearest to the one at ``(t, y, x)``, along its track in the frames within ``reach``.

    ``forward[k]`` leads from frame k to k + 1, ``backward[k]`` from k + 1 to k, both ``(n - 1, h / 2, w / 2, 2)``, in blocks of 2 x 2 pixels.
    At least ``own`` are of the frame itself, where there are so many; these come first in ``place``.
    Returns their number and that of all.
    """
    n, h = planes.shape[0], planes.shape[1]
    w = planes.shape[2] - MARGIN
    for i in range(PATCH):
        for j in range(PATCH):
            ref[i, j] = planes[t, y + i, x + j]
    # A literal 0 is a type of its own, for which all would be compiled once more.
    none = np.int64(0)
    size = _scan(planes[t], t, y, x, own_radius, ref, near, corner, none)
    # The patch itself is always among them: where all are equal, others would leave its pixels without an estimate.
    left, right = max(x - own_radius, 0), min(x + own_radius, w - PATCH)
    across = (right - left + LANES) // LANES * LANES
    near[(y - max(y - own_radius, 0)) * across + x - left] = np.float32(-1.0)
    first = _take(near, corner, size, none, own, place)
    for side in range(2):
        py, px = np.float32(y + PATCH // 2), np.float32(x + PATCH // 2)
        for k in range(reach):
            s = t + k if side == 0 else t - k
            if (side == 0 and s + 1 >= n) or (side == 1 and s < 1):
                break
            iy = min(max(int(py + np.float32(0.5)), 0), h - 1) // 2
            ix = min(max(int(px + np.float32(0.5)), 0), w - 1) // 2
            if side == 0:
                px += np.float32(2.0) * forward[s, iy, ix, 0]
                py += np.float32(2.0) * forward[s, iy, ix, 1]
                s += 1
            else:
                px += np.float32(2.0) * backward[s - 1, iy, ix, 0]
                py += np.float32(2.0) * backward[s - 1, iy, ix, 1]
                s -= 1
            if px < -8.0 or py < -8.0 or px > w + 8.0 or py > h + 8.0:
                break
            cy = min(max(int(np.rint(py)) - PATCH // 2, 0), h - PATCH)
            cx = min(max(int(np.rint(px)) - PATCH // 2, 0), w - PATCH)
            size = _scan(planes[s], s, cy, cx, radius, ref, near, corner, size)
    m = _take(near, corner, size, first, group, place)
    for i in range(first, m):
        if place[i, 0] == t:
            for k in range(3):
                place[first, k], place[i, k] = place[i, k], place[first, k]
            first += 1
    return first, m


@kernel
def _gather(planes: Floats, place: Ints, m: int, scale: Floats, out: Floats) -> None:
    for i in range(m):
        t, y, x = place[i, 0], place[i, 1], place[i, 2]
        for q in range(planes.shape[1]):
            copy_patch(planes[t, q], y, x, scale[q], out, i, q * PATCH * PATCH)


@kernel
def _centre(rows: Floats, m: int, o: int, d: int, mean: Floats) -> None:
    """Mean of the first ``m`` rows; it is taken off the first ``o``."""
    for k in range(d):
        mean[k] = np.float32(0.0)
    for i in range(m):
        for k in range(d):
            mean[k] += rows[i, k]
    for k in range(d):
        mean[k] /= np.float32(m)
    for i in range(o):
        for k in range(d):
            rows[i, k] -= mean[k]


@kernel
def _add(
    rows: Floats,
    place: Ints,
    o: int,
    scale: Floats,
    weight: Any,
    share: Any,
    window: Floats,
    ones: Floats,
    total: Floats,
    maps: Floats,
) -> None:
    """Add restored patches to the frame, with the window's and the group's weight.

    ``maps`` (3, h, w) are the sums of these weights, of the weights times ``share``, and the number of patches; ``ones`` (1, 64).
    """
    none = np.int64(0)
    every = ones[none : none + 1].reshape(PATCH, PATCH)
    for j in range(o):
        y, x = place[j, 1], place[j, 2]
        add_patch(maps[0], y, x, weight, window, ones, none, none)
        add_patch(maps[1], y, x, weight * share, window, ones, none, none)
        add_patch(maps[2], y, x, np.float32(1.0), every, ones, none, none)
        for q in range(total.shape[0]):
            add_patch(total[q], y, x, weight / scale[q], window, rows, j, q * PATCH * PATCH)


@kernel
def _covered(count: Floats, y: int, x: int, cover: int) -> bool:
    least = np.float32(cover)
    for i in range(PATCH):
        row = count[y + i, x : x + PATCH]
        for j in range(PATCH):
            least = min(least, row[j])
    return bool(least >= np.float32(cover))


@kernel
def posterior(
    rows: Floats, columns: Floats, squares: Floats, corners: Floats, means: Floats, m: int, o: int, d: int
) -> Any:
    """Posterior means of the first ``o`` of ``m`` patches with unit noise.

    ``rows`` are ``(3, m, d)``: guide and noisy, which are changed, and the result. ``columns`` ``(2, d, m)``,
    ``squares`` ``(4, m, m)``, ``corners`` ``(m, 4)`` and ``means`` ``(2, d)`` are room to work in, m in eights.
    The covariance is that of the guide's patches, C = G'G / m with centred rows; C (C + I)^-1 is applied in its
    dual form G' (G G' + m I)^-1 G. Returns the share of the noise's variance that is left.
    """
    g, v, out = rows[0], rows[1], rows[2]
    gram, cross, inverse, weights = squares[0], squares[1], squares[2], squares[3]
    padded, own = (m + 7) // 8 * 8, (o + 7) // 8 * 8
    _centre(g, m, m, d, means[0])
    _centre(v, m, o, d, means[1])
    for i in range(m, padded):
        for k in range(d):
            g[i, k] = np.float32(0.0)
    for i in range(o, own):
        for k in range(d):
            v[i, k] = np.float32(0.0)
    transpose(g, padded, d, columns[0])
    transpose(v, own, d, columns[1])
    # Not literals: each is a type of its own, for which the function would be compiled once more.
    upper, full = padded > 0, padded < 0
    products(columns[0], columns[0], padded, padded, d, upper, gram)
    products(columns[0], columns[1], padded, own, d, full, cross)
    for i in range(padded):
        gram[i, i] += np.float32(m)
    cholesky(gram, padded, corners)
    # Degrees of freedom: the padding adds 1 to each side. Half of the mean is the noisy one's.
    kept = np.float32(padded) - np.float32(m) * invert(gram, corners, padded, inverse)
    solve(gram, corners, inverse, padded, cross, own, weights)
    for j in range(own):
        for k in range(d):
            out[j, k] = np.float32(0.5) * (means[0, k] + means[1, k])
    combine(weights, g, padded, own, d, out)
    return kept / np.float32(d) + np.float32(0.25) / np.float32(m)


@kernel
def restore_frame(
    noisy: Floats,
    guide: Floats,
    variance: Floats,
    luma: Floats,
    forward: Floats,
    backward: Floats,
    t: int,
    reach: int,
    group: int,
    own: int,
    own_radius: int,
    radius: int,
    step: int,
    cover: int,
    window: Floats,
    out: Floats,
    out_variance: Floats,
) -> None:
    """Posterior mean of the patches of frame ``t``.

    ``noisy``, ``guide``, ``variance`` are ``(n, c, h, w)``; ``luma`` is the guide's first plane padded by `MARGIN`
    columns; ``out`` and ``out_variance`` are ``(c, h, w)``.
    """
    _, c, h, w = noisy.shape
    d = c * PATCH * PATCH
    most = (group + 7) // 8 * 8
    strips = (2 * own_radius + 1) * ((2 * own_radius + LANES) // LANES)
    strips += 2 * reach * (2 * radius + 1) * ((2 * radius + LANES) // LANES)
    near = np.empty(strips * LANES, np.float32)
    corner = np.empty((strips, 3), np.int32)
    place = np.empty((most, 3), np.int32)
    ref = np.empty((PATCH, PATCH), np.float32)
    rows = np.zeros((3, most, d), np.float32)
    columns = np.zeros((2, d, most), np.float32)
    squares = np.zeros((4, most, most), np.float32)
    corners = np.empty((most, 4), np.float32)
    means = np.empty((2, d), np.float32)
    scale = np.empty(c, np.float32)
    total = np.zeros((c, h, w), np.float32)
    maps = np.zeros((3, h, w), np.float32)
    ones = np.ones((1, PATCH * PATCH), np.float32)
    for stage in range(2):
        stride = step * (2 - stage)
        for cy in range(0, h - PATCH + stride, stride):
            y = min(cy, h - PATCH)
            for cx in range(0, w - PATCH + stride, stride):
                x = min(cx, w - PATCH)
                if _covered(maps[2], y, x, cover):
                    continue
                for q in range(c):
                    s = np.float32(0.0)
                    for i in range(PATCH):
                        for j in range(PATCH):
                            s += variance[t, q, y + i, x + j]
                    scale[q] = np.float32(8.0) / np.sqrt(s + np.float32(1e-8))
                o, m = search(
                    luma, forward, backward, t, y, x, reach, own_radius, radius, own, group, ref, near, corner, place
                )  # fmt: skip
                _gather(guide, place, m, scale, rows[0])
                _gather(noisy, place, m, scale, rows[1])
                share = posterior(rows, columns, squares, corners, means, m, o, d)
                # A share; a system that rounding has spoiled leaves all of the noise.
                if not share < np.float32(1.0):
                    share = np.float32(1.0)
                share = max(share, np.float32(0.0))
                weight = np.float32(1.0) / (share + np.float32(0.02))
                _add(rows[2], place, o, scale, weight, share, window, ones, total, maps)
    for q in range(c):
        for i in range(h):
            mass, spread = maps[0, i], maps[1, i]
            for k in range(w):
                out[q, i, k] = np.divide(total[q, i, k], mass[k])
            for k in range(w):
                out_variance[q, i, k] = variance[t, q, i, k] * np.divide(spread[k], mass[k])
