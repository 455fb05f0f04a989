"""The electroGP with the positions integrated out.

Where each position is sharp, as with thousands of pixels, the posterior mode is enough. Where it is not, a mode
lets positions soak up noise, so that the noise comes out too small, the band too narrow and the curve too rough.
Here every point keeps a posterior over a grid of positions, and the curve is fitted to all of them at once.

What is approximated:

- Positions and curve are independent in the posterior (mean field), each exact given the other: positions on
  a grid, the curve a Gaussian process in closed form. Hyper-parameters maximise the evidence; in the end the
  curve's length and signal variances are integrated out, too. The covariance
  of the curve is corrected afterwards for what is not known about positions (Louis' identity).
- Corp(r) acts through the field that all points make together, the saddle point of the repulsion written
  over the Fourier modes of the density of positions (with its Gaussian fluctuations in the evidence). Modes
  finer than about two spacings are left out. ``r = 0`` is the plain GP-LVM with a uniform prior.
- Corp spreads positions evenly whatever the speed along the curve, and a covariance that is stationary in x would
  have to bend to follow an uneven speed: of points thrown independently along a curve even r = 1 is refuted. So
  ``r`` is learnt by the evidence: frames of a film at even speed ask for much of it, thrown points for little, which
  still spreads them over the whole interval. Points may lie evenly along the axis of the covariance, or crowd in
  its middle as a normal density does, whichever the evidence prefers: few points beyond a crowd would count as noise
  otherwise, and the curve would stop short of them.
- With one noise variance for all dimensions, the data are turned to their principal axes, so that each direction
  has its own signal variance and a direction in which the curve is straight stays flat. Of many dimensions only the
  axes that rise above the noise are kept for the search; what the curve has in the others together is added in the
  end, and there one signal variance for all directions, which no rotation changes, wins unless one for each axis pays
  for the directions that were learnt. Where positions are sharper than their spacing the mode serves. Few dimensions
  may have a noise variance each (not turned), where the evidence asks for it; many are divided by theirs first.
- Noise may follow Student's law: then each point has its own precision, integrated out in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.model.integrated.axes import Frame
from videorestore.model.integrated.basis import features, to_s, to_x
from videorestore.model.integrated.hyper import LEAST_PRECISION, Remainder, integrated
from videorestore.model.integrated.state import State, modes

Array = NDArray[np.float64]

STEP = 1e-5
"""Of (0, 1), over which the direction of the curve is measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal(State):
    """Posterior of curve and positions: the end of a search, in the dimensions of the data.

    Attributes
    ----------
    x, x_sd : ndarray (n,)
        Most probable position of each point in (0, 1), and sd of its posterior.
    root : ndarray (k, a, j)
        Root of the joint covariance of the curve's weights.
    mean : ndarray (d,)
        Centre of the data.
    loading : ndarray (d, a)
        What an axis is in the dimensions of the data.
    rest : Remainder or None
        The curve outside the kept axes.
    phi, noise_var : ndarray (d,)
        Signal and noise variance of each dimension.
    flip : bool
        The axis of the covariance runs against that of x.
    ambiguous : bool
        Another order explains the data about as well.
    """

    x: Array
    x_sd: Array
    root: Array
    mean: Array
    loading: Array
    rest: Remainder | None
    phi: Array
    noise_var: Array
    flip: bool
    ambiguous: bool

    @property
    def r(self) -> float:
        """Repulsion that was used."""
        return self.basis.r

    @property
    def weights(self) -> Array:
        """Posterior means (k, a) of the curve's features, in the kept axes."""
        return self.curve.mean

    @property
    def span(self) -> tuple[float, float]:
        """Where the curve is held by data: beyond it lies the prior. On a point any place is as good."""
        if self.basis.periodic or np.ptp(self.x) < 1.0 / self.basis.s.size:
            return 0.0, 1.0
        return float(self.x.min()), float(self.x.max())

    def features(self, x: Array) -> Array:
        """The curve's features (p, k) at positions ``x`` (p,)."""
        at = to_s(1.0 - x if self.flip else x, self.basis.crowded)
        return features(at, self.basis.omega[self.curve.keep], self.basis.periodic)

    def in_axes(self, x: Array) -> tuple[Array, Array]:
        """Mean (p, a) of the curve at ``x`` (p,) in the kept axes, and a root (p, a, a) of its covariance."""
        phi = self.features(x)
        spread = np.tensordot(phi, self.root, axes=(1, 0))
        values, vectors = np.linalg.eigh(spread @ spread.transpose(0, 2, 1))
        return phi @ self.weights, vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]

    def across(self, x: Array) -> tuple[Array, Array]:
        """As :meth:`in_axes`, without the part of the covariance that runs along the mean curve.

        To shift the whole curve along itself is to rename its positions: it says nothing about where on the mean
        curve a frame belongs.
        """
        mean, root = self.in_axes(x)
        along = (self.features(x + STEP) - self.features(x - STEP)) @ self.weights
        metric = self.loading.T @ (self.loading / self.noise_var[:, None])
        weighed = along @ metric
        share = np.einsum("pa,pab->pb", weighed, root)
        length = np.maximum(np.einsum("pa,pa->p", weighed, along), 1e-300)
        return mean, root - along[:, :, None] * (share / length[:, None])[:, None, :]

    def predict(self, x: ArrayLike) -> tuple[Array, Array]:
        """Mean and sd (p, d) of the curve at positions ``x`` (p,)."""
        at = np.asarray(x, dtype=np.float64).reshape(-1)
        inside, root = self.in_axes(at)
        mean = inside @ self.loading.T + self.mean
        variance = np.stack([np.square(self.loading @ one).sum(axis=1) for one in root])
        if self.rest is not None:
            phi = self.features(at)
            mean += self.rest.mean(phi)
            variance += self.rest.variance(phi)
        return mean, np.sqrt(variance)

    def sample(self, x: ArrayLike, rng: np.random.Generator, noise: bool = True) -> Array:
        """One draw (p, d) from the posterior predictive at ``x`` (p,), jointly over x."""
        phi = self.features(np.asarray(x, dtype=np.float64).reshape(-1))
        drawn = self.weights + self.root @ rng.standard_normal(self.root.shape[2])
        out = phi @ drawn @ self.loading.T + self.mean
        if self.rest is not None:
            out = out + self.rest.draw(phi, rng)
        if noise:
            sd = np.sqrt(self.noise_var)
            if self.freedom is not None:
                sd = sd * np.sqrt(self.freedom / rng.chisquare(self.freedom, (out.shape[0], 1)))
            out = out + rng.standard_normal(out.shape) * sd
        return np.asarray(out)


def finish(state: State, frame: Frame, ambiguous: bool) -> Marginal:
    """The posterior at the end of a search, in the dimensions of the data."""
    loading = frame.scale[:, None] * frame.axes
    made, rest = integrated(state.data, state.basis, state.q, state.curve, frame.points, frame.axes)
    state = replace(state, curve=made)
    basis, curve, q = state.basis, state.curve, state.q
    x = to_x(modes(q, basis.s, basis.periodic), basis.crowded)
    at = to_x(basis.s, basis.crowded)
    first = q @ at
    flip = bool(x[0] > x[-1]) and not basis.periodic
    noise = curve.noise_var
    return Marginal(
        **{one.name: getattr(state, one.name) for one in fields(State)},
        x=1.0 - x if flip else x,
        x_sd=np.sqrt(np.maximum(q @ np.square(at) - np.square(first), 0.0)),
        root=louis_root(state),
        mean=frame.mean,
        loading=loading,
        rest=rest if rest is None else replace(rest, scale=frame.scale),
        phi=np.square(loading) @ curve.phi,
        noise_var=(noise[0] if state.data.tied else noise) * np.square(frame.scale),
        flip=flip,
        ambiguous=ambiguous,
    )


def louis_root(state: State) -> Array:
    """Root (k, d, k d) of the joint covariance of the curve's weights, positions integrated out.

    The information in the data about the curve is what it would be with positions known, less what is lost
    by not knowing them: the covariance, over each point's position, of the score.
    """
    data, curve, q = state.data, state.curve, state.q
    k, d = curve.mean.shape
    phi = state.basis.phi[:, curve.keep]
    noise = curve.noise_var
    path = phi @ curve.mean
    known = data.weight[:, None] * data.seen
    # Scores in whitened weights: one column per dimension and feature.
    white = [phi @ curve.root[:, :, j] for j in range(d)]
    pull = [known[:, j, None] * (data.y[:, j, None] - path[:, j]) / noise[j] for j in range(d)]
    first = np.concatenate([(q * pull[j]) @ white[j] for j in range(d)], axis=1)
    lost = -first.T @ first
    for i in range(d):
        for j in range(i, d):
            weight = (q * pull[i] * pull[j]).sum(axis=0)
            block = white[i].T @ (weight[:, None] * white[j])
            lost[i * k : (i + 1) * k, j * k : (j + 1) * k] += block
            if j > i:
                lost[j * k : (j + 1) * k, i * k : (i + 1) * k] += block.T
    precision, vectors = np.linalg.eigh(np.eye(k * d) - lost)
    vectors = vectors / np.sqrt(np.maximum(precision, LEAST_PRECISION))
    out = np.empty((k, d, k * d))
    for j in range(d):
        out[:, j] = curve.root[:, :, j] @ vectors[j * k : (j + 1) * k]
    return out
