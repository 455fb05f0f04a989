"""The uncertainty band of section 3.2: a tube around the mean curve that holds a share eta of new points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from videorestore.model._kernels import polyline_distance
from videorestore.model.posterior import Block, CurvePosterior

Array = NDArray[np.float64]


class Band(NamedTuple):
    """Radius of the band, positions (p,) and the mean curve (p, d) there."""

    radius: float
    grid: Array
    curve: Array


def distance_to_curve(points: Array, curve: Array) -> Array:
    """Exact distance (m,) from points (m, d) to the polyline through ``curve`` (p, d)."""
    out = np.empty(points.shape[0])
    polyline_distance(np.ascontiguousarray(points, np.float64), np.ascontiguousarray(curve, np.float64), out)
    return out


def uncertainty_band(
    posterior: CurvePosterior,
    frames: Block,
    *,
    eta: float,
    n_points: int,
    n_samples: int,
    n_repeats: int,
    rng: np.random.Generator,
) -> Band:
    """Draw new points along the curve and take the eta-quantile of their distances to the mean curve.

    Positions are drawn on the span of the data: beyond it lies the prior.
    """
    low, high = posterior.span
    grid = np.linspace(low, high, n_points)
    curve = np.asarray(posterior.weights(grid).mean(frames), dtype=np.float64)
    distances = []
    for _ in range(n_repeats):
        at = rng.uniform(low, high, n_samples)
        distances.append(distance_to_curve(posterior.sample(at, frames, rng), curve))
    radius = float(np.quantile(np.concatenate(distances), eta))
    return Band(radius=radius, grid=grid, curve=curve)
