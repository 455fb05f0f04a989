"""The joint mode of positions in the square or cube."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.model.covariance import Array, covariance, kernel_named, precision
from videorestore.model.joint.evidence import effective_share, left_out, whitened
from videorestore.model.joint.optimize import minimise
from videorestore.model.options import Options
from videorestore.model.outcome import CurveFit
from videorestore.model.sheet.dimension import intrinsic_dimension
from videorestore.model.sheet.objective import SheetObjective
from videorestore.model.starts import isomap

Block = NDArray[Any]

MARGIN = 0.06
"""Room between the first positions and the faces of the cube."""
MOST_COMPONENTS = 3


def choose_dimension(frames: Block) -> int:
    """Dimension of the positions by how frames lie among their nearest ones."""
    _check(frames)
    return intrinsic_dimension(frames.astype(np.float64), MOST_COMPONENTS)


def fit_sheet(frames: Block, options: Options, p: int) -> CurveFit:
    """Fit positions of ``p`` dimensions to ``frames`` (n, d)."""
    _check(frames)
    n, d = frames.shape
    mean = frames.mean(axis=0, dtype=np.float64)
    centred = frames - mean
    gram = centred @ centred.T
    if not np.trace(gram) > 0:
        raise InputError("frames must differ, got equal ones only; there is no curve through one point")
    kernel = kernel_named("se" if options.kernel == "auto" else options.kernel)
    objective = SheetObjective(
        gram=gram, size=float(d), p=p, kernel=kernel, r=options.base_r, floor=options.noise_floor
    )
    x = _start(gram, p, options.n_neighbors)
    theta = np.concatenate([np.log(x / (1.0 - x)).ravel(), np.full(p, np.log(4.0)), [np.log(0.1)]])
    taken, value = 0, 0.0
    held = np.arange(theta.size) >= x.size
    for free, steps in ((held, 30), (None, options.max_iter), (None, options.max_iter)):
        found = minimise(
            objective, theta, method=options.optimizer, max_iter=steps, tolerance=options.tolerance, free=free
        )
        theta, taken, value = found.theta, taken + found.n_iter, found.value
        x, alpha, ratio = objective.unpack(theta)
        if free is None and options.temper and objective.r > 0:
            share = effective_share(whitened(covariance(kernel, x, x, alpha), ratio, gram), float(d))
            objective = replace(objective, r=options.base_r / share)
    inverse = precision(covariance(kernel, x, x, alpha), ratio)
    phi = float(np.vdot(inverse, gram)) / (n * d)
    return CurveFit(
        x=x,
        rows=np.arange(n),
        index=np.arange(n),
        kernel=kernel,
        periodic=False,
        r=objective.r,
        alpha=alpha[None],
        ratio=np.array([ratio]),
        label=np.zeros(d, dtype=np.int16),
        phi=np.full(d, phi),
        noise_var=np.full(d, phi * ratio),
        mean=mean,
        log_posterior=-value * n * d,
        log_score=left_out(inverse, gram, float(d), phi) / (n * d),
        n_iter=taken,
        start="isomap",
        evidence={},
    )


def _check(frames: Block) -> None:
    if np.isnan(frames).any():
        raise InputError(
            "with n_components above 1 no value may be missing in fit; fill or leave out, found NaN"
        )
    if frames.shape[0] < 6:
        raise InputError(f"a surface needs at least 6 frames, got {frames.shape[0]} sample(s); add frames")


def _start(gram: Array, p: int, neighbours: int) -> Array:
    """Isomap's coordinates (n, p), scaled into the cube."""
    own = np.diagonal(gram)
    distance = np.maximum(own[:, None] + own - 2.0 * gram, 0.0)
    x = isomap(distance, min(neighbours, len(gram) - 1), p)
    x = x - x.min(axis=0)
    # One scale for all coordinates: a long sheet stays long.
    x = x / max(float(x.max()), 1e-300)
    return np.asarray(MARGIN + (1.0 - 2.0 * MARGIN) * (x + 0.5 * (1.0 - x.max(axis=0))))
