"""Covariance functions of the latent position, unit variance.

Letters used in this room: ``x`` (n,) latent positions in (0, 1); ``alpha`` inverse squared length
(``1 / (2 length^2)`` for every kernel, so that values compare); ``phi`` variance of the signal;
``ratio`` (lambda) noise variance over ``phi``; ``r`` repulsion of the Coulomb process.

Each kernel is a function of ``q = alpha * D^2``, ``D`` the distance between two positions. On a closed
curve ``D`` is the chord ``sin(pi |x - x'|) / pi``: kernels that are valid in the plane stay valid there.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError

Array = NDArray[np.float64]
Kernel = Literal["se", "matern32", "matern52"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)


def check_kernel(kernel: str) -> Kernel:
    """Return ``kernel`` if it is one that exists."""
    if kernel not in KERNELS:
        raise InputError(f"kernel must be one of {', '.join(KERNELS)}, got {kernel!r}")
    return kernel  # type: ignore[return-value]


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


def correlation(kernel: Kernel, q: Array) -> Array:
    """Value of the kernel at ``q = alpha * D^2``, same shape."""
    if kernel == "se":
        return np.exp(-q)
    if kernel == "matern32":
        s = np.sqrt(6.0 * q)
        return (1.0 + s) * np.exp(-s)
    s = np.sqrt(10.0 * q)
    return (1.0 + s + s * s / 3.0) * np.exp(-s)


def correlation_slope(kernel: Kernel, q: Array) -> Array:
    """Derivative of :func:`correlation` in ``q``; finite at 0 for every kernel."""
    if kernel == "se":
        return -np.exp(-q)
    if kernel == "matern32":
        return -3.0 * np.exp(-np.sqrt(6.0 * q))
    s = np.sqrt(10.0 * q)
    return -(5.0 / 3.0) * (1.0 + s) * np.exp(-s)


def covariance(kernel: Kernel, x: Array, z: Array, alpha: float, periodic: bool = False) -> Array:
    """Unit-variance covariance (len(x), len(z)) between the curve at ``x`` and at ``z``."""
    return correlation(kernel, alpha * squared_distance(x, z, periodic))
