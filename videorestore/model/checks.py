"""What must hold before a fit, said with the remedy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.model.covariance import kernel_named
from videorestore.model.gram import PixelFacts
from videorestore.model.outcome import Options
from videorestore.model.starts import METHODS

Indices = NDArray[np.intp]


def check_options(options: Options, n: int) -> None:
    """Refuse options that make no sense for ``n`` frames."""
    if n < 3:
        raise InputError(f"a curve needs at least 3 frames, got {n} sample(s); add frames")
    if isinstance(options.r, str):
        if options.r != "auto":
            raise InputError(f"r must be 'auto' or a number >= 0, got {options.r!r}")
    elif not (np.isfinite(options.r) and options.r >= 0):
        raise InputError(f"r must be 'auto' or a number >= 0, got {options.r}")
    if options.noise not in ("normal", "student"):
        raise InputError(f"noise must be 'normal' or 'student', got {options.noise!r}")
    if options.hyper not in ("pixel", "group", "shared"):
        raise InputError(f"hyper must be 'pixel', 'group' or 'shared', got {options.hyper!r}")
    if options.kernel != "auto":
        kernel_named(options.kernel)
    if isinstance(options.init, str):
        if options.init not in ("auto", "order", *METHODS):
            raise InputError(
                f"init must be 'auto', 'order', one of {METHODS} or positions, got {options.init!r}"
            )
    elif np.shape(options.init) != (n,) or not np.isfinite(options.init).all():
        raise InputError(f"init positions must be {n} finite numbers, got shape {np.shape(options.init)}")
    for name in ("max_iter", "n_groups", "n_neighbors"):
        if getattr(options, name) < 1:
            raise InputError(f"{name} must be at least 1, got {getattr(options, name)}")
    if not 0 < options.noise_floor < 1:
        raise InputError(f"noise_floor must be between 0 and 1, got {options.noise_floor}")
    if options.noise_var is not None and not np.all(np.asarray(options.noise_var) > 0):
        raise InputError("noise_var must be above 0; leave it out to have it estimated")


def check_facts(facts: PixelFacts, n: int) -> None:
    """Refuse frames through which no curve can be laid."""
    unseen = np.flatnonzero(facts.observed == 0)
    if unseen.size:
        raise InputError(
            f"each frame needs a value that is not NaN, frame(s) {_some(unseen)} have none; leave them out"
        )
    blind = np.flatnonzero(facts.seen == 0)
    if blind.size:
        raise InputError(
            f"each pixel needs a value that is not NaN, pixel(s) {_some(blind)} have none in {n} frames; leave them out"
        )
    if not facts.active.any():
        raise InputError("frames must differ, got equal ones only; there is no curve through one point")


def _some(numbers: Indices) -> str:
    text = ", ".join(str(k) for k in numbers[:5])
    return text + (", ..." if numbers.size > 5 else "")
