"""The search for the integrated posterior: several orders to start from, rival models judged by evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.errors import InputError
from videorestore.model.covariance import kernel_named
from videorestore.model.integrated.axes import Frame, centred, evened, turned, weighed
from videorestore.model.integrated.basis import Basis, make_basis, to_s
from videorestore.model.integrated.marginal import Marginal, finish
from videorestore.model.integrated.state import State, modes, residual
from videorestore.model.integrated.steps import Data, curve_step, log_evidence, position_step, reweighted
from videorestore.model.options import Options
from videorestore.model.starts import differs, distances, ranks, relinked, standing_alone, starting_orders
from videorestore.model.threads import one_thread

Array = NDArray[np.float64]

COARSE, FINE = 160, 1024
"""Cells of the grid in the search, and at most in the end."""
MOST_FOR_STARTS = 1000
"""Points up to which other orders than the given one are tried: they need all pairs."""
CHAINS, ROUNDS = 8, 4
"""Chains of the same pieces tried at a time, and how often the best is cut and joined anew."""
R_LEAST, R_FIRST, R_MOST, R_STEP = 0.003, 0.3, 300.0, 10.0 ** (2 / 3)
"""Where repulsion is learnt: the least, the first that is tried, the most, and the factor between two steps.

An open curve is searched without: under more a search ends at shorter lengths, and does not leave them when it
is lowered (on spirals of 100 points its evidence was 5 to 8 nats behind). A closed one is searched under R_FIRST: without
repulsion the circle falls together."""
R_PRICE = 2.5
"""Nats that each step of the repulsion, and positions that crowd, must gain: the evidence is approximate, and where an even speed is believed
wrongly the curve has to bend with the chance of the points."""
FREEDOM = 3.0
"""Degrees of freedom of Student's noise."""
LEAST_WEIGHT = 1e-3
"""Of a point that stands alone, to begin with, under Student's noise."""
OWN_DIMENSIONS = 20
"""Dimensions up to which each may have its own noise by evidence; beyond, each is divided by its own where they differ."""
WHITENINGS = 12
"""Times at most that the noise of many dimensions is looked at: positions are better each time, and tell more of the noise."""
SHARP = 9.0
"""Cells for each point from which positions of many dimensions are sharp: their sd is then 0.28 of the spacing."""
ALIKE = 3.0
"""Nats within which two curves explain the data about as well."""
BENT = 2.0
"""Nats by which the evidence may understate a curve that bends more than another: against Laplace's approximation around the
curve it lay behind by 0.9 on straight lines through 10 points and by 2.5 on parabolas."""


def refine(Y: ArrayLike, x0: ArrayLike, options: Options, level: float = np.inf) -> Marginal | Array | None:
    """Posterior of the curve through points with their positions integrated out.

    Parameters
    ----------
    Y : ndarray (n, d)
        Points, NaN = missing.
    x0 : ndarray (n,)
        Positions in (0, 1) to start from.
    options : Options
        Which kernel (not "auto"), repulsion and noise; other orders are tried where ``init`` is "auto".
    level : float
        Noise variance as a first look sees it.

    Returns
    -------
    marginal : Marginal, ndarray (n,) or None
        Where positions are so sharp that the grid cannot hold them their mode is as good: then an order for it to
        start from, None where none was found.
    """
    y = np.asarray(Y, dtype=np.float64)
    if y.ndim != 2 or np.shape(x0) != (y.shape[0],):
        raise InputError(f"points must be (n, d) and positions (n,), got {y.shape} and {np.shape(x0)}")
    with one_thread():
        return _refine(y, np.asarray(x0, dtype=np.float64), options, level)


def _refine(y: Array, given: Array, options: Options, level: float) -> Marginal | Array | None:
    r, periodic, (n, d) = options.r, options.periodic, y.shape
    free = options.noise == "normal" and options.hyper != "shared"
    many = free and d > OWN_DIMENSIONS and options.noise_var is None and not np.isnan(y).any()
    frame = _frame_of(y, given, level, many)
    if frame is None:
        return None
    layout: dict[str, Any] = {
        "n": n,
        "count": int(np.clip(0.72 * n, 24, 96)),
        "kernel": kernel_named(options.kernel),
        "periodic": periodic,
        "r": max(R_FIRST if periodic else 0.0, 0.0 if isinstance(r, str) else r),
    }
    data = frame.data(tied=True, options=options)
    freedom = FREEDOM if options.noise == "student" else None
    best, ambiguous = _search(data, make_basis(size=COARSE, **layout), given, options.anywhere, freedom)
    if many:
        frame, best = _whitened(frame, best, options)
        if frame is None:
            return None
    cells = _cells(best)
    if freedom is None and (cells > 2 * FINE or (d > OWN_DIMENSIONS and cells > SHARP * n)):
        return ranks(modes(best.q, best.basis.s, periodic))
    layout["size"] = min(cells, FINE)
    if not isinstance(r, str):
        layout["r"] = r
    best = _run(_regrid(best, make_basis(**layout)), 40)
    if free:
        best, frame = _noise_of_dimensions(best, frame, options)
        if not best.data.tied and options.anywhere:
            best, ambiguous = _searched_anew(best, frame, ambiguous, options, layout)
    if (isinstance(r, str) or r > 0) and not periodic:
        other = _challenge(_crowded(best, layout), best)
        if other.evidence > best.evidence + R_PRICE:
            best = _run(other, 20)
    if isinstance(r, str):
        best = _learn_r(best)
    return finish(best, frame, ambiguous)


def _frame_of(y: Array, given: Array, level: float, many: bool) -> Frame | None:
    """Points (n, d) as they are searched in, ``many``: each dimension divided by its own noise; None if there is nothing to find."""
    frame = centred(y)
    whole, d = bool(frame.seen.all()), y.shape[1]
    if not np.square(frame.points).sum() > 0 or (d > OWN_DIMENSIONS and not whole):
        return None
    if many:
        # From each point to the middle of the two beside it, in the order given, there are 3/2 of the noise variance.
        z = frame.points[np.argsort(given, kind="stable")]
        frame = evened(frame, np.square(z[1:-1] - 0.5 * (z[:-2] + z[2:])).mean(axis=0)) or frame
    return turned(frame, level) if whole and d > 1 else frame


def _first_theta(data: Data, log_alpha: float, share: float) -> Array:
    """Hyper-parameters to begin with: the noise holds a share of the variance, or what the axes left out have."""
    d = data.y.shape[1]
    variance = np.square(data.y).sum(axis=0) / np.maximum(data.seen.sum(axis=0), 1)
    noise = share * data.scale
    if data.rest_size:
        noise = max(float(data.rest.sum()) / (data.rest_size * data.y.shape[0]), data.floor)
    logs = np.full(1 if data.tied else d, np.log(noise))
    return np.concatenate([[log_alpha], np.log(variance + 1e-6 * data.scale), logs])


def _begin(
    data: Data,
    basis: Basis,
    q: Array,
    start: str,
    theta: Array | None = None,
    freedom: float | None = None,
) -> State:
    first = _first_theta(data, np.log(10.0), 0.05) if theta is None else theta
    curve = curve_step(data, basis, q, first, 30 if theta is None else 15)
    state = State(
        basis=basis,
        data=data,
        curve=curve,
        q=q,
        field=np.zeros(basis.stiffness.size),
        evidence=-np.inf,
        n_iter=0,
        start=start,
        freedom=freedom,
    )
    return replace(state, evidence=_evidence(state)[1])


def _evidence(state: State) -> tuple[Data, float]:
    """Points weighted by their own noise, where it is Student's, and the log evidence."""
    value = log_evidence(state.basis, state.curve, state.q)
    if state.freedom is None:
        return state.data, value
    data, more = reweighted(state.data, state.basis, state.curve, state.q, state.freedom)
    return data, value + more


def _run(state: State, iterations: int, tolerance: float = 2e-3) -> State:
    """Alternate between positions and curve until the evidence rests."""
    for done in range(1, iterations + 1):
        q, field = position_step(state.data, state.basis, state.curve, state.field)
        curve = curve_step(state.data, state.basis, q, state.curve.theta, 5)
        before = state.evidence
        state = replace(state, q=q, field=field, curve=curve, n_iter=state.n_iter + 1)
        data, evidence = _evidence(state)
        state = replace(state, data=data, evidence=evidence)
        if done > 3 and abs(evidence - before) < tolerance:
            break
    return state


def _challenge(other: State, best: State) -> State:
    """Run a rival model; give up early where it is far behind."""
    other = _run(other, 5)
    return _run(other, 20) if other.evidence > best.evidence - 12.0 else other


def _learn_r(best: State) -> State:
    """Raise the repulsion while the evidence gains by it; else lower it while that costs next to nothing."""
    for up in (True, False):
        moved = False
        while True:
            r = max(R_FIRST, best.basis.r * R_STEP) if up else best.basis.r / R_STEP
            if not R_LEAST <= r <= R_MOST:
                break
            other = replace(best, basis=best.basis.with_r(r))
            other = _run(replace(other, evidence=_evidence(other)[1]), 8)
            if other.evidence <= best.evidence + (R_PRICE if up else -R_PRICE):
                break
            best, moved = other, True
        if moved:
            break
    return _run(best, 10)


def _noise_of_dimensions(best: State, frame: Frame, options: Options) -> tuple[State, Frame]:
    """One noise variance for each dimension, where that explains the data decisively better."""
    d = frame.points.shape[1]
    if not 2 <= d <= OWN_DIMENSIONS:
        return best, frame
    # Each variance more must earn its keep.
    own, price = frame.untied(), 3.0 + 2.0 * (d - 1)
    data = own.data(tied=False, options=options)
    spread = np.log(np.maximum(np.square(frame.axes) @ best.curve.phi, 1e-6 * data.scale))
    theta = np.concatenate([best.curve.theta[:1], spread, np.full(d, best.curve.theta[-1])])
    other = _challenge(_begin(data, best.basis, best.q, best.start, theta), best)
    return (_run(other, 20), own) if other.evidence > best.evidence + price else (best, frame)


def _searched_anew(
    best: State, frame: Frame, ambiguous: bool, options: Options, layout: dict[str, Any]
) -> tuple[State, bool]:
    """The search once more with each dimension divided by its own noise, if the evidence gains by it.

    Where arms of the curve are near in the precise dimensions only through the noise of the others, orders found by all
    dimensions alike jump from one to the next.
    """
    noise = best.curve.noise_var
    even = weighed(frame, np.sqrt(noise / np.exp(np.log(noise).mean())))
    even = (turned(even, np.inf) or even) if frame.seen.all() else even
    coarse = make_basis(**{**layout, "size": COARSE})
    given = modes(best.q, best.basis.s, coarse.periodic)
    found, doubt = _search(even.data(tied=True, options=options), coarse, given, True, None)
    q = _regrid(found, best.basis).q
    other = _run(_begin(best.data, best.basis, q, found.start, best.curve.theta), 40)
    return (other, doubt) if other.evidence > best.evidence else (best, ambiguous)


def _whitened(frame: Frame, best: State, options: Options) -> tuple[Frame | None, State]:
    """Where many dimensions differ in their noise still, each divided by its own, and the search gone on from there."""
    for _ in range(WHITENINGS):
        other = evened(frame, residual(best, frame))
        if other is None:
            break
        made = turned(other, np.inf)
        if made is None:
            return None, best
        frame = made
        data = frame.data(tied=True, options=options)
        best = _run(_begin(data, best.basis, best.q, best.start), 10)
    return frame, best


def _crowded(state: State, layout: dict[str, Any]) -> State:
    """The same beliefs on an axis along which positions crowd in the middle: an end may then run out thinly."""
    basis = make_basis(crowded=True, **layout)
    n, m = state.q.shape
    density = (1.0 / m + state.q.sum(axis=0)) / (1.0 + n)
    before = np.cumsum(density) - 0.5 * density
    q = _recut(state.q, to_s(before, True))
    return _begin(state.data, basis.with_r(state.basis.r), q, state.start, state.curve.theta, state.freedom)


def _recut(q: Array, place: Array) -> Array:
    """Beliefs (n, m) on an even grid, from those about cells that stand at ``place`` (m,) now."""
    m = place.size
    edges = np.arange(m + 1) / m
    middle = 0.5 * (place[1:] + place[:-1])
    old = np.concatenate([[0.0], middle, [1.0]])
    total = np.concatenate([np.zeros((q.shape[0], 1)), np.cumsum(q, axis=1)], axis=1)
    out = np.stack([np.diff(np.interp(edges, old, row)) for row in total])
    out = np.maximum(out, 0.0) + 1e-300
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _search(
    data: Data, basis: Basis, given: Array, others: bool, freedom: float | None
) -> tuple[State, bool]:
    """Short runs from several orders, longer ones from the best two; and whether another curve is as good."""
    orders = {"given": given}
    if freedom is not None:
        # With all points alike the first curve would take outliers for noise, and end as a point in the middle of it.
        alone = standing_alone(distances(data.y, data.seen))
        data = replace(data, weight=np.where(alone, LEAST_WEIGHT, 1.0))
    others = others and data.y.shape[0] <= MOST_FOR_STARTS
    if others:
        found = starting_orders(data.y, data.seen, closed=basis.periodic, robust=freedom is not None)
        for label, order in found.items():
            if differs(order, list(orders.values())):
                orders[label] = order
    # A curve that turns within few lengths is lost where noise may explain it first.
    tried = [
        _run(_from_order(data, basis, order, label, freedom, short), 10)
        for short in ((False, True) if others else (False,))
        for label, order in orders.items()
    ]
    longer: list[State] = []
    for state in _sorted(tried):
        top = max((one.evidence for one in longer if not one.collapsed), default=-np.inf)
        if len(longer) < 2 or (
            state.evidence > top - 2 * ALIKE and all(_apart(state, one) > 1.0 for one in longer)
        ):
            longer.append(_run(state, 25))
    best = _best(longer)
    if others and not basis.periodic:
        best = _mended(best)
    # Among the rivals is the point: whether noise alone would do.
    rivals = (state for state in tried + longer if state.evidence > best.evidence - ALIKE)
    return best, any(_apart(best, state) > 1.0 for state in rivals)


def _sorted(states: list[State]) -> list[State]:
    """Best first, any curve before a point: whoever asks for a curve has reason to expect one."""
    return sorted(states, key=lambda state: (state.collapsed, -state.evidence))


def _best(states: list[State]) -> State:
    """The best; of curves about as good the one that leaves least noise, since the evidence understates what bends."""
    first = _sorted(states)[0]
    near = [s for s in states if s.collapsed == first.collapsed and s.evidence > first.evidence - BENT]
    return min(near, key=lambda state: float(np.log(state.curve.noise_var).mean()))


def _apart(one: State, other: State) -> float:
    """Distance between what two curves make of the points, in sds of the smaller noise, root mean square."""
    fitted = (s.q @ (s.basis.phi[:, s.curve.keep] @ s.curve.mean) for s in (one, other))
    noise = np.minimum(one.curve.noise_var, other.curve.noise_var)
    return float(np.sqrt(np.mean(np.square(np.subtract(*fitted)) / noise)))


def _from_order(
    data: Data, basis: Basis, order: Array, label: str, freedom: float | None = None, short: bool = False
) -> State:
    """Beliefs a few neighbours wide around positions ``order`` (n,), and the curve given them.

    ``short``: narrower ones, and the curve begins with a short length and little noise.
    """
    apart = np.abs(order[:, None] - basis.s)
    if basis.periodic:
        apart = np.minimum(apart, 1.0 - apart)
    q = np.exp(-0.5 * np.square(apart / (0.012 if short else 0.03))) + 1e-300
    theta = _first_theta(data, np.log(100.0), 0.005) if short else None
    return _begin(data, basis, q / q.sum(axis=1, keepdims=True), label, theta, freedom)


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
        tried = [_run(_from_order(data, basis, order, best.start, best.freedom), 3) for order in chains]
        other = _sorted([_run(state, 30) for state in _sorted(tried)[:2]])[0]
        # Less than this is the same place reached again.
        if other.evidence <= best.evidence + 0.5 or _best([best, other]) is best:
            break
        best = other
    return best


def _cells(state: State) -> int:
    """Cells that the grid needs: two and a half for the sd of a position where the curve is fast."""
    step = np.sqrt(np.square(np.diff(state.path, axis=0)).sum(axis=1))
    speed = float(np.quantile(step, 0.9)) * state.basis.s.size
    return int(np.clip(2.5 * speed, COARSE, 10 * FINE))


def _regrid(state: State, basis: Basis) -> State:
    q, field = position_step(state.data, basis, state.curve, state.field)
    return replace(state, basis=basis, q=q, field=field)
