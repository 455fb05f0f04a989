"""Compiled kernels for small dense systems in float32: a few dozen rows, vectorised along the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]


@kernel
def products(a: Floats, b: Floats, m: int, o: int, d: int, symmetric: bool, out: Floats) -> None:
    """``out[i, j] = a[i] . b[j]`` for ``i < m``, ``j < o``; rows beyond are zero up to multiples of 2 and 4."""
    for i in range(0, m, 2):
        a0 = a[i]
        a1 = a[i + 1]
        stop = i + 2 if symmetric else o
        for j in range(0, stop, 4):
            b0, b1, b2, b3 = b[j], b[j + 1], b[j + 2], b[j + 3]
            s00 = np.float32(0.0)
            s01 = np.float32(0.0)
            s02 = np.float32(0.0)
            s03 = np.float32(0.0)
            s10 = np.float32(0.0)
            s11 = np.float32(0.0)
            s12 = np.float32(0.0)
            s13 = np.float32(0.0)
            for k in range(d):
                u = a0[k]
                v = a1[k]
                s00 += u * b0[k]
                s01 += u * b1[k]
                s02 += u * b2[k]
                s03 += u * b3[k]
                s10 += v * b0[k]
                s11 += v * b1[k]
                s12 += v * b2[k]
                s13 += v * b3[k]
            out[i, j], out[i, j + 1], out[i, j + 2], out[i, j + 3] = s00, s01, s02, s03
            out[i + 1, j], out[i + 1, j + 1], out[i + 1, j + 2], out[i + 1, j + 3] = s10, s11, s12, s13


@kernel
def cholesky(a: Floats, m: int, panel: Floats) -> None:
    """Lower Cholesky factor in place, four columns at a time; ``m`` is a multiple of 4, the diagonal is inverted."""
    for c in range(0, m, 4):
        for j in range(c, c + 4):
            rj = a[j]
            for i in range(j, m):
                s = a[i, j]
                for k in range(c, j):
                    s -= a[i, k] * rj[k]
                if i == j:
                    rj[j] = np.float32(1.0) / np.sqrt(max(s, np.float32(1e-6)))
                else:
                    a[i, j] = s * rj[j]
        for i in range(c + 4, m):
            for k in range(4):
                panel[k, i] = a[i, c + k]
        p0, p1, p2, p3 = panel[0], panel[1], panel[2], panel[3]
        for i in range(c + 4, m):
            row = a[i]
            l0, l1, l2, l3 = row[c], row[c + 1], row[c + 2], row[c + 3]
            for j in range(c + 4, i + 1):
                row[j] -= (l0 * p0[j] + l1 * p1[j]) + (l2 * p2[j] + l3 * p3[j])


@kernel
def _eliminate(factor: Floats, i: int, first: int | np.int64, stop: int, b: Floats, o: int) -> None:
    """Subtract the solved rows ``first`` to ``stop`` from row ``i`` of the right side."""
    bi = b[i]
    k = first
    while k + 4 <= stop:
        f0, f1, f2, f3 = factor[i, k], factor[i, k + 1], factor[i, k + 2], factor[i, k + 3]
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        for j in range(o):
            bi[j] -= (f0 * b0[j] + f1 * b1[j]) + (f2 * b2[j] + f3 * b3[j])
        k += 4
    while k < stop:
        f0 = factor[i, k]
        b0 = b[k]
        for j in range(o):
            bi[j] -= f0 * b0[j]
        k += 1
    f0 = factor[i, i]
    for j in range(o):
        bi[j] *= f0


@kernel
def solve(factor: Floats, m: int, b: Floats, o: int) -> None:
    """Solve in place for the ``o`` columns of ``b``, with a factor of :func:`cholesky` (its upper half is overwritten)."""
    # A literal 0 is a type of its own, for which all would be compiled once more.
    none = np.int64(0)
    for i in range(m):
        _eliminate(factor, i, none, i, b, o)
    for i in range(m):
        for k in range(i):
            factor[k, i] = factor[i, k]
    for i in range(m - 1, -1, -1):
        _eliminate(factor, i, i + 1, m, b, o)


@kernel
def trace_of_inverse(factor: Floats, m: int, inverse: Floats) -> Any:
    """Trace of the inverse of the matrix whose factor is given: squared norm of the inverted factor."""
    total = np.float32(0.0)
    for i in range(m):
        width = (i // 8 + 1) * 8
        row = inverse[i]
        for j in range(width):
            row[j] = np.float32(0.0)
        row[i] = np.float32(1.0)
        # Rows above are zero right of their own width: reading them up to ``width`` is safe once they are cleared.
        _eliminate(factor, i, np.int64(0), i, inverse, width)
        for j in range(width):
            total += row[j] * row[j]
    return total


@kernel
def combine(weights: Floats, rows: Floats, m: int, o: int, d: int, out: Floats) -> None:
    """``out[j] += sum_i weights[i, j] rows[i]`` for ``j < o``; ``m`` is a multiple of 4."""
    for j in range(o):
        target = out[j]
        for i in range(0, m, 4):
            w0, w1, w2, w3 = weights[i, j], weights[i + 1, j], weights[i + 2, j], weights[i + 3, j]
            r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
            for k in range(d):
                target[k] += (w0 * r0[k] + w1 * r1[k]) + (w2 * r2[k] + w3 * r3[k])
