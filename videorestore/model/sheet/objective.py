"""The negative log posterior of positions in the cube and of hyper-parameters, from the Gram matrix alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from videorestore.model.coulomb.sphere import pair_log_density
from videorestore.model.covariance import Array, Kernel, inverse_and_logdet, with_noise

MAPPING = "one-to-one"
"""Of the cube to the sphere on which positions repel each other."""
EDGE = 6.0
"""Largest free parameter of a coordinate: it stays within 0.0025 of the faces of the cube."""
LOG_ALPHA = (np.log(0.05), np.log(2000.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetObjective:
    """Negative log posterior over ``theta = (u (n p), log alpha (p), log ratio)``, per value.

    Coordinates are ``1 / (1 + exp(-u))``; each has its own ``alpha``; all pixels share the noise ratio.
    """

    gram: Array
    size: float
    p: int
    kernel: Kernel
    r: float
    floor: float

    @property
    def n(self) -> int:
        """Number of frames."""
        return int(self.gram.shape[0])

    def unpack(self, theta: Array) -> tuple[Array, Array, float]:
        """Positions (n, p), alpha (p,) and ratio."""
        cut = self.n * self.p
        x = 1.0 / (1.0 + np.exp(-np.clip(theta[:cut], -EDGE, EDGE)))
        alpha = np.exp(np.clip(theta[cut : cut + self.p], *LOG_ALPHA))
        return x.reshape(self.n, self.p), alpha, float(np.exp(np.clip(theta[-1], np.log(self.floor), 9.0)))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient, both divided by the number of values."""
        x, alpha, ratio = self.unpack(theta)
        scaled = x * np.sqrt(alpha)
        square = np.square(scaled).sum(axis=1)
        q = np.maximum(square[:, None] + square - 2.0 * scaled @ scaled.T, 0.0)
        np.fill_diagonal(q, 0.0)
        inverse, logdet = inverse_and_logdet(with_noise(self.kernel.value(q), ratio))
        corp, pull = pair_log_density(x, self.r, MAPPING)
        if inverse is None or not np.isfinite(corp):
            return np.inf, np.zeros_like(theta)
        product = inverse @ self.gram
        count = self.n * self.size
        phi = max(float(np.trace(product)) / count, 1e-300)
        value = 0.5 * (self.size * logdet + count * (np.log(2 * np.pi * phi) + 1.0)) - corp
        in_e = 0.5 * (self.size * inverse - product @ inverse / phi)
        inner = in_e * self.kernel.slope(q)
        in_x = 4.0 * alpha * (inner.sum(axis=1)[:, None] * x - inner @ x) - pull
        in_alpha = np.array([float((inner * np.square(c[:, None] - c)).sum()) for c in x.T]) * alpha
        gradient = np.concatenate([(in_x * x * (1.0 - x)).ravel(), in_alpha, [float(np.trace(in_e)) * ratio]])
        return value / count, gradient / count
