"""How well a fit predicts what it has not seen: for the choice of starts and kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from videorestore.model.covariance import covariance, kernel_named
from videorestore.model.joint.mode import optimise, start_hyper
from videorestore.model.joint.objective import Group, Part, Posterior, inverse_and_logdet
from videorestore.model.outcome import Options

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

R_BASE = 0.15
"""Repulsion where none is given, before it is divided by the share of pixels that count.

Of a rendered turntable, a pan and a ring that shrinks, with 1 to 8 frames taken out, clean, in 8 bit and with noise of
sd 10, holes come back up to a quarter too narrow at 1, up to a fifth at 0.3, up to an eighth too wide at 0.1.
"""
FRAMES = 300
"""Frames, evenly spread, on which starts are compared."""


def base_r(options: Options) -> float:
    """The repulsion before it is weighed against the likelihood."""
    return R_BASE if isinstance(options.r, str) else float(options.r)


def effective_share(posterior: Posterior, x: Array, alpha: Array, ratio: Array) -> float:
    """Share of the pixels that tell something of their own, in (0, 1].

    Made white along the curve, frames are independent, and the products of two of them have the mean square
    tr(C^2), C the covariance between pixels; (tr C)^2 / tr(C^2) is the number of independent pixels that would
    scatter as much. Pixels that go together, and a curve that the kernel does not suit, both lower it: the
    likelihood is then too sure of itself by that factor.
    """
    group = max(posterior.groups, key=lambda g: g.size)
    part = max(group.parts, key=lambda p: p.size * p.gram.shape[0])
    at = x if part.rows is None else x[part.rows]
    n = at.size
    e = covariance(posterior.kernel, at, at, float(alpha[group.shape]), posterior.periodic)
    e.flat[:: n + 1] += ratio[posterior.groups.index(group)]
    try:
        factor = np.linalg.cholesky(e)
    except np.linalg.LinAlgError:
        return 1.0
    white = solve_triangular(factor, part.gram, lower=True)
    white = solve_triangular(factor, white.T, lower=True)
    own = np.diagonal(white)
    together = (np.square(white).sum() - np.square(own).sum()) / (n * (n - 1))
    # So many products would be seen of pixels that are independent.
    return float(np.clip(np.square(own.mean()) / max(together, 1e-300) / part.size, 1.0 / part.size, 1.0))


def log_score(posterior: Posterior, x: Array, alpha: Array, ratio: Array) -> float:
    """Leave-one-out log predictive density per value, given positions and hyper-parameters, closed form.

    With M the inverse covariance, frame i is predicted with variance phi / M_ii and error (M y)_i / M_ii.
    """
    phi = posterior.profile_phi(x, alpha, ratio)
    total = 0.0
    for g, group in enumerate(posterior.groups):
        for part in group.parts:
            at = x if part.rows is None else x[part.rows]
            e = covariance(posterior.kernel, at, at, float(alpha[group.shape]), posterior.periodic)
            e.flat[:: at.size + 1] += ratio[g]
            inverse, _ = inverse_and_logdet(e)
            if inverse is None:
                return -np.inf
            own = np.diagonal(inverse)
            squared = np.einsum("ij,ij->i", inverse @ part.gram, inverse)
            logs = -0.5 * part.size * np.log(2 * np.pi * phi[g] / own) - 0.5 * squared / (phi[g] * own)
            total += float(logs.sum())
    return total / posterior.values


def held_out_evidence(
    gram: Array, size: float, order: Indices, options: Options, noise: float | None
) -> float:
    """Log density of every fifth frame of an order, its position integrated out, given a fit to the others.

    The posterior mode itself prefers wrong orders: positions soak up noise. A held-out frame cannot.

    Parameters
    ----------
    gram : ndarray (n, n)
        Of all pixels.
    size : float
        Number of pixels.
    order : ndarray (n,)
        Frame numbers along the curve.
    options : Options
        Kernel (not "auto"), r, optimiser.
    noise : float, optional
        Known noise variance.

    Returns
    -------
    evidence : float
        Mean over held-out frames, per pixel.
    """
    n = order.size
    if n > FRAMES:
        # The same frames for every order, so that the scores compare.
        chosen = np.zeros(n, dtype=bool)
        chosen[np.linspace(0, n - 1, FRAMES).astype(int)] = True
        order = order[chosen[order]]
        n = order.size
    held = np.zeros(n, dtype=bool)
    held[2 : n - 1 : 5] = True
    if n < 8:
        held[:] = False
        held[n // 2] = True
    train, test = order[~held], order[held]
    kept = gram[np.ix_(train, train)]
    posterior = Posterior(
        groups=[Group(parts=(Part(gram=kept, size=size),), noise_var=noise)],
        n=train.size,
        kernel=kernel_named(options.kernel),
        r=base_r(options),
        periodic=options.periodic,
        noise_floor=options.noise_floor,
    )
    x = (np.arange(train.size) + 0.5) / train.size
    x, alpha, ratio, _ = optimise(posterior, x, *start_hyper(posterior, x), options, max_iter=40)
    phi = float(posterior.profile_phi(x, alpha, ratio)[0])
    grid = np.linspace(0.0, 1.0, 801) if options.periodic else np.linspace(x[0], x[-1], 801)
    cross = covariance(posterior.kernel, grid, x, float(alpha[0]), options.periodic)
    e = covariance(posterior.kernel, x, x, float(alpha[0]), options.periodic)
    e.flat[:: x.size + 1] += ratio[0]
    weight = np.linalg.solve(e, cross.T).T
    variance = phi * (1.0 + ratio[0] - np.einsum("ij,ij->i", weight, cross))
    fitted = np.einsum("ij,ij->i", weight @ kept, weight)
    error = fitted[:, None] - 2.0 * weight @ gram[np.ix_(train, test)] + np.diagonal(gram)[test][None, :]
    logs = (
        -0.5 * size * np.log(2 * np.pi * variance)[:, None] - 0.5 * np.maximum(error, 0.0) / variance[:, None]
    )
    top = logs.max(axis=0)
    return float((top + np.log(np.exp(logs - top).mean(axis=0))).mean() / size)
