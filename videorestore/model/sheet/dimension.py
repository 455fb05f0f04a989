"""How many dimensions positions need, from how points lie among their nearest ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Array = NDArray[np.float64]

NEIGHBOURS = 8
"""Of each point: with more the bend of a surface shows as a dimension, with fewer noise does."""
PLACES = 400
"""Neighbourhoods looked at, evenly spread over the points."""
FLAT = 10
"""Axes above the noise up to which neighbourhoods are taken for flat. Pictures of what moves have 26 to 91 of them (turning
textures of 32 x 32 pixels), surfaces in few dimensions 2 to 5."""
FEW = 20
"""Axes up to which noise and signal are not told apart: all are looked at."""
RANKS = (1, 2), (2, 4)
"""Nearest points whose distances are compared."""
LEAST = 0.01
"""Share of a squared distance that is never taken for noise."""


def intrinsic_dimension(y: Array, most: int) -> int:
    """Number of dimensions (1 to ``most``) of the surface that points (n, d) lie on, with noise."""
    along, noise, signal = _axes(y)
    if signal <= FLAT:
        # Beside the signal some axes of noise alone, which neighbourhoods are compared with.
        return _of_clouds(along[:, : 2 * signal + 2], most)
    # A fine scale shows noise as a dimension, a wide one the bend of the surface: none shows too few.
    return min(_of_distances(along[:, :signal], noise, *ranks, most=most) for ranks in RANKS)


def _axes(y: Array) -> tuple[Array, float, int]:
    """Coordinates (n, m) along the principal axes, the variance of the noise, and how many axes stand out of it."""
    n, d = y.shape
    m = min(n - 1, d)
    centred = y - y.mean(axis=0)
    if d > n:
        square, u = np.linalg.eigh(centred @ centred.T)
        square, along = np.maximum(square[::-1][:m], 0.0), u[:, ::-1][:, :m]
        along = along * np.sqrt(square)
    else:
        u, s, _ = np.linalg.svd(centred, full_matrices=False)
        square, along = np.square(s[:m]), u[:, :m] * s[:m]
    if m <= FEW:
        return along, 0.0, m
    q = m // 2
    while True:
        noise = float(square[q:].sum() / ((n - 1 - q) * (d - q)))
        # The most that noise alone has along one axis (Marchenko and Pastur).
        above = max(1, int((square > noise * (np.sqrt(n) + np.sqrt(d)) ** 2).sum()))
        if above >= q:
            return along, noise, q
        q = above


def _squares(y: Array) -> Array:
    square = np.square(y).sum(axis=1)
    return np.asarray(np.maximum(square[:, None] + square - 2.0 * y @ y.T, 0.0))


def _of_distances(y: Array, noise: float, near: int, far: int, most: int) -> int:
    """By the law of the ratio of two neighbours' distances, which knows the dimension alone (Denti and others 2022)."""
    squares = np.sort(_squares(y), axis=1)[:, [near, far]]
    squares = np.maximum(squares - 2.0 * noise * y.shape[1], LEAST * squares + 1e-300)
    log_ratio = np.maximum(0.5 * np.log(squares[:, 1] / squares[:, 0]), 1e-9)
    logs = [
        np.sum(
            np.log(p)
            + (far - near - 1) * np.log(np.expm1(p * log_ratio))
            - (p * (far - 1) + 1) * log_ratio
            - betaln(far - near, near)
        )
        for p in range(1, most + 1)
    ]
    return 1 + int(np.argmax(logs))


def _of_clouds(y: Array, most: int) -> int:
    """By the evidence of neighbourhoods.

    Each is a normal cloud with so many long axes and equal scatter in all other directions, with the price of its parameters
    (Schwarz). A closed or rolled surface cannot be laid flat as a whole, but its neighbourhoods can.
    """
    n, d = y.shape
    k = min(NEIGHBOURS, n - 1)
    near = np.argpartition(_squares(y), k, axis=1)[:: max(1, n // PLACES), : k + 1]
    clouds = y[near] - y[near].mean(axis=1, keepdims=True)
    variance = np.square(np.linalg.svd(clouds, compute_uv=False))[:, : min(k, d)] / k
    variance = np.maximum(variance, 1e-12 * variance.sum(axis=1, keepdims=True) + 1e-300)
    logs = []
    for p in range(1, min(most, d - 1, k - 1) + 1):
        scatter = variance[:, p:].sum(axis=1) / (d - p)
        fit = np.log(variance[:, :p]).sum(axis=1) + (d - p) * np.log(scatter)
        parameters = d * p - p * (p - 1) / 2 + p + 1
        logs.append(-0.5 * k * float(fit.mean()) - 0.5 * parameters * np.log(k))
    return 1 + int(np.argmax(logs)) if logs else 1
