"""From the parameters of the estimator to the options of a fit, and from a fit to its warnings."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from videorestore.errors import InputError
from videorestore.model.outcome import Options


def check_components(wanted: Any) -> int | str:
    """The number of components, if there may be so many."""
    if wanted == "auto" or (isinstance(wanted, (int, np.integer)) and wanted in (1, 2, 3)):
        return wanted if isinstance(wanted, str) else int(wanted)
    raise InputError(f"n_components must be 1, 2, 3 or 'auto', got {wanted!r}")


def options_of(model: Any) -> Options:
    """How to fit, from the parameters of an ``ElectroGP``."""
    noise = model.noise_var
    options = Options(
        r=model.r if isinstance(model.r, str) else float(model.r),
        temper=bool(model.temper),
        kernel=model.kernel,
        init=model.init if isinstance(model.init, str) else np.asarray(model.init, dtype=np.float64),
        hyper=model.hyper,
        periodic=bool(model.periodic),
        optimizer=model.optimizer,
        max_iter=int(model.max_iter),
        tolerance=float(model.tolerance),
        n_groups=int(model.n_groups),
        refits=int(model.refits),
        n_neighbors=int(model.n_neighbors),
        noise=model.noise,
        noise_var=None
        if noise is None
        else float(noise)
        if np.ndim(noise) == 0
        else np.asarray(noise, float),
        noise_floor=float(model.noise_floor),
        learn_x=bool(model.learn_x),
        callback=model.callback,
    )
    if model.recipe == "default":
        return options
    if model.recipe != "paper":
        raise InputError(f"recipe must be 'default' or 'paper', got {model.recipe!r}")
    return replace(
        options,
        r=1.0 if isinstance(options.r, str) else options.r,
        temper=False,
        init="lle" if isinstance(options.init, str) and options.init == "auto" else options.init,
        optimizer="scg",
    )


def warn_of(model: Any) -> None:
    """Say where a fit is not to be relied on."""
    if model.collapsed_:
        text = "the curve collapsed to a point: noise explains the data as well; give more data, or known noise_var"
    elif model.ambiguous_:
        text = "another curve, or noise alone, is about as probable; give more data, or init"
    else:
        return
    warnings.warn(text, ConvergenceWarning, stacklevel=4)
