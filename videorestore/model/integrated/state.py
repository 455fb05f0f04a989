"""Where the search stands, and from its end to the posterior: positions and the covariance of the curve."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.model.integrated.axes import Frame
from videorestore.model.integrated.basis import Basis, to_x
from videorestore.model.integrated.hyper import LEAST_PRECISION, integrated
from videorestore.model.integrated.marginal import Marginal
from videorestore.model.integrated.steps import Curve, Data

Array = NDArray[np.float64]

POINT = 1.0
"""Sd of the noise, per root of the kept axes, below which the extent of a curve is that of a point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where the search stands: beliefs ``q`` (n, m), the curve given them, the field, the evidence.

    ``freedom`` is that of Student's noise, None where it is normal.
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


def finish(state: State, frame: Frame, ambiguous: bool) -> Marginal:
    """The posterior at the end of a search, in the dimensions of the data."""
    loading = frame.scale[:, None] * frame.axes
    made, rest = integrated(state.data, state.basis, state.q, state.curve, frame.points, frame.axes)
    state = replace(state, curve=made)
    basis, curve, q = state.basis, state.curve, state.q
    x = to_x(modes(q, basis.s, basis.periodic), basis.crowded)
    at = to_x(basis.s, basis.crowded)
    first = q @ at
    flip = bool(x[0] > x[-1]) and not basis.periodic
    noise = curve.noise_var
    return Marginal(
        x=1.0 - x if flip else x,
        x_sd=np.sqrt(np.maximum(q @ np.square(at) - np.square(first), 0.0)),
        q=q,
        basis=basis,
        data=state.data,
        curve=curve,
        root=louis_root(state),
        mean=frame.mean,
        loading=loading,
        rest=rest if rest is None else replace(rest, scale=frame.scale),
        phi=np.square(loading) @ curve.phi,
        noise_var=(noise[0] if state.data.tied else noise) * np.square(frame.scale),
        evidence=state.evidence,
        start=state.start,
        n_iter=state.n_iter,
        flip=flip,
        collapsed=state.collapsed,
        ambiguous=ambiguous,
        freedom=state.freedom,
    )


def louis_root(state: State) -> Array:
    """Root (k, d, k d) of the joint covariance of the curve's weights, positions integrated out.

    The information in the data about the curve is what it would be with positions known, less what is lost
    by not knowing them: the covariance, over each point's position, of the score.
    """
    data, curve, q = state.data, state.curve, state.q
    k, d = curve.mean.shape
    phi = state.basis.phi[:, curve.keep]
    noise = curve.noise_var
    path = phi @ curve.mean
    known = data.weight[:, None] * data.seen
    # Scores in whitened weights: one column per dimension and feature.
    white = [phi @ curve.root[:, :, j] for j in range(d)]
    pull = [known[:, j, None] * (data.y[:, j, None] - path[:, j]) / noise[j] for j in range(d)]
    first = np.concatenate([(q * pull[j]) @ white[j] for j in range(d)], axis=1)
    lost = -first.T @ first
    for i in range(d):
        for j in range(i, d):
            weight = (q * pull[i] * pull[j]).sum(axis=0)
            block = white[i].T @ (weight[:, None] * white[j])
            lost[i * k : (i + 1) * k, j * k : (j + 1) * k] += block
            if j > i:
                lost[j * k : (j + 1) * k, i * k : (i + 1) * k] += block.T
    precision, vectors = np.linalg.eigh(np.eye(k * d) - lost)
    vectors = vectors / np.sqrt(np.maximum(precision, LEAST_PRECISION))
    out = np.empty((k, d, k * d))
    for j in range(d):
        out[:, j] = curve.root[:, :, j] @ vectors[j * k : (j + 1) * k]
    return out
