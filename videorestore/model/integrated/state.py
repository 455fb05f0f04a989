"""From the end of the search to the posterior: positions in (0, 1) and the covariance of the curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.model.integrated.basis import Basis
from videorestore.model.integrated.marginal import Marginal
from videorestore.model.integrated.steps import Curve, Data

Array = NDArray[np.float64]

LEAST_PRECISION = 0.2
"""Smallest share of a direction's mean-field precision that Louis' correction may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where the search stands: beliefs ``q`` (n, m), the curve given them, the field, the evidence."""

    basis: Basis
    data: Data
    curve: Curve
    q: Array
    field: Array
    evidence: float
    n_iter: int
    start: str


def warp_of(state: State, roughness: float) -> Array:
    """x (m,) at each cell: the share of points before it, shrunk to s where the warp is stiff."""
    n, m = state.q.shape
    if roughness <= 0:
        return state.basis.s
    prior = 1.0 + n * (1.0 / roughness - 1.0)
    density = (prior / m * np.exp(state.basis.log_prior) + state.q.sum(axis=0)) / (prior + n)
    return np.asarray(np.cumsum(density) - 0.5 * density)


def recut(q: Array, warp: Array) -> Array:
    """Beliefs (n, m) about x on an even grid, from those about s with x = ``warp`` (m,) at each cell."""
    m = warp.size
    edges = np.arange(m + 1) / m
    middle = 0.5 * (warp[1:] + warp[:-1])
    old = np.concatenate([[0.0], middle, [1.0]])
    total = np.concatenate([np.zeros((q.shape[0], 1)), np.cumsum(q, axis=1)], axis=1)
    out = np.stack([np.diff(np.interp(edges, old, row)) for row in total])
    out = np.maximum(out, 0.0) + 1e-300
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def modes(q: Array, s: Array, periodic: bool) -> Array:
    """Most probable position (n,) of each point, between cells by a parabola through the log density."""
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


def finish(state: State, mean: Array, axes: Array, roughness: float, r: float) -> Marginal:
    basis, curve, q = state.basis, state.curve, state.q
    s = modes(q, basis.s, basis.periodic)
    warp = warp_of(state, roughness)
    x = np.interp(s, basis.s, warp) if roughness > 0 else s
    flip = bool(x[0] > x[-1]) and not basis.periodic
    first = q @ warp
    x_sd = np.sqrt(np.maximum(q @ np.square(warp) - np.square(first), 0.0))
    root = louis_root(state)
    return Marginal(
        x=1.0 - x if flip else x,
        x_sd=x_sd,
        s=1.0 - s if flip else s,
        grid=basis.s,
        warp=warp,
        q=q,
        mean=mean,
        weights=curve.mean @ axes.T,
        root=np.einsum("jl,klr->kjr", axes, root),
        axes=axes,
        omega=basis.omega[curve.keep],
        curve=curve,
        data=state.data,
        kernel=basis.kernel,
        periodic=basis.periodic,
        r=r,
        alpha=curve.alpha,
        phi=np.square(axes) @ curve.phi,
        noise_var=np.square(axes) @ curve.noise_var,
        evidence=state.evidence,
        roughness=roughness,
        start=state.start,
        n_iter=state.n_iter,
        flip=flip,
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
    # Scores in whitened weights: one column per dimension and feature.
    white = [phi @ curve.root[:, :, j] for j in range(d)]
    pull = [data.seen[:, j, None] * (data.y[:, j, None] - path[:, j]) / noise[j] for j in range(d)]
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
