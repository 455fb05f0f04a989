"""Forward splatting: carry values along displacements to where they arrive, and fill what nothing reaches."""

from __future__ import annotations

import numpy as np

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

# Two things that arrive at one pixel with displacements farther apart than this are not averaged: the heavier stays.
APART = 1.5
CARRIED = 6  # numbers that a pixel takes along
_AS_IT_CAME = 1.5  # what speaks against a pixel that goes on as it came, at most
_SPARSE = 4  # every fourth pixel, both ways, tells whether anything moves by itself
_ALIKE = np.float32(0.5)  # pixels by which a motion may differ from that around it and count as the same
_OTHERWISE = 6.0  # pixels by which a motion differs from that around it
_IN_FRONT = 10.0  # weight that this adds
_SUPPORT = 0.05  # summed weight from which a pixel counts as reached


def splat(
    displacement: Floats, values: Floats, weight: Floats, out: tuple[Floats, Floats] | None = None
) -> tuple[Floats, Floats]:
    """Values carried forward by bilinear splatting.

    Parameters
    ----------
    displacement : (m, h, w, 2) float32
        Where each pixel of each of m sources goes, x first.
    values : (m, h, w, k) float32
    weight : (m, h, w) float32
    out : arrays to return, optional

    Returns
    -------
    sums : (m, h, w, k) float32
        Weighted sums of what arrives; where things with different motion meet, only of the heavier one.
    support : (m, h, w) float32
        Sums of the weights.
    """
    sums, support = (
        (np.empty(values.shape, np.float32), np.empty(weight.shape, np.float32)) if out is None else out
    )
    sums.fill(0.0)
    support.fill(0.0)
    splat_sources(displacement, values, weight, np.float32(APART**2), sums, support)
    return sums, support


@parallel_kernel(lambda whole, *_: whole.shape[0], grain=128)
def carry(
    start: int,
    stop: int,
    whole: Floats, place: Floats, doubt: Floats, unrest: Floats, miss: Floats, residual: Floats, known: Floats,
    later: bool,
    values: Floats, weight: Floats,
) -> None:  # fmt: skip
    """What a pixel takes along to its place between two frames.

    Parameters
    ----------
    whole, place : (h, w, 2) float32
        From the pixel to the other frame, and to its place.
    doubt, unrest, miss, residual, known : (h, w) float32
    later : bool
        The pixel belongs to the later of the two frames.
    values : (h, w, 6) float32, written
        From the place to the earlier frame, to the later frame (x, y each), doubt, unrest.
    weight : (h, w) float32, written
    """
    width = doubt.shape[1]
    own, other = (2, 0) if later else (0, 2)
    for y in range(start, stop):
        for x in range(width):
            for k in range(2):
                values[y, x, own + k] = -place[y, x, k]
                values[y, x, other + k] = whole[y, x, k] - place[y, x, k]
            values[y, x, 4] = doubt[y, x]
            values[y, x, 5] = unrest[y, x]
            against = np.float32(0.5) * miss[y, x] + np.float32(0.05) * residual[y, x]
            # What goes on as it came stands back behind what is seen to arrive; half of it is neither way.
            against += known[y, x] ** 4 * (min(against, np.float32(_AS_IT_CAME)) - against)
            weight[y, x] = np.exp(-against) + np.float32(1e-4)


@parallel_kernel(lambda vectors, *_: vectors.shape[0], grain=128)
def favour(start: int, stop: int, vectors: Floats, around: Floats, sure: Floats, weight: Floats) -> None:
    """Raise the weights of what moves otherwise than its surroundings: where both arrive, it passes in front.

    Parameters
    ----------
    vectors : (h, w, 2) float32
        Motion of the pixels.
    around : (rows, columns, 2) float32
        That of what lies around them, in cells.
    sure : (h, w) float32
        How far the motion can be believed, 0..1.
    weight : (h, w) float32, changed
    """
    height, width = sure.shape
    rows, columns = around.shape[:2]
    one = np.float32(1.0)
    for y in range(start, stop):
        row = y * rows // height
        for x in range(width):
            column = x * columns // width
            u = vectors[y, x, 0] - around[row, column, 0]
            v = vectors[y, x, 1] - around[row, column, 1]
            square = u * u + v * v
            if square < _ALIKE * _ALIKE:
                continue
            otherwise = one - np.exp(-square / np.float32(_OTHERWISE * _OTHERWISE))
            weight[y, x] *= one + np.float32(_IN_FRONT) * sure[y, x] * otherwise


def apart(vectors: Floats, around: Floats) -> float:
    """Most pixels along an axis by which the motion ``(h, w, 2)`` differs from that around ``(rows, columns, 2)``."""
    height, width = vectors.shape[:2]
    rows = np.arange(0, height, _SPARSE)
    columns = np.arange(0, width, _SPARSE)
    usual = around[np.ix_(rows * around.shape[0] // height, columns * around.shape[1] // width)]
    return float(np.abs(vectors[::_SPARSE, ::_SPARSE] - usual).max())


def fill(sums: Floats, support: Floats, out: Floats | None = None, *, finest: bool = True) -> Floats:
    """Weighted means ``(h, w, k)`` of sums ``(h, w, k)``, written to ``out`` where given.

    Where the support ``(h, w)`` is next to nothing, a membrane between the places around (push-pull: means over
    ever larger cells, until one has support). What lies in front (`favour`) counts little there: behind it the
    background goes on. Cells are not ``finest``.
    """
    means = np.empty_like(sums) if out is None else out
    if not divide(sums, support, means):
        return means
    height, width = support.shape
    if max(height, width) <= 2:
        coarse_sums, coarse_support = sums.sum(axis=(0, 1), keepdims=True), support.sum(keepdims=True)
        coarse = np.empty_like(coarse_sums)
        divide(coarse_sums, coarse_support, coarse)
    else:
        half = ((height + 1) // 2, (width + 1) // 2)
        coarse_sums, coarse_support = np.zeros((*half, sums.shape[2]), np.float32), np.zeros(half, np.float32)
        gather(means, support, finest, coarse_sums, coarse_support)
        coarse = fill(coarse_sums, coarse_support, finest=False)
    spread_into(coarse, support, means)
    return means


@kernel
def divide(sums: Floats, support: Floats, means: Floats) -> bool:
    """Write sums over support; whether any place lacks support."""
    height, width, depth = sums.shape
    lacking = False
    for y in range(height):
        for x in range(width):
            share = np.float32(1.0) / max(support[y, x], np.float32(1e-9))
            lacking = lacking or support[y, x] < _SUPPORT
            if depth == CARRIED:
                # The usual case, with a length that the compiler knows.
                for k in range(CARRIED):
                    means[y, x, k] = sums[y, x, k] * share
            else:
                for k in range(depth):
                    means[y, x, k] = sums[y, x, k] * share
    return lacking


@kernel
def gather(means: Floats, support: Floats, finest: bool, sums: Floats, coarse: Floats) -> None:
    """Add up means over cells of 2 x 2 pixels, weighted by support up to 1; by less again beyond 2 where ``finest``."""
    height, width, depth = means.shape
    for y in range(height):
        row = y // 2
        for x in range(width):
            column = x // 2
            weight = min(support[y, x], np.float32(1.0))
            if finest and support[y, x] > np.float32(2.0):
                share = np.float32(2.0) / support[y, x]
                weight = share * share * share
                weight *= weight
            coarse[row, column] += weight
            if depth == CARRIED:
                for k in range(CARRIED):
                    sums[row, column, k] += weight * means[y, x, k]
            else:
                for k in range(depth):
                    sums[row, column, k] += weight * means[y, x, k]


@kernel
def spread_into(coarse: Floats, support: Floats, means: Floats) -> None:
    """Where support is lacking, replace means by the cells of half the resolution, read bilinearly."""
    height, width, depth = means.shape
    rows, columns = coarse.shape[:2]
    for y in range(height):
        row = min(max(0.5 * y - 0.25, 0.0), rows - 1.0)
        top = min(int(row), max(rows - 2, 0))
        low = np.float32(row - top)
        below = min(top + 1, rows - 1)
        for x in range(width):
            if support[y, x] >= _SUPPORT:
                continue
            share = support[y, x] / np.float32(_SUPPORT)
            column = min(max(0.5 * x - 0.25, 0.0), columns - 1.0)
            left = min(int(column), max(columns - 2, 0))
            near = np.float32(column - left)
            beside = min(left + 1, columns - 1)
            for k in range(depth):
                upper = coarse[top, left, k] + near * (coarse[top, beside, k] - coarse[top, left, k])
                lower = coarse[below, left, k] + near * (coarse[below, beside, k] - coarse[below, left, k])
                value = upper + low * (lower - upper)
                means[y, x, k] = share * means[y, x, k] + (np.float32(1.0) - share) * value


@kernel
def splat_one(
    displacement: Floats, values: Floats, weight: Floats, apart: np.float32, sums: Floats, support: Floats
) -> None:
    """Splat one source in a fixed order: find the heaviest arrival of each pixel, then add up what moves like it."""
    height, width = weight.shape
    depth = values.shape[2]
    one = np.float32(1.0)
    heaviest = np.zeros((height, width), np.float32)
    leader = np.zeros((height, width, 2), np.float32)
    for step in range(2):
        for y in range(height):
            for x in range(width):
                dx, dy = displacement[y, x, 0], displacement[y, x, 1]
                to_x, to_y = np.float32(x) + dx, np.float32(y) + dy
                left, top = np.floor(to_x), np.floor(to_y)
                if not (-one <= left < width and -one <= top < height):
                    continue
                right, low = to_x - left, to_y - top
                column, row = int(left), int(top)
                for j in range(2):
                    if not 0 <= row + j < height:
                        continue
                    at_y = np.uintp(row + j)
                    down = weight[y, x] * (low if j == 1 else one - low)
                    for i in range(2):
                        if not 0 <= column + i < width:
                            continue
                        at_x = np.uintp(column + i)
                        share = down * (right if i == 1 else one - right)
                        if step == 0:
                            if share > heaviest[at_y, at_x]:
                                heaviest[at_y, at_x] = share
                                leader[at_y, at_x, 0] = dx
                                leader[at_y, at_x, 1] = dy
                            continue
                        off_x, off_y = leader[at_y, at_x, 0] - dx, leader[at_y, at_x, 1] - dy
                        if off_x * off_x + off_y * off_y > apart:
                            continue
                        support[at_y, at_x] += share
                        if depth == CARRIED:
                            # The usual case, with a length that the compiler knows.
                            for k in range(CARRIED):
                                sums[at_y, at_x, k] += share * values[y, x, k]
                        else:
                            for k in range(depth):
                                sums[at_y, at_x, k] += share * values[y, x, k]


@parallel_kernel(lambda displacement, *_: displacement.shape[0])
def splat_sources(
    start: int,
    stop: int,
    displacement: Floats,
    values: Floats,
    weight: Floats,
    apart: np.float32,
    sums: Floats,
    support: Floats,
) -> None:
    """Each source by one thread: the order of additions is that of `splat_one`, whatever the threads."""
    for source in range(start, stop):
        splat_one(displacement[source], values[source], weight[source], apart, sums[source], support[source])
