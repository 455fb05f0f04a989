"""The search for the integrated posterior: several orders to start from, rival models judged by evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from videorestore.errors import InputError
from videorestore.model.covariance import kernel_named
from videorestore.model.integrated.basis import NORMAL_SD, Basis, make_basis
from videorestore.model.integrated.marginal import Marginal
from videorestore.model.integrated.starts import differs, distances, relinked, starting_orders
from videorestore.model.integrated.state import State, finish, modes, recut, warp_of
from videorestore.model.integrated.steps import Data, curve_step, log_evidence, position_step

Array = NDArray[np.float64]

COARSE, FINE = 160, 512
"""Cells of the grid in the search, and at most in the end."""
MOST_FOR_STARTS = 1000
"""Points up to which other orders than the given one are tried: they need all pairs."""
CHAINS, ROUNDS = 8, 4
"""Chains of the same pieces tried at a time, and how often the best is cut and joined anew."""
DECISIVE = 12.0
"""Gain in log evidence at which an even speed along the curve is believed.

The evidence is approximate: of points thrown independently along a curve, one set in fifteen or so would pass a
gain of 5, and where an even speed is believed wrongly the curve gets worse by a tenth or more.
"""


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
    chosen = kernel_named(kernel)
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
        "kernel": chosen,
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
    if roughness == "auto" and r > 0 and not periodic:
        other = _challenge(_crowded(best, layout, rough), best)
        if other.evidence > best.evidence:
            best = _run(other, 20)
    if roughness == "auto" and r > 0:
        strict = make_basis(size=best.basis.s.size, roughness=0.0, **layout)
        q = recut(best.q, warp_of(best, 1.0))
        other = _challenge(_begin(best.data, strict, q, best.start, best.curve.theta), best)
        if other.evidence > best.evidence + DECISIVE:
            best, rough = _run(other, 20), 0.0
    return finish(best, mean, axes, rough if r > 0 else 0.0, r)


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


def _begin(data: Data, basis: Basis, q: Array, start: str, theta: Array | None = None) -> State:
    first = _first_theta(data) if theta is None else theta
    curve = curve_step(data, basis, q, first, 30 if theta is None else 15)
    return State(
        basis=basis,
        data=data,
        curve=curve,
        q=q,
        field=np.zeros(basis.stiffness.size),
        evidence=log_evidence(basis, curve, q),
        n_iter=0,
        start=start,
    )


def _run(state: State, iterations: int, tolerance: float = 2e-3) -> State:
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


def _challenge(other: State, best: State) -> State:
    """Run a rival model; give up early where it is far behind."""
    other = _run(other, 5)
    return _run(other, 20) if other.evidence > best.evidence - 12.0 else other


def _crowded(state: State, layout: dict[str, Any], roughness: float) -> State:
    """The same beliefs on an axis along which positions crowd in the middle: an end may then run out thinly."""
    size = state.basis.s.size
    basis = make_basis(size=size, roughness=roughness, crowded=True, **layout)
    ends = ndtr(np.array([-0.5, 0.5]) / NORMAL_SD)
    share = ends[0] + warp_of(state, 1.0) * (ends[1] - ends[0])
    q = recut(state.q, 0.5 + NORMAL_SD * ndtri(share))
    return _begin(state.data, basis, q, state.start, state.curve.theta)


def _search(data: Data, basis: Basis, given: Array, others: bool) -> State:
    """Short runs from several orders, longer ones from the best two."""
    orders = {"given": given}
    others = others and 8 <= data.y.shape[0] <= MOST_FOR_STARTS
    if others:
        for label, order in starting_orders(data.y, data.seen).items():
            if differs(order, list(orders.values())):
                orders[label] = order
    tried = [_run(_from_order(data, basis, order, label), 10) for label, order in orders.items()]
    tried.sort(key=lambda state: -state.evidence)
    longer = [_run(state, 25) for state in tried[:2]]
    best = max(longer, key=lambda state: state.evidence)
    return _mended(best) if others else best


def _from_order(data: Data, basis: Basis, order: Array, label: str) -> State:
    """Beliefs a few neighbours wide around positions ``order`` (n,), and the curve given them."""
    apart = np.abs(order[:, None] - basis.s)
    if basis.periodic:
        apart = np.minimum(apart, 1.0 - apart)
    q = np.exp(-0.5 * np.square(apart / 0.03)) + 1e-300
    return _begin(data, basis, q / q.sum(axis=1, keepdims=True), label)


def _mended(best: State) -> State:
    """Cut the chain at its longest links and join the pieces otherwise, while the evidence gains by it.

    The steps of the search never carry a group of points from one part of the curve to another: all of them
    would have to leave at once.
    """
    data, basis = best.data, best.basis
    distance = distances(data.y, data.seen)
    known: list[Array] = []
    for _ in range(ROUNDS):
        chains = relinked(distance, modes(best.q, basis.s, basis.periodic), known, CHAINS)
        if not chains:
            break
        known += chains
        tried = [_run(_from_order(data, basis, order, best.start), 3) for order in chains]
        tried.sort(key=lambda state: -state.evidence)
        other = max((_run(state, 30) for state in tried[:2]), key=lambda state: state.evidence)
        # Less than this is the same place reached again.
        if other.evidence <= best.evidence + 0.5:
            break
        best = other
    return best


def _cells(state: State) -> int:
    """Cells that the grid needs: two and a half for the sd of a position where the curve is fast."""
    curve = state.curve
    path = state.basis.phi[:, curve.keep] @ curve.mean / np.sqrt(curve.noise_var)
    step = np.sqrt(np.square(np.diff(path, axis=0)).sum(axis=1))
    speed = float(np.quantile(step, 0.9)) * state.basis.s.size
    return int(np.clip(2.5 * speed, COARSE, 10 * FINE))


def _regrid(state: State, basis: Basis) -> State:
    q, field = position_step(state.data, basis, state.curve, state.field)
    return replace(state, basis=basis, q=q, field=field)
