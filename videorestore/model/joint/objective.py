"""The negative log posterior of positions and hyper-parameters, from Gram matrices alone.

For pixels in groups with covariance ``phi (E(x; alpha) + ratio I)`` the likelihood needs the pixels only
through ``gram = Y Y'`` of each group, so an evaluation costs O(n^3) per group whatever the resolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from videorestore.model.coulomb.density import corp_log_density
from videorestore.model.covariance import KERNELS, Kernel, distance_slope, squared_distance
from videorestore.model.groups import Array, Group, Indices, Part
from videorestore.model.joint.features import Fourier

__all__ = ["Group", "Part", "Posterior", "inverse_and_logdet", "permuted", "positions"]

LOG_ALPHA = (np.log(0.05), np.log(10.0))
"""Bounds of log(alpha); the upper one is for ``alpha / n^2``: a length below a quarter of a gap is no curve."""
MAX_RATIO = 1e4


def positions(u: Array) -> tuple[Array, Array]:
    """Ordered positions (n,) in (0, 1) and the gaps (n,) between them from free parameters ``u`` (n,).

    The gaps are a softmax, so that the order holds by construction. The first gap is the one around the
    circle, half of it on each end: the posterior does not change under a shift of all positions.
    """
    e = np.exp(u - u.max())
    gaps = e / e.sum()
    x = np.cumsum(gaps) - 0.5 * gaps[0]
    return x, gaps


def position_parameters(x: Array) -> Array:
    """Inverse of :func:`positions` for sorted ``x``, up to a shift of ``x``."""
    gaps = np.concatenate([[1.0 - (x[-1] - x[0])], np.diff(x)])
    u = np.log(np.maximum(gaps, 1e-12))
    return np.asarray(u - u.mean(), dtype=np.float64)


def pull_back(gaps: Array, gradient: Array) -> Array:
    """Gradient in ``u`` from the gradient in ``x``."""
    tail = np.cumsum(gradient[::-1])[::-1]
    in_gaps = tail.copy()
    in_gaps[0] = 0.5 * tail[0]
    return np.asarray(gaps * (in_gaps - gaps @ in_gaps), dtype=np.float64)


def inverse_and_logdet(matrix: Array) -> tuple[Array | None, float]:
    """Inverse and log determinant of a positive definite matrix, which is lost; (None, inf) where it is not."""
    # The transpose of a symmetric matrix in C order is itself in Fortran's: LAPACK then copies nothing.
    factor, info = dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)
    if info != 0:
        return None, np.inf
    logdet = 2.0 * float(np.log(np.diagonal(factor)).sum())
    lower, info = dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        return None, np.inf
    inverse = lower + lower.T
    inverse.flat[:: inverse.shape[0] + 1] *= 0.5
    return inverse, logdet


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Negative log posterior over ``theta = (u (n), log alpha (shapes), log ratio (groups))``, per value.

    Attributes
    ----------
    groups : sequence of Group
    n : int
        Frames.
    kernel, periodic
        See :mod:`videorestore.model.covariance`.
    r : float
        Repulsion; 0 is the plain GP-LVM with a uniform prior.
    noise_floor : float
        Smallest ratio. Without it the posterior is unbounded: one noise variance runs to 0.
    top_alpha : float
        Largest alpha.
    fourier : Fourier, optional
        Harmonics in whose span the covariance is taken: O(n^2 m) instead of O(n^3).
    """

    groups: Sequence[Group]
    n: int
    kernel: Kernel = KERNELS["se"]
    r: float = 1.0
    periodic: bool = False
    noise_floor: float = 1e-5
    top_alpha: float = np.inf
    fourier: Fourier | None = None
    shapes: int = field(init=False)
    values: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", 1 + max(g.shape for g in self.groups))
        total = sum(part.size * part.gram.shape[0] for g in self.groups for part in g.parts)
        object.__setattr__(self, "values", float(total))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of (log alpha, log ratio)."""
        low = [LOG_ALPHA[0]] * self.shapes + [np.log(self.noise_floor)] * len(self.groups)
        top = min(LOG_ALPHA[1] + 2 * np.log(self.n), np.log(self.top_alpha))
        high = [top] * self.shapes + [np.log(MAX_RATIO)] * len(self.groups)
        return np.array(low), np.array(high)

    def pack(self, x: Array, alpha: Array, ratio: Array) -> Array:
        """Parameters ``theta`` from sorted positions (n,), alpha (shapes,) and ratio (groups,)."""
        return np.concatenate([position_parameters(x), np.log(alpha), np.log(ratio)])

    def unpack(self, theta: Array) -> tuple[Array, Array, Array]:
        """Positions, alpha, ratio from ``theta``, within bounds."""
        x, _ = positions(theta[: self.n])
        hyper = np.exp(np.clip(theta[self.n :], *self.bounds))
        return x, hyper[: self.shapes], hyper[self.shapes :]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient, both divided by the number of values."""
        x, gaps = positions(theta[: self.n])
        low, high = self.bounds
        hyper = np.exp(np.clip(theta[self.n :], low, high))
        value, in_x, in_hyper = self.evaluate(x, hyper[: self.shapes], hyper[self.shapes :])
        if not np.isfinite(value):
            return np.inf, np.zeros_like(theta)
        gradient = np.concatenate([pull_back(gaps, in_x), in_hyper * hyper])
        # Beyond a bound the function is flat; only the way back counts.
        tail = gradient[self.n :]
        tail[(theta[self.n :] <= low) & (tail > 0)] = 0.0
        tail[(theta[self.n :] >= high) & (tail < 0)] = 0.0
        return value / self.values, gradient / self.values

    def evaluate(self, x: Array, alpha: Array, ratio: Array) -> tuple[float, Array, Array]:
        """Negative log posterior, its gradients in x (n,) and in (alpha, ratio).

        Constants are kept: the value is -log p(Y | x, Theta) - log Corp(x).
        """
        corp, corp_gradient = corp_log_density(x, self.r)
        value = -corp
        in_x = -corp_gradient
        in_hyper = np.zeros(self.shapes + len(self.groups))
        if not np.isfinite(value):
            return np.inf, in_x, in_hyper
        if self.fourier is not None:
            loss, pull, in_hyper = self.fourier.loss(self.groups, x, alpha, ratio)
            return value + loss, in_x + pull, in_hyper
        stretches = _Stretches(self, x, alpha)
        for g, group in enumerate(self.groups):
            loss, in_ratio = self._group(group, stretches, float(ratio[g]))
            if not np.isfinite(loss):
                return np.inf, in_x, in_hyper
            value += loss
            in_hyper[self.shapes + g] = in_ratio
        stretches.pull(in_x, in_hyper)
        return value, in_x, in_hyper

    def _group(self, group: Group, stretches: _Stretches, ratio: float) -> tuple[float, float]:
        """Negative log likelihood of a group and its derivative in the ratio; notes the gradient in E."""
        solved = []
        logdets = quadratic = count = 0.0
        for part in group.parts:
            stretch = stretches.get(group.shape, part.rows)
            inverse, logdet = inverse_and_logdet(_with_noise(stretch.e, ratio))
            if inverse is None:
                return np.inf, 0.0
            product = inverse @ part.gram
            solved.append((part, stretch, inverse, product))
            logdets += part.size * logdet
            quadratic += float(np.trace(product))
            count += part.size * inverse.shape[0]
        phi = max(quadratic / count, 1e-300) if group.noise_var is None else group.noise_var / ratio
        loss = 0.5 * (logdets + count * np.log(2 * np.pi * phi) + quadratic / phi)
        in_ratio = 0.0
        for part, stretch, inverse, product in solved:
            gradient = product @ inverse
            gradient *= -0.5 / phi
            gradient += (0.5 * part.size) * inverse
            in_ratio += float(np.trace(gradient))
            stretch.in_e += gradient
        if group.noise_var is not None:
            in_ratio += 0.5 * (quadratic / phi - count) / ratio
        return loss, in_ratio

    def profile_phi(self, x: Array, alpha: Array, ratio: Array) -> Array:
        """Signal variance phi (groups,) at the given parameters."""
        if self.fourier is not None:
            return self.fourier.phi(self.groups, x, alpha, ratio)
        out = np.empty(len(self.groups))
        stretches = _Stretches(self, x, alpha)
        for g, group in enumerate(self.groups):
            if group.noise_var is not None:
                out[g] = group.noise_var / ratio[g]
                continue
            quadratic = count = 0.0
            for part in group.parts:
                e = stretches.get(group.shape, part.rows).e
                inverse, _ = inverse_and_logdet(_with_noise(e, float(ratio[g])))
                quadratic += np.nan if inverse is None else float(np.vdot(inverse, part.gram))
                count += part.size * part.gram.shape[0]
            out[g] = quadratic / count
        return out


@dataclass(slots=True)
class _Stretch:
    """Frames that parts have in common, at one alpha: q, E there, and the gradient in E so far."""

    rows: Indices | None
    shape: int
    square: Array
    q: Array
    e: Array
    in_e: Array


class _Stretches:
    """Covariances that parts share, each computed once per evaluation."""

    def __init__(self, posterior: Posterior, x: Array, alpha: Array) -> None:
        self.posterior = posterior
        self.x = x
        self.alpha = alpha
        self.known: dict[tuple[int, int], _Stretch] = {}

    def get(self, shape: int, rows: Indices | None) -> _Stretch:
        # Parts on the same frames carry the same array of rows.
        key = (shape, id(rows))
        if key not in self.known:
            at = self.x if rows is None else self.x[rows]
            square = squared_distance(at, at, self.posterior.periodic)
            q = self.alpha[shape] * square
            e = self.posterior.kernel.value(q)
            self.known[key] = _Stretch(rows, shape, square, q, e, np.zeros_like(e))
        return self.known[key]

    def pull(self, in_x: Array, in_hyper: Array) -> None:
        """Add the gradients in x and alpha that follow from those in E."""
        for stretch in self.known.values():
            at = self.x if stretch.rows is None else self.x[stretch.rows]
            inner = stretch.in_e * self.posterior.kernel.slope(stretch.q)
            in_hyper[stretch.shape] += float(np.vdot(inner, stretch.square))
            slope = distance_slope(at, self.posterior.periodic)
            pull = 2.0 * self.alpha[stretch.shape] * np.einsum("ij,ij->i", inner, slope)
            if stretch.rows is None:
                in_x += pull
            else:
                in_x[stretch.rows] += pull


def _with_noise(e: Array, ratio: float) -> Array:
    """E + ratio I, a new array."""
    out = e.copy()
    out.flat[:: out.shape[0] + 1] += ratio
    return out


def permuted(posterior: Posterior, order: Indices) -> Posterior:
    """The same posterior with its frames in another order."""
    if np.array_equal(order, np.arange(order.size)):
        return posterior
    place = np.argsort(order)
    groups = []
    for group in posterior.groups:
        parts = []
        for part in group.parts:
            if part.rows is None:
                parts.append(replace(part, gram=part.gram[np.ix_(order, order)]))
            else:
                at = place[part.rows]
                inner = np.argsort(at)
                parts.append(replace(part, gram=part.gram[np.ix_(inner, inner)], rows=at[inner]))
        groups.append(replace(group, parts=tuple(parts)))
    return replace(posterior, groups=groups)
