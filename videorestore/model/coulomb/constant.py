"""Normalising constant of the Coulomb process in more than one dimension.

The density of eq. (2) is ``prod_{i<j} |y_i - y_j|^(2 r) / Z`` for points of the unit cube, ``y`` their images
on the sphere. Both mappings to the sphere have the same constant: where the printed one meets a point of the
sphere twice, it meets every point twice.

=====================  ===========================================================================
one point, or r = 0    1
dimension 2, r = 1     exact for any n: the product over pairs is the square of a determinant
two points             quadrature; exact but for rounding where r is a whole number, else to about 1e-3
up to ten points       particles that follow the sequential law, always the same ones; a few percent of Z
more points            not known: left out (0), so that differences for the same n hold all the same
=====================  ===========================================================================
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, logsumexp

from videorestore.model.coulomb.sphere import to_sphere

Array = NDArray[np.float64]

MOST_POINTS = 10
"""Beyond, the particles say too little."""
CELLS = 20_000
"""Nodes on the sphere, at most."""
PARTICLES = (256, 4096)
"""Least and most draws of the sequential law."""
MEMORY = 6_000_000
"""Values held at once."""


@lru_cache(maxsize=256)
def log_constant(n: int, r: float, dim: int) -> float | None:
    """Log of the constant Z for ``n`` points in ``dim`` > 1 dimensions; None where it is not known."""
    if n < 2 or r == 0:
        return 0.0
    if dim == 2 and r == 1:
        return _vandermonde(n)
    if n == 2:
        return _two_points(r, dim)
    return _sequential(n, r, dim) if n <= MOST_POINTS else None


def _vandermonde(n: int) -> float:
    """Dimension 2, r = 1.

    With u = cos(a / 2), v = sin(a / 2) exp(i b) of a point's angles a, b the distance of two points is
    2 |u v' - u' v|, so that the product over pairs is |det(u^(n-1-k) v^k)|^2. The powers are orthogonal, as b
    is uniform, and their norms are beta functions.
    """
    k = np.arange(n)
    norms = betaln(n - k - 0.5, k + 0.5) - np.log(np.pi)
    return float(n * (n - 1) * np.log(2.0) + gammaln(n + 1) + norms.sum())


def _nodes(dim: int, degree: int) -> tuple[Array, Array]:
    """Nodes (m, dim) in the cube and log weights (m,): Gauss-Legendre, the last angle evenly."""
    most = int(CELLS ** (1.0 / dim))
    around = max(4, min(degree + 1, most))
    along, weight = np.polynomial.legendre.leggauss(max(8, min(degree + 12, most)))
    sides = [0.5 * (along + 1.0)] * (dim - 1) + [(np.arange(around) + 0.5) / around]
    weights = [np.log(0.5 * weight)] * (dim - 1) + [np.full(around, -np.log(around))]
    at = np.stack([g.ravel() for g in np.meshgrid(*sides, indexing="ij")], axis=1)
    total = sum(g.ravel() for g in np.meshgrid(*weights, indexing="ij"))
    return at, np.asarray(total)


def _two_points(r: float, dim: int) -> float:
    """The second point anywhere, the first one with its last angle at zero."""
    at, weight = _nodes(dim, 400 if dim == 2 else 40)
    first, inverse = np.unique(at[:, :-1], axis=0, return_inverse=True)
    # Weights of the first point: those of all nodes that share its other angles.
    own = np.zeros(len(first))
    np.add.at(own, inverse.reshape(-1), np.exp(weight))
    y = to_sphere(at, "one-to-one")[0]
    start = to_sphere(np.concatenate([first, np.zeros((len(first), 1))], axis=1), "one-to-one")[0]
    total = 0.0
    for point, share in zip(start, own):
        total += share * float(np.exp(weight) @ np.square(y - point).sum(axis=1) ** r)
    return float(np.log(total))


def _sequential(n: int, r: float, dim: int) -> float:
    """Particles place point after point by the law given those before; the masses on their way multiply to Z.

    Particles that fell behind are replaced by copies of the others (systematic resampling).
    """
    at, weight = _nodes(dim, int(np.ceil(r * (n - 1))))
    y = to_sphere(at, "one-to-one")[0]
    rng = np.random.default_rng(0)
    count = int(np.clip(MEMORY // len(y), *PARTICLES))
    logs = np.tile(weight, (count, 1))
    mass, total = np.zeros(count), 0.0
    for step in range(n):
        top = logs.max(axis=1, keepdims=True)
        edges = np.cumsum(np.exp(logs - top), axis=1)
        mass += top[:, 0] + np.log(edges[:, -1])
        if step == n - 1:
            break
        share = np.exp(mass - logsumexp(mass))
        if 1.0 / np.square(share).sum() < 0.5 * count:
            total += float(logsumexp(mass) - np.log(count))
            comb = (np.arange(count) + rng.uniform()) / count
            keep = np.minimum(np.searchsorted(np.cumsum(share), comb), count - 1)
            logs, edges, mass = logs[keep], edges[keep], np.zeros(count)
        drawn = rng.uniform(size=count) * edges[:, -1]
        place = np.minimum((edges < drawn[:, None]).sum(axis=1), len(y) - 1)
        with np.errstate(divide="ignore"):
            logs += r * np.log(np.maximum(2.0 - 2.0 * y[place] @ y.T, 0.0))
    return total + float(logsumexp(mass) - np.log(count))
