"""Put shuffled frames into order: the shortest smooth path through all of them.

Frames are compared after shrinking and after removing what noise alone explains, so that the order survives
heavy noise. Frames that follow each other are near each other, and the path bends little: where two stretches of
a clip come close (a turning object seen from the back), the shortest path alone would change over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.model.starts import order_from
from videorestore.model.tour import Doubles, Ints, closed_path, open_path
from videorestore.order.distances import clean_distances, describe, find_foreign

SPECTRA = (5, 8)
"""Neighbours of a frame in the graphs whose slowest vibrations are orders to start from, too."""


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
    """

    order: Ints
    refused: tuple[int, ...]
    closed: bool
    x: Doubles


def reorder(
    frames: FloatArray,
    *,
    first: int | None = None,
    refuse: bool = True,
) -> Order:
    """Find the order of shuffled frames, up to reversal.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
    first : int, optional
        The frame at the start. Without it the direction that agrees better with the given order is taken.
        On a closed curve it also says where the curve is cut; otherwise that is the longest step.
    refuse : bool
        Look for frames that belong to no place.

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
    if n > 1 and not distance.any():
        raise InputError("frames must differ to be put into order, all of them are the same; pass others.")
    foreign = find_foreign(distance) if refuse else np.zeros(n, bool)
    if first is not None and foreign[first]:
        raise InputError(
            f"first must be a frame of the clip, but frame {first} fits nowhere in it; pass another."
        )
    kept = np.flatnonzero(~foreign)
    if foreign.any():
        # Foreign frames would otherwise own the leading components of the noise removal.
        distance = clean_distances(features[kept])
    path = open_path(
        distance, [order_from("eigenmaps", np.square(distance), k) for k in SPECTRA if len(kept) > k + 2]
    )
    ring = _is_closed(distance, path)
    if ring:
        path = closed_path(distance, path)
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
    )


def _is_closed(distance: Doubles, path: Ints) -> bool:
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


def _orient(distance: Doubles, path: Ints, kept: Ints, first: int | None, ring: bool) -> Ints:
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
