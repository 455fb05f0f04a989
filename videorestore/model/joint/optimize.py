"""Minimisers of a smooth function with its gradient: Moller's SCG (the paper's) and L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError, NumericalError

Array = NDArray[np.float64]
Objective = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimum:
    """Where a search ended: ``theta`` (p,), value there, accepted steps."""

    theta: Array
    value: float
    n_iter: int


def minimise(
    objective: Objective,
    start: Array,
    *,
    method: str = "lbfgs",
    max_iter: int = 200,
    tolerance: float = 1e-7,
    free: NDArray[np.bool_] | None = None,
    callback: Callable[[int, float], None] | None = None,
) -> Minimum:
    """Minimise ``objective`` from ``start`` over the coordinates that are ``free``.

    Parameters
    ----------
    objective : callable
        ``theta (p,) -> (value, gradient (p,))``; a value that is not finite marks a forbidden step.
    start : ndarray (p,)
    method : {"lbfgs", "scg"}
    max_iter : int
    tolerance : float
        The search ends when a step improves the value by less than ``tolerance * max(1, |value|)`` or
        no derivative exceeds ``tolerance``.
    free : ndarray (p,) of bool, optional
        Coordinates that may move; all by default.
    callback : callable, optional
        ``(iteration, value)`` after each accepted step.
    """
    full = np.array(start, dtype=np.float64)
    moving = np.ones(full.shape, dtype=bool) if free is None else free

    def restricted(part: Array) -> tuple[float, Array]:
        theta = full.copy()
        theta[moving] = part
        value, gradient = objective(theta)
        return value, gradient[moving]

    if method == "lbfgs":
        found = _lbfgs(restricted, full[moving], max_iter, tolerance, callback)
    elif method == "scg":
        found = _scg(restricted, full[moving], max_iter, tolerance, callback)
    else:
        raise InputError(f"optimizer must be 'lbfgs' or 'scg', got {method!r}")
    theta = full.copy()
    theta[moving] = found.theta
    return replace(found, theta=theta)


def _lbfgs(
    objective: Objective,
    start: Array,
    max_iter: int,
    tolerance: float,
    callback: Callable[[int, float], None] | None,
) -> Minimum:
    from scipy.optimize import OptimizeResult
    from scipy.optimize import minimize as scipy_minimize

    count = 0

    def bounded(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta)
        # A huge finite value makes the line search step back, where an infinity would poison it.
        return (value, gradient) if np.isfinite(value) else (1e10, np.zeros_like(gradient))

    def step(intermediate_result: OptimizeResult) -> None:
        nonlocal count
        count += 1
        if callback is not None:
            callback(count, float(intermediate_result.fun))

    result = scipy_minimize(
        bounded,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=step,
        options={"maxiter": max_iter, "maxcor": 20, "ftol": tolerance, "gtol": tolerance, "maxls": 30},
    )
    value = float(result.fun)
    if not np.isfinite(value) or value >= 1e10:
        raise NumericalError("the fit has no finite posterior at its start; rescale the data")
    return Minimum(theta=np.asarray(result.x, dtype=np.float64), value=value, n_iter=int(result.nit))


def _scg(
    objective: Objective,
    start: Array,
    max_iter: int,
    tolerance: float,
    callback: Callable[[int, float], None] | None,
) -> Minimum:
    """Scaled conjugate gradients, Moller (1993), Neural Networks 6, 525-533."""
    w = start.copy()
    value, gradient = objective(w)
    if not np.isfinite(value):
        raise NumericalError("the fit has no finite posterior at its start; rescale the data")
    residual = -gradient
    direction = residual.copy()
    damping, raised = 1e-6, 0.0
    success = True
    curvature = 0.0
    accepted = 0
    for _ in range(max_iter):
        length2 = float(direction @ direction)
        if length2 <= 0 or np.abs(residual).max(initial=0.0) < tolerance:
            break
        if success:
            # Curvature along the direction by a difference of gradients.
            probe = 1e-5 / np.sqrt(length2)
            _, ahead = objective(w + probe * direction)
            curvature = float(direction @ (ahead + residual)) / probe
        scaled = curvature + (damping - raised) * length2
        if scaled <= 0:
            raised = 2.0 * (damping - scaled / length2)
            scaled = -scaled + damping * length2
            damping = raised
        slope = float(direction @ residual)
        step = slope / scaled
        trial, trial_gradient = objective(w + step * direction)
        gain = 2.0 * scaled * (value - trial) / slope**2 if np.isfinite(trial) and slope != 0 else -1.0
        success = gain >= 0
        if success:
            drop = value - trial
            w = w + step * direction
            fresh = -trial_gradient
            raised = 0.0
            accepted += 1
            direction = fresh if accepted % w.size == 0 else _conjugate(direction, fresh, residual, slope)
            residual = fresh
            value = trial
            if callback is not None:
                callback(accepted, value)
            if gain >= 0.75:
                damping *= 0.25
            if drop <= tolerance * max(1.0, abs(value)) and gain >= 0.25:
                break
        else:
            raised = damping
        if gain < 0.25:
            damping = min(damping + scaled * (1.0 - max(gain, -1.0)) / length2, 1e20)
        if damping >= 1e20:
            break
    return Minimum(theta=w, value=value, n_iter=accepted)


def _conjugate(direction: Array, fresh: Array, residual: Array, slope: float) -> Array:
    """The next direction; where it would not lead down, the gradient's."""
    weight = float(fresh @ fresh - fresh @ residual) / slope
    turned = fresh + weight * direction
    return turned if float(turned @ fresh) > 0 else fresh
