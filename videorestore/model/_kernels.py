"""Loops of the electroGP, compiled. They check nothing; their callers do.

Each output element has one owner, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Array = NDArray[np.float64]
Single = NDArray[np.float32]


@parallel_kernel
def repulsion(sine: Array, cosine: Array, logs: Array, cots: Array) -> None:
    """Per point, sum over the others of log|2 sin(a_i - a_j)| and of cot(a_i - a_j).

    ``sine``, ``cosine`` (n,) of the angles ``a = pi x``; ``logs``, ``cots`` (n,) are filled. Products of
    sines spare a trigonometric call per pair; four factors share one logarithm.
    """
    n = sine.size
    for i in prange(n):
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


@parallel_kernel
def search_ratio(squares: Single, spectrum: Array, low: Array, high: Array, ratio: Array, phi: Array) -> None:
    """Noise ratio of each pixel by golden section in log(ratio) between ``low`` and ``high``, and its phi.

    ``squares`` (k, n) squared data in the eigenbasis of the covariance, ``spectrum`` (n,) its eigenvalues,
    ``low``, ``high`` (k,) brackets of log(ratio); ``ratio``, ``phi`` (k,) are filled.
    """
    golden = 0.6180339887498949
    for j in prange(squares.shape[0]):
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


@parallel_kernel
def polyline_distance(points: Array, nodes: Array, out: Array) -> None:
    """Exact distance (m,) from each of ``points`` (m, d) to the polyline through ``nodes`` (p, d)."""
    m, d = points.shape
    p = nodes.shape[0]
    for i in prange(m):
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
