"""Orders to start from: spectral embeddings of the distances between frames, all from one matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array, eye_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.sparse.linalg import eigsh

from videorestore.errors import InputError
from videorestore.model._kernels import greedy_tour, shorten_tour

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

METHODS = ("eigenmaps", "isomap", "lle", "pca", "chain")


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
        return _chain(distance, periodic)
    embed = {"eigenmaps": _eigenmaps, "isomap": _isomap, "lle": _lle, "pca": _pca}.get(method)
    if embed is None:
        raise InputError(f"init must be 'auto', 'order', one of {METHODS} or positions, got {method!r}")
    coordinates = embed(distance, min(n_neighbors, n - 1), 2 if periodic and n > 3 else 1)
    key = np.arctan2(coordinates[:, -1], coordinates[:, 0]) if coordinates.shape[1] > 1 else coordinates[:, 0]
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


def _isomap(distance: Array, k: int, dim: int) -> Array:
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
    return np.asarray(vectors[:, top])


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


def _chain(distance: Array, closed: bool) -> Indices:
    """Short way through all frames: greedy edges, then exchanges; open ways end at a point near to all."""
    n = distance.shape[0]
    cost = distance
    if not closed:
        cost = np.zeros((n + 1, n + 1))
        cost[:n, :n] = distance
        # Costs nothing to reach, yet must not be the first choice of the greedy step.
        reach = cost.copy()
        reach[n] = reach[:, n] = distance.max()
    else:
        reach = cost
    i, j = np.triu_indices(cost.shape[0], 1)
    edges = np.stack([i, j], axis=1)[np.argsort(reach[i, j], kind="stable")]
    tour = greedy_tour(edges, cost.shape[0])
    shorten_tour(tour, cost, 100)
    if closed:
        return tour.astype(np.intp)
    cut = int(np.flatnonzero(tour == n)[0])
    return np.concatenate([tour[cut + 1 :], tour[:cut]]).astype(np.intp)


def ranks(order: Indices) -> Array:
    """Start positions (rank - 1/2) / n; better than the embedding's own spacing."""
    x = np.empty(order.size)
    x[order] = (np.arange(order.size) + 0.5) / order.size
    return x


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
