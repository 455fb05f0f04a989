"""The electroGP with the positions integrated out, for data of few dimensions.

With thousands of pixels each position is sharp and the posterior mode is enough. With two dimensions it is
not: a mode lets positions soak up noise, so that the noise comes out too small, the band too narrow and the
curve too rough. Here every point keeps a posterior over a grid of positions, and the curve is fitted to all
of them at once.

What is approximated:

- Positions and curve are independent in the posterior (mean field), each exact given the other: positions on
  a grid, the curve a Gaussian process in closed form. Hyper-parameters maximise the evidence. The covariance
  of the curve is corrected afterwards for what is not known about positions (Louis' identity).
- Corp(r) acts through the field that all points make together, the saddle point of the repulsion written
  over the Fourier modes of the density of positions (with its Gaussian fluctuations in the evidence). Modes
  finer than about two spacings are left out.
- Corp makes positions nearly equally spaced whatever the speed along the curve, and a covariance that is
  stationary in x would have to bend to follow an uneven speed. So the covariance may be stationary in a
  coordinate ``s`` instead, with ``x`` a random increasing function of it. Its ``roughness`` is 0 for the
  paper's model (s = x) and 1 when points are spread along s as if thrown independently; integrated out, it
  softens the repulsion in s. An even speed (0) is believed where the evidence for it is decisive. ``r = 0`` has no repulsion and s = x: the
  plain GP-LVM with a uniform prior.
- With one noise variance for all dimensions, the data are turned to their principal axes, so that each
  direction has its own signal variance and a direction in which the curve is straight stays flat. One noise
  variance per dimension (not turned) is used instead where the evidence asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.errors import InputError
from videorestore.model.covariance import Kernel, check_kernel
from videorestore.model.marginal_basis import Basis, features, make_basis
from videorestore.model.marginal_starts import starting_orders
from videorestore.model.marginal_steps import (
    Curve,
    Data,
    curve_step,
    log_evidence,
    position_step,
)

Array = NDArray[np.float64]

COARSE, FINE = 160, 512
"""Cells of the grid in the search, and at most in the end."""
MOST_FOR_STARTS = 1000
"""Points up to which other orders than the given one are tried: they need all pairs."""
DECISIVE = 5.0
"""Gain in log evidence at which an even speed along the curve is believed; the evidence is approximate."""
LEAST_PRECISION = 0.2
"""Smallest share of a direction's mean-field precision that Louis' correction may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """Posterior of curve and positions.

    Attributes
    ----------
    x, x_sd : ndarray (n,)
        Most probable position of each point in (0, 1), and sd of its posterior.
    s : ndarray (n,)
        The same in the coordinate in which the covariance is stationary.
    grid : ndarray (m,)
        Cells of ``s``.
    warp : ndarray (m,)
        ``x`` at each of them.
    q : ndarray (n, m)
        Posterior probability of each cell.
    mean : ndarray (d,)
        Centre of the data.
    weights : ndarray (k, d)
        Posterior means of the curve's features.
    root : ndarray (k, d, j)
        Root of their joint covariance.
    axes : ndarray (d, d)
        Columns are the axes in which ``curve`` is written.
    alpha : float
    phi, noise_var : ndarray (d,)
        Signal and noise variance of each dimension.
    evidence : float
        Log evidence with curve and positions integrated out.
    roughness : float
        0: covariance stationary in x; 1: points spread independently along s.
    start : str
        The order that led here.
    flip : bool
        The axis of s runs against that of x.
    """

    x: Array
    x_sd: Array
    s: Array
    grid: Array
    warp: Array
    q: Array
    mean: Array
    weights: Array
    root: Array
    axes: Array
    omega: Array
    curve: Curve
    data: Data
    kernel: Kernel
    periodic: bool
    r: float
    alpha: float
    phi: Array
    noise_var: Array
    evidence: float
    roughness: float
    start: str
    n_iter: int
    flip: bool

    @property
    def span(self) -> tuple[float, float]:
        """Where the curve is held by data: beyond it lies the prior."""
        return (0.0, 1.0) if self.periodic else (float(self.x.min()), float(self.x.max()))

    def features(self, x: Array) -> Array:
        """The curve's features (p, k) at positions ``x`` (p,)."""
        at = 1.0 - x if self.flip else x
        if self.roughness > 0:
            low, high = self.warp[0], self.warp[-1]
            # The ends of the warp go on straight: beyond (0, 1) lies the prior whatever the speed.
            inner = np.interp(at, self.warp, self.grid)
            below, above = np.minimum(at - low, 0.0), np.maximum(at - high, 0.0)
            first = self.grid[0] / max(low, 1e-12)
            last = (1.0 - self.grid[-1]) / max(1.0 - high, 1e-12)
            at = inner + below * first + above * last
        return features(at, self.omega, self.periodic)

    def predict(self, x: ArrayLike) -> tuple[Array, Array]:
        """Mean and sd (p, d) of the curve at positions ``x`` (p,)."""
        phi = self.features(np.asarray(x, dtype=np.float64).reshape(-1))
        spread = np.tensordot(phi, self.root, axes=(1, 0))
        return phi @ self.weights + self.mean, np.sqrt(np.square(spread).sum(axis=2))

    def sample(self, x: ArrayLike, rng: np.random.Generator, noise: bool = True) -> Array:
        """One draw (p, d) from the posterior predictive at ``x`` (p,), jointly over x."""
        phi = self.features(np.asarray(x, dtype=np.float64).reshape(-1))
        drawn = self.weights + self.root @ rng.standard_normal(self.root.shape[2])
        out = phi @ drawn + self.mean
        if noise:
            out = out + rng.standard_normal(out.shape) * np.sqrt(self.noise_var)
        return np.asarray(out)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    basis: Basis
    data: Data
    curve: Curve
    q: Array
    field: Array
    evidence: float
    n_iter: int
    start: str


def refine(
    Y: ArrayLike,
    x0: ArrayLike,
    *,
    r: float = 1.0,
    kernel: str = "se",
    periodic: bool = False,
    random_state: Any = None,
    starts: bool = True,
    noise: str = "auto",
    roughness: float | str = "auto",
    noise_var: float | None = None,
    noise_floor: float = 1e-5,
) -> Marginal | None:
    """Posterior of the curve through points with their positions integrated out.

    Parameters
    ----------
    Y : ndarray (n, d)
        Points, NaN = missing; meant for d up to about 20.
    x0 : ndarray (n,)
        Positions in (0, 1) to start from.
    r : float
        Repulsion of the Coulomb process.
    kernel : {"se", "matern32", "matern52"}
    periodic : bool
        The curve is closed.
    random_state
        Not used: the result is deterministic.
    starts : bool
        Try other orders too, and keep the one with the highest evidence.
    noise : {"auto", "shared", "dimension"}
        One noise variance for all dimensions, or one for each; ``auto`` asks the evidence.
    roughness : {"auto"} or float in [0, 1]
        0 keeps the covariance stationary in x; see the module's text.
    noise_var : float, optional
        Known noise variance.
    noise_floor : float
        Smallest noise variance, as a share of the mean variance of the data.

    Returns
    -------
    marginal : Marginal or None
        None where positions are so sharp that the grid cannot hold them: the mode is as good then.
    """
    y = np.asarray(Y, dtype=np.float64)
    if y.ndim != 2 or np.shape(x0) != (y.shape[0],):
        raise InputError(f"points must be (n, d) and positions (n,), got {y.shape} and {np.shape(x0)}")
    if noise not in ("auto", "shared", "dimension"):
        raise InputError(f"noise must be 'auto', 'shared' or 'dimension', got {noise!r}")
    name = check_kernel(kernel)
    given = np.asarray(x0, dtype=np.float64)
    n = y.shape[0]
    seen = ~np.isnan(y)
    mean = np.where(seen, y, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    centred = np.where(seen, y - mean, 0.0)
    if not np.square(centred).sum() > 0:
        return None
    turn = seen.all() and noise != "dimension" and y.shape[1] > 1
    axes = np.linalg.svd(centred, full_matrices=True)[2].T if turn else np.eye(y.shape[1])
    data = _data(centred @ axes, seen.astype(np.float64), noise != "dimension", noise_floor, noise_var)
    rough = (1.0 if r > 0 else 0.0) if roughness == "auto" else float(roughness)
    layout: dict[str, Any] = {
        "n": n,
        "count": int(np.clip(0.72 * n, 24, 96)),
        "kernel": name,
        "periodic": periodic,
        "r": r,
    }
    best = _search(data, make_basis(size=COARSE, roughness=rough, **layout), given, starts and not periodic)
    cells = _cells(best)
    if cells > 2 * FINE:
        return None
    best = _regrid(best, make_basis(size=min(cells, FINE), roughness=rough, **layout))
    best = _run(best, 40)
    if noise == "auto" and y.shape[1] > 1:
        own = _data(centred, data.seen, False, noise_floor, noise_var)
        theta = np.concatenate(
            [
                best.curve.theta[:1],
                np.log(np.square(axes) @ best.curve.phi),
                np.full(y.shape[1], best.curve.theta[-1]),
            ]
        )
        other = _challenge(_begin(own, best.basis, best.q, best.start, theta), best)
        # Each variance more must earn its keep.
        if other.evidence > best.evidence + 3.0 + 2.0 * (y.shape[1] - 1):
            best, axes = _run(other, 20), np.eye(y.shape[1])
    if roughness == "auto" and r > 0:
        strict = make_basis(size=best.basis.s.size, roughness=0.0, **layout)
        q = _recut(best.q, _warp(best, 1.0))
        other = _challenge(_begin(best.data, strict, q, best.start, best.curve.theta), best)
        if other.evidence > best.evidence + DECISIVE:
            best, rough = _run(other, 20), 0.0
    return _finish(best, mean, axes, rough if r > 0 else 0.0, r)


# -- the search ------------------------------------------------------------------------------------


def _data(y: Array, seen: Array, tied: bool, floor: float, noise_var: float | None) -> Data:
    if seen.all():
        groups: tuple[NDArray[np.intp], ...] = (np.arange(y.shape[1]),)
    else:
        _, index = np.unique(seen.T, axis=0, return_inverse=True)
        index = index.reshape(-1)
        groups = tuple(np.flatnonzero(index == g) for g in range(index.max() + 1))
    scale = float(np.square(y).sum() / seen.sum())
    return Data(
        y=y,
        seen=seen,
        groups=groups,
        tied=tied,
        scale=scale,
        floor=max(floor, 1e-7) * scale,
        noise_var=None if noise_var is None else max(float(noise_var), 1e-7 * scale),
    )


def _first_theta(data: Data) -> Array:
    d = data.y.shape[1]
    variance = np.square(data.y).sum(axis=0) / np.maximum(data.seen.sum(axis=0), 1)
    noise = np.full(1 if data.tied else d, np.log(0.05 * data.scale))
    return np.concatenate([[np.log(10.0)], np.log(variance + 1e-6 * data.scale), noise])


def _begin(data: Data, basis: Basis, q: Array, start: str, theta: Array | None = None) -> _State:
    first = _first_theta(data) if theta is None else theta
    curve = curve_step(data, basis, q, first, 30 if theta is None else 15)
    return _State(
        basis=basis,
        data=data,
        curve=curve,
        q=q,
        field=np.zeros(basis.stiffness.size),
        evidence=log_evidence(basis, curve, q),
        n_iter=0,
        start=start,
    )


def _run(state: _State, iterations: int, tolerance: float = 2e-3) -> _State:
    """Alternate between positions and curve until the evidence rests."""
    data, basis = state.data, state.basis
    q, field, curve, evidence = state.q, state.field, state.curve, state.evidence
    done = 0
    for done in range(1, iterations + 1):
        q, field = position_step(data, basis, curve, field)
        curve = curve_step(data, basis, q, curve.theta, 5)
        before, evidence = evidence, log_evidence(basis, curve, q)
        if done > 3 and abs(evidence - before) < tolerance:
            break
    return replace(state, q=q, field=field, curve=curve, evidence=evidence, n_iter=state.n_iter + done)


def _challenge(other: _State, best: _State) -> _State:
    """Run a rival model; give up early where it is far behind."""
    other = _run(other, 5)
    return _run(other, 20) if other.evidence > best.evidence - 12.0 else other


def _search(data: Data, basis: Basis, given: Array, others: bool) -> _State:
    """Short runs from several orders, longer ones from the best two."""
    orders = {"given": given}
    if others and 8 <= data.y.shape[0] <= MOST_FOR_STARTS:
        for label, order in starting_orders(data.y, data.seen).items():
            # The same order, or its reverse, leads to the same place.
            if all(abs(np.corrcoef(order, known)[0, 1]) < 0.9995 for known in orders.values()):
                orders[label] = order
    tried = []
    for label, order in orders.items():
        apart = np.abs(order[:, None] - basis.s)
        if basis.periodic:
            apart = np.minimum(apart, 1.0 - apart)
        q = np.exp(-0.5 * np.square(apart / 0.03)) + 1e-300
        tried.append(_run(_begin(data, basis, q / q.sum(axis=1, keepdims=True), label), 10))
    tried.sort(key=lambda state: -state.evidence)
    longer = [_run(state, 25) for state in tried[:2]]
    return max(longer, key=lambda state: state.evidence)


def _cells(state: _State) -> int:
    """Cells that the grid needs: two and a half for the sd of a position where the curve is fast."""
    curve = state.curve
    path = state.basis.phi[:, curve.keep] @ curve.mean / np.sqrt(curve.noise_var)
    step = np.sqrt(np.square(np.diff(path, axis=0)).sum(axis=1))
    speed = float(np.quantile(step, 0.9)) * state.basis.s.size
    return int(np.clip(2.5 * speed, COARSE, 10 * FINE))


def _regrid(state: _State, basis: Basis) -> _State:
    q, field = position_step(state.data, basis, state.curve, state.field)
    return replace(state, basis=basis, q=q, field=field)


# -- positions in (0, 1) ---------------------------------------------------------------------------


def _warp(state: _State, roughness: float) -> Array:
    """x (m,) at each cell: the share of points before it, shrunk to s where the warp is stiff."""
    n, m = state.q.shape
    if roughness <= 0:
        return state.basis.s
    prior = 1.0 + n * (1.0 / roughness - 1.0)
    density = (prior / m + state.q.sum(axis=0)) / (prior + n)
    return np.asarray(np.cumsum(density) - 0.5 * density)


def _recut(q: Array, warp: Array) -> Array:
    """Beliefs (n, m) about x on an even grid, from those about s with x = ``warp`` (m,) at each cell."""
    m = warp.size
    edges = np.arange(m + 1) / m
    middle = 0.5 * (warp[1:] + warp[:-1])
    old = np.concatenate([[0.0], middle, [1.0]])
    total = np.concatenate([np.zeros((q.shape[0], 1)), np.cumsum(q, axis=1)], axis=1)
    out = np.stack([np.diff(np.interp(edges, old, row)) for row in total])
    out = np.maximum(out, 0.0) + 1e-300
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _modes(q: Array, s: Array, periodic: bool) -> Array:
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


def _finish(state: _State, mean: Array, axes: Array, roughness: float, r: float) -> Marginal:
    basis, curve, q = state.basis, state.curve, state.q
    s = _modes(q, basis.s, basis.periodic)
    warp = _warp(state, roughness)
    x = np.interp(s, basis.s, warp) if roughness > 0 else s
    flip = bool(x[0] > x[-1]) and not basis.periodic
    first = q @ warp
    x_sd = np.sqrt(np.maximum(q @ np.square(warp) - np.square(first), 0.0))
    root = _louis(state)
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


def _louis(state: _State) -> Array:
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
