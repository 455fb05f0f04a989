"""Missing pixels of a partly seen frame, once its position is known as far as it can be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.model.placement import METHODS, Placement
from videorestore.model.posterior import CurvePosterior

Array = NDArray[np.float64]
Block = NDArray[Any]
Indices = NDArray[np.intp]

PIXELS = 8192
"""Pixels that are completed at once."""


def check_method(method: str) -> str:
    """The method, if there is one of that name."""
    if method not in METHODS:
        raise InputError(f"method must be 'exact', 'map', 'mh' or 'em', got {method!r}")
    return method


def complete(
    posterior: CurvePosterior,
    placement: Placement,
    frames: Block,
    missing: Indices,
    method: str,
    n_samples: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Mean and sd (k,) of the ``missing`` pixels (k,) of one frame, from the training ``frames`` (n, d).

    The sd includes the noise; that of ``exact`` and ``mh`` also what is not known about the position.
    """
    at, log_weight = placement.support(method, n_samples, rng)
    weights = posterior.weights(at)
    value, spread = np.empty(missing.size), np.empty(missing.size)
    for first in range(0, missing.size, PIXELS):
        part = slice(first, first + PIXELS)
        columns = missing[part]
        mean, sd = weights.apply(frames[:, columns], columns, noise=True)
        if method == "em":
            variance = np.maximum(np.square(sd, dtype=np.float64), 1e-12)
            value[part] = expectation_maximisation(log_weight, mean.astype(np.float64), variance)
            spread[part] = sd[int(log_weight.argmax())]
        else:
            value[part] = mean.mean(axis=0, dtype=np.float64)
            total = np.square(sd, dtype=np.float64).mean(axis=0) + mean.var(axis=0, dtype=np.float64)
            spread[part] = np.sqrt(total)
    return value, spread


def expectation_maximisation(log_weight: Array, mean: Array, variance: Array, max_iter: int = 50) -> Array:
    """Most probable value (k,) of each missing pixel given the seen ones, the position as augmented data.

    Each pixel's own posterior is climbed, a mixture of normals over positions. The mode of all pixels jointly
    is no estimate to rely on: in thousands of dimensions it sits where the curve's variance is least, beside a
    training frame, whatever the seen pixels say about the position.

    Parameters
    ----------
    log_weight : ndarray (p,)
        Log posterior mass of each position given the seen pixels.
    mean : ndarray (p, k)
        Posterior mean of the missing pixels at each position.
    variance : ndarray (p, k)
        Of a missing value at each position, noise included.
    """
    share = np.exp(log_weight - log_weight.max())
    value = (share / share.sum()) @ mean
    offset = log_weight[:, None] - 0.5 * np.log(variance)
    precision = 1.0 / variance
    for _ in range(max_iter):
        logs = offset - 0.5 * np.square(value - mean) * precision
        weight = np.exp(logs - logs.max(axis=0)) * precision
        fresh = (weight * mean).sum(axis=0) / weight.sum(axis=0)
        moved = np.abs(fresh - value)
        value = fresh
        if (moved <= 1e-6 * np.abs(value) + 1e-9 * np.sqrt(variance[0])).all():
            break
    return np.asarray(value)
