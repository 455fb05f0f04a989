"""Pixels in groups, known to the likelihood only by their Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass

from videorestore.model.covariance import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Pixels that share their hyper-parameters, known to the likelihood by their Gram matrix alone.

    Attributes
    ----------
    gram : ndarray (n, n)
        Sum over the pixels of y y', y centred.
    size : float
        Number of pixels.
    shape : int
        Which alpha the group uses.
    noise_var : float, optional
        Known noise variance: then phi = noise_var / ratio instead of its profile value.
    """

    gram: Array
    size: float
    shape: int = 0
    noise_var: float | None = None

    def phi(self, quadratic: float, count: float, ratio: float) -> float:
        """Signal variance, given the sum of y' (E + ratio I)^-1 y over ``count`` values."""
        return max(quadratic / count, 1e-300) if self.noise_var is None else self.noise_var / ratio

    def in_known_ratio(self, quadratic: float, count: float, ratio: float) -> float:
        """Derivative of the negative log likelihood in the ratio by way of phi; 0 where phi is at its best."""
        if self.noise_var is None:
            return 0.0
        return 0.5 * (quadratic / self.phi(quadratic, count, ratio) - count) / ratio
