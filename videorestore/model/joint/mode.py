"""The joint posterior mode of positions and hyper-parameters, steps 2 and 3 of the paper's recipe.

For many frames a cheaper posterior stands in for the exact one while the search goes on: harmonics where the curve is
smooth, windows where its memory is short. Both approach it as close as their reach asks, and a mode that was found is
always judged by the exact one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from videorestore.model.covariance import Array, covariance, precision
from videorestore.model.joint.features import plan
from videorestore.model.joint.objective import MAX_RATIO, Posterior, Windows, permuted
from videorestore.model.joint.optimize import minimise
from videorestore.model.joint.pixels import log_likelihood
from videorestore.model.options import Options

STRETCH = 300
"""Frames in the middle of the curve from which a first alpha is found."""
RATIOS = 28
"""Noise ratios tried before the search."""
EXACT = 400
"""Up to this many frames the exact posterior is used as it is."""
ROOM = 2.0
"""Factor by which alpha may move before harmonics or windows are chosen anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """Positions (n,) in any order, alpha (shapes,) and ratio (groups,) under a posterior, and steps taken so far."""

    posterior: Posterior
    x: Array
    alpha: Array
    ratio: Array
    n_iter: int = 0

    @classmethod
    def at(cls, posterior: Posterior, x: Array) -> Mode:
        """Rough hyper-parameters for positions ``x`` (n,): the best of a grid, from the largest group."""
        order = np.argsort(x, kind="stable")
        group = max(posterior.groups, key=lambda g: g.size)
        if order.size > STRETCH:
            # A stretch in the middle says as much about alpha as the whole, at a fraction of the cost.
            low = (order.size - STRETCH) // 2
            order = order[low : low + STRETCH]
        gram, sorted_x = group.gram[np.ix_(order, order)], x[order]
        ratios = np.geomspace(max(posterior.noise_floor, 1e-5), MAX_RATIO, RATIOS)
        noise = None if group.noise_var is None else np.full(1, group.noise_var)
        best = (-np.inf, 100.0, 0.1)
        for alpha in np.geomspace(3.0, max(30.0, 0.25 * x.size**2), 7):
            values, vectors = np.linalg.eigh(
                covariance(posterior.kernel, sorted_x, sorted_x, float(alpha), posterior.periodic)
            )
            squares = np.einsum("ik,ik->k", vectors, gram @ vectors)[None, :] / group.size
            table = log_likelihood(squares, np.maximum(values, 0.0), ratios, noise)[0]
            k = int(table.argmax())
            if table[k] > best[0]:
                best = (float(table[k]), float(alpha), float(ratios[k]))
        return cls(
            posterior=posterior,
            x=x,
            alpha=np.full(posterior.shapes, best[1]),
            ratio=np.full(len(posterior.groups), best[2]),
        )

    def correlation(self, g: int) -> Array:
        """E (n, n) of a group."""
        p = self.posterior
        return covariance(p.kernel, self.x, self.x, float(self.alpha[p.groups[g].shape]), p.periodic)

    def inverse(self, g: int) -> Array:
        """Inverse of E + ratio I of a group."""
        return precision(self.correlation(g), float(self.ratio[g]))

    def phi(self) -> Array:
        """Signal variance (groups,)."""
        out = np.empty(self.ratio.size)
        for g, group in enumerate(self.posterior.groups):
            quadratic = float(np.vdot(self.inverse(g), group.gram)) if group.noise_var is None else 0.0
            out[g] = group.phi(quadratic, group.size * self.x.size, float(self.ratio[g]))
        return out


def optimise(
    mode: Mode,
    options: Options,
    *,
    max_iter: int | None = None,
    warm: bool = False,
    tell: Callable[[int, float], None] | None = None,
) -> Mode:
    """Hyper-parameters given the positions, then all together; the order of the positions is kept.

    ``warm``: the hyper-parameters are good already and need no step of their own.
    """
    order = np.argsort(mode.x, kind="stable")
    posterior = permuted(mode.posterior, order)
    steps = options.max_iter if max_iter is None else max_iter
    x, alpha, ratio = mode.x[order], mode.alpha, np.maximum(mode.ratio, options.noise_floor * 1.01)
    taken = mode.n_iter

    def search(limit: int, tolerance: float, move: bool) -> None:
        nonlocal x, alpha, ratio, taken
        for _ in range(6):
            cheap = economise(posterior, x, alpha, ratio)
            theta = cheap.posterior.pack(x, alpha, ratio)
            free = np.ones(theta.size, dtype=bool)
            free[: x.size] = move
            found = minimise(
                cheap.posterior,
                theta,
                method=options.optimizer,
                max_iter=limit,
                # Steps in harmonics are cheap: go on until the positions rest, too.
                tolerance=0.1 * tolerance if cheap.posterior.fourier else tolerance,
                free=free,
                callback=tell,
            )
            x, alpha, ratio = cheap.posterior.unpack(found.theta)
            taken += found.n_iter
            # A stand-in is good near the alpha it was made for; else go on from where it led.
            if cheap.low <= alpha.min() and alpha.max() <= cheap.high:
                break

    if not (warm and options.learn_x):
        search(min(30, steps), 1e-6, False)
    if options.learn_x:
        search(steps, options.tolerance, True)
    moved = np.empty(x.size)
    moved[order] = x
    return replace(mode, x=moved, alpha=alpha, ratio=ratio, n_iter=taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Economy:
    """A posterior that is cheaper, and the alphas for which it is good."""

    posterior: Posterior
    low: float = 0.0
    high: float = np.inf


def economise(posterior: Posterior, x: Array, alpha: Array, ratio: Array) -> Economy:
    """The cheapest good stand-in for ``posterior`` near sorted ``x`` (n,), ``alpha`` and ``ratio``."""
    n = posterior.n
    best, cost = Economy(posterior=posterior), 0.5 * 5.0 * n**3
    if n <= EXACT:
        return best
    low, high = float(alpha.min()) / ROOM, float(alpha.max()) * ROOM
    harmonics = plan(posterior.kernel, posterior.periodic, (low, high), float(ratio.min()), int(0.6 * n))
    if harmonics is not None:
        m = 2 * harmonics.count + 1
        price = 2.0 * n * n * m + 10.0 * n * m * m
        if price < cost:
            best, cost = Economy(posterior=replace(posterior, fourier=harmonics), low=low, high=high), price
    if not posterior.periodic:
        windows = make_windows(x, posterior.kernel.memory / np.sqrt(2 * low))
        if 5.0 * sum((stop - start) ** 3 for start, stop, _ in windows) < cost:
            best = Economy(posterior=replace(posterior, windows=windows), low=low)
    return best


def make_windows(x: Array, reach: float) -> Windows:
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
