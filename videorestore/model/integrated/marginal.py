"""The electroGP with the positions integrated out, for data of few dimensions.

With thousands of pixels each position is sharp and the posterior mode is enough. With two dimensions it is
not: a mode lets positions soak up noise, so that the noise comes out too small, the band too narrow and the
curve too rough. Here every point keeps a posterior over a grid of positions, and the curve is fitted to all
of them at once.

What is approximated:

- Positions and curve are independent in the posterior (mean field), each exact given the other: positions on
  a grid, the curve a Gaussian process in closed form. Hyper-parameters maximise the evidence. The covariance
  of the curve is corrected afterwards for what is not known about positions (Louis' identity).
- Corp(r) acts through the field that all points make together, the saddle point of the repulsion written
  over the Fourier modes of the density of positions (with its Gaussian fluctuations in the evidence). Modes
  finer than about two spacings are left out.
- Corp makes positions nearly equally spaced whatever the speed along the curve, and a covariance that is
  stationary in x would have to bend to follow an uneven speed. So the covariance may be stationary in a
  coordinate ``s`` instead, with ``x`` a random increasing function of it. Its ``roughness`` is 0 for the
  paper's model (s = x) and 1 when points are spread along s as if thrown independently; integrated out, it
  softens the repulsion in s. Points may lie evenly along s, or crowd in its middle as a normal density does,
  whichever the evidence prefers: few points beyond a crowd would count as noise otherwise, and the curve would
  stop short of them. An even speed (0) is believed where the evidence for it is decisive. ``r = 0`` has no
  repulsion and s = x: the plain GP-LVM with a uniform prior.
- With one noise variance for all dimensions, the data are turned to their principal axes, so that each
  direction has its own signal variance and a direction in which the curve is straight stays flat. One noise
  variance per dimension (not turned) is used instead where the evidence asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.model.covariance import Kernel
from videorestore.model.integrated.basis import features
from videorestore.model.integrated.steps import Curve, Data

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """Posterior of curve and positions.

    Attributes
    ----------
    x, x_sd : ndarray (n,)
        Most probable position of each point in (0, 1), and sd of its posterior.
    s : ndarray (n,)
        The same in the coordinate in which the covariance is stationary.
    grid : ndarray (m,)
        Cells of ``s``.
    warp : ndarray (m,)
        ``x`` at each of them.
    q : ndarray (n, m)
        Posterior probability of each cell.
    mean : ndarray (d,)
        Centre of the data.
    weights : ndarray (k, d)
        Posterior means of the curve's features.
    root : ndarray (k, d, j)
        Root of their joint covariance.
    axes : ndarray (d, d)
        Columns are the axes in which ``curve`` is written.
    alpha : float
    phi, noise_var : ndarray (d,)
        Signal and noise variance of each dimension.
    evidence : float
        Log evidence with curve and positions integrated out.
    roughness : float
        0: covariance stationary in x; 1: points spread independently along s.
    start : str
        The order that led here.
    flip : bool
        The axis of s runs against that of x.
    """

    x: Array
    x_sd: Array
    s: Array
    grid: Array
    warp: Array
    q: Array
    mean: Array
    weights: Array
    root: Array
    axes: Array
    omega: Array
    curve: Curve
    data: Data
    kernel: Kernel
    periodic: bool
    r: float
    alpha: float
    phi: Array
    noise_var: Array
    evidence: float
    roughness: float
    start: str
    n_iter: int
    flip: bool

    @property
    def span(self) -> tuple[float, float]:
        """Where the curve is held by data: beyond it lies the prior."""
        return (0.0, 1.0) if self.periodic else (float(self.x.min()), float(self.x.max()))

    def features(self, x: Array) -> Array:
        """The curve's features (p, k) at positions ``x`` (p,)."""
        at = 1.0 - x if self.flip else x
        if self.roughness > 0:
            low, high = self.warp[0], self.warp[-1]
            # The ends of the warp go on straight: beyond (0, 1) lies the prior whatever the speed.
            inner = np.interp(at, self.warp, self.grid)
            below, above = np.minimum(at - low, 0.0), np.maximum(at - high, 0.0)
            first = self.grid[0] / max(low, 1e-12)
            last = (1.0 - self.grid[-1]) / max(1.0 - high, 1e-12)
            at = inner + below * first + above * last
        return features(at, self.omega, self.periodic)

    def predict(self, x: ArrayLike) -> tuple[Array, Array]:
        """Mean and sd (p, d) of the curve at positions ``x`` (p,)."""
        phi = self.features(np.asarray(x, dtype=np.float64).reshape(-1))
        spread = np.tensordot(phi, self.root, axes=(1, 0))
        return phi @ self.weights + self.mean, np.sqrt(np.square(spread).sum(axis=2))

    def sample(self, x: ArrayLike, rng: np.random.Generator, noise: bool = True) -> Array:
        """One draw (p, d) from the posterior predictive at ``x`` (p,), jointly over x."""
        phi = self.features(np.asarray(x, dtype=np.float64).reshape(-1))
        drawn = self.weights + self.root @ rng.standard_normal(self.root.shape[2])
        out = phi @ drawn + self.mean
        if noise:
            out = out + rng.standard_normal(out.shape) * np.sqrt(self.noise_var)
        return np.asarray(out)
