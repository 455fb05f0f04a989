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


def cost_with_bends(order, cost, weight):
    """Of a closed tour: its edges, and at every node the detour over going straight; the last node is a free end."""
    end = len(cost) - 1
    total = length(order, cost)
    for k in range(len(order)):
        a, b, c = (int(order[(k + s) % len(order)]) for s in (-1, 0, 1))
        if end not in (a, b, c):
            total += weight * (cost[a, b] + cost[b, c] - cost[a, c])
    return total
