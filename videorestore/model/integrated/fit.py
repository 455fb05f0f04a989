"""The fit with positions integrated out, from frames to the record that every fit leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.model.gram import columns_of
from videorestore.model.integrated.marginal import Marginal
from videorestore.model.integrated.posterior import MarginalPosterior
from videorestore.model.integrated.search import FINE, refine
from videorestore.model.joint.fit import fit_curve
from videorestore.model.options import Options
from videorestore.model.outcome import CurveFit
from videorestore.model.posterior import CurvePosterior

Block = NDArray[Any]

MOST_FRAMES = 1000
"""Frames up to which positions are integrated out: each needs its own beliefs over the whole curve."""
PIXELS = 2048
"""Pixels by which the speed of the curve is measured."""
SHARP = 8.0
"""Times the cells that the grid has at most, from which positions are so sharp that a search is not worth it."""


def fit_marginal(frames: Block, options: Options, always: bool = False) -> MarginalPosterior | Options:
    """Posterior with the positions of ``frames`` (n, d) integrated out; where their mode is as good, how to find that.

    ``always``: also where there are many frames, or a first look finds positions sharp.
    """
    n = frames.shape[0]
    options.check(n)
    if n > MOST_FRAMES and not always:
        return options
    # The mode is only a start here: one order and shared hyper-parameters serve.
    sketch = replace(
        options,
        r=float(options.periodic) if isinstance(options.r, str) else options.r,
        init="eigenmaps" if options.anywhere else options.init,
        hyper="shared",
        max_iter=min(options.max_iter, 60),
    )
    fit = fit_curve(columns_of(frames), n, sketch)
    if not always and _cells(fit, frames) > SHARP * FINE:
        return options
    level = float(fit.noise_var[fit.label >= 0].mean())
    found = refine(frames[fit.rows], fit.x[fit.rows], replace(options, kernel=fit.kernel.name), level)
    if isinstance(found, Marginal):
        return MarginalPosterior.of(found, fit, frames)
    # Positions that were integrated out are not drawn to wrong orders as those at the mode are.
    return options if found is None or not options.anywhere else replace(options, init=found[fit.index])


def _cells(fit: CurveFit, frames: Block) -> float:
    """Cells that a grid would need, by the speed of the curve at the mode in sds of its noise."""
    some = np.unique(np.linspace(0, frames.shape[1] - 1, PIXELS).astype(np.intp))
    some = some[fit.label[some] >= 0]
    posterior = CurvePosterior(fit)
    grid = np.linspace(*posterior.span, 200)
    path = posterior.weights(grid).mean(frames[:, some], some) / np.sqrt(fit.noise_var[some])
    step = np.sqrt(np.square(np.diff(path, axis=0)).sum(axis=1) * (frames.shape[1] / max(some.size, 1)))
    return float(2.5 * np.quantile(step, 0.9) / (grid[1] - grid[0]))
