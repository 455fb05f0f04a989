"""Orders of few-dimensional noisy points to start the integrated posterior from."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path

from videorestore.model.starts import order_from

Array = NDArray[np.float64]

ALONE = (3, 3.0)
"""A point stands alone whose so many-th neighbour is so many times as far as is usual."""
CUTS = 4
"""Links of a chain at which it may be cut and joined otherwise."""


def ranks(key: Array) -> Array:
    """Equally spaced positions (n,) in (0, 1) in the order of ``key`` (n,)."""
    out = np.empty(key.size)
    out[np.argsort(key, kind="stable")] = (np.arange(key.size) + 0.5) / key.size
    return out


def distances(y: Array, seen: Array) -> Array:
    """Distances (n, n) between points (n, d); over the dimensions that both have, where some are missing."""
    cross = y @ y.T
    square = np.square(y) @ seen.T
    common = np.maximum(seen @ seen.T, 1e-9)
    total = np.maximum(square + square.T - 2 * cross, 0.0) * (y.shape[1] / common)
    total[seen @ seen.T < 0.5] = total.max()
    np.fill_diagonal(total, 0.0)
    return np.asarray(np.sqrt(total))


def along_graph(distance: Array, k: int) -> Array:
    """Difference of the ways to the two points farthest apart in a graph of neighbours.

    The minimum spanning tree keeps the graph in one piece; with ``k = 0`` it is the tree alone, which
    follows the curve where arms come close to each other.
    """
    n = distance.shape[0]
    length = np.maximum(distance, 1e-12 * distance.max() + 1e-300)
    tree = minimum_spanning_tree(np.triu(length, 1)).toarray() > 0
    near = tree | tree.T
    if k:
        index = np.argsort(distance + np.diag(np.full(n, np.inf)), axis=1, kind="stable")[:, : min(k, n - 1)]
        link = np.zeros((n, n), dtype=bool)
        link[np.arange(n)[:, None], index] = True
        near = near | link | link.T
    way = shortest_path(np.where(near, length, 0.0), directed=False)
    first, last = np.unravel_index(int(way.argmax()), way.shape)
    return np.asarray(way[first] - way[last])


def diffusion(distance: Array, k: int) -> Array:
    """Slowest mode of a diffusion whose steps follow the distance to the k-th neighbour."""
    k = min(k, distance.shape[0] - 1)
    scale = np.maximum(np.sort(distance, axis=1)[:, k], 1e-9 * distance.max() + 1e-300)
    weight = np.exp(-np.square(distance) / (scale[:, None] * scale)) + 1e-12
    np.fill_diagonal(weight, 0.0)
    degree = weight.sum(axis=1)
    _, vectors = np.linalg.eigh(weight / np.sqrt(degree[:, None] * degree))
    return np.asarray(vectors[:, -2] / np.sqrt(degree))


def starting_orders(y: Array, seen: Array, *, closed: bool = False, robust: bool = False) -> dict[str, Array]:
    """Named positions (n,) in (0, 1) to start from, of centred points (n, d), zeros where missing.

    ``closed``: around a circle. ``robust``: points that stand alone do not take part; each is put beside the one it is nearest to.
    """
    distance = distances(y, seen)
    if robust:
        reach = np.sort(distance, axis=1)[:, min(ALONE[0], len(y) - 1)]
        alone = reach > ALONE[1] * np.median(reach)
        kept = np.flatnonzero(~alone)
        beside = kept[distance[:, kept].argmin(axis=1)]
        found = starting_orders(y[kept], seen[kept], closed=closed)
        at = np.searchsorted(kept, beside)
        return {name: ranks(order[at]) for name, order in found.items()}
    chain = np.argsort(order_from("chain", np.square(distance), periodic=closed), kind="stable")
    if closed:
        return {"chain": ranks(chain.astype(np.float64))}
    line = np.linalg.svd(y, full_matrices=False)[0][:, 0]
    return {
        "graph": ranks(along_graph(distance, 4)),
        "tree": ranks(along_graph(distance, 0)),
        "diffusion": ranks(diffusion(distance, 8)),
        "near diffusion": ranks(diffusion(distance, 3)),
        "line": ranks(line),
        "chain": ranks(chain.astype(np.float64)),
    }


def differs(order: Array, known: list[Array]) -> bool:
    """Whether ``order`` (n,) is none of ``known``: the same order, or its reverse, leads to the same place."""
    return all(abs(np.corrcoef(order, other)[0, 1]) < 0.9995 for other in known)


def relinked(distance: Array, x: Array, known: list[Array], count: int) -> list[Array]:
    """Other chains of the same pieces: positions (n,), the shortest ``count`` that are none of ``known``.

    The chain of points in the order of ``x`` (n,) is cut at its longest links. Where it took a short cut
    between two arms, or visits in passing what is an end, the wrong links are long: the pieces are right, and
    only the way they are joined is not.
    """
    chain = np.argsort(x, kind="stable")
    link = distance[chain[:-1], chain[1:]]
    pieces = np.split(chain, np.sort(np.argsort(-link, kind="stable")[:CUTS]) + 1)
    # First and last point of each piece, as it is and turned.
    ends = np.array([[[p[0], p[-1]], [p[-1], p[0]]] for p in pieces])
    # A chain and its reverse are the same: one of the two is left out.
    ways = [way for way in permutations(range(len(pieces))) if way[0] < way[-1]]
    turns = list(product((0, 1), repeat=len(pieces)))
    way, turned = np.repeat(ways, len(turns), axis=0), np.tile(turns, (len(ways), 1))
    first, last = ends[way, turned, 0], ends[way, turned, 1]
    length = distance[last[:, :-1], first[:, 1:]].sum(axis=1)
    found: list[Array] = []
    before = [ranks(x), *known]
    for i in np.argsort(length, kind="stable"):
        if len(found) == count:
            break
        joined = np.concatenate([pieces[p][::-1] if t else pieces[p] for p, t in zip(way[i], turned[i])])
        position = np.empty(chain.size)
        position[joined] = (np.arange(chain.size) + 0.5) / chain.size
        if differs(position, before + found):
            found.append(position)
    return found
