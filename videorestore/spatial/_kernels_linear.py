"""Compiled kernels for small dense systems in float32: a few dozen rows, in blocks of 4 x 8."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel
from videorestore.spatial._lanes import LANES, ROWS, multiply_add, transpose_block

Floats = NDArray[np.float32]

_ONE, _NONE = np.float32(1.0), np.float32(0.0)
_DEPTH = 64
"""Rows that are multiplied at once: two strips of them stay in the first-level cache."""


@kernel
def transpose(rows: Floats, m: int, d: int, out: Floats) -> None:
    """``out[k, i] = rows[i, k]`` for ``i < m``, ``k < d``, multiples of 8."""
    for i in range(0, m, LANES):
        for k in range(0, d, LANES):
            transpose_block(rows, i, k, out)


@kernel
def products(a: Floats, b: Floats, m: int, o: int, d: int, upper: bool, out: Floats) -> None:
    """``out = a' b`` for the first ``m`` columns of ``a`` and ``o`` of ``b``, multiples of 4 and 8; ``d`` rows, of 4.

    ``upper``: blocks below the diagonal are left as they are.
    """
    for k in range(0, d, _DEPTH):
        keep = _ONE if k else _NONE
        for i in range(0, m, ROWS):
            for j in range(i // LANES * LANES if upper else 0, o, LANES):
                multiply_add(out, i, j, a, k, i, b, k, j, min(_DEPTH, d - k), _ONE, keep)


@kernel
def cholesky(a: Floats, m: int, corners: Floats) -> None:
    """Upper factor U of ``a`` = U'U in place, from the upper half; ``m`` is a multiple of 8.

    ``corners[c : c + 4]``, for every block on the diagonal, is the inverse of that block of U. What lies below the
    diagonal is not defined.
    """
    for c in range(0, m, ROWS):
        for j in range(c // LANES * LANES, m, LANES):
            multiply_add(a, c, j, a, 0, c, a, 0, j, c, -_ONE, _ONE)
        for i in range(ROWS):
            for j in range(i, ROWS):
                s = a[c + i, c + j]
                for k in range(i):
                    s -= a[c + k, c + i] * a[c + k, c + j]
                if i == j:
                    a[c + i, c + i] = np.sqrt(max(s, np.float32(1e-6)))
                else:
                    a[c + i, c + j] = s / a[c + i, c + i]
        for j in range(ROWS):
            for i in range(ROWS - 1, -1, -1):
                s = _ONE if i == j else _NONE
                for k in range(i + 1, j + 1):
                    s -= a[c + i, c + k] * corners[c + k, j]
                corners[c + i, j] = s / a[c + i, c + i] if i <= j else _NONE
        # The block itself is made: what is right of it within its eight columns and beyond follows.
        for j in range(c // LANES * LANES, m, LANES):
            if j > c:
                multiply_add(a, c, j, corners, c, 0, a, c, j, ROWS, _ONE, _NONE)
            elif j == c:
                for i in range(ROWS - 1, -1, -1):
                    for l in range(ROWS, LANES):
                        s = _NONE
                        for k in range(i + 1):
                            s += corners[c + k, i] * a[c + k, c + l]
                        a[c + i, c + l] = s


@kernel
def forward(factor: Floats, corners: Floats, first: Any, m: int, b: Floats, j: int) -> None:
    """Solve U'x = b in place for eight columns of ``b`` from ``j``, whose rows above ``first``, a multiple of 4, are zero."""
    for i in range(first, m, ROWS):
        multiply_add(b, i, j, factor, first, i, b, first, j, i - first, -_ONE, _ONE)
        multiply_add(b, i, j, corners, i, 0, b, i, j, ROWS, _ONE, _NONE)


@kernel
def invert(factor: Floats, corners: Floats, m: int, out: Floats) -> Any:
    """The inverse of U', a lower triangle; returns its squared norm, the trace of the inverse of U'U."""
    for i in range(m):
        for j in range(m):
            out[i, j] = _NONE
        out[i, i] = _ONE
    for j in range(0, m, LANES):
        forward(factor, corners, j, m, out, j)
    total = _NONE
    for i in range(m):
        row = out[i]
        for j in range(m):
            total += row[j] * row[j]
    return total


@kernel
def solve(factor: Floats, corners: Floats, inverse: Floats, m: int, b: Floats, o: int, out: Floats) -> None:
    """Solve U'U x = b for ``o`` columns, a multiple of 8; ``inverse`` is that of U', ``b`` is overwritten."""
    # A literal 0 is a type of its own, for which all would be compiled once more.
    none = np.int64(0)
    for j in range(0, o, LANES):
        forward(factor, corners, none, m, b, j)
        for i in range(0, m, ROWS):
            multiply_add(out, i, j, inverse, i, i, b, i, j, m - i, _ONE, _NONE)


@kernel
def combine(weights: Floats, rows: Floats, m: int, o: int, d: int, out: Floats) -> None:
    """``out[j] += sum_i weights[i, j] rows[i]`` for ``j < o``, a multiple of 4; ``m`` is one of 4, ``d`` one of 8."""
    for j in range(0, o, ROWS):
        for k in range(0, d, LANES):
            multiply_add(out, j, k, weights, 0, j, rows, 0, k, m, _ONE, _ONE)
