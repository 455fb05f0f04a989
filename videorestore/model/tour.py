"""The shortest path through all frames, smooth where that is asked for: a search from several starts on their distances."""

from __future__ import annotations

from collections.abc import Iterable

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


def open_path(distance: Doubles, others: Iterable[Ints] = (), *, bend: float = BEND) -> Ints:
    """The best open path (n,) through all points, from greedy chains and from ``others``; distances (n, n)."""
    from videorestore.model._kernels_tour import search_tour

    n = len(distance)
    if n < 4:
        return _short(distance)
    padded = _padded(distance)
    near = _near(padded)
    rng = np.random.default_rng(0)
    begin = [greedy_chain(distance, int(s)) for s in np.linspace(0, n - 1, min(n, STARTS)).astype(int)]
    best, lowest = begin[0], np.inf
    for start in (*begin, *others):
        tour = np.append(start, n).astype(np.int64)
        # The shortest way first; then bends count too.
        search_tour(padded, near, tour, 0.0, np.empty((0, 2), np.int64))
        cost = search_tour(padded, near, tour, bend, _kicks(n if bend else 0, rng))
        if cost < lowest - 1e-9:
            lowest = cost
            best = np.roll(tour, -int(np.flatnonzero(tour == n)[0]))[1:].copy()
    return best


def closed_path(distance: Doubles, path: Ints, *, bend: float = BEND) -> Ints:
    """Improve a path as a closed tour."""
    from videorestore.model._kernels_tour import search_tour

    n = len(distance)
    if n < 8:
        return path
    tour = path.astype(np.int64).copy()
    search_tour(
        _padded(distance), _near(distance), tour, bend, _kicks(n if bend else 0, np.random.default_rng(0))
    )
    return tour


def _kicks(n: int, rng: np.random.Generator) -> Ints:
    """Random numbers for the search; without bends there are none: the plain shortest way need not be the very shortest."""
    return np.asarray(rng.integers(0, 1 << 30, (min(4 * n, 2000), 2)))


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
