"""The curve with its hyper-parameters integrated out, given the beliefs about positions.

At the best hyper-parameters a direction in which the curve hardly bends would have no signal variance at all, and an
error there no sd. Instead the length and each direction's signal variance run over a grid, weighed by their evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.model.integrated.basis import Array, Basis
from videorestore.model.integrated.steps import LOG_ALPHA, Curve, Data, Moments, moments

SHIFTS = np.linspace(-1.2, 1.2, 7)
"""Of log alpha around its best value."""
SIZES = 24
"""Signal variances tried, from what no data could show to ten times what is there."""
PLANE = 2
"""Dimensions up to which each principal axis keeps its own signal variance."""
LEAST_PRECISION = 0.2
"""Smallest share of a direction's mean-field precision that Louis' correction may leave."""
NEGLIGIBLE = 23.0
"""Nats below the strongest feature from which one is left out."""


def integrated(
    data: Data, basis: Basis, q: Array, curve: Curve, points: Array, axes: Array
) -> tuple[Curve, Remainder | None]:
    """The curve over all hyper-parameters that are about as probable as the best, in and outside the kept axes.

    ``points`` (n, d) are the data in all dimensions, ``axes`` (d, a) the kept ones. Principal axes that were found in the
    same data leave the weak ones with less of the curve than it has there. So one signal variance for all
    directions, which no rotation changes, is the rival of one for each axis, and wins unless they pay for the
    directions that were learnt.
    """
    sums = moments(data, basis, q)
    rest = points - (points @ axes) @ axes.T if data.rest_size else np.zeros((len(points), 1))
    size = data.y.shape[1] + data.rest_size
    found = [_Given.of(data, basis, q, curve, sums, rest @ rest.T, shift) for shift in SHIFTS]
    own = np.array([one.log_own for one in found])
    equal = np.array([one.log_equal for one in found])
    extent = np.einsum("ka,kl,la->a", curve.mean, sums.gram[0][np.ix_(curve.keep, curve.keep)], curve.mean)
    # A kept axis is known towards every weaker direction as well as noise over its extent allows.
    known = 0.5 * np.log(np.maximum(np.sort(extent / curve.noise_var)[::-1], 1.0))
    price = float(known @ np.maximum(size - 1.0 - np.arange(known.size), 0.0))
    turned = data.tied and len(data.groups) == 1 and size > PLANE
    alike = turned and np.logaddexp.reduce(equal) > np.logaddexp.reduce(own) - price
    logs = equal if alike else own
    share = np.exp(logs - logs.max())
    share /= share.sum()
    means = np.stack([one.equal_mean if alike else one.own_mean for one in found])
    mean = np.tensordot(share, means, axes=1)
    off = means - mean
    spread = np.einsum("a,akd,ald->dkl", share, off, off)
    for weight, one in zip(share, found):
        spread += weight * (one.equal_spread if alike else one.own_spread)
    # The shortest length has the most features to keep.
    steepest = basis.kernel.log_spectrum(np.square(basis.omega), curve.alpha * float(np.exp(SHIFTS[-1])))[0]
    keep = np.flatnonzero(steepest > steepest.max() - NEGLIGIBLE)
    d = mean.shape[1]
    root, white = np.empty((keep.size, keep.size, d)), np.empty((keep.size, d))
    for j in range(d):
        values, vectors = np.linalg.eigh(spread[j][np.ix_(keep, keep)])
        scale = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
        root[:, :, j] = vectors * scale
        white[:, j] = vectors.T @ mean[keep, j] / scale
    theta = np.concatenate([[curve.theta[0] + share @ SHIFTS], curve.theta[1:]])
    made = replace(curve, theta=theta, keep=keep, mean=mean[keep], root=root, white=white)
    return made, remainder(data, basis, q, made, rest, axes, alike) if data.rest_size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """The curve given its length: evidence, means (k, a) and covariances of its weights.

    ``own``: each axis has its signal variance, spread (a, k, k). ``equal``: one for all directions, spread (k, k).
    """

    log_own: float
    own_mean: Array
    own_spread: Array
    log_equal: float
    equal_mean: Array
    equal_spread: Array

    @classmethod
    def of(
        cls, data: Data, basis: Basis, q: Array, curve: Curve, sums: Moments, rest: Array, shift: float
    ) -> _Given:
        """``rest`` (n, n) products of the points outside the axes."""
        k, d = sums.cross.shape
        log_alpha = float(curve.theta[0] + shift)
        root_s = np.exp(0.5 * basis.kernel.log_spectrum(np.square(basis.omega), float(np.exp(log_alpha)))[0])
        prior = -0.5 * ((log_alpha - LOG_ALPHA[0]) / LOG_ALPHA[1]) ** 2
        own, mean, spread = prior, np.empty((k, d)), np.empty((d, k, k))
        for columns, gram in zip(data.groups, sums.gram):
            eigen, vectors = np.linalg.eigh(root_s[:, None] * gram * root_s)
            eigen, turn = np.maximum(eigen, 0.0), root_s[:, None] * vectors
            cross = turn.T @ sums.cross[:, columns]
            top = sums.norm[columns] / sums.count[columns]
            for j, column in enumerate(columns):
                noise = float(curve.noise_var[column])
                found = over_sizes(eigen, cross[:, j : j + 1], noise, float(top[j]))
                own += found[0]
                mean[:, column] = turn @ found[1][:, 0]
                spread[column] = turn @ (found[2] + found[3]) @ turn.T
        # What follows is asked for where there is but one group.
        noise = float(curve.noise_var[0])
        product = np.square(cross).sum(axis=1)
        if data.rest_size:
            outside = _outside(data, basis.phi, q, turn, rest)
            level = float(data.rest.mean()) / data.rest_size
            own += over_sizes(eigen, np.sqrt(outside)[:, None], noise, level, data.rest_size)[0]
            product = product + outside
        whole = np.sqrt(product)[:, None]
        one = over_sizes(eigen, whole, noise, float(top.max()), cross.shape[1] + data.rest_size)
        gain = one[1] / np.maximum(whole, 1e-300)
        return cls(
            log_own=own,
            own_mean=mean,
            own_spread=spread,
            log_equal=prior + one[0],
            equal_mean=turn @ (gain * cross) if len(data.groups) == 1 else mean,
            equal_spread=turn @ one[2] @ turn.T,
        )


def _outside(data: Data, phi: Array, q: Array, turn: Array, rest: Array) -> Array:
    """Squared products (k,) of the whitened features with the points outside the axes."""
    lever = turn.T @ phi.T @ (q.T * data.weight)
    return np.asarray(np.maximum(np.einsum("kn,nm,km->k", lever, rest, lever), 0.0))


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
    scale : ndarray (d,)
        What each dimension was divided by before all this.
    """

    weights: Array
    root: Array
    axes: Array
    scale: Array

    def variance(self, features: Array) -> Array:
        """Variance (p, d) of the curve where its features are ``features`` (p, k)."""
        left = np.maximum(1.0 - np.square(self.axes).sum(axis=1), 0.0) * np.square(self.scale)
        return np.asarray(np.square(features @ self.root).sum(axis=1)[:, None] * left)

    def mean(self, features: Array) -> Array:
        """Mean (p, d) of the curve there."""
        return np.asarray(features @ self.weights * self.scale)

    def draw(self, features: Array, rng: np.random.Generator) -> Array:
        """One draw (p, d) of the curve there."""
        drawn = self.root @ rng.standard_normal((self.root.shape[1], self.weights.shape[1]))
        return np.asarray(features @ (self.weights + drawn - drawn @ self.axes @ self.axes.T) * self.scale)


def remainder(
    data: Data, basis: Basis, q: Array, curve: Curve, rest: Array, axes: Array, alike: bool
) -> Remainder:
    """What ``rest`` (n, d) says of the curve outside ``axes`` (d, a).

    ``alike``: the signal variance is that of all directions. Else axes that do not rise above the noise one by one may
    hold much of the curve together. And the kept axes are then estimates: each leans into the directions left out by the
    noise over the curve's own extent along it, which no residual shows, since principal axes leave none that goes with them.
    """
    root_s = np.exp(0.5 * basis.kernel.log_spectrum(np.square(basis.omega[curve.keep]), curve.alpha)[0])
    phi = basis.phi[:, curve.keep]
    gram = phi.T @ ((data.weight @ q)[:, None] * phi)
    eigen, vectors = np.linalg.eigh(root_s[:, None] * gram * root_s)
    turn = root_s[:, None] * vectors
    noise, top, count = float(curve.noise_var[0]), float(data.rest.mean()) / data.rest_size, data.rest_size
    square = _outside(data, phi, q, turn, rest @ rest.T)
    # Weights of the points in the whitened features: (k, n).
    lever = turn.T @ phi.T @ (q.T * data.weight)
    if alike:
        inside = np.square(data.y)
        square, count = square + np.square(lever @ data.y).sum(axis=1), count + data.y.shape[1]
        top = max(top, float(inside.mean(axis=0).max()))
    product = np.sqrt(square)[:, None]
    _, gained, variance, _ = over_sizes(np.maximum(eigen, 0.0), product, noise, top, count)
    gain = gained / np.maximum(product, 1e-300)
    root = turn * np.sqrt(np.diagonal(variance))
    # Louis' identity where all is noise: what is known of the curve comes from the mean features of each point.
    lost = gram - (phi.T @ q.T * data.weight) @ (q @ phi)
    precision, vectors = np.linalg.eigh(np.eye(root.shape[1]) - root.T @ lost @ root / noise)
    root = root @ (vectors / np.sqrt(np.maximum(precision, LEAST_PRECISION)))
    if not alike:
        extent = np.einsum("ka,kl,la->a", curve.mean, gram, curve.mean)
        root = np.concatenate([root, curve.mean * np.sqrt(noise / np.maximum(extent, noise))], axis=1)
    return Remainder(
        weights=turn @ (gain * (lever @ rest)), root=root, axes=axes, scale=np.ones(axes.shape[0])
    )
