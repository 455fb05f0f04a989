"""Loops of the electroGP, compiled. They check nothing; their callers do.

Each output element has one owner, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Array = NDArray[np.float64]
Single = NDArray[np.float32]


@parallel_kernel(lambda sine, *_: sine.size, grain=128)
def repulsion(start: int, stop: int, sine: Array, cosine: Array, logs: Array, cots: Array) -> None:
    """Per point, sum over the others of log|2 sin(a_i - a_j)| and of cot(a_i - a_j).

    ``sine``, ``cosine`` (n,) of the angles ``a = pi x``; ``logs``, ``cots`` (n,) are filled. Products of
    sines spare a trigonometric call per pair; four factors share one logarithm.
    """
    n = sine.size
    for i in range(start, stop):
        si, ci = sine[i], cosine[i]
        log_sum = 0.0
        cot_sum = 0.0
        product = 1.0
        held = 0
        for j in range(n):
            if j != i:
                s = si * cosine[j] - ci * sine[j]
                if si == sine[j] and ci == cosine[j]:
                    # A fused product leaves a rounding error where the difference is nothing.
                    s = 0.0
                c = ci * cosine[j] + si * sine[j]
                product *= abs(2.0 * s)
                cot_sum += c / s if s != 0.0 else np.inf
                held += 1
                if held == 4:
                    log_sum += np.log(product) if product > 0.0 else -np.inf
                    product = 1.0
                    held = 0
        logs[i] = log_sum + (np.log(product) if product > 0.0 else -np.inf)
        cots[i] = cot_sum


@kernel
def ratio_loss(squares: Single, spectrum: Array, ratio: float) -> float:
    """Profile negative log likelihood of one pixel, up to a constant, at one noise ratio."""
    n = spectrum.size
    quadratic = 0.0
    logs = 0.0
    product = 1.0
    held = 0
    for i in range(n):
        v = spectrum[i] + ratio
        quadratic += squares[i] / v
        product *= v
        held += 1
        # Up to eight factors of at least 1e-8 each stay above the smallest double.
        if held == 8:
            logs += np.log(product)
            product = 1.0
            held = 0
    logs += np.log(product)
    return float(0.5 * n * np.log(quadratic / n) + 0.5 * logs)


@parallel_kernel(lambda squares, *_: squares.shape[0], grain=64)
def search_ratio(
    start: int, stop: int, squares: Single, spectrum: Array, low: Array, high: Array, ratio: Array, phi: Array
) -> None:
    """Noise ratio of each pixel by golden section in log(ratio) between ``low`` and ``high``, and its phi.

    ``squares`` (k, n) squared data in the eigenbasis of the covariance, ``spectrum`` (n,) its eigenvalues,
    ``low``, ``high`` (k,) brackets of log(ratio); ``ratio``, ``phi`` (k,) are filled.
    """
    golden = 0.6180339887498949
    for j in range(start, stop):
        a, b = low[j], high[j]
        c = b - golden * (b - a)
        d = a + golden * (b - a)
        fc = ratio_loss(squares[j], spectrum, np.exp(c))
        fd = ratio_loss(squares[j], spectrum, np.exp(d))
        for _ in range(10):
            if fc < fd:
                b, d, fd = d, c, fc
                c = b - golden * (b - a)
                fc = ratio_loss(squares[j], spectrum, np.exp(c))
            else:
                a, c, fc = c, d, fd
                d = a + golden * (b - a)
                fd = ratio_loss(squares[j], spectrum, np.exp(d))
        best = np.exp(c if fc < fd else d)
        quadratic = 0.0
        for i in range(spectrum.size):
            quadratic += squares[j, i] / (spectrum[i] + best)
        ratio[j] = best
        phi[j] = quadratic / spectrum.size


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
