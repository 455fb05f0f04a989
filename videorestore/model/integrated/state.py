"""Where the search stands."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.model.integrated.axes import Frame
from videorestore.model.integrated.basis import Basis
from videorestore.model.integrated.steps import Curve, Data

Array = NDArray[np.float64]

POINT = 1.0
"""Sd of the noise, per root of the kept axes, below which the extent of a curve is that of a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where the search stands.

    Attributes
    ----------
    basis, data, curve
        See :mod:`videorestore.model.integrated.steps`.
    q : ndarray (n, m)
        Posterior probability of each cell of the basis' grid.
    field : ndarray (2 modes,)
        Of the repulsion.
    evidence : float
        Log evidence with curve and positions integrated out.
    start : str
        The order that led here.
    freedom : float or None
        Degrees of freedom of Student's noise; None where it is normal.
    """

    basis: Basis
    data: Data
    curve: Curve
    q: Array
    field: Array
    evidence: float
    n_iter: int
    start: str
    freedom: float | None = None

    @property
    def path(self) -> Array:
        """Mean curve (m, d) on the grid, in sds of the noise."""
        phi = self.basis.phi[:, self.curve.keep]
        return np.asarray(phi @ self.curve.mean / np.sqrt(self.curve.noise_var))

    @property
    def collapsed(self) -> bool:
        """The curve is no longer than the noise is wide: a point."""
        held = self.path[self.q.sum(axis=0) > 1e-3]
        return bool(np.linalg.norm(np.ptp(held, axis=0)) < POINT * np.sqrt(held.shape[1]))


def residual(state: State, frame: Frame) -> Array:
    """Expected squared distance (d,) between points and curve in each dimension, a point: what its noise variance is."""
    phi = state.basis.phi[:, state.curve.keep]
    path, own = (
        phi @ state.curve.mean,
        np.square(np.tensordot(phi, state.curve.root, axes=(1, 0))).sum(axis=1),
    )
    first, share = state.q @ path, state.q.mean(axis=0)
    # What is not known of a point's position, and of the curve there.
    spread = path.T @ (share[:, None] * path) - first.T @ first / len(first) + np.diag(share @ own)
    off = np.square(frame.points - first @ frame.axes.T).mean(axis=0)
    return np.asarray(off + np.einsum("da,ab,db->d", frame.axes, spread, frame.axes, optimize=True))


def modes(q: Array, s: Array, periodic: bool) -> Array:
    """Most probable place (n,) of each point, between cells by a parabola through the log density."""
    m = s.size
    top = q.argmax(axis=1)
    rows = np.arange(q.shape[0])
    left, right = (top - 1) % m, (top + 1) % m
    log_q = np.log(np.maximum(q, 1e-290))
    a, b, c = log_q[rows, left], log_q[rows, top], log_q[rows, right]
    bend = a - 2 * b + c
    shift = np.where(bend < -1e-12, 0.5 * (a - c) / np.minimum(bend, -1e-12), 0.0)
    inside = periodic | ((top > 0) & (top < m - 1))
    mode = s[top] + np.where(inside, np.clip(shift, -0.5, 0.5), 0.0) / m
    if periodic:
        return np.asarray(mode % 1.0)
    # Points that crowd at an end keep their order by a trace of their means.
    return np.asarray(0.998 * mode + 0.002 * (q @ s))
