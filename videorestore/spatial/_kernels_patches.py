"""Compiled kernels of the patch posterior: search of similar patches, small linear systems, aggregation.

Patches are 8x8 with all channels. ``m`` is the number of patches in a group, ``o`` of those in the frame that is
being restored, ``d`` = 64 x channels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel
from videorestore.spatial._kernels_linear import cholesky, combine, products, solve, trace_of_inverse

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

PATCH = 8
LANES = 16
"""Columns of candidates that are compared at once; the search plane is padded by this many columns."""


@kernel
def distances(plane: Floats, y: int, x: int, ref: Floats, out: Floats) -> None:
    """Squared distances of the reference patch to the patches of ``plane`` at ``(y, x + lane)``."""
    for l in range(LANES):
        out[l] = np.float32(0.0)
    for i in range(PATCH):
        row = plane[y + i, x : x + LANES + PATCH]
        r0, r1, r2, r3 = ref[i, 0], ref[i, 1], ref[i, 2], ref[i, 3]
        r4, r5, r6, r7 = ref[i, 4], ref[i, 5], ref[i, 6], ref[i, 7]
        for l in range(LANES):
            d0 = row[l] - r0
            d1 = row[l + 1] - r1
            d2 = row[l + 2] - r2
            d3 = row[l + 3] - r3
            d4 = row[l + 4] - r4
            d5 = row[l + 5] - r5
            d6 = row[l + 6] - r6
            d7 = row[l + 7] - r7
            out[l] += (d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3) + (d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7)


@kernel
def _scan(
    plane: Floats,
    t: int,
    cy: int,
    cx: int,
    radius: int,
    ref: Floats,
    lanes: Floats,
    near: Floats,
    place: Ints,
    size: Any,
) -> Any:
    """Append all patches of one frame within ``radius`` of ``(cy, cx)``; returns how many are listed."""
    h = plane.shape[0]
    w = plane.shape[1] - LANES
    top, bottom = max(cy - radius, 0), min(cy + radius, h - PATCH)
    left, right = max(cx - radius, 0), min(cx + radius, w - PATCH)
    for y in range(top, bottom + 1):
        x = left
        while x <= right:
            distances(plane, y, x, ref, lanes)
            count = min(LANES, right - x + 1)
            for l in range(count):
                near[size + l] = lanes[l]
                place[size + l, 0] = t
                place[size + l, 1] = y
                place[size + l, 2] = x + l
            size += count
            x += LANES
    return size


@kernel
def _rank(values: Floats, size: int, k: int) -> Any:
    """A limit that exactly k + 1 of the first ``size`` values do not exceed, or the k-th smallest (from 0) of them.

    Values are squared distances, or -1: their bits as integers have the same order. Halving the range of the bits
    counts in plain vector loops; a quickselect would guess a branch at every value.
    """
    bits = values[:size].view(np.int32)
    low, high = np.int32(-(2**31)), np.int32(2**31 - 1)
    # At least k + 1 values lie at or below ``high``, and at most k below or at ``low``.
    while low < high - 1:
        middle = np.int32((np.int64(low) + np.int64(high)) >> 1)
        count = np.int32(0)
        for i in range(size):
            count += np.int32(bits[i] <= middle)
        if count == k + 1:
            high = middle
            break
        if count > k:
            high = middle
        else:
            low = middle
    return high


@kernel
def _select(near: Floats, place: Ints, first: Any, size: Any, wanted: int) -> Any:
    """Move the ``wanted`` nearest of the entries from ``first`` to ``size`` to the front of that range."""
    count = size - first
    if count <= wanted:
        return count
    values = near[first:size]
    limit = _rank(values, count, wanted - 1)
    bits = values.view(np.int32)
    places = place[first:size]
    taken = 0
    for part in range(2):
        # Those below the limit, then as many equal to it as there is room for.
        for i in range(taken, count):
            if taken < wanted and (bits[i] < limit if part == 0 else bits[i] == limit):
                values[i], values[taken] = values[taken], values[i]
                for k in range(3):
                    places[i, k], places[taken, k] = places[taken, k], places[i, k]
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
    lanes: Floats,
    near: Floats,
    place: Ints,
) -> tuple[int, int]:
    """The patches nearest to the one at ``(t, y, x)``, along its track in the frames within ``reach``.

    ``forward[k]`` leads from frame k to k + 1, ``backward[k]`` from k + 1 to k, both ``(n - 1, h, w, 2)``.
    At least ``own`` are of the frame itself, where there are so many; these come first in ``place``.
    Returns their number and that of all.
    """
    n, h = planes.shape[0], planes.shape[1]
    w = planes.shape[2] - LANES
    for i in range(PATCH):
        for j in range(PATCH):
            ref[i, j] = planes[t, y + i, x + j]
    # A literal 0 is a type of its own, for which all would be compiled once more.
    none = np.int64(0)
    size = _scan(planes[t], t, y, x, own_radius, ref, lanes, near, place, none)
    # The patch itself is always among them: where all are equal, others would leave its pixels without an estimate.
    left, right = max(x - own_radius, 0), min(x + own_radius, w - PATCH)
    near[(y - max(y - own_radius, 0)) * (right - left + 1) + x - left] = np.float32(-1.0)
    first = _select(near, place, none, size, own)
    for side in range(2):
        py, px = np.float32(y + PATCH // 2), np.float32(x + PATCH // 2)
        for k in range(reach):
            s = t + k if side == 0 else t - k
            if (side == 0 and s + 1 >= n) or (side == 1 and s < 1):
                break
            iy = min(max(int(py + np.float32(0.5)), 0), h - 1)
            ix = min(max(int(px + np.float32(0.5)), 0), w - 1)
            if side == 0:
                px += forward[s, iy, ix, 0]
                py += forward[s, iy, ix, 1]
                s += 1
            else:
                px += backward[s - 1, iy, ix, 0]
                py += backward[s - 1, iy, ix, 1]
                s -= 1
            if px < -8.0 or py < -8.0 or px > w + 8.0 or py > h + 8.0:
                break
            cy = min(max(int(np.rint(py)) - PATCH // 2, 0), h - PATCH)
            cx = min(max(int(np.rint(px)) - PATCH // 2, 0), w - PATCH)
            size = _scan(planes[s], s, cy, cx, radius, ref, lanes, near, place, size)
    m = first + _select(near, place, first, size, group - first)
    for i in range(first, m):
        if place[i, 0] == t:
            for k in range(3):
                place[first, k], place[i, k] = place[i, k], place[first, k]
            first += 1
    return first, m


@kernel
def _gather(planes: Floats, place: Ints, m: int, scale: Floats, out: Floats) -> None:
    c = planes.shape[1]
    for i in range(m):
        t, y, x = place[i, 0], place[i, 1], place[i, 2]
        target = out[i]
        k = 0
        for q in range(c):
            s = scale[q]
            for r in range(PATCH):
                row = planes[t, q, y + r, x : x + PATCH]
                for p in range(PATCH):
                    target[k + p] = row[p] * s
                k += PATCH


@kernel
def _centre(rows: Floats, m: int, d: int, mean: Floats) -> None:
    for k in range(d):
        mean[k] = np.float32(0.0)
    for i in range(m):
        for k in range(d):
            mean[k] += rows[i, k]
    for k in range(d):
        mean[k] /= np.float32(m)
    for i in range(m):
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
    total: Floats,
    mass: Floats,
    spread: Floats,
    count: Ints,
) -> None:
    """Add restored patches to the frame, with the window's and the group's weight."""
    c = total.shape[0]
    for j in range(o):
        y, x = place[j, 1], place[j, 2]
        for i in range(PATCH):
            own_mass = mass[y + i, x : x + PATCH]
            own_spread = spread[y + i, x : x + PATCH]
            own_count = count[y + i, x : x + PATCH]
            for k in range(PATCH):
                a = weight * window[i, k]
                own_mass[k] += a
                own_spread[k] += a * share
                own_count[k] += 1
        for q in range(c):
            s = weight / scale[q]
            for i in range(PATCH):
                base = (q * PATCH + i) * PATCH
                target = total[q, y + i, x : x + PATCH]
                source = rows[j, base : base + PATCH]
                for k in range(PATCH):
                    target[k] += s * window[i, k] * source[k]


@kernel
def _covered(count: Ints, y: int, x: int, cover: int) -> bool:
    least = cover
    for i in range(PATCH):
        for j in range(PATCH):
            least = min(least, count[y + i, x + j])
    return least >= cover


@kernel
def posterior(
    g: Floats,
    v: Floats,
    m: int,
    o: int,
    d: int,
    mean_g: Floats,
    mean_v: Floats,
    gram: Floats,
    cross: Floats,
    inverse: Floats,
    panel: Floats,
    out: Floats,
) -> Any:
    """Posterior means of the first ``o`` of ``m`` patches with unit noise; ``g`` guide, ``v`` noisy, both are changed.

    The covariance is that of the guide's patches, C = G'G / m with centred rows; C (C + I)^-1 is applied in its
    dual form G' (G G' + m I)^-1 G. Returns the share of the noise's variance that is left.
    """
    padded = (m + 3) // 4 * 4
    _centre(g, m, d, mean_g)
    _centre(v, m, d, mean_v)
    for i in range(m, padded):
        for k in range(d):
            g[i, k] = np.float32(0.0)
            v[i, k] = np.float32(0.0)
    # Not literals: each is a type of its own, for which the function would be compiled once more.
    lower, full = padded > 0, padded < 0
    products(g, g, padded, padded, d, lower, gram)
    products(g, v, padded, (o + 3) // 4 * 4, d, full, cross)
    for i in range(padded):
        gram[i, i] += np.float32(m)
    cholesky(gram, padded, panel)
    # Degrees of freedom: the padding adds 1 to each side. Half of the mean is the noisy one's.
    kept = np.float32(padded) - np.float32(m) * trace_of_inverse(gram, padded, inverse)
    solve(gram, padded, cross, (o + 7) // 8 * 8)
    for j in range(o):
        row = out[j]
        for k in range(d):
            row[k] = np.float32(0.5) * (mean_g[k] + mean_v[k])
    combine(cross, g, padded, o, d, out)
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

    ``noisy``, ``guide``, ``variance`` are ``(n, c, h, w)``; ``luma`` is the guide's first plane padded by `LANES`
    columns; ``out`` and ``out_variance`` are ``(c, h, w)``.
    """
    _, c, h, w = noisy.shape
    d = c * PATCH * PATCH
    rows = (group + 15) // 8 * 8
    candidates = (2 * own_radius + 1) ** 2 + 2 * reach * (2 * radius + 1) ** 2
    near = np.empty(candidates, np.float32)
    place = np.empty((candidates, 3), np.int32)
    lanes = np.empty(LANES, np.float32)
    ref = np.empty((PATCH, PATCH), np.float32)
    g = np.zeros((rows, d), np.float32)
    v = np.zeros((rows, d), np.float32)
    result = np.empty((rows, d), np.float32)
    gram = np.empty((rows, rows), np.float32)
    cross = np.zeros((rows, rows), np.float32)
    inverse = np.zeros((rows, rows), np.float32)
    panel = np.empty((4, rows), np.float32)
    mean_g = np.empty(d, np.float32)
    mean_v = np.empty(d, np.float32)
    scale = np.empty(c, np.float32)
    total = np.zeros((c, h, w), np.float32)
    mass = np.zeros((h, w), np.float32)
    spread = np.zeros((h, w), np.float32)
    count = np.zeros((h, w), np.int32)
    for stage in range(2):
        stride = step * (2 - stage)
        for cy in range(0, h - PATCH + stride, stride):
            y = min(cy, h - PATCH)
            for cx in range(0, w - PATCH + stride, stride):
                x = min(cx, w - PATCH)
                if _covered(count, y, x, cover):
                    continue
                for q in range(c):
                    s = np.float32(0.0)
                    for i in range(PATCH):
                        for j in range(PATCH):
                            s += variance[t, q, y + i, x + j]
                    scale[q] = np.float32(8.0) / np.sqrt(s + np.float32(1e-8))
                o, m = search(
                    luma, forward, backward, t, y, x, reach, own_radius, radius, own, group, ref, lanes, near, place
                )  # fmt: skip
                _gather(guide, place, m, scale, g)
                _gather(noisy, place, m, scale, v)
                share = posterior(g, v, m, o, d, mean_g, mean_v, gram, cross, inverse, panel, result)
                # A share; a system that rounding has spoiled leaves all of the noise.
                if not share < np.float32(1.0):
                    share = np.float32(1.0)
                share = max(share, np.float32(0.0))
                weight = np.float32(1.0) / (share + np.float32(0.02))
                _add(result, place, o, scale, weight, share, window, total, mass, spread, count)
    for q in range(c):
        for i in range(h):
            for k in range(w):
                out[q, i, k] = total[q, i, k] / mass[i, k]
                out_variance[q, i, k] = variance[t, q, i, k] * spread[i, k] / mass[i, k]
