"""Orders to start from, all from one matrix of distances between frames."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.sparse.linalg import eigsh

from videorestore.errors import InputError
from videorestore.model.tour import closed_path, open_path

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

METHODS = ("eigenmaps", "isomap", "lle", "pca", "chain")
ALONE = (3, 3.0)
"""A point stands alone whose so many-th neighbour is so many times as far as is usual."""
WAYS = {
    "graph": ("isomap", 4),
    "tree": ("isomap", 0),
    "eigenmaps": ("eigenmaps", 8),
    "near eigenmaps": ("eigenmaps", 3),
    "line": ("pca", 0),
    "chain": ("chain", 0),
}
"""Starts that are tried where positions are integrated out, with their neighbours; a graph of none is the spanning tree, which
follows the curve where arms come close to each other."""
CUTS = 4
"""Links of a chain at which it may be cut and joined otherwise."""


def order_from(method: str, distance: Array, n_neighbors: int = 8, periodic: bool = False) -> Indices:
    """Order of the frames along the curve, from squared distances (n, n).

    Parameters
    ----------
    method : {"eigenmaps", "isomap", "lle", "pca", "chain", "order"}
        ``chain``: the shortest way through all frames, by squared distances (noise then adds the same to
        every way). ``order`` takes the frames as they come.
    distance : ndarray (n, n)
        Squared distances between frames.
    n_neighbors : int
    periodic : bool
        The curve is closed: the order is that of the angle in the first two coordinates.

    Returns
    -------
    order : ndarray (n,)
        Frame numbers along the curve.
    """
    n = distance.shape[0]
    if method == "order":
        return np.arange(n)
    if method == "chain":
        path = open_path(distance, bend=0.0)
        return (closed_path(distance, path, bend=0.0) if periodic else path).astype(np.intp)
    embed = {"eigenmaps": _eigenmaps, "isomap": isomap, "lle": _lle, "pca": _pca}.get(method)
    if embed is None:
        raise InputError(f"init must be 'auto', 'order', one of {METHODS} or positions, got {method!r}")
    coordinates = embed(distance, min(n_neighbors, n - 1), 2 if periodic and n > 3 else 1)
    key = coordinates[:, 0]
    if coordinates.shape[1] > 1:
        key = np.arctan2(coordinates[:, 1] / coordinates[:, 1].std(), key / key.std())
    return np.argsort(key, kind="stable")


def _neighbours(distance: Array, k: int) -> Indices:
    hollow = distance.copy()
    np.fill_diagonal(hollow, np.inf)
    return np.argsort(hollow, axis=1, kind="stable")[:, :k]


def neighbour_graph(distance: Array, k: int) -> csr_array:
    """Symmetric neighbour graph with lengths; the minimum spanning tree keeps it in one piece."""
    n = distance.shape[0]
    near = _neighbours(distance, k)
    i = np.repeat(np.arange(n), near.shape[1])
    j = near.ravel()
    # Zero lengths would read as "no edge".
    length = np.sqrt(np.maximum(distance, 1e-300)) + 1e-150
    tree = minimum_spanning_tree(csr_array(np.triu(length, 1))).tocoo()
    rows = np.concatenate([i, j, tree.row, tree.col])
    cols = np.concatenate([j, i, tree.col, tree.row])
    key = np.unique(rows * n + cols)
    # The shortest paths of SciPy before 1.15 take 32-bit indices only.
    rows, cols = (key // n).astype(np.int32), (key % n).astype(np.int32)
    return csr_array(coo_array((length[rows, cols], (rows, cols)), shape=(n, n)))


def _bottom(matrix: csr_array, count: int) -> Array:
    """Eigenvectors of the smallest eigenvalues after the first, of a symmetric matrix >= 0."""
    n = matrix.shape[0]
    if n <= 600:
        _, vectors = eigh(matrix.toarray(), subset_by_index=[0, min(count, n - 1)])
        return np.asarray(vectors[:, 1:])
    start = np.cos(np.arange(n))
    shift = -1e-9 * float(matrix.diagonal().max())
    values, vectors = eigsh(matrix.tocsc(), k=count + 1, sigma=shift, which="LM", v0=start)
    return np.asarray(vectors[:, np.argsort(values)][:, 1:])


def _eigenmaps(distance: Array, k: int, dim: int) -> Array:
    graph = neighbour_graph(distance, k)
    # Weights on the scale of each end's own neighbours, so that uneven sampling does not tear the graph.
    scale = np.sort(distance, axis=1)[:, min(k, distance.shape[0] - 1)]
    scale = np.sqrt(np.maximum(scale, scale.max() * 1e-12))
    coo = graph.tocoo()
    weight = np.exp(-np.square(coo.data) / (scale[coo.row] * scale[coo.col]))
    w = csr_array((np.maximum(weight, 1e-6), (coo.row, coo.col)), shape=graph.shape)
    w = (w + w.T) * 0.5
    degree = np.asarray(w.sum(axis=1)).ravel()
    half = diags_array(1.0 / np.sqrt(degree))
    laplacian = csr_array(eye_array(degree.size) - half @ w @ half)
    return np.asarray(_bottom(laplacian, dim) / np.sqrt(degree)[:, None])


def isomap(distance: Array, k: int, dim: int) -> Array:
    """Coordinates (n, dim) whose distances are the ways along the graph of neighbours, from squared distances (n, n)."""
    geodesic = shortest_path(neighbour_graph(distance, k), directed=False)
    return _scaling(np.square(geodesic), dim)


def _pca(distance: Array, k: int, dim: int) -> Array:
    return _scaling(distance, dim)


def _scaling(square: Array, dim: int) -> Array:
    """Classical scaling: first coordinates from squared distances."""
    n = square.shape[0]
    centred = -0.5 * (square - square.mean(axis=0) - square.mean(axis=1)[:, None] + square.mean())
    if n <= 600:
        values, vectors = eigh(centred, subset_by_index=[max(n - dim, 0), n - 1])
    else:
        values, vectors = eigsh(centred, k=dim, which="LA", v0=np.cos(np.arange(n)))
    top = np.argsort(values)[::-1]
    return np.asarray(vectors[:, top] * np.sqrt(np.maximum(values[top], 1e-12)))


def _lle(distance: Array, k: int, dim: int) -> Array:
    n = distance.shape[0]
    near = _neighbours(distance, k)
    # (y_i - y_a)'(y_i - y_b) from squared distances alone.
    to = np.take_along_axis(distance, near, axis=1)
    local = 0.5 * (to[:, :, None] + to[:, None, :] - distance[near[:, :, None], near[:, None, :]])
    trace = np.einsum("ijj->i", local)
    step = np.arange(near.shape[1])
    local[:, step, step] += (1e-3 * trace + 1e-300)[:, None]
    weight = np.linalg.solve(local, np.ones((n, near.shape[1], 1)))[:, :, 0]
    weight /= weight.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(n), near.shape[1])
    w = csr_array((weight.ravel(), (rows, near.ravel())), shape=(n, n))
    m = csr_array(eye_array(n)) - w
    return _bottom(csr_array(m.T @ m), dim)


def ranks(key: Array | Indices) -> Array:
    """Equally spaced positions (n,) in (0, 1) in the order of ``key`` (n,); better than an embedding's own spacing."""
    out = np.empty(key.size)
    out[np.argsort(key, kind="stable")] = (np.arange(key.size) + 0.5) / key.size
    return out


def scaled_positions(given: Array) -> Array:
    """Positions (n,) in (0, 1) as they were given, up to scale, half of a mean gap left at both ends."""
    n, width = given.size, float(np.ptp(given))
    if np.unique(given).size < n or width <= 0:
        raise InputError("init positions must differ between different frames; give distinct numbers")
    return np.asarray(0.5 / n + (given - given.min()) / width * (1 - 1.0 / n))


def same_order(a: Indices, b: Indices, periodic: bool) -> bool:
    """Two orders are one, up to reversal (and rotation of a closed curve)."""
    if periodic:
        start = int(np.flatnonzero(b == a[0])[0])
        forward = np.roll(b, -start)
        return bool(np.array_equal(a, forward) or np.array_equal(a[1:], forward[1:][::-1]))
    return bool(np.array_equal(a, b) or np.array_equal(a, b[::-1]))


def orient(x: Array, periodic: bool) -> Array:
    """Positions (n,) turned so that the first frame comes before the last.

    On a closed curve the first frame opens the circle and the next one stands in its first half.
    """
    if periodic:
        turned = (x - x[0]) % 1.0
        if turned[turned > 0][0] > 0.5:
            turned = (1.0 - turned) % 1.0
        # Half of the gap around the end on each side of it.
        return np.asarray(turned + 0.5 * (1.0 - turned.max()))
    # Equal first and last frames: the first that differs from them decides.
    end = x[-1] if x[-1] != x[0] else x[x != x[0]][0]
    return np.asarray(1.0 - x if x[0] > end else x)


def distances(y: Array, seen: Array) -> Array:
    """Distances (n, n) between points (n, d); over the dimensions that both have, where some are missing."""
    cross = y @ y.T
    square = np.square(y) @ seen.T
    common = np.maximum(seen @ seen.T, 1e-9)
    total = np.maximum(square + square.T - 2 * cross, 0.0) * (y.shape[1] / common)
    total[seen @ seen.T < 0.5] = total.max()
    np.fill_diagonal(total, 0.0)
    return np.asarray(np.sqrt(total))


def standing_alone(distance: Array) -> NDArray[np.bool_]:
    """Points (n,) far from their neighbours, from distances (n, n)."""
    reach = np.sort(distance, axis=1)[:, min(ALONE[0], len(distance) - 1)]
    return np.asarray(reach > ALONE[1] * np.median(reach))


def starting_orders(y: Array, seen: Array, *, closed: bool = False, robust: bool = False) -> dict[str, Array]:
    """Named positions (n,) in (0, 1) to start from, of centred points (n, d), zeros where missing.

    ``closed``: around a circle. ``robust``: points that stand alone do not take part; each is put beside the one it is nearest to.
    """
    distance = distances(y, seen)
    if robust:
        kept = np.flatnonzero(~standing_alone(distance))
        beside = kept[distance[:, kept].argmin(axis=1)]
        found = starting_orders(y[kept], seen[kept], closed=closed)
        at = np.searchsorted(kept, beside)
        return {name: ranks(order[at]) for name, order in found.items()}
    square = np.square(distance)
    ways = {"chain": ("chain", 0)} if closed else WAYS
    orders = {name: order_from(method, square, k, closed) for name, (method, k) in ways.items()}
    return {name: ranks(np.argsort(order, kind="stable")) for name, order in orders.items()}


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
