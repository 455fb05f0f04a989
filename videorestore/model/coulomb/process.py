"""The Coulomb repulsive process (Corp): density, gradient, exact samplers.

In one dimension the joint density of eq. (2) is Dyson's circular beta-ensemble with beta = 2 r, so its
constant is known and it can be sampled exactly. The sequential definition (1) of the paper is another law
from three points on: each of its conditionals is normalised by a constant that depends on the points
before. Both samplers are here; the model uses the joint density.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, roots_jacobi

from videorestore.errors import InputError
from videorestore.model.coulomb import _kernels as kernels
from videorestore.model.coulomb.constant import log_constant
from videorestore.model.coulomb.density import corp_log_density
from videorestore.model.coulomb.sphere import SphericalConditional, pair_log_density, to_sphere

Array = NDArray[np.float64]

MAPPINGS = ("one-to-one", "printed")
NODES = 16


class CoulombProcess:
    """Points in the unit interval (or cube) that repel each other.

    Parameters
    ----------
    r : float
        Repulsion, >= 0; the density of two points vanishes like ``distance^(2 r)``. 0 is uniform.
    dim : int
        Dimension p. For p > 1 points are angles of a sphere in p + 1 dimensions and repel by their
        straight distance there.
    mapping : {"one-to-one", "printed"}
        For p > 1: the paper multiplies every angle by 2 pi, so that points of the sphere are met more than
        once; the default uses pi on the first p - 1 angles and meets each once.
    """

    def __init__(self, r: float = 1.0, dim: int = 1, mapping: str = "one-to-one") -> None:
        if not (np.isfinite(r) and r >= 0):
            raise InputError(f"r must be a number >= 0, got {r}")
        if int(dim) != dim or dim < 1:
            raise InputError(f"dim must be a whole number >= 1, got {dim}")
        if mapping not in MAPPINGS:
            raise InputError(f"mapping must be one of {MAPPINGS}, got {mapping!r}")
        self.r = float(r)
        self.dim = int(dim)
        self.mapping = mapping

    def __repr__(self) -> str:
        return f"CoulombProcess(r={self.r}, dim={self.dim})"

    def logpdf(self, x: ArrayLike) -> float:
        """Log density of points ``x``, (n,) or (n, dim), jointly, eq. (2).

        Normalised on the unit cube: exactly for dim = 1, for dim = 2 with r = 1, and for two points;
        otherwise with a constant estimated to a few percent up to ten points, and without it beyond (see
        :meth:`log_constant`). ``-inf`` outside of the cube and where two points meet.
        """
        points = self._points(x)
        if ((points < 0) | (points > 1)).any():
            return -np.inf
        if self.dim == 1:
            return corp_log_density(points, self.r)[0]
        constant = self.log_constant(len(points))
        return pair_log_density(points, self.r, self.mapping)[0] - (constant or 0.0)

    def log_constant(self, n: int) -> float | None:
        """Log of what the product of eq. (2) over ``n`` points is divided by; None where it is not known."""
        if self.dim == 1:
            return float(gammaln(1 + self.r * n) - n * gammaln(1 + self.r))
        return log_constant(int(n), self.r, self.dim)

    def grad_logpdf(self, x: ArrayLike) -> Array:
        """Gradient of :meth:`logpdf`, shaped like ``x``."""
        points = self._points(x)
        if self.dim == 1:
            return corp_log_density(points, self.r)[1]
        return pair_log_density(points, self.r, self.mapping)[1]

    def conditional(self, x: ArrayLike) -> Any:
        """Law of one more point given ``x``, (n,) or (n, dim): an object with ``logpdf`` and ``sample``."""
        points = self._points(x)
        if self.dim == 1:
            return ConditionalCorp(points, self.r)
        return SphericalConditional(points, self.r, self.mapping)

    def sample(self, n: int, random_state: Any = None, *, method: str | None = None) -> Array:
        """Draw ``n`` points, (n,) or (n, dim).

        Parameters
        ----------
        n : int
        random_state : int, Generator or None
        method : {"joint", "sequential"}, optional
            ``joint``: the density of :meth:`logpdf` (eq. 2), exact in O(n^2), dim = 1 only and the default
            there. ``sequential``: the paper's definition (1), each point given those before; the default
            for dim > 1. They differ from three points on.
        """
        if int(n) != n or n < 1:
            raise InputError(f"n must be a whole number >= 1, got {n}")
        rng = np.random.default_rng(random_state)
        how = method or ("joint" if self.dim == 1 else "sequential")
        if how == "joint":
            if self.dim > 1:
                raise InputError("method 'joint' exists for dim = 1 only; use 'sequential'")
            return sample_joint(int(n), self.r, rng)
        if how != "sequential":
            raise InputError(f"method must be 'joint' or 'sequential', got {method!r}")
        if self.dim > 1:
            points = rng.uniform(size=(1, self.dim))
            while points.shape[0] < n:
                fresh = SphericalConditional(points, self.r, self.mapping).sample(random_state=rng)
                points = np.concatenate([points, fresh[None, :]])
            return points
        return sample_sequential(int(n), self.r, rng)

    def to_sphere(self, x: ArrayLike) -> Array:
        """Points of the sphere (n, dim + 1) for ``x``; for dim = 1 the circle."""
        points = np.asarray(x, dtype=np.float64).reshape(-1, self.dim)
        return to_sphere(points, self.mapping)[0]

    def _points(self, x: ArrayLike) -> Array:
        points = np.asarray(x, dtype=np.float64)
        if self.dim == 1 and points.ndim == 2 and points.shape[1] == 1:
            points = points[:, 0]
        if (
            points.ndim != min(self.dim, 2)
            or (self.dim > 1 and points.shape[1] != self.dim)
            or points.size == 0
        ):
            shape = "(n,)" if self.dim == 1 else f"(n, {self.dim})"
            raise InputError(f"points must have shape {shape} with n >= 1, got {points.shape}")
        if not np.isfinite(points).all():
            raise InputError("points must be finite numbers, found NaN or inf")
        return np.ascontiguousarray(points)


class ConditionalCorp:
    """Law of one more point given points ``x`` (n,), n >= 1, in one dimension.

    Between two neighbours the log density is concave with one mode; the masses of these intervals come
    from Gauss-Jacobi quadrature (exact at the zeros of the density), a draw picks an interval and is
    accepted against its mode. All in log space.
    """

    def __init__(self, x: Array, r: float) -> None:
        self.r = r
        self.points = np.sort(np.mod(x, 1.0))
        edges = np.concatenate([self.points, self.points[:1] + 1.0])
        self.left, self.right = edges[:-1], edges[1:]
        node, weight = _quadrature(r)
        at = self.left[:, None] + 0.5 * (node + 1.0) * (self.right - self.left)[:, None]
        logs = np.empty(at.size)
        kernels.log_sines(at.ravel(), self.points, logs)
        inside = 2 * r * logs.reshape(at.shape) - 2 * r * np.log1p(-np.square(node)) + np.log(weight)
        width = np.log(np.maximum(self.right - self.left, 1e-300) / 2)
        top = inside.max(axis=1)
        self.log_mass = np.where(
            self.right > self.left, top + np.log(np.exp(inside - top[:, None]).sum(axis=1)) + width, -np.inf
        )
        peak = self.log_mass.max()
        self.log_total = float(peak + np.log(np.exp(self.log_mass - peak).sum()))

    def logpdf(self, x: ArrayLike) -> Any:
        """Normalised log density at ``x``, any shape."""
        at = np.asarray(x, dtype=np.float64)
        logs = np.empty(at.size)
        kernels.log_sines(np.ascontiguousarray(at.ravel()), self.points, logs)
        out = np.where((at < 0) | (at > 1), -np.inf, 2 * self.r * logs.reshape(at.shape) - self.log_total)
        return float(out) if at.ndim == 0 else out

    def sample(self, size: int | None = None, random_state: Any = None) -> Any:
        """One draw, or ``size`` independent draws of the same next point."""
        rng = np.random.default_rng(random_state)
        share = np.exp(self.log_mass - self.log_total)
        out = np.empty(1 if size is None else int(size))
        chosen = rng.choice(share.size, size=out.size, p=share / share.sum())
        for k in np.unique(chosen):
            member = np.flatnonzero(chosen == k)
            out[member] = kernels.draw_between(
                self.points, self.left[k], self.right[k], self.r, member.size, rng
            )
        return float(out[0]) if size is None else out


def sample_joint(n: int, r: float, rng: np.random.Generator) -> Array:
    """Exact draw (n,) from eq. (2): phases of the Killip-Nenciu model, found by bisection, O(n^2)."""
    if r == 0 or n == 1:
        return rng.uniform(size=n)
    k = np.arange(n - 1)
    radius = np.sqrt(rng.beta(1.0, r * (k + 1)))
    angle = rng.uniform(0, 2 * np.pi, n - 1)
    end = float(rng.uniform(0, 2 * np.pi))
    out = np.empty(n)
    kernels.phases(radius * np.cos(angle), radius * np.sin(angle), end, out)
    shifted = np.mod(out / (2 * np.pi) + rng.uniform(), 1.0)
    return np.asarray(rng.permutation(shifted))


def sample_sequential(n: int, r: float, rng: np.random.Generator) -> Array:
    """Exact draw (n,) from definition (1): each point given those before."""
    if r == 0:
        return rng.uniform(size=n)
    node, weight = _quadrature(r)
    out = np.empty(n)
    out[0] = rng.uniform()
    kernels.sequential(out, r, node, np.log(weight) - 2 * r * np.log1p(-np.square(node)), rng)
    return out


def _quadrature(r: float) -> tuple[Array, Array]:
    """Nodes and weights for functions with zeros of order 2 r at both ends of (-1, 1)."""
    node, weight = roots_jacobi(NODES, 2 * r, 2 * r)
    return np.asarray(node), np.asarray(weight)
