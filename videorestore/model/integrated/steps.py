"""The two steps that integrate positions out: the curve given beliefs about positions, and back.

Shapes: ``n`` points, ``d`` dimensions, ``m`` cells of the grid, ``k`` features. ``q`` (n, m) are the
posterior probabilities of each point's position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaln

from videorestore.model.integrated.basis import Array, Basis

Indices = NDArray[np.intp]

LOG_ALPHA = (np.log(5.0), 2.0)
"""Centre and sd of the weak prior of log alpha."""
NOISE_SPREAD = 1.0
"""Prior sd of the log noise variance of one dimension around the mean of all, where each has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Centred points (n, d) with zeros where missing, and where they are seen.

    Attributes
    ----------
    tied : bool
        All dimensions share one noise variance; then ``y`` is turned to its principal axes, in which each axis
        has its own signal variance.
    rest : ndarray (n,)
        Squared length of each point in the axes left out, which hold noise only.
    rest_size : int
        Number of those axes.
    weight : ndarray (n,)
        Precision of each point relative to the others; all 1 where noise is normal.
    """

    y: Array
    seen: Array
    groups: tuple[Indices, ...]
    tied: bool
    scale: float
    floor: float
    noise_var: float | None
    rest: Array
    rest_size: int
    weight: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Posterior of the curve's weights in the kept features.

    ``root`` (k', k', d) is a root of their covariance, one dimension at a time, ``mean`` (k', d) their means,
    equal to ``root @ white``.
    """

    theta: Array
    keep: Indices
    mean: Array
    white: Array
    root: Array
    log_evidence: float

    @property
    def alpha(self) -> float:
        return float(np.exp(self.theta[0]))

    @property
    def phi(self) -> Array:
        return np.exp(self.theta[1 : 1 + self.mean.shape[1]])

    @property
    def noise_var(self) -> Array:
        d = self.mean.shape[1]
        return np.exp(np.broadcast_to(self.theta[1 + d :], (d,)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Sums that the curve's posterior needs, one Gram matrix (k, k) per group of dimensions."""

    gram: tuple[Array, ...]
    cross: Array
    norm: Array
    count: Array
    rest: float
    rest_count: float


def moments(data: Data, basis: Basis, q: Array) -> Moments:
    """Sums over points and grid of features, weighted by the beliefs ``q`` (n, m)."""
    gram = []
    for columns in data.groups:
        weight = (data.weight * data.seen[:, columns[0]]) @ q
        gram.append(basis.phi.T @ (weight[:, None] * basis.phi))
    return Moments(
        gram=tuple(gram),
        cross=basis.phi.T @ (q.T @ (data.weight[:, None] * data.y)),
        norm=data.weight @ np.square(data.y),
        count=data.seen.sum(axis=0),
        rest=float(data.weight @ data.rest),
        # The mean and the axes were fitted to the same points: so much noise is not left in the rest.
        rest_count=float(data.rest_size * max(data.y.shape[0] - data.y.shape[1] - 1, 1)),
    )


def curve_given(
    theta: Array, data: Data, basis: Basis, sums: Moments, full: bool = False
) -> tuple[float, Array, Curve | None]:
    """Log evidence of the hyper-parameters given beliefs about positions, its gradient, and the curve.

    ``theta`` is log alpha, log phi (d,), log noise variance (1,) or (d,). The weights of the curve are
    integrated out in closed form: in the eigenbasis of the whitened Gram matrix dimensions do not mix.
    """
    d = sums.norm.size
    log_s, slope = basis.kernel.log_spectrum(np.square(basis.omega), float(np.exp(theta[0])))
    keep = np.flatnonzero(log_s > log_s.max() - 23.0)
    root_s = np.exp(0.5 * log_s[keep])
    phi = np.exp(theta[1 : 1 + d])
    noise = np.exp(np.broadcast_to(theta[1 + d :], (d,)))
    gradient = np.zeros_like(theta)
    noise_gradient = np.zeros(d)
    value = 0.0
    mean = np.empty((keep.size, d))
    white = np.empty((keep.size, d))
    root = np.empty((keep.size, keep.size, d))
    for columns, gram in zip(data.groups, sums.gram):
        inner = root_s[:, None] * gram[np.ix_(keep, keep)] * root_s
        eigen, vectors = np.linalg.eigh(inner)
        eigen = np.maximum(eigen, 0.0)[:, None]
        p, s2 = phi[columns], noise[columns]
        cross = vectors.T @ (root_s[:, None] * sums.cross[np.ix_(keep, columns)])
        gain = 1.0 + eigen * p / s2
        variance = p / gain
        weight = variance * cross / s2
        value += float(
            (
                -0.5 * sums.count[columns] * np.log(2 * np.pi * s2)
                - 0.5 * sums.norm[columns] / s2
                + 0.5 * (weight * cross).sum(axis=0) / s2
                - 0.5 * np.log(gain).sum(axis=0)
            ).sum()
        )
        second = np.square(weight) + variance
        gradient[1 + columns] = 0.5 * (second / p - 1.0).sum(axis=0)
        residual = sums.norm[columns] - 2 * (weight * cross).sum(axis=0) + (eigen * second).sum(axis=0)
        noise_gradient[columns] = 0.5 * (residual / s2 - sums.count[columns])
        turned = vectors @ weight
        own = (np.square(turned) + np.square(vectors) @ variance) / p - 1.0
        gradient[0] += 0.5 * float(slope[keep] @ own.sum(axis=1))
        if full:
            mean[:, columns] = root_s[:, None] * turned
            white[:, columns] = weight / np.sqrt(variance)
            root[:, :, columns] = (root_s[:, None] * vectors)[:, :, None] * np.sqrt(variance)[None]
    if theta.size == 2 + d:
        value -= 0.5 * (sums.rest_count * float(np.log(2 * np.pi * noise[0])) + sums.rest / float(noise[0]))
        noise_gradient[0] += 0.5 * (sums.rest / float(noise[0]) - sums.rest_count)
        gradient[1 + d] = noise_gradient.sum()
    else:
        gradient[1 + d :] = noise_gradient
        offset = theta[1 + d :] - theta[1 + d :].mean()
        value -= 0.5 * float(offset @ offset) / NOISE_SPREAD**2
        gradient[1 + d :] -= offset / NOISE_SPREAD**2
    centre, sd = LOG_ALPHA
    value -= 0.5 * ((theta[0] - centre) / sd) ** 2
    gradient[0] -= (theta[0] - centre) / sd**2
    curve = (
        Curve(theta=theta, keep=keep, mean=mean, white=white, root=root, log_evidence=value) if full else None
    )
    return value, gradient, curve


def curve_step(data: Data, basis: Basis, q: Array, theta: Array, steps: int) -> Curve:
    """Raise the evidence of the hyper-parameters from ``theta`` by a few steps, return the curve there."""
    sums = moments(data, basis, q)
    n, d = data.y.shape
    scale = data.scale
    low = np.concatenate(
        [[np.log(0.5)], np.full(d, np.log(1e-6 * scale)), np.full(theta.size - 1 - d, np.log(data.floor))]
    )
    # Features beyond the highest frequency would be missed by a shorter length than this.
    steep = np.square(basis.omega[-1]) / 40.0
    high = np.concatenate(
        [
            [np.log(max(steep, 5.0))],
            np.full(d, np.log(1e3 * scale)),
            np.full(theta.size - 1 - d, np.log(10 * scale)),
        ]
    )
    if data.noise_var is not None:
        low[1 + d :] = high[1 + d :] = np.log(data.noise_var)

    def objective(point: Array) -> tuple[float, Array]:
        value, gradient, _ = curve_given(point, data, basis, sums)
        return -value / n, -gradient / n

    found = minimize(
        objective,
        np.clip(theta, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high)),
        options={"maxiter": steps},
    )
    _, _, curve = curve_given(found.x, data, basis, sums, full=True)
    assert curve is not None
    return curve


def log_likelihood(data: Data, basis: Basis, curve: Curve) -> Array:
    """Expected log density (n, m) of each point at each cell, up to a constant of the point.

    The curve's own variance counts as a penalty, so that a point shuns places where nothing is known.
    """
    phi = basis.phi[:, curve.keep]
    mean = phi @ curve.mean
    flat = np.tensordot(phi, curve.root, axes=(1, 0))
    second = np.square(mean) + np.square(flat).sum(axis=1)
    noise = curve.noise_var
    logs = (data.y / noise) @ mean.T - 0.5 * (data.seen / noise) @ second.T
    return np.asarray(data.weight[:, None] * logs)


def reweighted(data: Data, basis: Basis, curve: Curve, q: Array, freedom: float) -> tuple[Data, float]:
    """Precisions of the points under Student's noise with ``freedom`` degrees, and what they add to the evidence.

    Each point's precision is gamma distributed before and after; given it the noise is normal.
    """
    unit = replace(data, weight=np.ones_like(data.weight))
    own = np.square(data.y / np.sqrt(curve.noise_var)).sum(axis=1) + data.rest / float(curve.noise_var[0])
    square = own - 2.0 * (q * log_likelihood(unit, basis, curve)).sum(axis=1)
    shape = 0.5 * freedom
    after = shape + 0.5 * (data.seen.sum(axis=1) + data.rest_size)
    rate = shape + 0.5 * np.maximum(square, 0.0)
    weight = after / rate
    logs = shape * np.log(shape) - gammaln(shape) + gammaln(after) - after * np.log(rate)
    # The curve's evidence holds -weight * square / 2 already, the gamma's share is the rest.
    return replace(data, weight=weight), float((logs + after - shape * weight).sum())


def position_step(data: Data, basis: Basis, curve: Curve, field: Array) -> tuple[Array, Array]:
    """Beliefs (n, m) about positions given the curve, and the field of repulsion (2 modes,).

    The repulsion enters through the field that all points make together. It is the saddle point of a convex
    function (each point's log normaliser plus a quadratic), reached by Newton's steps.
    """
    log_p = log_likelihood(data, basis, curve) + basis.log_prior
    on = basis.stiffness > 0
    if on.any():
        b, stiffness, u = basis.waves[:, on], basis.stiffness[on], field[on]
        for _ in range(2):
            q = softmax(log_p + b @ u)
            own = q @ b
            slope = own.sum(axis=0) + u / stiffness
            bend = b.T @ (q.sum(axis=0)[:, None] * b) - own.T @ own + np.diag(1.0 / stiffness)
            step = np.linalg.solve(bend, slope)
            # Far from the saddle a full step would overshoot: bound the change of log density.
            u = u - step * min(1.0, 3.0 / max(float(np.abs(b @ step).max()), 1e-300))
        field = field.copy()
        field[on] = u
        log_p = log_p + b @ u
    return softmax(log_p), field


def log_evidence(basis: Basis, curve: Curve, q: Array) -> float:
    """Log evidence of the data: the curve's, the entropy of positions, and the energy of repulsion.

    The energy is taken at the saddle point with its Gaussian fluctuations, relative to independent points.
    """
    n, m = q.shape
    entropy = -float((q * (np.log(np.maximum(q * m, 1e-300)) - basis.log_prior)).sum())
    on = basis.stiffness > 0
    if not on.any():
        return curve.log_evidence + entropy
    b, stiffness = basis.waves[:, on], basis.stiffness[on]
    own = q @ b
    total = own.sum(axis=0)
    root = np.sqrt(stiffness)
    bend = b.T @ (q.sum(axis=0)[:, None] * b) - own.T @ own
    _, log_det = np.linalg.slogdet(np.eye(root.size) + root[:, None] * bend * root)
    energy = -0.5 * float(stiffness @ np.square(total)) - 0.5 * float(log_det)
    return curve.log_evidence + entropy + energy + 0.5 * float(np.log1p(stiffness * n / 2).sum())


def softmax(logs: Array) -> Array:
    """Shares along the last axis that sum to 1."""
    share = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(share / share.sum(axis=-1, keepdims=True))
