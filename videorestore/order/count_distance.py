"""What the distances between frames say about a gap: how far, how far for the place, how far along the tangent.

Frames are compared as they are and as fields of the directions of their edges, at several scales. Directions do not
depend on contrast, so that one bright edge does not drown the rest; coarse pictures still tell large gaps apart when
fine ones do not.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray

_Doubles = NDArray[np.float64]

_BLURS = (0.0, 1.5)
"""Blurs of the shrunken frames, in their pixels."""

_POOLS = (0.0, 2.0, 4.0)
"""Blurs of the directions of edges."""

_FAINT = 20.0
"""Gradient at which a direction counts half, in levels (Sobel, so that eight are one level a pixel)."""

_NEAR = (1, 2, 3, 4)
"""Distances in time from which the usual step is learnt."""


def squared_distances(window: FloatArray) -> list[_Doubles]:
    """Squared distances ``(n, n)`` between all frames in each way of looking at them."""
    from videorestore.order.distances import SIDE

    height, width, channels = window.shape[1:]
    scale = min(1.0, SIDE / min(height, width))
    size = (max(4, round(width * scale)), max(4, round(height * scale)))
    small = [
        cv2.resize(f, size, interpolation=cv2.INTER_AREA).reshape(size[1], size[0], channels) for f in window
    ]
    edges = [_directions(f.mean(axis=2)) for f in small]
    looks = [_blurred(small, sigma) for sigma in _BLURS]
    looks += [_blurred(edges, sigma) for sigma in _POOLS if 3 * sigma <= min(size)]
    tables = []
    for look in looks:
        flat = look.reshape(len(look), -1).astype(np.float64)
        flat = flat - flat.mean(axis=0)
        gram = flat @ flat.T
        norm = np.diag(gram)
        tables.append(np.maximum(norm[:, None] + norm[None, :] - 2 * gram, 1e-9))
    return tables


def _blurred(pictures: list[FloatArray], sigma: float) -> FloatArray:
    if sigma > 0:
        pictures = [cv2.GaussianBlur(f, (0, 0), sigma).reshape(f.shape) for f in pictures]
    return np.stack(pictures)


def _directions(grey: FloatArray) -> FloatArray:
    """Gradients ``(height, width, 2)`` of about unit length where there is an edge, short where there is none."""
    soft = cv2.GaussianBlur(grey, (0, 0), 1.0)
    gradient = np.stack([cv2.Sobel(soft, cv2.CV_32F, 1, 0), cv2.Sobel(soft, cv2.CV_32F, 0, 1)], axis=-1)
    length = np.sqrt(np.square(gradient).sum(axis=-1, keepdims=True))
    return np.asarray(gradient / (length + _FAINT), np.float32)


def measures(squares: _Doubles, depth: int, before: int) -> _Doubles:
    """What the distances in one way of looking say about the gap between any frame and any later one.

    Parameters
    ----------
    squares : ndarray, shape (n, n)
        Squared distances.
    depth : int
        Frames on either side of the gap that are used.
    before : int
        Frames before the true gap: what is usual at a frame is learnt on its own side.

    Returns
    -------
    ndarray, shape (n, n, 5)
        For frame a before and b after the gap: log squared distance, its mean over the frames around, by how much
        log squared distances of near frames are greater than usual before and after, and the log of the way along
        the tangent in steps.
    """
    n = len(squares)
    logs = np.log(squares + 1e-9)
    mean_a, slope_a, mean_b, slope_b = _filters(n, depth)
    usual_a, usual_b = _usual(logs, before)
    inner = -0.5 * squares

    def cross(left: _Doubles, right: _Doubles) -> _Doubles:
        return np.asarray(left @ inner @ right.T)

    def same(left: _Doubles, right: _Doubles) -> _Doubles:
        return np.asarray(np.einsum("ij,jk,ik->i", left, inner, right))

    # Inner products of the difference of the means across the gap with the mean of the slopes on both sides.
    ahead = cross(slope_a, mean_b) + same(mean_b, slope_b) - same(mean_a, slope_a)[:, None]
    ahead = 0.5 * (ahead - cross(mean_a, slope_b))
    length = 0.25 * (same(slope_a, slope_a)[:, None] + same(slope_b, slope_b) + 2 * cross(slope_a, slope_b))
    way = np.log(np.maximum(ahead / np.maximum(length, 1e-9) - (depth - 1), 0.3))
    first = np.broadcast_to(usual_a[:, None], (n, n))
    last = np.broadcast_to(usual_b[None, :], (n, n))
    return np.stack([logs, mean_a @ logs @ mean_b.T, first, last, way], axis=-1)


def _usual(logs: _Doubles, before: int) -> tuple[_Doubles, _Doubles]:
    """Excess over the mean of the same lag, of pairs that end at each frame and of pairs that begin with it."""
    n = len(logs)
    ends, begins = np.zeros((2, n)), np.zeros((2, n))
    for lag in _NEAR:
        sides = [np.diagonal(logs[low:high, low:high], lag) for low, high in ((0, before), (before, n))]
        together = np.concatenate(sides)
        if not len(together):
            continue
        for low, pairs in zip((0, before), sides):
            total = np.concatenate([[0.0], np.cumsum(pairs - together.mean())])
            first = np.arange(len(pairs))
            # Means over three pairs at most, those nearest to the frame.
            lowest, highest = np.maximum(first - 2, 0), np.minimum(first + 3, len(pairs))
            ends[0, low + first + lag] += (total[first + 1] - total[lowest]) / (first + 1 - lowest)
            ends[1, low + first + lag] += 1
            begins[0, low + first] += (total[highest] - total[first]) / (highest - first)
            begins[1, low + first] += 1
    return ends[0] / np.maximum(ends[1], 1), begins[0] / np.maximum(begins[1], 1)


def _filters(n: int, depth: int) -> tuple[_Doubles, _Doubles, _Doubles, _Doubles]:
    """Weights ``(n, n)`` of mean and slope over the frames that end at a frame, and over those that begin with it."""
    time = np.arange(depth) - (depth - 1) / 2
    slope = time / max(float(np.sum(time * time)), 1e-9)
    made = tuple(np.zeros((n, n)) for _ in range(4))
    for i in range(n):
        if i >= depth - 1:
            made[0][i, i - depth + 1 : i + 1] = 1 / depth
            made[1][i, i - depth + 1 : i + 1] = slope
        if i + depth <= n:
            made[2][i, i : i + depth] = 1 / depth
            made[3][i, i : i + depth] = slope
    return made[0], made[1], made[2], made[3]
