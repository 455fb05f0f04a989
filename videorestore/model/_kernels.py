"""Loops of the electroGP, compiled. They check nothing; their callers do.

Each output element has one owner, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Array = NDArray[np.float64]


@parallel_kernel(lambda points, *_: points.shape[0], grain=64)
def polyline_distance(start: int, stop: int, points: Array, nodes: Array, out: Array) -> None:
    """Exact distance (m,) from each of ``points`` (m, d) to the polyline through ``nodes`` (p, d)."""
    p, d = nodes.shape
    for i in range(start, stop):
        best = np.inf
        if p == 1:
            best = 0.0
            for k in range(d):
                best += (points[i, k] - nodes[0, k]) ** 2
        for s in range(p - 1):
            length2 = 0.0
            along = 0.0
            apart = 0.0
            for k in range(d):
                edge = nodes[s + 1, k] - nodes[s, k]
                gap = points[i, k] - nodes[s, k]
                length2 += edge * edge
                along += edge * gap
                apart += gap * gap
            if length2 > 0.0:
                t = min(1.0, max(0.0, along / length2))
                apart += t * (t * length2 - 2.0 * along)
            best = min(best, apart)
        out[i] = np.sqrt(max(best, 0.0))


@kernel
def greedy_tour(edges: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """A closed tour of ``n`` points from ``edges`` (m, 2), shortest first: joins ends of paths while it can.

    The edges must hold every pair, so that the paths end up as one.
    """
    parent = np.arange(n)
    degree = np.zeros(n, dtype=np.int64)
    link = np.full((n, 2), -1)
    joined = 0
    for e in range(edges.shape[0]):
        a, b = edges[e, 0], edges[e, 1]
        if degree[a] == 2 or degree[b] == 2:
            continue
        ra = a
        while parent[ra] != ra:
            parent[ra] = parent[parent[ra]]
            ra = parent[ra]
        rb = b
        while parent[rb] != rb:
            parent[rb] = parent[parent[rb]]
            rb = parent[rb]
        if ra == rb:
            continue
        parent[ra] = rb
        link[a, degree[a]] = b
        link[b, degree[b]] = a
        degree[a] += 1
        degree[b] += 1
        joined += 1
        if joined == n - 1:
            break
    order = np.empty(n, dtype=np.int64)
    at = 0
    for k in range(n):
        if degree[k] < 2:
            at = k
            break
    before = -1
    for k in range(n):
        order[k] = at
        following = link[at, 0] if link[at, 0] != before else link[at, 1]
        before = at
        at = following
    return order


@kernel
def shorten_tour(order: NDArray[np.int64], cost: Array, sweeps: int) -> None:
    """Shorten a closed tour in place: reverse stretches (2-opt), move stretches of up to three (or-opt)."""
    n = order.size
    tiny = 1e-12 * cost.max()
    for _ in range(sweeps):
        better = False
        for i in range(n - 1):
            for j in range(i + 2, n):
                a, b = order[i], order[i + 1]
                c, d = order[j], order[(j + 1) % n]
                if a == d:
                    continue
                if cost[a, c] + cost[b, d] < cost[a, b] + cost[c, d] - tiny:
                    low, high = i + 1, j
                    while low < high:
                        order[low], order[high] = order[high], order[low]
                        low += 1
                        high -= 1
                    better = True
        for length in range(1, 4):
            if n < length + 3:
                break
            for i in range(n):
                # The stretch i..i+length-1 (around the end), its neighbours before and after.
                first, last = order[i], order[(i + length - 1) % n]
                before, after = order[(i - 1) % n], order[(i + length) % n]
                gain = cost[before, first] + cost[last, after] - cost[before, after]
                best, where, turned = tiny, -1, False
                for k in range(n - length - 1):
                    p, q = order[(i + length + k) % n], order[(i + length + k + 1) % n]
                    base = cost[p, q] + gain
                    if base - cost[p, first] - cost[last, q] > best:
                        best, where, turned = base - cost[p, first] - cost[last, q], k, False
                    if base - cost[p, last] - cost[first, q] > best:
                        best, where, turned = base - cost[p, last] - cost[first, q], k, True
                if where >= 0:
                    held = np.empty(length, dtype=np.int64)
                    for s in range(length):
                        held[s] = order[(i + s) % n]
                    for k in range(where + 1):
                        order[(i + k) % n] = order[(i + length + k) % n]
                    for s in range(length):
                        order[(i + where + 1 + s) % n] = held[length - 1 - s] if turned else held[s]
                    better = True
        if not better:
            break
