"""The joint posterior mode of positions and hyper-parameters, steps 2 and 3 of the paper's recipe."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from videorestore.model.covariance import covariance
from videorestore.model.joint.objective import Posterior
from videorestore.model.joint.optimize import minimise
from videorestore.model.joint.pixels import log_likelihood, ratio_grid
from videorestore.model.joint.scaling import economise
from videorestore.model.outcome import Options

Array = NDArray[np.float64]

STRETCH = 300
"""Frames in the middle of the curve from which a first alpha is found."""


def optimise(
    posterior: Posterior,
    x: Array,
    alpha: Array,
    ratio: Array,
    options: Options,
    *,
    max_iter: int | None = None,
    warm: bool = False,
    tell: Callable[[int, float], None] | None = None,
) -> tuple[Array, Array, Array, int]:
    """Joint mode of sorted positions and hyper-parameters: hyper-parameters first, then everything.

    ``warm``: the hyper-parameters are good already and need no step of their own.

    Returns
    -------
    x, alpha, ratio, n_iter
    """
    steps = options.max_iter if max_iter is None else max_iter
    ratio = np.maximum(ratio, options.noise_floor * 1.01)
    taken = 0

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
                tolerance=0.1 * tolerance if cheap.kind == "harmonics" else tolerance,
                free=free,
                callback=tell,
            )
            x, alpha, ratio = cheap.posterior.unpack(found.theta)
            taken += found.n_iter
            # A stand-in is good near the alpha it was made for; else go on from where it led.
            if cheap.serves(alpha):
                break

    if not (warm and options.learn_x):
        search(min(30, steps), 1e-6, False)
    if options.learn_x:
        search(steps, options.tolerance, True)
    return x, alpha, ratio, taken


def start_hyper(posterior: Posterior, x: Array) -> tuple[Array, Array]:
    """Rough (alpha, ratio) for sorted positions ``x``: the best of a grid, from the largest part's Gram matrix."""
    part = max((p for g in posterior.groups for p in g.parts), key=lambda p: p.size * p.gram.shape[0])
    noise = posterior.groups[0].noise_var
    gram = part.gram
    at = x if part.rows is None else x[part.rows]
    n = at.size
    if n > STRETCH:
        # A stretch in the middle says as much about alpha as the whole, at a fraction of the cost.
        low = (n - STRETCH) // 2
        inside = slice(low, low + STRETCH)
        gram, at = gram[inside, inside], at[inside]
    ratios = ratio_grid(max(posterior.noise_floor, 1e-5))
    top = max(30.0, 0.25 * x.size**2)
    best = (-np.inf, 100.0, 0.1)
    for alpha in np.geomspace(3.0, top, 7):
        values, vectors = np.linalg.eigh(
            covariance(posterior.kernel, at, at, float(alpha), posterior.periodic)
        )
        squares = np.einsum("ik,ik->k", vectors, gram @ vectors)[None, :] / part.size
        table = log_likelihood(
            squares, np.maximum(values, 0.0), ratios, None if noise is None else np.full(1, noise)
        )[0]
        k = int(table.argmax())
        if table[k] > best[0]:
            best = (float(table[k]), float(alpha), float(ratios[k]))
    return np.full(posterior.shapes, best[1]), np.full(len(posterior.groups), best[2])
