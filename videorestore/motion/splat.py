"""Forward splatting: carry values along displacements to where they arrive, and fill what nothing reaches."""

from __future__ import annotations

import cv2
import numba
import numpy as np

from videorestore.compiled import kernel, parallel_kernel
from videorestore.motion.warp import Floats

# Two things that arrive at one pixel with displacements farther apart than this are not averaged: the heavier stays.
APART = 1.5
_SUPPORT = 0.05  # summed weight from which a pixel counts as reached


def splat(displacement: Floats, values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Values carried forward by bilinear splatting.

    Parameters
    ----------
    displacement : (m, h, w, 2) float32
        Where each pixel of each of m sources goes, x first.
    values : (m, h, w, k) float32
    weight : (m, h, w) float32

    Returns
    -------
    sums : (m, h, w, k) float32
        Weighted sums of what arrives; where things with different motion meet, only of the heavier one.
    support : (m, h, w) float32
        Sums of the weights.
    """
    sums = np.zeros(values.shape, np.float32)
    support = np.zeros(weight.shape, np.float32)
    splat_sources(displacement, values, weight, np.float32(APART**2), sums, support)
    return sums, support


def fill(sums: Floats, support: Floats) -> Floats:
    """Weighted means ``(h, w, k)`` of sums ``(h, w, k)``; without support ``(h, w)`` a membrane around (push-pull)."""
    height, width = support.shape
    depth = sums.shape[2]
    means = np.asarray(sums / np.maximum(support, 1e-9)[..., None], dtype=np.float32)
    if bool((support >= _SUPPORT).all()):
        return means
    if min(height, width) <= 2:
        total = max(float(support.sum()), 1e-9)
        coarse = np.broadcast_to(sums.sum(axis=(0, 1)) / np.float32(total), means.shape)
    else:
        rows, columns = (height + 1) // 2, (width + 1) // 2
        confidence = np.minimum(support, 1.0)
        padded = np.zeros((2 * rows, 2 * columns, depth + 1), np.float32)
        padded[:height, :width, :depth] = means * confidence[..., None]
        padded[:height, :width, depth] = confidence
        quartered = padded[::2, ::2] + padded[1::2, ::2] + padded[::2, 1::2] + padded[1::2, 1::2]
        lower = fill(
            np.ascontiguousarray(quartered[..., :depth]), np.ascontiguousarray(quartered[..., depth])
        )
        raised = cv2.resize(lower, (2 * columns, 2 * rows), interpolation=cv2.INTER_LINEAR)
        coarse = raised.reshape(2 * rows, 2 * columns, depth)[:height, :width]
    share = np.minimum(support / np.float32(_SUPPORT), 1.0)[..., None]
    return np.asarray(share * means + (1.0 - share) * coarse, dtype=np.float32)


@kernel
def splat_one(
    displacement: Floats, values: Floats, weight: Floats, apart: np.float32, sums: Floats, support: Floats
) -> None:
    """Splat one source in a fixed order: find the heaviest arrival of each pixel, then add up what moves like it."""
    height, width = weight.shape
    depth = values.shape[2]
    heaviest = np.zeros((height, width), np.float32)
    leader = np.zeros((height, width, 2), np.float32)
    for step in range(2):
        for y in range(height):
            for x in range(width):
                dx, dy = displacement[y, x, 0], displacement[y, x, 1]
                column, row = int(np.floor(x + dx)), int(np.floor(y + dy))
                right, low = np.float32(x + dx - column), np.float32(y + dy - row)
                for j in range(2):
                    to_y = row + j
                    if to_y < 0 or to_y >= height:
                        continue
                    for i in range(2):
                        to_x = column + i
                        if to_x < 0 or to_x >= width:
                            continue
                        share = weight[y, x]
                        share *= right if i == 1 else np.float32(1.0) - right
                        share *= low if j == 1 else np.float32(1.0) - low
                        if step == 0:
                            if share > heaviest[to_y, to_x]:
                                heaviest[to_y, to_x] = share
                                leader[to_y, to_x, 0] = dx
                                leader[to_y, to_x, 1] = dy
                            continue
                        off_x, off_y = leader[to_y, to_x, 0] - dx, leader[to_y, to_x, 1] - dy
                        if off_x * off_x + off_y * off_y > apart:
                            continue
                        support[to_y, to_x] += share
                        for k in range(depth):
                            sums[to_y, to_x, k] += share * values[y, x, k]


@parallel_kernel
def splat_sources(
    displacement: Floats, values: Floats, weight: Floats, apart: np.float32, sums: Floats, support: Floats
) -> None:
    """Each source by one thread: the order of additions is that of `splat_one`, whatever the threads."""
    for source in numba.prange(weight.shape[0]):
        splat_one(displacement[source], values[source], weight[source], apart, sums[source], support[source])
