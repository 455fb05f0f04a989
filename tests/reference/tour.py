"""Slow, obvious twins of the tours through all frames."""

from __future__ import annotations

from itertools import permutations


def length(order, cost):
    """Of the closed tour."""
    return sum(cost[order[k - 1], order[k]] for k in range(len(order)))


def shortest(cost):
    """Length of the shortest closed tour, by trying all."""
    n = len(cost)
    return min(length((0, *rest), cost) for rest in permutations(range(1, n)))


def greedy_edges(edges, n):
    """Edges of the paths that joining the shortest edges first leads to: no fork, no circle."""
    taken: list[tuple[int, int]] = []

    def reach(a):
        found, grown = {a}, True
        while grown:
            more = {q for p, q in taken if p in found} | {p for p, q in taken if q in found}
            grown = not more <= found
            found |= more
        return found

    for a, b in ((int(p), int(q)) for p, q in edges):
        if all(sum(k in edge for edge in taken) < 2 for k in (a, b)) and b not in reach(a):
            taken.append((a, b))
    return {frozenset(edge) for edge in taken}


def cost_with_bends(order, cost, weight):
    """Of a closed tour: its edges, and at every node the detour over going straight; the last node is a free end."""
    end = len(cost) - 1
    total = length(order, cost)
    for k in range(len(order)):
        a, b, c = (int(order[(k + s) % len(order)]) for s in (-1, 0, 1))
        if end not in (a, b, c):
            total += weight * (cost[a, b] + cost[b, c] - cost[a, c])
    return total
