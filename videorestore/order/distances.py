"""How far frames are from each other, without what noise alone explains, and which of them belong to no clip."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray

SIDE = 48
"""Frames are compared with their shorter side shrunk to this many pixels."""

LEAP = 1.5
"""How many times farther than the longest step of the clip a foreign frame is from it."""

Doubles = NDArray[np.float64]


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


def clean_distances(rows: NDArray[np.float32]) -> Doubles:
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
    distance: Doubles = np.sqrt(np.maximum(size[:, None] + size[None, :] - 2 * gram, 0))
    np.fill_diagonal(distance, 0)
    return (distance + distance.T) / 2


def find_foreign(distance: Doubles, *, share: float = 0.2) -> NDArray[np.bool_]:
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
        if links and min(links) >= max(least, LEAP * longest):
            return np.asarray(~main, np.bool_)
    return nothing
