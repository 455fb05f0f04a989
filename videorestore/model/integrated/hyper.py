"""The curve with its hyper-parameters integrated out, given the beliefs about positions.

At the best hyper-parameters a direction in which the curve hardly bends would have no signal variance at all, and an
error there no sd. Instead the length and each direction's signal variance run over a grid, weighed by their evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from videorestore.model.integrated.basis import Array, Basis
from videorestore.model.integrated.steps import LOG_ALPHA, Curve, Data, Moments, moments, softmax

SHIFTS = np.linspace(-1.2, 1.2, 7)
"""Of log alpha around its best value."""
SIZES = 28
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

    ``points`` (n, d) are the data in all dimensions, ``axes`` (d, a) the kept ones. One signal variance for all directions
    is the rival of one for each. Principal axes that were found in the same data leave the weak ones with less of the
    curve than it has there: no rotation changes the former, and it wins unless the others pay for the directions that
    were learnt.
    """
    sums = moments(data, basis, q)
    rest = points - (points @ axes) @ axes.T if data.rest_size else np.zeros((len(points), 1))
    size = data.y.shape[1] + data.rest_size
    given = [_Given(data, basis, q, curve, sums, rest @ rest.T, float(shift)) for shift in SHIFTS]
    price = 0.0
    if data.tied and len(data.groups) == 1:
        inside = np.ix_(curve.keep, curve.keep)
        extent = np.einsum("ka,kl,la->a", curve.mean, sums.gram[0][inside], curve.mean)
        # A kept axis is known towards every weaker direction as well as noise over its extent allows.
        known = 0.5 * np.log(np.maximum(np.sort(extent / curve.noise_var)[::-1], 1.0))
        price = float(known @ np.maximum(size - 1.0 - np.arange(known.size), 0.0))
    own, equal = (np.array([one.log_evidence(alike) for one in given]) for alike in (False, True))
    alike = bool(size > PLANE and np.logaddexp.reduce(equal) > np.logaddexp.reduce(own) - price)
    share = softmax(equal if alike else own)
    means, spreads = zip(*(one.weights(alike) for one in given))
    mean = np.tensordot(share, np.stack(means), axes=1)
    off = np.stack(means) - mean
    spread = np.einsum("a,akd,ald->dkl", share, off, off) + np.tensordot(share, np.stack(spreads), axes=1)
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


class _Given:
    """The curve given its length: its weights and their evidence at every signal variance.

    ``logs`` (sizes, d) is the log evidence of each dimension, ``log_rest`` (sizes,) of what the axes leave out, ``base`` (sizes,)
    the prior: even in the signal's sd, so that none is as good as any.
    """

    def __init__(
        self, data: Data, basis: Basis, q: Array, curve: Curve, sums: Moments, rest: Array, shift: float
    ) -> None:
        """``rest`` (n, n) products of the points outside the axes."""
        log_alpha = float(curve.theta[0] + shift)
        root_s = np.exp(0.5 * basis.kernel.log_spectrum(np.square(basis.omega), float(np.exp(log_alpha)))[0])
        self.prior = -0.5 * ((log_alpha - LOG_ALPHA[0]) / LOG_ALPHA[1]) ** 2
        self.noise = curve.noise_var
        self.groups = []
        for columns, gram in zip(data.groups, sums.gram):
            eigen, vectors = np.linalg.eigh(root_s[:, None] * gram * root_s)
            turn = root_s[:, None] * vectors
            self.groups.append((columns, np.maximum(eigen, 0.0), turn, turn.T @ sums.cross[:, columns]))
        steepest = max(float(eigen.max()) for _, eigen, _, _ in self.groups)
        top = max(float((sums.norm / sums.count).max()), float(self.noise.max()))
        self.sizes = size_grid(float(self.noise.min()), steepest, top)
        self.base = 0.5 * np.log(self.sizes)
        self.logs = np.empty((SIZES, sums.norm.size))
        for columns, eigen, _, cross in self.groups:
            for j, column in enumerate(columns):
                self.logs[:, column] = log_sizes(
                    self.sizes, eigen, np.square(cross[:, j]), self.noise[column]
                )
        self.log_rest = np.zeros(SIZES)
        if data.rest_size:
            _, eigen, turn, _ = self.groups[0]
            outside = _outside(data, basis.phi, q, turn, rest)
            self.log_rest = log_sizes(self.sizes, eigen, outside, self.noise[0], data.rest_size)

    def log_evidence(self, alike: bool) -> float:
        """Over all signal variances, ``alike``: one for all dimensions."""
        if alike:
            return float(self.prior + np.logaddexp.reduce(self.base + self.logs.sum(axis=1) + self.log_rest))
        each = float(np.logaddexp.reduce(self.base[:, None] + self.logs, axis=0).sum())
        rest = float(np.logaddexp.reduce(self.base + self.log_rest)) if self.log_rest.any() else 0.0
        return float(self.prior + each + rest)

    def weights(self, alike: bool) -> tuple[Array, Array]:
        """Means (k, d) and covariances (d, k, k) of the weights."""
        k, d = len(self.groups[0][1]), self.noise.size
        mean, spread = np.empty((k, d)), np.empty((d, k, k))
        together = softmax(self.base + self.logs.sum(axis=1) + self.log_rest)
        for columns, eigen, turn, cross in self.groups:
            for j, column in enumerate(columns):
                share = together if alike else softmax(self.base + self.logs[:, column])
                variance = weight_variance(self.sizes, eigen, self.noise[column])
                means = variance * cross[:, j] / self.noise[column]
                middle = share @ means
                off = means - middle
                inner = np.diag(share @ variance) + off.T @ (share[:, None] * off)
                mean[:, column], spread[column] = turn @ middle, turn @ inner @ turn.T
        return mean, spread


def size_grid(noise: float, steepest: float, top: float) -> Array:
    """Signal variances from what no data could show, for the largest eigenvalue of the features, to ten times ``top``."""
    return np.geomspace(1e-3 * noise / max(steepest, 1e-300), 10.0 * top, SIZES)


def weight_variance(size: Array, eigen: Array, noise: float) -> Array:
    """Posterior variance (sizes, k) of the weights in the eigenbasis of the Gram matrix."""
    return np.asarray(size[:, None] / (1.0 + eigen * size[:, None] / noise))


def log_sizes(size: Array, eigen: Array, square: Array, noise: float, count: int = 1) -> Array:
    """Log evidence (sizes,) of ``count`` dimensions whose products with the features have the sum of squares ``square`` (k,)."""
    gain = 0.5 * weight_variance(size, eigen, noise) @ square / noise**2
    return np.asarray(gain - 0.5 * count * np.log1p(eigen * size[:, None] / noise).sum(axis=1))


def _outside(data: Data, phi: Array, q: Array, turn: Array, rest: Array) -> Array:
    """Squared products (k,) of the whitened features with the points outside the axes."""
    lever = turn.T @ phi.T @ (q.T * data.weight)
    return np.asarray(np.maximum(np.einsum("kn,nm,km->k", lever, rest, lever), 0.0))


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
    eigen = np.maximum(eigen, 0.0)
    size = size_grid(noise, float(eigen.max()), max(top, noise))
    share = softmax(0.5 * np.log(size) + log_sizes(size, eigen, square, noise, count))
    variance = share @ weight_variance(size, eigen, noise)
    root = turn * np.sqrt(variance)
    # Louis' identity where all is noise: what is known of the curve comes from the mean features of each point.
    lost = gram - (phi.T @ q.T * data.weight) @ (q @ phi)
    precision, vectors = np.linalg.eigh(np.eye(root.shape[1]) - root.T @ lost @ root / noise)
    root = root @ (vectors / np.sqrt(np.maximum(precision, LEAST_PRECISION)))
    if not alike:
        extent = np.einsum("ka,kl,la->a", curve.mean, gram, curve.mean)
        root = np.concatenate([root, curve.mean * np.sqrt(noise / np.maximum(extent, noise))], axis=1)
    return Remainder(
        weights=turn @ ((variance / noise)[:, None] * (lever @ rest)),
        root=root,
        axes=axes,
        scale=np.ones(axes.shape[0]),
    )
