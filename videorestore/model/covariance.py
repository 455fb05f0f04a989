"""Covariance functions of the latent position, unit variance.

Letters used in this room: ``x`` (n,) latent positions in (0, 1); ``alpha`` inverse squared length
(``1 / (2 length^2)`` for every kernel, so that values compare); ``phi`` variance of the signal;
``ratio`` (lambda) noise variance over ``phi``; ``r`` repulsion of the Coulomb process.

Each kernel is a function of ``q = alpha * D^2``, ``D`` the distance between two positions. On a closed
curve ``D`` is the chord ``sin(pi |x - x'|) / pi``: kernels that are valid in the plane stay valid there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from videorestore.errors import InputError, NumericalError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kernel(ABC):
    """A stationary covariance of unit variance: a new one is a class of its own here, and an entry of ``KERNELS``.

    Attributes
    ----------
    name : str
    reach : float
        Lengths after which the correlation is below 1e-7 or so.
    memory : float
        Lengths by which windows of a long curve must overlap.
    """

    name: str
    reach: float
    memory: float

    @abstractmethod
    def value(self, q: Array) -> Array:
        """The correlation at ``q = alpha * D^2``, same shape."""

    @abstractmethod
    def slope(self, q: Array) -> Array:
        """Derivative of :meth:`value` in ``q``; finite at 0."""

    @abstractmethod
    def log_spectrum(self, omega2: Array, alpha: float) -> tuple[Array, Array]:
        """Log spectral density at squared frequencies ``omega2``, and its derivative in ``log alpha``."""


class SquaredExponential(Kernel):
    """``exp(-q)``: the paper's."""

    __slots__ = ()

    def value(self, q: Array) -> Array:
        return np.asarray(np.exp(-q))

    def slope(self, q: Array) -> Array:
        return np.asarray(-np.exp(-q))

    def log_spectrum(self, omega2: Array, alpha: float) -> tuple[Array, Array]:
        part = omega2 / (4 * alpha)
        return 0.5 * np.log(np.pi / alpha) - part, part - 0.5


class Matern32(Kernel):
    """Once differentiable."""

    __slots__ = ()

    def value(self, q: Array) -> Array:
        s = np.sqrt(6.0 * q)
        return np.asarray((1.0 + s) * np.exp(-s))

    def slope(self, q: Array) -> Array:
        return np.asarray(-3.0 * np.exp(-np.sqrt(6.0 * q)))

    def log_spectrum(self, omega2: Array, alpha: float) -> tuple[Array, Array]:
        square = 6.0 * alpha
        total = square + omega2
        return np.log(4.0) + 1.5 * np.log(square) - 2.0 * np.log(total), 1.5 - 2.0 * square / total


class Matern52(Kernel):
    """Twice differentiable."""

    __slots__ = ()

    def value(self, q: Array) -> Array:
        s = np.sqrt(10.0 * q)
        return np.asarray((1.0 + s + s * s / 3.0) * np.exp(-s))

    def slope(self, q: Array) -> Array:
        s = np.sqrt(10.0 * q)
        return np.asarray(-(5.0 / 3.0) * (1.0 + s) * np.exp(-s))

    def log_spectrum(self, omega2: Array, alpha: float) -> tuple[Array, Array]:
        square = 10.0 * alpha
        total = square + omega2
        return np.log(16.0 / 3.0) + 2.5 * np.log(square) - 3.0 * np.log(total), 2.5 - 3.0 * square / total


KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        SquaredExponential("se", 6.0, 6.0),
        Matern32("matern32", 13.0, 8.0),
        Matern52("matern52", 10.0, 8.0),
    )
}
"""By name; the first is where ``auto`` begins."""


def kernel_named(name: str) -> Kernel:
    """The kernel of that name."""
    found = KERNELS.get(name) if isinstance(name, str) else None
    if found is None:
        raise InputError(f"kernel must be one of {', '.join(KERNELS)}, got {name!r}")
    return found


def squared_distance(x: Array, z: Array, periodic: bool = False) -> Array:
    """Squared distances (len(x), len(z)) between positions, along the line or across the circle."""
    delta = x[:, None] - z[None, :]
    if periodic:
        delta = np.sin(np.pi * delta) / np.pi
    return np.square(delta)


def distance_slope(x: Array, periodic: bool = False) -> Array:
    """Derivative (n, n) of ``D(x_i, x_k)^2`` in ``x_i``."""
    delta = x[:, None] - x[None, :]
    return np.sin(2 * np.pi * delta) / np.pi if periodic else 2 * delta


def covariance(kernel: Kernel, x: Array, z: Array, alpha: float | Array, periodic: bool = False) -> Array:
    """Unit-variance covariance (len(x), len(z)) between the curve at ``x`` and at ``z``.

    Positions of several coordinates (n, p) have an ``alpha`` (p,) for each.
    """
    if x.ndim == 1:
        return kernel.value(alpha * squared_distance(x, z, periodic))
    return kernel.value(sum(a * squared_distance(x[:, k], z[:, k]) for k, a in enumerate(np.asarray(alpha))))


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


def with_noise(e: Array, ratio: float) -> Array:
    """E + ratio I, a new array."""
    out = e.copy()
    out.flat[:: out.shape[0] + 1] += ratio
    return out


def precision(e: Array, ratio: float) -> Array:
    """Inverse of E + ratio I."""
    inverse, _ = inverse_and_logdet(with_noise(e, ratio))
    if inverse is None:
        raise NumericalError("the covariance of the frames is singular; raise noise_floor")
    return inverse
