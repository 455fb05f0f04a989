"""The joint mode of positions and hyper-parameters of a long film whose order is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from videorestore.errors import InputError
from videorestore.model.covariance import kernel_named
from videorestore.model.joint.evidence import share_of
from videorestore.model.joint.group import Group
from videorestore.model.joint.mode import STRETCH, Mode
from videorestore.model.joint.objective import Posterior, position_parameters, positions, pull_back
from videorestore.model.joint.optimize import minimise
from videorestore.model.line._kernels import near_repulsion
from videorestore.model.line.posterior import LinePosterior
from videorestore.model.line.states import CHAINS, Chain, likelihood
from videorestore.model.options import Options
from videorestore.model.outcome import CurveFit
from videorestore.model.starts import scaled_positions

Array = NDArray[np.float64]
Block = NDArray[Any]

LONG = 2500
"""Frames from which a film in known order is fitted in state-space form."""
MOST_PAIRS = 20_000
"""Frames up to which all pairs of them may be looked at: that takes 16 bytes a pair and more."""
NEAR = 24
"""Frames on either side that repel a frame; what farther ones do the pixels outweigh."""
STEPS = 60
"""Most steps of the joint search: each goes through all frames."""
TOLERANCE = 1e-6
"""Relative gain at which a search ends."""


def in_line(frames: Block, options: Options) -> bool:
    """Whether frames (n, d) are many and in known order, so that the state-space form serves."""
    known = not isinstance(options.init, str) or options.init == "order"
    serves = known and not options.periodic and options.noise == "normal"
    if len(frames) > MOST_PAIRS and not serves:
        raise InputError(
            f"{len(frames)} frames can be fitted only along an open curve in known order, with normal noise; "
            "give init='order' or positions, or fewer frames"
        )
    return len(frames) > LONG and serves


@dataclass(frozen=True, slots=True, kw_only=True)
class LineObjective:
    """Negative log posterior over ``theta = (u (n), log alpha, log ratio)``, per value; pixels ``y`` (d, n), centred."""

    y: Array
    chain: Chain
    r: float
    noise_var: float | None
    floor: float

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient."""
        d, n = self.y.shape
        x, gaps = positions(theta[:n])
        rate = self.chain.rate * np.exp(0.5 * theta[n])
        ratio = float(np.clip(np.exp(theta[n + 1]), self.floor, 1e4))
        steps = rate * gaps[1:]
        value, _, slope, in_ratio = likelihood(self.y, self.chain, steps, ratio, self.noise_var)
        corp, push = near_corp(x, self.r)
        in_u = pull_back(gaps, push, np.append(0.0, rate * slope))
        gradient = np.concatenate([in_u, [0.5 * float(slope @ steps)], [in_ratio]])
        return -(value + corp) / (n * d), -gradient / (n * d)


def near_corp(x: Array, r: float) -> tuple[float, Array]:
    """Log density of Corp(r) at sorted ``x`` (n,), and its gradient; points beyond ``NEAR`` as if evenly spaced."""
    n = x.size
    if r == 0:
        return 0.0, np.zeros(n)
    even = np.log(np.sin(np.pi * np.arange(1, min(NEAR, (n - 1) // 2) + 1) / n))
    logs, cots = np.empty(n), np.empty(n)
    near_repulsion(np.ascontiguousarray(x), even, logs, cots)
    # The product of 2 sin(pi k / n) over all k is n.
    level = r * n * np.log(n) - (gammaln(1 + r * n) - n * gammaln(1 + r))
    return float(level + r * logs.sum()), 2 * r * np.pi * cots


def fit_line(frames: Block, options: Options) -> LinePosterior:
    """Fit ``frames`` (n, d), one set of hyper-parameters for all pixels."""
    n = frames.shape[0]
    options.check(n)
    if np.isnan(frames).any():
        raise InputError(f"beyond {LONG} frames no value may be missing in fit; fill or leave out, found NaN")
    if isinstance(options.noise_var, np.ndarray):
        raise InputError(f"beyond {LONG} frames noise_var must be one number for all pixels, got an array")
    mean = frames.mean(axis=0, dtype=np.float64)
    y = np.ascontiguousarray((frames - mean).T, dtype=np.float64)
    active = np.square(y).mean(axis=1) > np.square(16 * np.finfo(frames.dtype).eps * np.abs(mean)) + 1e-30
    if not active.any():
        raise InputError("frames must differ, got equal ones only; there is no curve through one point")
    y = y[active]
    kernel = kernel_named(options.kernel if options.kernel in CHAINS else "matern52")
    order, x = np.arange(n), (np.arange(n) + 0.5) / n
    if not isinstance(options.init, str):
        given = scaled_positions(options.init if options.init[0] <= options.init[-1] else -options.init)
        order = np.argsort(given, kind="stable")
        x = given[order]
    y = np.ascontiguousarray(y[:, order])
    alpha, ratio, share = _first(y, x, kernel.name, options)
    r = options.base_r / share if options.temper else options.base_r
    noise = None if options.noise_var is None else float(options.noise_var)
    objective = LineObjective(y=y, chain=CHAINS[kernel.name], r=r, noise_var=noise, floor=options.noise_floor)
    theta = np.concatenate([position_parameters(x), [np.log(alpha), np.log(ratio)]])
    free = np.arange(n + 2) >= n
    taken, value = 0, 0.0
    for moving, limit in ((free, 15), (None, min(options.max_iter, STEPS))):
        if moving is None and not options.learn_x:
            break
        found = minimise(
            objective, theta, method=options.optimizer, max_iter=limit, tolerance=TOLERANCE, free=moving
        )
        theta, taken, value = found.theta, taken + found.n_iter, found.value
        if options.callback is not None:
            options.callback("line", taken, value)
    x = positions(theta[:n])[0]
    alpha, ratio = float(np.exp(theta[n])), float(np.clip(np.exp(theta[n + 1]), options.noise_floor, 1e4))
    phi = likelihood(y, objective.chain, objective.chain.rate * np.sqrt(alpha) * np.diff(x), ratio, noise)[1]
    own = np.empty(n)
    own[order] = x
    fit = CurveFit(
        x=own,
        rows=np.arange(n),
        index=np.arange(n),
        kernel=kernel,
        periodic=False,
        r=r,
        alpha=np.array([alpha]),
        ratio=np.array([ratio]),
        label=np.where(active, 0, -1).astype(np.int16),
        phi=np.where(active, phi, 0.0),
        noise_var=np.where(active, phi * ratio, 0.0),
        mean=mean,
        log_posterior=-value * y.size,
        log_score=0.0,
        n_iter=taken,
        start="order" if isinstance(options.init, str) else "given",
        evidence={},
    )
    return LinePosterior(fit, y, order)


def _first(y: Array, x: Array, kernel: str, options: Options) -> tuple[float, float, float]:
    """Rough alpha and ratio from a stretch in the middle, and the share of pixels that count there."""
    low = (x.size - STRETCH) // 2
    part, at = y[:, low : low + STRETCH], x[low : low + STRETCH]
    part = part - part.mean(axis=1, keepdims=True)
    width = float(np.ptp(at))
    at = (at - at[0]) / width
    noise = None if options.noise_var is None else float(options.noise_var)
    posterior = Posterior(
        groups=[Group(gram=part.T @ part, size=float(len(part)), noise_var=noise)],
        n=STRETCH,
        kernel=kernel_named(kernel),
        r=0.0,
        noise_floor=options.noise_floor,
    )
    mode = Mode.at(posterior, at)
    alpha, ratio = float(mode.alpha[0]), float(mode.ratio[0])
    return alpha / width**2, ratio, share_of(mode)
