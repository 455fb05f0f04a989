"""The negative log posterior of positions and hyper-parameters, from Gram matrices alone.

For pixels in groups with covariance ``phi (E(x; alpha) + ratio I)`` the likelihood needs the pixels only
through ``gram = Y Y'`` of each group, so an evaluation costs O(n^3) per group whatever the resolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.model.coulomb.density import corp_log_density
from videorestore.model.covariance import (
    KERNELS,
    Array,
    Kernel,
    distance_slope,
    inverse_and_logdet,
    squared_distance,
    with_noise,
)
from videorestore.model.joint.features import Fourier
from videorestore.model.joint.group import Group

Indices = NDArray[np.intp]
Windows = Sequence[tuple[int, int, int]]
"""Stretches of frames along the curve: (start, stop, sign)."""

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


def pull_back(gaps: Array, in_x: Array, in_gaps: Array | float = 0.0) -> Array:
    """Gradient in ``u`` from the gradients in ``x`` (n,) and, beyond it, in the gaps (n,)."""
    tail = np.cumsum(in_x[::-1])[::-1].copy()
    tail[0] *= 0.5
    tail += in_gaps
    return np.asarray(gaps * (tail - gaps @ tail), dtype=np.float64)


def spread_between(numbers: Array) -> Array | None:
    """What makes positions (m,) of all frames from those (n,) of the frames with these ``numbers``; None if these are all.

    Frames that are known to be absent lie evenly between those around them, and repel as they do: a hole is then as
    wide as its frames ask for, where frames on both sides of it have nothing in common.
    """
    absent = np.diff(numbers) - 1
    if not (absent > 0).any():
        return None
    every = np.arange(numbers[0], numbers[-1] + 1)
    return np.stack([np.interp(every, numbers, one) for one in np.eye(numbers.size)], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posterior:
    """Negative log posterior over ``theta = (u (n), log alpha (shapes), log ratio (groups))``, per value.

    Attributes
    ----------
    groups : sequence of Group
    n : int
        Frames, in order of their positions where ``theta`` is asked.
    kernel, periodic
        See :mod:`videorestore.model.covariance`.
    r : float
        Repulsion; 0 is the plain GP-LVM with a uniform prior.
    noise_floor : float
        Smallest ratio. Without it the posterior is unbounded: one noise variance runs to 0.
    windows : sequence of (start, stop, sign), optional
        The density is the product of those of these stretches of frames, each to the power of its sign.
    fourier : Fourier, optional
        Harmonics in whose span the covariance is taken: O(n^2 m) instead of O(n^3).
    between : ndarray (m, n), optional
        Positions of all frames that repel each other from those of the n that are seen, see :func:`spread_between`.
    """

    groups: Sequence[Group]
    n: int
    kernel: Kernel = KERNELS["se"]
    r: float = 1.0
    periodic: bool = False
    noise_floor: float = 1e-5
    windows: Windows | None = None
    fourier: Fourier | None = None
    between: Array | None = None
    shapes: int = field(init=False)
    values: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shapes", 1 + max(g.shape for g in self.groups))
        object.__setattr__(self, "values", float(self.n * sum(g.size for g in self.groups)))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of (log alpha, log ratio)."""
        low = [LOG_ALPHA[0]] * self.shapes + [np.log(self.noise_floor)] * len(self.groups)
        top = LOG_ALPHA[1] + 2 * np.log(self.n)
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
        corp, push = corp_log_density(x if self.between is None else self.between @ x, self.r)
        value, in_hyper = -corp, np.zeros(self.shapes + len(self.groups))
        if not np.isfinite(value):
            return np.inf, np.zeros_like(x), in_hyper
        in_x = -push if self.between is None else -push @ self.between
        if self.fourier is not None:
            loss, pull, in_hyper = self.fourier.loss(self.groups, x, alpha, ratio)
            return value + loss, in_x + pull, in_hyper
        for a in range(self.shapes):
            spans = [
                _Span(self, x, float(alpha[a]), slice(start, stop), sign)
                for start, stop, sign in self.windows or ((0, self.n, 1),)
            ]
            for g, group in enumerate(self.groups):
                if group.shape == a:
                    loss, in_hyper[self.shapes + g] = _likelihood(group, spans, float(ratio[g]))
                    value += loss
            if not np.isfinite(value):
                return np.inf, in_x, in_hyper
            for span in spans:
                pull, in_alpha = span.pull()
                in_x[span.cut] += pull
                in_hyper[a] += in_alpha
        return value, in_x, in_hyper


class _Span:
    """A stretch of frames at one alpha: q and E there, and the gradient in E so far."""

    def __init__(self, posterior: Posterior, x: Array, alpha: float, cut: slice, sign: int) -> None:
        self.posterior, self.alpha, self.cut, self.sign = posterior, alpha, cut, sign
        self.x = x[cut]
        self.square = squared_distance(self.x, self.x, posterior.periodic)
        self.q = alpha * self.square
        self.e = posterior.kernel.value(self.q)
        self.in_e = np.zeros_like(self.e)

    def pull(self) -> tuple[Array, float]:
        """The gradients in x and alpha that follow from that in E."""
        inner = self.in_e * self.posterior.kernel.slope(self.q)
        slope = distance_slope(self.x, self.posterior.periodic)
        return 2.0 * self.alpha * np.einsum("ij,ij->i", inner, slope), float(np.vdot(inner, self.square))


def _likelihood(group: Group, spans: list[_Span], ratio: float) -> tuple[float, float]:
    """Negative log likelihood of a group and its derivative in the ratio; notes the gradients in E."""
    solved = []
    logdets = quadratic = count = 0.0
    for span in spans:
        inverse, logdet = inverse_and_logdet(with_noise(span.e, ratio))
        if inverse is None:
            return np.inf, 0.0
        product = inverse @ group.gram[span.cut, span.cut]
        solved.append((inverse, product))
        logdets += span.sign * group.size * logdet
        quadratic += span.sign * float(np.trace(product))
        count += span.sign * group.size * len(inverse)
    phi = group.phi(quadratic, count, ratio)
    in_ratio = group.in_known_ratio(quadratic, count, ratio)
    for span, (inverse, product) in zip(spans, solved):
        gradient = product @ inverse
        gradient *= -0.5 / phi
        gradient += (0.5 * group.size) * inverse
        in_ratio += span.sign * float(np.trace(gradient))
        span.in_e += span.sign * gradient
    return 0.5 * (logdets + count * np.log(2 * np.pi * phi) + quadratic / phi), in_ratio


def permuted(posterior: Posterior, order: Indices) -> Posterior:
    """The same posterior with its frames in another order."""
    if np.array_equal(order, np.arange(order.size)):
        return posterior
    at = np.ix_(order, order)
    between = None if posterior.between is None else posterior.between[:, order]
    return replace(
        posterior, between=between, groups=[replace(group, gram=group.gram[at]) for group in posterior.groups]
    )
