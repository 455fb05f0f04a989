"""Where the integrated posterior lives: a grid of positions, the curve's features and the field's modes.

The curve is a finite sum of features with independent normal weights. On an open curve these are sines on a
padded interval, on a closed one a Fourier series; the variance of a weight is the spectral density of the
kernel at the feature's frequency, so that another ``alpha`` changes the variances and nothing else. The
repulsion ``log |2 sin(pi u)| = -sum_k cos(2 pi k u) / k`` is diagonal in the Fourier modes of the density of
positions; modes finer than the spacing of the points are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

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


def to_x(s: Array, crowded: bool) -> Array:
    """Positions ``x`` in (0, 1) of places ``s`` on the axis along which the covariance is stationary.

    Corp spreads ``x`` evenly. Where points crowd in the middle of the curve and thin out towards its ends, as a
    normal density does, ``x`` is its distribution function of ``s``; else they are the same.
    """
    if not crowded:
        return s
    low, high = ndtr(np.array([-0.5, 0.5]) / NORMAL_SD)
    return np.asarray((ndtr((s - 0.5) / NORMAL_SD) - low) / (high - low))


def to_s(x: Array, crowded: bool) -> Array:
    """Inverse of :func:`to_x`; beyond (0, 1) it goes on straight."""
    if not crowded:
        return x
    low, high = ndtr(np.array([-0.5, 0.5]) / NORMAL_SD)
    inside = np.clip(x, 0.0, 1.0)
    return np.asarray(0.5 + NORMAL_SD * ndtri(low + inside * (high - low)) + (x - inside))


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
        Log density of a place at each cell before repulsion, relative to an even one.
    """

    kernel: Kernel
    periodic: bool
    crowded: bool
    r: float
    s: Array
    omega: Array
    phi: Array
    waves: Array
    stiffness: Array
    log_prior: Array

    def with_r(self, r: float) -> Basis:
        """The same with another repulsion."""
        return replace(self, r=r, stiffness=stiffness_of(r, self.stiffness.size // 2))


def stiffness_of(r: float, modes: int) -> Array:
    """Energy (2 modes,) of the modes of the density under Corp(r)."""
    one = 2.0 * r / np.arange(1, modes + 1)
    return np.concatenate([one, one])


def make_basis(
    *, n: int, size: int, count: int, kernel: Kernel, periodic: bool, r: float, crowded: bool = False
) -> Basis:
    """Lay out a grid of ``size`` cells and ``count`` features for ``n`` points.

    ``crowded``: a normal density of places instead of an even one, see :func:`to_x`.
    """
    s = (np.arange(size) + 0.5) / size
    omega = frequencies(count, periodic)
    modes = int(np.clip(n // 2, 4, 48))
    log_prior = -0.5 * np.square((s - 0.5) / NORMAL_SD) if crowded else np.zeros(size)
    return Basis(
        kernel=kernel,
        periodic=periodic,
        crowded=crowded,
        r=r,
        s=s,
        omega=omega,
        phi=features(s, omega, periodic),
        waves=waves(to_x(s, crowded), modes),
        stiffness=stiffness_of(r, modes),
        log_prior=log_prior - np.log(np.exp(log_prior).mean()),
    )
