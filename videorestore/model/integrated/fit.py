"""The fit with positions integrated out, from frames to the record that every fit leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from videorestore.model.gram import columns_of
from videorestore.model.integrated.marginal import Marginal
from videorestore.model.integrated.posterior import adopt
from videorestore.model.integrated.search import refine
from videorestore.model.joint.fit import fit_curve
from videorestore.model.outcome import CurveFit, Options

Block = NDArray[Any]

FEW_DIMENSIONS = 20
"""Below this many, positions stay so uncertain that they are integrated out by default."""


def fit_marginal(frames: Block, options: Options) -> tuple[Marginal, CurveFit] | None:
    """Posterior with the positions of ``frames`` (n, d) integrated out; None where their mode is as good."""
    anywhere = isinstance(options.init, str) and options.init == "auto"
    # The mode is only a start here: one order and shared hyper-parameters serve.
    sketch = replace(
        options,
        init="eigenmaps" if anywhere else options.init,
        hyper="shared" if options.hyper in ("pixel", "group") else options.hyper,
    )
    fit = fit_curve(columns_of(frames), frames.shape[0], sketch)
    noise = options.noise_var
    marginal = refine(
        frames[fit.rows],
        fit.x[fit.rows],
        r=fit.r,
        kernel=fit.kernel.name,
        periodic=fit.periodic,
        starts=anywhere,
        noise="shared" if options.hyper == "shared" else "auto",
        noise_var=None if noise is None else float(noise),
        noise_floor=options.noise_floor,
    )
    return None if marginal is None else (marginal, adopt(marginal, fit))
