"""Kernels of the shortest path through all frames: local search on a distance matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore.compiled import kernel


@kernel
def _reverse(tour: Any, place: Any, first: int, last: int) -> None:
    """Reverse the run from ``first`` to ``last`` (cyclic), or its complement when that is shorter."""
    n = tour.shape[0]
    inside = (last - first) % n + 1
    if 2 * inside > n:
        first, last = (last + 1) % n, (first - 1) % n
        inside = n - inside
    for _ in range(inside // 2):
        a = tour[first]
        b = tour[last]
        tour[first] = b
        place[b] = first
        tour[last] = a
        place[a] = last
        first = (first + 1) % n
        last = (last - 1) % n


@kernel
def _node(tour: Any, first: int, length: int, spot: int, flip: bool, q: int) -> int:
    """The node ``q`` places after ``first``, once the run of ``length`` nodes there is put behind the node ``spot`` places after it.

    With a ``length`` of 0 the tour as it is.
    """
    n = tour.shape[0]
    if q < 0:
        q += n
    elif q >= n:
        q -= n
    if q <= spot - length:
        q += length
    elif q <= spot:
        q -= spot - length + 1
        if flip:
            q = length - 1 - q
    at = first + q
    return tour[at if at < n else at - n]  # type: ignore[no-any-return]


@kernel
def _carry(tour: Any, place: Any, first: int, length: int, spot: int, flip: bool) -> None:
    """Put a run behind another node; see `_node`."""
    n = tour.shape[0]
    moved = np.empty(n, np.int64)
    for q in range(n):
        moved[q] = _node(tour, first, length, spot, flip, q)
    for q in range(n):
        tour[q] = moved[q]
        place[moved[q]] = q


@kernel
def _bend(distance: Any, a: int, b: int, c: int, weight: float) -> float:
    """What it costs to pass a, b, c in this order, beyond the two edges: the detour over going straight."""
    n = distance.shape[0] - 1
    if a == n or b == n or c == n:
        return 0.0
    return weight * (distance[a, b] + distance[b, c] - distance[a, c])  # type: ignore[no-any-return]


@kernel
def _stretch(
    distance: Any,
    tour: Any,
    first: int,
    length: int,
    spot: int,
    flip: bool,
    low: int,
    high: int,
    weight: float,
) -> float:
    """Edges and bends between the nodes ``low`` and ``high`` places after ``first``, once a run is carried; see `_node`."""
    total = 0.0
    before, last = 0, 0
    for q in range(low, high + 1):
        node = _node(tour, first, length, spot, flip, q)
        if q > low:
            total += distance[last, node]
        if q > low + 1:
            total += _bend(distance, before, last, node, weight)
        before, last = last, node
    return total


@kernel
def tour_cost(distance: Any, tour: Any, weight: float) -> float:
    """Edges and bends of a closed tour."""
    n = tour.shape[0]
    total = 0.0
    for i in range(n):
        b = tour[i]
        c = tour[(i + 1) % n]
        total += distance[b, c] + _bend(distance, tour[i - 1], b, c, weight)
    return total


@kernel
def _ends(tour: Any, i: int, j: int, touched: Any) -> int:
    """Note the nodes around two places, and say how many."""
    n = tour.shape[0]
    for q in range(5):
        touched[2 * q] = tour[(i + q - 2) % n]
        touched[2 * q + 1] = tour[(j + q - 2) % n]
    return 10


@kernel
def _improve(
    distance: Any, near: Any, tour: Any, place: Any, weight: float, a: int, touched: Any
) -> tuple[float, int]:
    """Make the first change around node ``a`` that helps; its gain, and how many nodes were ``touched`` by it.

    The edge to a near node comes in and what lies between is reversed (2-opt), or a run of one to three nodes is carried
    beside a near node, either way round (or-opt).
    """
    n = tour.shape[0]
    for side in range(2):
        for k in range(near.shape[1]):
            c = near[a, k]
            i = (place[a] + 1) % n if side == 0 else place[c]
            j = place[c] if side == 0 else (place[a] - 1) % n
            inside = (j - i) % n + 1
            if inside < 2 or inside > n - 2:
                continue
            gain = _reversal_gain(distance, tour, i, j, weight)
            if gain > 1e-9:
                count = _ends(tour, i, j, touched)
                _reverse(tour, place, i, j)
                return gain, count
    first = place[a]
    for length in range(1, 4):
        if n < length + 8:
            break
        for k in range(near.shape[1]):
            c = near[a, k]
            if (place[c] - first) % n < length:
                continue
            for side in range(2):
                spot = (place[c] - side - first) % n
                if spot < length or spot == n - 1:
                    continue
                for turn in range(2):
                    gain = _carry_gain(distance, tour, first, length, spot, turn == 1, weight)
                    if gain > 1e-9:
                        count = 0
                        for q in range(-2, length + 2):
                            touched[count] = tour[(first + q) % n]
                            count += 1
                        for q in range(-2, 3):
                            touched[count] = tour[(first + spot + q) % n]
                            count += 1
                        _carry(tour, place, first, length, spot, turn == 1)
                        return gain, count
    return 0.0, 0


@kernel
def _line_up(queue: Any, queued: Any, head: int, filled: int, touched: Any, count: int) -> int:
    """Put nodes that do not wait yet at the end of the queue; how many wait then."""
    n = queue.shape[0]
    for node in touched[:count]:
        if not queued[node]:
            queue[(head + filled) % n] = node
            queued[node] = True
            filled += 1
    return filled


@kernel
def _settle(
    distance: Any, near: Any, tour: Any, place: Any, weight: float, queue: Any, queued: Any, filled: int
) -> None:
    """2-opt and or-opt on edges and bends, from the queued nodes until nothing helps."""
    n = tour.shape[0]
    touched = np.empty(12, np.int64)
    head = 0
    while filled > 0:
        a = queue[head]
        head = (head + 1) % n
        filled -= 1
        queued[a] = False
        count = 1
        while count > 0:
            _, count = _improve(distance, near, tour, place, weight, a, touched)
            filled = _line_up(queue, queued, head, filled, touched, count)


@kernel
def _reversal_gain(distance: Any, tour: Any, i: int, j: int, weight: float) -> float:
    n = tour.shape[0]
    p, pp = tour[(i - 1) % n], tour[(i - 2) % n]
    q, qq = tour[(j + 1) % n], tour[(j + 2) % n]
    a, a2 = tour[i % n], tour[(i + 1) % n]
    b, b2 = tour[j % n], tour[(j - 1) % n]
    old = distance[p, a] + distance[b, q]
    old += _bend(distance, pp, p, a, weight) + _bend(distance, p, a, a2, weight)
    old += _bend(distance, b2, b, q, weight) + _bend(distance, b, q, qq, weight)
    new = distance[p, b] + distance[a, q]
    new += _bend(distance, pp, p, b, weight) + _bend(distance, p, b, b2, weight)
    new += _bend(distance, a2, a, q, weight) + _bend(distance, a, q, qq, weight)
    return old - new  # type: ignore[no-any-return]


@kernel
def _carry_gain(
    distance: Any, tour: Any, first: int, length: int, spot: int, flip: bool, weight: float
) -> float:
    """Gain of putting a run behind another node, see `_node`: only around the three edges that are cut does anything change."""
    n = tour.shape[0]
    far = False
    if spot - length < 8:
        # The run goes on by a little: one stretch holds all of it, and its like before and after.
        old_low, old_high, new_low, new_high = -2, spot + 2, -2, spot + 2
    elif n - spot < 8:
        # It goes back by a little.
        old_low, old_high, new_low, new_high = spot - 1, n + length + 1, spot - length - 1, n + 1
    else:
        far = True
        old_low, old_high, new_low, new_high = -2, length + 1, -2, 1
    if old_high - old_low + 1 > n:
        return 0.0
    gain = _stretch(distance, tour, first, 0, 0, False, old_low, old_high, weight)
    gain -= _stretch(distance, tour, first, length, spot, flip, new_low, new_high, weight)
    if far:
        gain += _stretch(distance, tour, first, 0, 0, False, spot - 1, spot + 2, weight)
        gain -= _stretch(distance, tour, first, length, spot, flip, spot - length - 1, spot + 2, weight)
    return gain


@kernel
def search_tour(distance: Any, near: Any, tour: Any, weight: float, kicks: Any) -> float:
    """Lower edges + ``weight`` x bends of a closed tour in place: local search, then kicked again and again.

    Parameters
    ----------
    distance : ndarray, shape (n, n)
        The last node is the free end: its distances are 0 and it has no bend.
    near : ndarray of int, shape (n, k)
    tour : ndarray of int, shape (n,)
        Changed.
    weight : float
    kicks : ndarray of int, shape (m, 2)
        Random numbers: a node and one of its near nodes that are brought together in every kick.

    Returns
    -------
    float
        Cost of the result.
    """
    n = tour.shape[0]
    place = np.empty(n, np.int64)
    for i in range(n):
        place[tour[i]] = i
    touched = np.empty(10, np.int64)
    queue = tour.copy()
    queued = np.ones(n, np.bool_)
    _settle(distance, near, tour, place, weight, queue, queued, n)
    best = tour.copy()
    cost = tour_cost(distance, tour, weight)
    for m in range(kicks.shape[0]):
        a = kicks[m, 0] % n
        c = near[a, kicks[m, 1] % near.shape[1]]
        i = (place[a] + 1) % n
        j = place[c]
        inside = (j - i) % n + 1
        if inside < 2 or inside > n - 2:
            continue
        filled = _line_up(queue, queued, 0, 0, touched, _ends(tour, i, j, touched))
        _reverse(tour, place, i, j)
        _settle(distance, near, tour, place, weight, queue, queued, filled)
        now = tour_cost(distance, tour, weight)
        if now < cost - 1e-9:
            cost = now
            best[:] = tour
        else:
            tour[:] = best
            for q in range(n):
                place[tour[q]] = q
    return cost
