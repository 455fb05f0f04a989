"""Put shuffled frames into order: the shortest smooth path through all of them.

Frames are compared after shrinking and after removing what noise alone explains, so that the order survives
heavy noise. Frames that follow each other are near each other, and the path bends little: where two stretches of
a clip come close (a turning object seen from the back), the shortest path alone would change over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError

SIDE = 48
"""Frames are compared with their shorter side shrunk to this many pixels."""

BEND = 0.5
"""Weight of a bend against the length of the path."""

_LEAP = 1.5
"""How many times farther than the longest step of the clip a foreign frame is from it."""

_Ints = NDArray[np.int64]
_Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Order:
    """Order of shuffled frames.

    Attributes
    ----------
    order : ndarray of int, shape (m,)
        Source numbers in the order found; refused frames are not in it.
    refused : tuple of int
        Frames that belong to no place.
    closed : bool
        The last frame leads back to the first.
    x : ndarray, shape (m,)
        Place along the path in (0, 1), one for each entry of ``order``.
    confidence : float
        Agreement (Kendall's tau) of the order with the orders found from two disjoint halves of the pixels.
    """

    order: _Ints
    refused: tuple[int, ...]
    closed: bool
    x: _Doubles
    confidence: float


def reorder(
    frames: FloatArray,
    *,
    first: int | None = None,
    closed: bool | Literal["auto"] = "auto",
    refuse: bool = True,
    seed: int = 0,
) -> Order:
    """Find the order of shuffled frames, up to reversal.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
    first : int, optional
        The frame at the start. Without it the direction that agrees better with the given order is taken.
        On a closed curve it also says where the curve is cut; otherwise that is the longest step.
    closed : bool or "auto"
        Whether the last frame leads back to the first.
    refuse : bool
        Look for frames that belong to no place.
    seed : int

    Returns
    -------
    Order
    """
    n = len(frames)
    if n == 0:
        raise InputError("there must be at least one frame to put into order, got none; pass frames.")
    if first is not None and not 0 <= first < n:
        raise InputError(f"first must be a frame number from 0 to {n - 1}, got {first}; pass another.")
    features = describe(frames)
    distance = clean_distances(features)
    foreign = find_foreign(distance) if refuse else np.zeros(n, bool)
    if first is not None and foreign[first]:
        raise InputError(
            f"first must be a frame of the clip, but frame {first} fits nowhere in it; pass another."
        )
    kept = np.flatnonzero(~foreign)
    if foreign.any():
        # Foreign frames would otherwise own the leading components of the noise removal.
        distance = clean_distances(features[kept])
    path = _search(distance, seed)
    ring = _is_closed(distance, path) if closed == "auto" else bool(closed)
    if ring:
        path = _search_ring(distance, path, seed)
    path = _orient(distance, path, kept, first, ring)
    steps = distance[path[:-1], path[1:]]
    total = steps.sum() + (distance[path[-1], path[0]] if ring else 0.0)
    place = (
        np.concatenate([[0.0], np.cumsum(steps)]) / total if total > 0 else np.arange(len(path)) / max(1, n)
    )
    margin = 0.5 / max(1, len(path))
    x = margin + (1 - 2 * margin) * place
    return Order(
        order=kept[path],
        refused=tuple(int(i) for i in np.flatnonzero(foreign)),
        closed=ring,
        x=x,
        confidence=_confidence(features[kept], path, ring, seed),
    )


def describe(frames: FloatArray, side: int = SIDE) -> NDArray[np.float32]:
    """Shrunken frames as rows ``(n, k)``; averaging over pixels removes most of the noise."""
    n, height, width, channels = frames.shape
    scale = min(1.0, side / min(height, width))
    # Very wide or tall pictures stay within four times the area of a square one.
    scale = min(scale, 2 * side / np.sqrt(height * width)) if scale < 1 else scale
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    rows = np.empty((n, size[0] * size[1] * channels), np.float32)
    for i in range(n):
        picture = np.nan_to_num(frames[i].astype(np.float32, copy=False))
        rows[i] = cv2.resize(picture, size, interpolation=cv2.INTER_AREA).ravel()
    return rows


def clean_distances(rows: NDArray[np.float32]) -> _Doubles:
    """Distances between rows without the share of white noise.

    The eigenvalues of the centred Gram matrix that noise alone would produce (Marchenko and Pastur's edge above
    the median eigenvalue) are dropped, the others are lowered by the noise level.

    Returns
    -------
    ndarray, shape (n, n), float64
        Symmetric, zero diagonal.
    """
    n, width = rows.shape
    centred = rows - rows.mean(axis=0)
    if n < 4:
        gram = centred.astype(np.float64) @ centred.T.astype(np.float64)
    else:
        gram = (centred @ centred.T).astype(np.float64)
        values, vectors = np.linalg.eigh(gram)
        noise = float(np.median(values[1:]))
        edge = noise * (1 + np.sqrt(n / width)) ** 2
        signal = values > 1.02 * edge
        signal[-min(3, n) :] = True
        scaled = vectors[:, signal] * np.sqrt(np.maximum(values[signal] - noise, 0))
        gram = scaled @ scaled.T
    size = np.diag(gram)
    distance: _Doubles = np.sqrt(np.maximum(size[:, None] + size[None, :] - 2 * gram, 0))
    np.fill_diagonal(distance, 0)
    return (distance + distance.T) / 2


def find_foreign(distance: _Doubles, *, share: float = 0.2) -> NDArray[np.bool_]:
    """Frames that hang on the rest by edges far longer than any inside the clip.

    The minimal spanning tree is cut at each of its longest edges, first where the next one is much shorter. The
    largest part is the clip; the other parts are foreign when all of them are much farther from the clip than its
    own frames are from each other, and hold at most ``share`` of the frames together. Foreign frames may well be
    near each other.
    """
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    n = len(distance)
    nothing = np.zeros(n, bool)
    if n < 8:
        return nothing
    # Zero means "no edge" to SciPy, and repeated frames are at distance zero.
    tiny = 1e-9 * max(float(distance.max()), 1e-9)
    tree = minimum_spanning_tree(distance + tiny * (1 - np.eye(n))).tocoo()
    edges = np.sort(tree.data)[::-1]
    most = max(1, int(share * n))
    ratio = edges[:most] / np.maximum(edges[1 : most + 1], 1e-12)
    typical = float(np.median(distance[np.triu_indices(n, 1)]))
    least = max(2.5 * float(np.median(edges)), 0.45 * typical)
    for k in np.argsort(-ratio):
        graph = tree.copy()
        graph.data = np.where(tree.data < edges[k] * (1 - 1e-9), tree.data, 0)
        graph.eliminate_zeros()
        _, label = connected_components(graph, directed=False)
        main = label == np.argmax(np.bincount(label))
        if (~main).mean() > share:
            continue
        inside = tree.data[main[tree.row] & main[tree.col]]
        longest = float(inside.max()) if inside.size else 0.0
        links = [float(distance[np.ix_(label == part, main)].min()) for part in np.unique(label[~main])]
        if links and min(links) >= max(least, _LEAP * longest):
            return np.asarray(~main, np.bool_)
    return nothing


def _near(distance: _Doubles, count: int = 25) -> _Ints:
    n = len(distance)
    return np.argsort(distance + np.eye(n) * 1e30, axis=1, kind="stable")[:, : min(n - 1, count)].astype(
        np.int64
    )


def _padded(distance: _Doubles) -> _Doubles:
    """With a last node, the free end of the path, at distance 0 from all."""
    n = len(distance)
    padded = np.zeros((n + 1, n + 1))
    padded[:n, :n] = distance
    return padded


def _search(distance: _Doubles, seed: int, starts: int = 4) -> _Ints:
    """The best open path from several starts."""
    from videorestore.curve._kernels_path import improve_tour, search_tour

    n = len(distance)
    if n < 4:
        return _short(distance)
    padded = _padded(distance)
    near = _near(padded)
    rng = np.random.default_rng(seed)
    begin = [greedy_chain(distance, int(s)) for s in np.linspace(0, n - 1, min(n, starts)).astype(int)]
    begin += [spectral_order(distance, k) for k in (5, 8) if n > k + 2]
    best, lowest = begin[0], np.inf
    for start in begin:
        tour = np.append(start, n).astype(np.int64)
        improve_tour(padded, near, tour, 200)
        cost = search_tour(padded, near, tour, BEND, rng.integers(0, 1 << 30, (min(4 * n, 2000), 2)))
        if cost < lowest - 1e-9:
            lowest = cost
            best = np.roll(tour, -int(np.flatnonzero(tour == n)[0]))[1:].copy()
    return best


def _search_ring(distance: _Doubles, path: _Ints, seed: int) -> _Ints:
    """Improve a path as a closed tour."""
    from videorestore.curve._kernels_path import search_tour

    n = len(distance)
    if n < 8:
        return path
    tour = path.astype(np.int64).copy()
    rng = np.random.default_rng(seed)
    search_tour(
        _padded(distance), _near(distance), tour, BEND, rng.integers(0, 1 << 30, (min(4 * n, 2000), 2))
    )
    return tour


def _short(distance: _Doubles) -> _Ints:
    """Up to three frames: put the pair that is farthest apart at the ends."""
    n = len(distance)
    if n < 3:
        return np.arange(n)
    middle = int(np.argmin(distance.sum(axis=1)))
    rest = [i for i in range(n) if i != middle]
    return np.array([rest[0], middle, rest[1]])


def greedy_chain(distance: _Doubles, start: int) -> _Ints:
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


def spectral_order(distance: _Doubles, neighbours: int) -> _Ints:
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


def _is_closed(distance: _Doubles, path: _Ints) -> bool:
    """Whether the step from the end to the start looks like the other steps, in length and in direction."""
    n = len(path)
    if n < 12:
        return False
    steps = distance[path[:-1], path[1:]]
    closing = float(distance[path[-1], path[0]])
    if closing > 1.5 * float(np.quantile(steps, 0.9)) or closing > 0.7 * float(np.median(distance)):
        return False

    def straight(a: int, b: int, c: int) -> float:
        length = distance[a, b] + distance[b, c]
        return float(distance[a, c] / length) if length > 0 else 1.0

    # Two steps along the curve lead farther than one; a path that only comes back the way it went does not.
    return min(straight(path[-2], path[-1], path[0]), straight(path[-1], path[0], path[1])) > 0.55


def _orient(distance: _Doubles, path: _Ints, kept: _Ints, first: int | None, ring: bool) -> _Ints:
    n = len(path)
    if first is not None:
        at = int(np.flatnonzero(kept[path] == first)[0])
        if ring:
            path = np.roll(path, -at)
            if n > 2 and kept[path[-1]] < kept[path[1]]:
                path = np.roll(path[::-1], 1)
            return path
        return path[::-1] if at > n - 1 - at else path
    if ring:
        steps = distance[path, np.roll(path, -1)]
        path = np.roll(path, -int(np.argmax(steps)) - 1)
    rank = np.argsort(path)
    agree = float(np.sum((rank - rank.mean()) * (np.arange(n) - (n - 1) / 2)))
    return path[::-1] if agree < 0 else path


def _confidence(rows: NDArray[np.float32], path: _Ints, ring: bool, seed: int) -> float:
    """Mean agreement with the orders of two disjoint halves of the pixels."""
    n = len(path)
    if n < 4:
        return 1.0
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(rows.shape[1])
    half = len(shuffled) // 2
    if half < 4:
        return 1.0
    total = 0.0
    for part in (shuffled[:half], shuffled[half:]):
        distance = clean_distances(rows[:, np.sort(part)])
        other = _search(distance, seed, starts=2)
        if ring:
            other = _search_ring(distance, other, seed)
        total += agreement(path, other, ring)
    return total / 2


def agreement(one: _Ints, two: _Ints, ring: bool = False) -> float:
    """|Kendall's tau| of two orders of the same frames; the best over all cuts when the curve is closed."""
    from scipy.stats import kendalltau

    n = len(one)
    rank = np.empty(n, np.int64)
    rank[one] = np.arange(n)
    ranks = rank[two]
    if not ring:
        return abs(float(kendalltau(np.arange(n), ranks)[0]))
    # Rotations that matter bring a step of one order to the cut of the other: try the longest jumps of rank.
    jumps = np.abs(np.diff(np.append(ranks, ranks[0])))
    cuts = np.argsort(-jumps, kind="stable")[:8]
    best = 0.0
    for cut in cuts:
        turned = np.roll(ranks, -int(cut) - 1)
        for shift in {0, int(turned[0]), int(turned[-1])}:
            for flip in (turned, n - 1 - turned):
                moved = (flip - (shift if flip is turned else n - 1 - shift)) % n
                best = max(best, abs(float(kendalltau(np.arange(n), moved)[0])))
    return best
