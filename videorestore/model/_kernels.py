"""Loops of the electroGP, compiled. They check nothing; their callers do.

Each output element has one owner, so the bits do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import parallel_kernel

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
