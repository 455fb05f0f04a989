"""The shortest smooth path through all frames: a search from several starts on their distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STARTS = 4
"""Frames, evenly spaced, from each of which a greedy chain is begun."""

BEND = 0.5
"""Weight of a bend against the length of the path."""

Ints = NDArray[np.int64]
Doubles = NDArray[np.float64]


def _near(distance: Doubles, count: int = 25) -> Ints:
    n = len(distance)
    return np.argsort(distance + np.eye(n) * 1e30, axis=1, kind="stable")[:, : min(n - 1, count)].astype(
        np.int64
    )


def _padded(distance: Doubles) -> Doubles:
    """With a last node, the free end of the path, at distance 0 from all."""
    n = len(distance)
    padded = np.zeros((n + 1, n + 1))
    padded[:n, :n] = distance
    return padded


def open_path(distance: Doubles) -> Ints:
    """The best open path from several starts."""
    from videorestore.order._kernels_path import search_tour

    n = len(distance)
    if n < 4:
        return _short(distance)
    padded = _padded(distance)
    near = _near(padded)
    rng = np.random.default_rng(0)
    begin = [greedy_chain(distance, int(s)) for s in np.linspace(0, n - 1, min(n, STARTS)).astype(int)]
    begin += [spectral_order(distance, k) for k in (5, 8) if n > k + 2]
    best, lowest = begin[0], np.inf
    for start in begin:
        tour = np.append(start, n).astype(np.int64)
        # The shortest way first; then bends count too.
        search_tour(padded, near, tour, 0.0, np.empty((0, 2), np.int64))
        cost = search_tour(padded, near, tour, BEND, rng.integers(0, 1 << 30, (min(4 * n, 2000), 2)))
        if cost < lowest - 1e-9:
            lowest = cost
            best = np.roll(tour, -int(np.flatnonzero(tour == n)[0]))[1:].copy()
    return best


def closed_path(distance: Doubles, path: Ints) -> Ints:
    """Improve a path as a closed tour."""
    from videorestore.order._kernels_path import search_tour

    n = len(distance)
    if n < 8:
        return path
    tour = path.astype(np.int64).copy()
    rng = np.random.default_rng(0)
    search_tour(
        _padded(distance), _near(distance), tour, BEND, rng.integers(0, 1 << 30, (min(4 * n, 2000), 2))
    )
    return tour


def _short(distance: Doubles) -> Ints:
    """Up to three frames: put the pair that is farthest apart at the ends."""
    n = len(distance)
    if n < 3:
        return np.arange(n)
    middle = int(np.argmin(distance.sum(axis=1)))
    rest = [i for i in range(n) if i != middle]
    return np.array([rest[0], middle, rest[1]])


def greedy_chain(distance: Doubles, start: int) -> Ints:
    """Always on to the nearest frame not yet seen."""
    n = len(distance)
    left = np.ones(n, bool)
    chain = [start]
    left[start] = False
    for _ in range(n - 1):
        following = int(np.argmin(np.where(left, distance[chain[-1]], np.inf)))
        chain.append(following)
        left[following] = False
    return np.array(chain)


def spectral_order(distance: Doubles, neighbours: int) -> Ints:
    """Order of the Fiedler vector of a graph of near frames with weights scaled to each frame's surroundings."""
    n = len(distance)
    index = np.argsort(distance, axis=1, kind="stable")[:, 1 : neighbours + 1]
    scale = np.take_along_axis(distance, index[:, -1:], axis=1)[:, 0] + 1e-9 * (distance.max() + 1e-300)
    weight = np.zeros((n, n))
    rows = np.arange(n)[:, None]
    weight[rows, index] = np.exp(-(distance[rows, index] ** 2) / (scale[:, None] * scale[index]))
    weight = np.maximum(weight, weight.T)
    # A weak link between all frames keeps the graph in one piece.
    weight += 1e-6 * (1 - np.eye(n))
    degree = weight.sum(axis=1)
    laplacian = np.eye(n) - weight / np.sqrt(degree[:, None] * degree[None, :])
    _, vectors = np.linalg.eigh(laplacian)
    return np.argsort(vectors[:, 1] / np.sqrt(degree), kind="stable")
