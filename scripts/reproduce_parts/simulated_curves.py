"""Ten simulated data sets, the first five the paper's, and how an estimated curve is scored on them.

Needs NumPy and SciPy only, so that peers can be measured under another Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import ndtri

Array = NDArray[np.float64]

CASES = ("gaussian", "parabola", "spiral", "sine", "arc", "eight", "helix", "circle", "uneven", "hairpin")
TITLES = {
    "gaussian": "Gaussian",
    "parabola": "rotated parabola",
    "spiral": "spiral",
    "sine": "rotated sine",
    "arc": "arc",
    "eight": "closed eight",
    "helix": "helix in 10 dimensions",
    "circle": "circle",
    "uneven": "arc, uneven density",
    "hairpin": "hairpin",
}
CLOSED = ("eight", "circle")
NOISE = {
    "gaussian": 0.25,
    "parabola": 0.10,
    "spiral": 0.025,
    "sine": 0.15,
    "arc": 0.08,
    "eight": 0.10,
    "helix": 0.15,
    "circle": 0.10,
    "uneven": 0.10,
    "hairpin": 0.02,
}
BEND = 0.08
"""Radius of the hairpin's bend: its arms of length 1 are eight sd of the noise apart."""


def turn(points: Array, degrees: float) -> Array:
    """Points (n, 2) turned against the clock."""
    a = np.deg2rad(degrees)
    return points @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


def evenly(curve: Array, count: int) -> Array:
    """``count`` points along a polyline (p, d), even in length."""
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    at = np.linspace(0.0, length[-1], count)
    return np.stack([np.interp(at, length, column) for column in curve.T], axis=1)


@cache
def _helix_axes() -> Array:
    """Three orthonormal directions (3, 10) of the helix."""
    return np.linalg.qr(np.random.default_rng(0).normal(size=(10, 3)))[0].T


def _hairpin(u: Array) -> Array:
    at = u * (2 + np.pi * BEND)
    turned = np.clip((at - 1) / BEND, 0, np.pi)
    along = np.minimum(at, 1) + BEND * np.sin(turned) - np.maximum(at - 1 - np.pi * BEND, 0)
    return np.stack([along, BEND - BEND * np.cos(turned)], axis=1)


@cache
def _spiral() -> tuple[Array, Array]:
    theta = np.linspace(0.5 * np.pi, 4 * np.pi, 20001)
    points = (theta / (4 * np.pi))[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    return theta, length / length[-1]


def on_curve(case: str, u: Array) -> Array:
    """Points (n, d) of the true curve at quantiles ``u`` (n,) of its parameter."""
    if case == "gaussian":
        t = ndtri(u)
        return turn(np.stack([t, 0 * t], axis=1), 30)
    if case == "parabola":
        t = -1.5 + 3 * u
        return turn(np.stack([t, t * t], axis=1), 45)
    if case == "spiral":
        theta = np.interp(u, _spiral()[1], _spiral()[0])
        return (theta / (4 * np.pi))[:, None] * np.stack([np.cos(theta), np.sin(theta)], axis=1)
    if case == "sine":
        t = 3 * np.pi * u
        return turn(np.stack([t, np.sin(t)], axis=1), 45)
    if case == "eight":
        return np.stack([np.sin(2 * np.pi * u), 0.5 * np.sin(4 * np.pi * u)], axis=1)
    if case == "helix":
        t = 4 * np.pi * u
        return np.stack([np.cos(t), np.sin(t), 2 * u], axis=1) @ _helix_axes()
    if case == "hairpin":
        return _hairpin(u)
    # Of the uneven arc half of the points lie on its first eighth.
    t = {"arc": 1.25 * np.pi * u, "circle": 2 * np.pi * u, "uneven": np.pi * u**3}[case]
    return np.stack([np.cos(t), np.sin(t)], axis=1)


def draw(case: str, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """``n`` noisy points (n, d) and their quantiles (n,) along the true curve."""
    u = rng.uniform(size=n)
    if case == "gaussian":
        across = NOISE[case] * rng.normal(size=n)
        return on_curve(case, u) + turn(np.stack([0 * across, across], axis=1), 30), u
    clean = on_curve(case, u)
    return clean + NOISE[case] * rng.normal(size=clean.shape), u


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Points to fit (100, d), their quantiles, and fresh points (3000, d) to test the band."""

    points: Array
    u: Array
    fresh: Array


def sample(case: str, seed: int, n: int = 100) -> Sample:
    rng = np.random.default_rng([CASES.index(case), seed])
    points, u = draw(case, n, rng)
    return Sample(points=points, u=u, fresh=draw(case, 3000, rng)[0])


@cache
def truth(case: str) -> Array:
    """The true curve, 800 points even in length; of the Gaussian's endless line t in [-2, 2]."""
    if case == "gaussian":
        t = np.linspace(-2, 2, 800)
        return turn(np.stack([t, 0 * t], axis=1), 30)
    return evenly(on_curve(case, np.linspace(0, 1, 20001)), 800)


def distance(points: Array, curve: Array) -> Array:
    """Exact distances (n,) from points (n, d) to a polyline (p, d)."""
    start, way = curve[:-1], np.diff(curve, axis=0)
    square = np.square(way).sum(axis=1)
    start, way, square = start[square > 0], way[square > 0], square[square > 0]
    if square.size == 0:
        return np.linalg.norm(points - curve[0], axis=1)
    out = np.empty(len(points))
    for i in range(0, len(points), 500):
        from_start = points[i : i + 500, None] - start
        share = np.clip((from_start * way).sum(axis=2) / square, 0, 1)
        out[i : i + 500] = np.sqrt(np.square(from_start - share[..., None] * way).sum(axis=2).min(axis=1))
    return out


def tube_area(curve: Array, radius: float) -> float:
    """Area of all points within ``radius`` of a curve, on a raster of about 90,000 cells."""
    low, high = curve.min(axis=0) - 1.01 * radius, curve.max(axis=0) + 1.01 * radius
    step = float(np.sqrt(np.prod(high - low) / 90000))
    cells = np.stack(np.meshgrid(np.arange(low[0], high[0], step), np.arange(low[1], high[1], step)), -1)
    length = np.linalg.norm(np.diff(curve, axis=0), axis=1).sum()
    dense = evenly(curve, int(np.clip(10 * length / radius, 400, 20000)))
    near, _ = cKDTree(dense).query(cells.reshape(-1, 2), distance_upper_bound=radius)
    return float(np.isfinite(near).sum()) * step * step


@cache
def oracle(case: str) -> tuple[float, float]:
    """Radius and area of the tube around the true curve that holds 95 % of points."""
    points, _ = draw(case, 20000, np.random.default_rng(999))
    radius = float(np.quantile(distance(points, truth(case)[::2]), 0.95))
    return radius, tube_area(truth(case), radius)


def curve_error(case: str, curve: Array) -> float:
    """Mean of the mean distances from truth to estimate and back.

    The Gaussian's true curve is an endless line scored on t in [-2, 2]: of the estimate, too, only that part
    counts.
    """
    there = distance(truth(case), curve).mean()
    dense = evenly(curve, 800)
    if case == "gaussian":
        along = turn(dense, -30)
        back = np.abs(along[np.abs(along[:, 0]) <= 2, 1]).mean()
    else:
        back = distance(dense, truth(case)).mean()
    return float(there + back) / 2


def scores(case: str, data: Sample, curve: Array, radius: float) -> dict[str, float]:
    """Curve error, coverage and, in the plane, area of the band of ``radius`` around ``curve`` (p, d)."""
    out = {
        "error": curve_error(case, curve),
        "coverage": float((distance(data.fresh, curve) <= radius).mean()),
    }
    if curve.shape[1] == 2:
        out["area"] = tube_area(curve, radius) / oracle(case)[1]
    return out
