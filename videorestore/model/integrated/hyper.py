"""The curve with its hyper-parameters integrated out, given the beliefs about positions.

At the best hyper-parameters a direction in which the curve hardly bends would have no signal variance at all, and an
error there no sd. Instead the length and each direction's signal variance run over a grid, weighed by their evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.model.integrated.basis import Array, Basis
from videorestore.model.integrated.steps import LOG_ALPHA, Curve, Data, moments

SHIFTS = np.linspace(-1.2, 1.2, 7)
"""Of log alpha around its best value."""
SIZES = 24
"""Signal variances tried, from what no data could show to ten times what is there."""
NEGLIGIBLE = 23.0
"""Nats below the strongest feature from which one is left out."""


def integrated(data: Data, basis: Basis, q: Array, curve: Curve) -> Curve:
    """The curve's mean and covariance over all hyper-parameters that are about as probable as the best."""
    sums = moments(data, basis, q)
    k, d = sums.cross.shape
    logs, means, spreads = [], [], []
    for shift in SHIFTS:
        log_alpha = float(curve.theta[0] + shift)
        root_s = np.exp(0.5 * basis.kernel.log_spectrum(np.square(basis.omega), float(np.exp(log_alpha)))[0])
        value = -0.5 * ((log_alpha - LOG_ALPHA[0]) / LOG_ALPHA[1]) ** 2
        mean, spread = np.empty((k, d)), np.empty((d, k, k))
        for columns, gram in zip(data.groups, sums.gram):
            eigen, vectors = np.linalg.eigh(root_s[:, None] * gram * root_s)
            turn = root_s[:, None] * vectors
            cross = turn.T @ sums.cross[:, columns]
            top = sums.norm[columns] / sums.count[columns]
            for j, column in enumerate(columns):
                noise = float(curve.noise_var[column])
                found = over_sizes(np.maximum(eigen, 0.0), cross[:, j : j + 1], noise, float(top[j]))
                value += found[0]
                mean[:, column] = turn @ found[1][:, 0]
                spread[column] = turn @ (found[2] + found[3]) @ turn.T
        logs.append(value)
        means.append(mean)
        spreads.append(spread)
    share = np.exp(np.array(logs) - max(logs))
    share /= share.sum()
    mean = np.tensordot(share, np.stack(means), axes=1)
    off = np.stack(means) - mean
    spread = np.tensordot(share, np.stack(spreads), axes=1) + np.einsum("a,akd,ald->dkl", share, off, off)
    # The shortest length has the most features to keep.
    steepest = basis.kernel.log_spectrum(np.square(basis.omega), curve.alpha * float(np.exp(SHIFTS[-1])))[0]
    keep = np.flatnonzero(steepest > steepest.max() - NEGLIGIBLE)
    root, white = np.empty((keep.size, keep.size, d)), np.empty((keep.size, d))
    for j in range(d):
        values, vectors = np.linalg.eigh(spread[j][np.ix_(keep, keep)])
        scale = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
        root[:, :, j] = vectors * scale
        white[:, j] = vectors.T @ mean[keep, j] / scale
    return replace(curve, keep=keep, mean=mean[keep], root=root, white=white)


def over_sizes(
    eigen: Array, cross: Array, noise: float, top: float, count: int = 1
) -> tuple[float, Array, NDArray[np.float64], NDArray[np.float64]]:
    """Weights in the eigenbasis of the Gram matrix with the signal variance integrated out.

    Its prior is even in the signal's sd, so that none is as good as any.

    Parameters
    ----------
    eigen : ndarray (k,)
    cross : ndarray (k, c)
        Products of features and data.
    noise, top : float
        Noise variance, and variance of the data.
    count : int
        Dimensions that share the signal variance, where ``cross`` is a root of their sum of products.

    Returns
    -------
    log_evidence : float
    mean : ndarray (k, c)
    variance, spread : ndarray (k, k)
        Mean covariance of the weights, and covariance of their means (0 where ``count`` is above 1).
    """
    size = np.geomspace(1e-3 * noise / max(float(eigen.max()), 1e-300), 10.0 * max(top, noise), SIZES)[
        :, None
    ]
    variance = size / (1.0 + eigen * size / noise)
    square = np.square(cross).sum(axis=1)
    logs = (
        0.5 * variance @ square / noise**2
        - 0.5 * count * np.log1p(eigen * size / noise).sum(axis=1)
        + 0.5 * np.log(size[:, 0])
    )
    share = np.exp(logs - logs.max())
    value = float(logs.max() + np.log(share.sum()))
    share /= share.sum()
    gain = share @ variance / noise
    mean = gain[:, None] * cross
    if count > 1:
        return value, mean, np.diag(share @ variance), np.zeros((eigen.size, eigen.size))
    off = (variance / noise - gain) * cross[:, 0]
    return value, mean, np.diag(share @ variance), off.T @ (share[:, None] * off)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """The curve in the directions that the kept axes leave out, one signal variance for all of them.

    Attributes
    ----------
    weights : ndarray (k, d)
        Posterior means of the curve's features there.
    root : ndarray (k, k + a)
        Root of their covariance in each such direction.
    axes : ndarray (d, a)
        The kept axes, orthonormal.
    """

    weights: Array
    root: Array
    axes: Array

    def variance(self, features: Array) -> Array:
        """Variance (p, d) of the curve where its features are ``features`` (p, k)."""
        left = np.maximum(1.0 - np.square(self.axes).sum(axis=1), 0.0)
        return np.asarray(np.square(features @ self.root).sum(axis=1)[:, None] * left)

    def draw(self, features: Array, rng: np.random.Generator) -> Array:
        """One draw (p, d) of the curve there."""
        drawn = self.root @ rng.standard_normal((self.root.shape[1], self.weights.shape[1]))
        return np.asarray(features @ (self.weights + drawn - drawn @ self.axes @ self.axes.T))


def remainder(
    data: Data, basis: Basis, q: Array, curve: Curve, points: Array, axes: Array
) -> Remainder | None:
    """What ``points`` (n, d) say of the curve outside ``axes`` (d, a); None where nothing is left.

    Axes that do not rise above the noise one by one may hold much of the curve together. And the kept axes are
    estimates: each leans into the directions left out by the noise over the curve's own extent along it, which no
    residual shows, since principal axes leave none that goes with them.
    """
    if not data.rest_size:
        return None
    rest = points - (points @ axes) @ axes.T
    root_s = np.exp(0.5 * basis.kernel.log_spectrum(np.square(basis.omega[curve.keep]), curve.alpha)[0])
    phi = basis.phi[:, curve.keep]
    gram = phi.T @ ((data.weight @ q)[:, None] * phi)
    eigen, vectors = np.linalg.eigh(root_s[:, None] * gram * root_s)
    turn = root_s[:, None] * vectors
    # Weights of the points in the whitened features: (k, n).
    lever = turn.T @ phi.T @ (q.T * data.weight)
    noise, top = float(curve.noise_var[0]), float(data.rest.mean()) / data.rest_size
    product = np.sqrt(np.maximum(np.einsum("kn,nm,km->k", lever, rest @ rest.T, lever), 0.0))[:, None]
    _, gained, variance, _ = over_sizes(np.maximum(eigen, 0.0), product, noise, top, data.rest_size)
    gain = gained / np.maximum(product, 1e-300)
    extent = np.einsum("ka,kl,la->a", curve.mean, gram, curve.mean)
    lean = curve.mean * np.sqrt(noise / np.maximum(extent, noise))
    root = np.concatenate([turn * np.sqrt(np.diagonal(variance)), lean], axis=1)
    return Remainder(weights=turn @ (gain * (lever @ rest)), root=root, axes=axes)
