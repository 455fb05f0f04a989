"""The Coulomb process in more than one dimension: angles of a sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.errors import NumericalError

Array = NDArray[np.float64]


def angle_factors(dim: int, mapping: str) -> Array:
    """What each coordinate is multiplied with to become an angle (dim,)."""
    factors = np.full(dim, 2 * np.pi)
    if mapping == "one-to-one":
        factors[:-1] = np.pi
    return factors


def to_sphere(x: Array, mapping: str) -> tuple[Array, Array]:
    """Points of the unit sphere (n, p + 1) for ``x`` (n, p), and their derivatives (n, p + 1, p)."""
    n, p = x.shape
    factors = angle_factors(p, mapping)
    angle = x * factors
    s, c = np.sin(angle), np.cos(angle)
    y = np.ones((n, p + 1))
    jacobian = np.zeros((n, p + 1, p))
    for m in range(p + 1):
        # Coordinate m: sines of the angles before m, cosine of angle m (the last has sines only).
        parts = [s[:, k] for k in range(m)] + ([c[:, m]] if m < p else [])
        slopes = [c[:, k] for k in range(m)] + ([-s[:, m]] if m < p else [])
        y[:, m] = np.prod(parts, axis=0)
        for k in range(len(parts)):
            others = [part for j, part in enumerate(parts) if j != k]
            jacobian[:, m, k] = slopes[k] * factors[k] * (np.prod(others, axis=0) if others else 1.0)
    return y, jacobian


def pair_log_density(x: Array, r: float, mapping: str) -> tuple[float, Array]:
    """Sum over pairs of r log(squared distance on the sphere), and its gradient (n, p)."""
    y, jacobian = to_sphere(x, mapping)
    n = x.shape[0]
    if n < 2 or r == 0:
        return 0.0, np.zeros_like(x)
    apart = y[:, None, :] - y[None, :, :]
    square = np.square(apart).sum(axis=2)
    np.fill_diagonal(square, 1.0)
    if (square <= 0).any():
        return -np.inf, np.full_like(x, np.nan)
    value = 0.5 * r * float(np.log(square).sum())
    pull = 2 * r * (apart / square[:, :, None]).sum(axis=1)
    return value, np.einsum("im,imp->ip", pull, jacobian)


class SphericalConditional:
    """Law of one more point given points ``x`` (n, p), p > 1.

    A draw is exact: the cube is cut into cells with an upper bound of the density in each, a cell is
    picked by its bound, a point in it accepted against the bound, and a cell that refused is cut in two.
    """

    def __init__(self, x: Array, r: float, mapping: str) -> None:
        self.r = r
        self.mapping = mapping
        self.dim = x.shape[1]
        self.sphere = to_sphere(x, mapping)[0]

    def logpdf(self, x: ArrayLike) -> Any:
        """Log density at ``x`` (dim,) or (m, dim), up to a constant."""
        at = np.asarray(x, dtype=np.float64)
        points = at.reshape(-1, self.dim)
        y = to_sphere(points, self.mapping)[0]
        square = np.square(y[:, None, :] - self.sphere[None, :, :]).sum(axis=2)
        with np.errstate(divide="ignore"):
            value = self.r * np.log(square).sum(axis=1)
        value[((points < 0) | (points > 1)).any(axis=1)] = -np.inf
        return float(value[0]) if at.ndim == 1 else value

    def sample(self, size: int | None = None, random_state: Any = None) -> Array:
        """One draw (dim,), or ``size`` independent draws (size, dim) of the same next point."""
        rng = np.random.default_rng(random_state)
        cells = _Cells(self)
        draws = np.array([cells.draw(rng) for _ in range(1 if size is None else int(size))])
        return draws[0] if size is None else draws


class _Cells:
    """Cells of the cube with bounds; they grow finer with each refusal, and stay for the next draw."""

    def __init__(self, law: SphericalConditional) -> None:
        self.law = law
        self.factors = angle_factors(law.dim, law.mapping)
        self.low = np.zeros((1, law.dim))
        self.width = np.ones((1, law.dim))
        self.bound = self._bounds(self.low, self.width)
        for _ in range(10):
            self._split(np.arange(self.bound.size))

    def _bounds(self, low: Array, width: Array) -> Array:
        """Upper bound of the log density in each cell.

        Within ``radius`` of the centre c the log distance to a point grows at most by log(1 + radius / d),
        or to second order by its tangential slope and half the largest curvature 1 / (d - radius)^2; the
        normal slope only lowers it, as the sphere bends away. The smaller of both holds.
        """
        y = to_sphere(low + 0.5 * width, self.law.mapping)[0]
        radius = 0.5 * np.linalg.norm(width * self.factors, axis=1)
        apart = y[:, None, :] - self.law.sphere[None]
        square = np.square(apart).sum(axis=2)
        distance = np.sqrt(square)
        coarse = np.log(np.minimum(distance + radius[:, None], 2.0)).sum(axis=1)
        far = (distance > 2.0 * radius[:, None]).all(axis=1)
        safe = np.where(square > 0, square, 1.0)
        slope = (apart / safe[:, :, None]).sum(axis=1)
        slope -= (slope * y).sum(axis=1, keepdims=True) * y
        bend = 1.0 / np.square(np.maximum(distance - radius[:, None], 1e-6))
        fine = 0.5 * np.log(safe).sum(axis=1) + np.linalg.norm(slope, axis=1) * radius
        fine += 0.5 * np.square(radius) * bend.sum(axis=1)
        return np.asarray(2 * self.law.r * np.where(far, np.minimum(coarse, fine), coarse))

    def _split(self, chosen: NDArray[np.intp]) -> None:
        axis = (self.width[chosen] * self.factors).argmax(axis=1)
        half = self.width[chosen].copy()
        half[np.arange(chosen.size), axis] *= 0.5
        upper = self.low[chosen].copy()
        upper[np.arange(chosen.size), axis] += half[np.arange(chosen.size), axis]
        self.width[chosen] = half
        self.bound[chosen] = self._bounds(self.low[chosen], half)
        self.low = np.concatenate([self.low, upper])
        self.width = np.concatenate([self.width, half])
        self.bound = np.concatenate([self.bound, self._bounds(upper, half)])

    def draw(self, rng: np.random.Generator) -> Array:
        for _ in range(200_000):
            weight = self.bound + np.log(self.width).sum(axis=1)
            edges = np.cumsum(np.exp(weight - weight.max()))
            k = min(int(np.searchsorted(edges, rng.uniform(0, edges[-1]), side="right")), weight.size - 1)
            at = self.low[k] + self.width[k] * rng.uniform(size=self.law.dim)
            if np.log(rng.uniform()) < self.law.logpdf(at) - self.bound[k]:
                return np.asarray(at)
            self._split(np.array([k]))
        raise NumericalError("no point was accepted in 200000 tries; lower r or the number of points")
