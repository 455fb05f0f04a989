"""Cheaper posteriors for many frames: harmonics where the curve is smooth, windows where its memory is short.

Both approach the exact posterior as close as their reach asks; the result of a fit is always evaluated with
the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.model.groups import Array, Group, Indices, Part
from videorestore.model.joint.features import Fourier, plan
from videorestore.model.joint.objective import Posterior

EXACT = 400
"""Up to this many frames the exact posterior is used as it is."""
ROOM = 2.0
"""Factor by which alpha may move before harmonics or windows are chosen anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Economy:
    """A posterior that is cheaper, and the alphas for which it was made."""

    posterior: Posterior
    alpha: tuple[float, float]
    kind: str

    def serves(self, alpha: Array) -> bool:
        """The alphas are within what it was made for."""
        return self.kind == "exact" or bool(alpha.min() >= self.alpha[0] and alpha.max() <= self.alpha[1])


def economise(posterior: Posterior, x: Array, alpha: Array, ratio: Array) -> Economy:
    """The cheapest good stand-in for ``posterior`` near sorted ``x`` (n,), ``alpha`` and ``ratio``."""
    n = posterior.n
    low, high = float(alpha.min()) / ROOM, float(alpha.max()) * ROOM
    exact = Economy(posterior=posterior, alpha=(low, high), kind="exact")
    if n <= EXACT:
        return exact
    best, cost = exact, 0.5 * 5.0 * n**3
    harmonics = plan(posterior.kernel, posterior.periodic, (low, high), float(ratio.min()), int(0.6 * n))
    if harmonics is not None:
        m = 2 * harmonics.count + 1
        price = 2.0 * n * n * m + 10.0 * n * m * m
        if price < cost:
            best, cost = _with_harmonics(posterior, harmonics, (low, high)), price
    if not posterior.periodic:
        edges = window_edges(x, posterior.kernel.memory / np.sqrt(2 * float(alpha.min()) / 2.0))
        price = 5.0 * sum((stop - start) ** 3 for start, stop, _ in edges)
        if price < cost:
            spans: dict[tuple[int, int, int], Indices] = {}
            windows = replace(posterior, groups=[_cut(group, edges, n, spans) for group in posterior.groups])
            best = Economy(posterior=windows, alpha=(float(alpha.min()) / 2.0, np.inf), kind="windows")
    return best


def _with_harmonics(posterior: Posterior, harmonics: Fourier, alpha: tuple[float, float]) -> Economy:
    return Economy(posterior=replace(posterior, fourier=harmonics), alpha=alpha, kind="harmonics")


def window_edges(x: Array, reach: float) -> list[tuple[int, int, int]]:
    """Windows over sorted ``x``: (start, stop, sign); neighbours overlap by ``reach``, overlaps have sign -1.

    The density of all is that of the windows over that of the overlaps, exactly so if a frame beyond an
    overlap tells nothing more.
    """
    n = x.size
    overlap = int((np.searchsorted(x, x + reach, side="right") - np.arange(n)).max())
    size = max(3 * overlap, 90)
    if size >= n:
        return [(0, n, 1)]
    step = size - overlap
    out: list[tuple[int, int, int]] = []
    start = 0
    while True:
        stop = min(start + size, n)
        if n - stop < step // 3:
            stop = n
        out.append((start, stop, 1))
        if stop == n:
            return out
        out.append((stop - overlap, stop, -1))
        start = stop - overlap


def _cut(
    group: Group, edges: list[tuple[int, int, int]], n: int, spans: dict[tuple[int, int, int], Indices]
) -> Group:
    """A group in windows; parts on the same frames share their rows through ``spans``."""
    parts = []
    for part in group.parts:
        rows: NDArray[np.intp] = np.arange(n) if part.rows is None else part.rows
        for start, stop, sign in edges:
            first, last = np.searchsorted(rows, (start, stop))
            if last <= first:
                continue
            key = (id(part.rows), start, stop)
            inside = spans.setdefault(key, rows[first:last])
            gram = part.gram[first:last, first:last]
            parts.append(Part(gram=gram if sign > 0 else -gram, size=sign * part.size, rows=inside))
    return replace(group, parts=tuple(parts))
