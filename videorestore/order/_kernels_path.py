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
def _carry(tour: Any, place: Any, first: int, length: int, after: int, flip: bool) -> None:
    """Take ``length`` nodes from ``first`` on out of the tour and put them behind node ``after``."""
    n = tour.shape[0]
    run = np.empty(length, np.int64)
    for k in range(length):
        run[k] = tour[(first + k) % n]
    rest = np.empty(n, np.int64)
    m = 0
    for k in range(length, n):
        node = tour[(first + k) % n]
        rest[m] = node
        m += 1
        if node == after:
            for q in range(length):
                rest[m] = run[length - 1 - q] if flip else run[q]
                m += 1
    for k in range(n):
        tour[k] = rest[k]
        place[rest[k]] = k


@kernel
def _bend(distance: Any, a: int, b: int, c: int, weight: float) -> float:
    """What it costs to pass a, b, c in this order, beyond the two edges: the detour over going straight."""
    n = distance.shape[0] - 1
    if a == n or b == n or c == n:
        return 0.0
    return weight * (distance[a, b] + distance[b, c] - distance[a, c])  # type: ignore[no-any-return]


@kernel
def stretch_cost(distance: Any, nodes: Any, weight: float) -> float:
    """Edges and bends along a sequence of nodes; the last row of ``distance`` is the free end of the path."""
    total = 0.0
    for i in range(nodes.shape[0] - 1):
        total += distance[nodes[i], nodes[i + 1]]
        if i > 0:
            total += _bend(distance, nodes[i - 1], nodes[i], nodes[i + 1], weight)
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
def _settle(
    distance: Any, near: Any, tour: Any, place: Any, weight: float, queue: Any, queued: Any, filled: int
) -> float:
    """2-opt and or-opt on edges and bends, from the queued nodes until nothing helps; returns the gain."""
    n = tour.shape[0]
    saved = 0.0
    head = 0
    window = np.empty(64, np.int64)
    other = np.empty(64, np.int64)
    while filled > 0:
        a = queue[head]
        head = (head + 1) % n
        filled -= 1
        queued[a] = False
        again = True
        while again:
            again = False
            for side in range(2):
                for k in range(near.shape[1]):
                    c = near[a, k]
                    # The edge (a, c) comes in: reverse what lies between.
                    if side == 0:
                        i = (place[a] + 1) % n
                        j = place[c]
                    else:
                        i = place[c]
                        j = (place[a] - 1) % n
                    inside = (j - i) % n + 1
                    if inside < 2 or inside > n - 2:
                        continue
                    gain = _reversal_gain(distance, tour, i, j, weight)
                    if gain > 1e-9:
                        for q in range(-2, 3):
                            for e in range(2):
                                node = tour[((i if e == 0 else j) + q) % n]
                                if not queued[node]:
                                    queue[(head + filled) % n] = node
                                    queued[node] = True
                                    filled += 1
                        _reverse(tour, place, i, j)
                        saved += gain
                        again = True
                        break
                if again:
                    break
            if again:
                continue
            # Carry a run of one to three nodes beside a near node; both ways round.
            for length in range(1, 4):
                first = place[a]
                if n < length + 8:
                    break
                for k in range(near.shape[1]):
                    c = near[a, k]
                    offset = (place[c] - first) % n
                    if offset < length:
                        continue
                    for side in range(2):
                        after = c if side == 0 else tour[(place[c] - 1) % n]
                        spot = (place[after] - first) % n
                        if spot < length or spot == n - 1:
                            continue
                        for turn in range(2):
                            gain = _carry_gain(
                                distance, tour, first, length, spot, turn == 1, weight, window, other
                            )
                            if gain > 1e-9:
                                for q in range(-2, length + 2):
                                    node = tour[(first + q) % n]
                                    if not queued[node]:
                                        queue[(head + filled) % n] = node
                                        queued[node] = True
                                        filled += 1
                                for q in range(-2, 3):
                                    node = tour[(place[after] + q) % n]
                                    if not queued[node]:
                                        queue[(head + filled) % n] = node
                                        queued[node] = True
                                        filled += 1
                                _carry(tour, place, first, length, after, turn == 1)
                                saved += gain
                                again = True
                                break
                        if again:
                            break
                    if again:
                        break
                if again:
                    break
    return saved


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
    distance: Any,
    tour: Any,
    first: int,
    length: int,
    spot: int,
    flip: bool,
    weight: float,
    window: Any,
    other: Any,
) -> float:
    """Gain of putting the run behind the node ``spot`` places after ``first``."""
    n = tour.shape[0]
    if spot - length < 8 or n - spot < 8:
        # Near: compare the whole stretch before and after, counted from the run forwards or backwards.
        ahead = spot - length < 8
        if ahead:
            size = spot + 5
            if size > n:
                return 0.0
            for q in range(size):
                window[q] = tour[(first - 2 + q) % n]
            m = 0
            for q in range(2):
                other[m] = window[q]
                m += 1
            for q in range(length, spot + 1):
                other[m] = window[2 + q]
                m += 1
            for q in range(length):
                other[m] = window[2 + (length - 1 - q if flip else q)]
                m += 1
            for q in range(2):
                other[m] = window[2 + spot + 1 + q]
                m += 1
        else:
            back = n - spot
            size = back + length + 3
            if size > n:
                return 0.0
            start = first - back - 1
            for q in range(size):
                window[q] = tour[(start + q) % n]
            m = 0
            for q in range(2):
                other[m] = window[q]
                m += 1
            for q in range(length):
                other[m] = window[back + 1 + (length - 1 - q if flip else q)]
                m += 1
            for q in range(2, back + 1):
                other[m] = window[q]
                m += 1
            for q in range(2):
                other[m] = window[back + 1 + length + q]
                m += 1
        return stretch_cost(distance, window[:size], weight) - stretch_cost(distance, other[:size], weight)
    for q in range(length + 4):
        window[q] = tour[(first - 2 + q) % n]
    other[0] = window[0]
    other[1] = window[1]
    other[2] = window[length + 2]
    other[3] = window[length + 3]
    gain = stretch_cost(distance, window[: length + 4], weight) - stretch_cost(distance, other[:4], weight)
    for q in range(4):
        other[q if q < 2 else q + length] = tour[(first + spot - 1 + q) % n]
    gain -= -(
        distance[other[0], other[1]]
        + distance[other[1], other[length + 2]]
        + distance[other[length + 2], other[length + 3]]
        + _bend(distance, other[0], other[1], other[length + 2], weight)
        + _bend(distance, other[1], other[length + 2], other[length + 3], weight)
    )
    for q in range(length):
        other[2 + q] = tour[(first + (length - 1 - q if flip else q)) % n]
    return gain - stretch_cost(distance, other[: length + 4], weight)  # type: ignore[no-any-return]


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
        filled = 0
        for q in range(-2, 3):
            for e in range(2):
                node = tour[((i if e == 0 else j) + q) % n]
                if not queued[node]:
                    queue[filled] = node
                    queued[node] = True
                    filled += 1
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
