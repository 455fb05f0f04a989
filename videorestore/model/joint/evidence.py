"""How well a fit predicts what it has not seen: for the choice of starts and kernels, and for the repulsion."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from videorestore.model.covariance import Array, covariance, with_noise
from videorestore.model.joint.group import Group
from videorestore.model.joint.mode import Mode, optimise
from videorestore.model.joint.objective import Posterior
from videorestore.model.options import Options

Indices = NDArray[np.intp]

FRAMES = 300
"""Frames, evenly spread, on which starts are compared."""


def whitened(e: Array, ratio: float, gram: Array) -> Array:
    """Products (n, n) of frames, summed over pixels, once they are made independent along the curve."""
    factor = np.linalg.cholesky(with_noise(e, ratio))
    white = solve_triangular(factor, gram, lower=True)
    return np.asarray(solve_triangular(factor, white.T, lower=True))


def share_of(mode: Mode) -> float:
    """:func:`effective_share` of all groups of pixels together."""
    white = sum(
        whitened(mode.correlation(g), float(mode.ratio[g]), group.gram) / phi
        for g, (group, phi) in enumerate(zip(mode.posterior.groups, mode.phi()))
    )
    return effective_share(np.asarray(white), sum(group.size for group in mode.posterior.groups))


def effective_share(white: Array, size: float) -> float:
    """Share of the ``size`` pixels that tell something of their own, in (0, 1], from products of whitened frames.

    Made white along the curve, frames are independent, and the products of two of them have the mean square
    tr(C^2), C the covariance between pixels; (tr C)^2 / tr(C^2) is the number of independent pixels that would
    scatter as much. Pixels that go together, and a curve that the kernel does not suit, both lower it: the
    likelihood is then too sure of itself by that factor.
    """
    n = len(white)
    own = np.diagonal(white)
    together = (np.square(white).sum() - np.square(own).sum()) / (n * (n - 1))
    # So many products would be seen of pixels that are independent.
    return float(np.clip(np.square(own.mean()) / max(together, 1e-300) / size, 1.0 / size, 1.0))


def log_score(mode: Mode, run: int = 1) -> float:
    """Log density per value of runs of neighbouring frames, each predicted from all others at its positions."""
    order = np.argsort(mode.x, kind="stable")
    logs = 0.0
    for g, (group, phi) in enumerate(zip(mode.posterior.groups, mode.phi())):
        at = np.ix_(order, order)
        logs += left_out(mode.inverse(g)[at], group.gram[at], group.size, float(phi), run)
    return logs / mode.posterior.values


def left_out(inverse: Array, gram: Array, size: float, phi: float, run: int = 1) -> float:
    """Log density of all values, each run of frames predicted from the others, closed form.

    With M the inverse covariance, frames i are predicted with covariance phi M_ii^-1 and error M_ii^-1 (M y)_i.
    """
    squared = inverse @ gram @ inverse
    total = 0.0
    for start in range(0, len(inverse), run):
        at = slice(start, start + run)
        own = inverse[at, at]
        total += size * (np.linalg.slogdet(own)[1] - len(own) * np.log(2 * np.pi * phi))
        total -= float(np.trace(np.linalg.solve(own, squared[at, at]))) / phi
    return 0.5 * total


def held_out_evidence(group: Group, order: Indices, posterior: Posterior, options: Options) -> float:
    """Log density of every fifth frame of an order, its position integrated out, given a fit to the others.

    The posterior mode itself prefers wrong orders: positions soak up noise. A held-out frame cannot.

    Parameters
    ----------
    group : Group
        All pixels.
    order : ndarray (n,)
        Frame numbers along the curve.
    posterior : Posterior
        Whose kernel, repulsion and bounds are used.

    Returns
    -------
    evidence : float
        Mean over held-out frames, per pixel.
    """
    gram, size = group.gram, group.size
    if order.size > FRAMES:
        # The same frames for every order, so that the scores compare.
        chosen = np.zeros(order.size, dtype=bool)
        chosen[np.linspace(0, order.size - 1, FRAMES).astype(int)] = True
        order = order[chosen[order]]
    n = order.size
    held = np.zeros(n, dtype=bool)
    held[slice(2, n - 1, 5) if n >= 8 else slice(n // 2, n // 2 + 1)] = True
    train, test = order[~held], order[held]
    kept = gram[np.ix_(train, train)]
    start = Posterior(
        groups=[Group(gram=kept, size=size, noise_var=group.noise_var)],
        n=train.size,
        kernel=posterior.kernel,
        r=posterior.r,
        periodic=posterior.periodic,
        noise_floor=posterior.noise_floor,
    )
    mode = optimise(Mode.at(start, (np.arange(train.size) + 0.5) / train.size), options, max_iter=40)
    x, phi, ratio = mode.x, float(mode.phi()[0]), float(mode.ratio[0])
    grid = np.linspace(0.0, 1.0, 801) if posterior.periodic else np.linspace(x[0], x[-1], 801)
    cross = covariance(posterior.kernel, grid, x, float(mode.alpha[0]), posterior.periodic)
    weight = np.linalg.solve(with_noise(mode.correlation(0), ratio), cross.T).T
    variance = phi * (1.0 + ratio - np.einsum("ij,ij->i", weight, cross))
    fitted = np.einsum("ij,ij->i", weight @ kept, weight)
    error = fitted[:, None] - 2.0 * weight @ gram[np.ix_(train, test)] + np.diagonal(gram)[test][None, :]
    logs = -0.5 * (size * np.log(2 * np.pi * variance)[:, None] + np.maximum(error, 0.0) / variance[:, None])
    top = logs.max(axis=0)
    return float((top + np.log(np.exp(logs - top).mean(axis=0))).mean() / size)
