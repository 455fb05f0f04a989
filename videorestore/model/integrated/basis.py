"""Where the integrated posterior lives: a grid of positions, the curve's features and the field's modes.

The curve is a finite sum of features with independent normal weights. On an open curve these are sines on a
padded interval, on a closed one a Fourier series; the variance of a weight is the spectral density of the
kernel at the feature's frequency, so that another ``alpha`` changes the variances and nothing else. The
repulsion ``log |2 sin(pi u)| = -sum_k cos(2 pi k u) / k`` is diagonal in the Fourier modes of the density of
positions; modes finer than the spacing of the points are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.model.covariance import Kernel

Array = NDArray[np.float64]

NORMAL_SD = 0.18
"""Of positions that crowd in the middle of the curve and thin out towards its ends."""
PAD = 0.75
"""Room beyond the ends of (0, 1), where the sines may go to zero without pulling at the curve."""


def frequencies(count: int, periodic: bool) -> Array:
    """Frequencies (k,) of the curve's features."""
    if periodic:
        return np.asarray(2 * np.pi * ((np.arange(count) + 1) // 2))
    return np.asarray(np.pi * np.arange(1, count + 1) / (1 + 2 * PAD))


def features(s: Array, omega: Array, periodic: bool) -> Array:
    """The curve's features (m, k) at positions ``s`` (m,)."""
    if not periodic:
        return np.asarray(np.sqrt(2 / (1 + 2 * PAD)) * np.sin((s[:, None] + PAD) * omega))
    angle = s[:, None] * omega
    out = np.sqrt(2) * np.where(np.arange(omega.size) % 2 == 1, np.cos(angle), np.sin(angle))
    out[:, 0] = 1.0
    return np.asarray(out)


def waves(s: Array, modes: int) -> Array:
    """Fourier modes (m, 2 modes) of a density of positions."""
    angle = 2 * np.pi * s[:, None] * np.arange(1, modes + 1)
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """Grid and functions on it.

    Attributes
    ----------
    s : ndarray (m,)
        Centres of the grid's cells.
    omega : ndarray (k,)
    phi : ndarray (m, k)
        The curve's features on the grid.
    waves : ndarray (m, 2 modes)
        Modes of the field of repulsion.
    stiffness : ndarray (2 modes,)
        Energy of each mode: the prior of positions is ``exp(-1/2 sum_k stiffness_k rho_k^2)`` with ``rho`` the
        sums of the waves over the points; 2 r / k for Corp(r).
    log_prior : ndarray (m,)
        Log density of a position at each cell before repulsion, relative to an even one.
    """

    kernel: Kernel
    periodic: bool
    s: Array
    omega: Array
    phi: Array
    waves: Array
    stiffness: Array
    log_prior: Array


def make_basis(
    *,
    n: int,
    size: int,
    count: int,
    kernel: Kernel,
    periodic: bool,
    r: float,
    roughness: float,
    crowded: bool = False,
) -> Basis:
    """Lay out a grid of ``size`` cells and ``count`` features for ``n`` points.

    ``roughness`` in [0, 1] is the variance that the random speed along the curve gives to the sums of the
    waves, relative to points thrown independently: it softens the stiffness of each mode, see
    :mod:`videorestore.model.integrated.marginal`. ``crowded``: a normal density of positions instead of an even one.
    """
    s = (np.arange(size) + 0.5) / size
    omega = frequencies(count, periodic)
    modes = int(np.clip(n // 2, 4, 48))
    k = np.arange(1, modes + 1)
    free = 2.0 / n
    spread = 1.0 / (free + 2.0 * r / k) + roughness * n / 2.0
    stiffness = np.maximum(1.0 / spread - free, 0.0)
    stiffness[stiffness < 1e-9] = 0.0
    log_prior = -0.5 * np.square((s - 0.5) / NORMAL_SD) if crowded else np.zeros(size)
    return Basis(
        kernel=kernel,
        periodic=periodic,
        s=s,
        omega=omega,
        phi=features(s, omega, periodic),
        waves=waves(s, modes),
        stiffness=np.concatenate([stiffness, stiffness]),
        log_prior=log_prior - np.log(np.exp(log_prior).mean()),
    )
