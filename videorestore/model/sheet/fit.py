"""The joint mode of positions in the cube, and what follows from it: mean, sd, placement, scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse.csgraph import shortest_path

from videorestore.errors import InputError, NumericalError
from videorestore.model.covariance import Kernel, kernel_named
from videorestore.model.joint.evidence import base_r
from videorestore.model.joint.objective import inverse_and_logdet
from videorestore.model.joint.optimize import minimise
from videorestore.model.outcome import Options
from videorestore.model.sheet.dimension import local_dimension
from videorestore.model.sheet.objective import SheetPosterior
from videorestore.model.starts import neighbour_graph

Array = NDArray[np.float64]
Block = NDArray[Any]

MARGIN = 0.06
"""Room between the first positions and the faces of the cube."""
STARTS = 4
"""Nearest training frames from whose positions a frame is placed."""
MOST_COMPONENTS = 3
FEW = 64
"""Values of a frame up to which its neighbourhood is taken for flat to choose the dimension."""
GAIN = 0.01
"""Nats per value by which one dimension more must raise the log density of held-out frames."""
HELD = 4
"""Every so many frames are held out to choose the dimension."""
STEP = 1e-4
"""Of the cube, by which slopes are measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A fitted surface (or solid).

    Attributes
    ----------
    x : ndarray (n, p)
    alpha : ndarray (p,)
        Inverse squared length along each coordinate.
    ratio, phi : float
        Noise variance over signal variance, and signal variance, of all pixels.
    inverse : ndarray (n, n)
        Of the correlation of the frames with their noise.
    log_posterior, log_score : float
        The latter by leave-one-out, per value.
    """

    x: Array
    alpha: Array
    ratio: float
    phi: float
    kernel: Kernel
    r: float
    mean: Array
    inverse: Array
    log_posterior: float
    log_score: float
    n_iter: int

    def weights(self, x: Array) -> tuple[Array, Array]:
        """Weights (m, n) on the centred frames at ``x`` (m, p), and the variance of the surface over phi."""
        delta = x[:, None, :] - self.x[None]
        cross = self.kernel.value(np.square(delta) @ self.alpha)
        weight = cross @ self.inverse
        return weight, np.maximum(1.0 - np.einsum("ij,ij->i", weight, cross), 0.0)

    def predict(self, frames: Block, x: Array, noise: bool = False) -> tuple[Array, Array]:
        """Mean and sd (m, d) at ``x`` (m, p) from the training ``frames`` (n, d)."""
        weight, variance = self.weights(x)
        spread = self.phi * (variance + (self.ratio if noise else 0.0))
        mean = weight @ (frames - self.mean) + self.mean
        return mean, np.sqrt(np.broadcast_to(spread[:, None], mean.shape))

    def log_likelihood(self, frames: Block, z: Array, x: Array) -> Array:
        """Log density (m,) of the seen values of one frame ``z`` (d,) at ``x`` (m, p)."""
        seen = np.flatnonzero(~np.isnan(z))
        weight, variance = self.weights(x)
        error = z[seen] - (weight @ (frames[:, seen] - self.mean[seen]) + self.mean[seen])
        spread = self.phi * (variance + self.ratio)
        return np.asarray(
            -0.5 * (seen.size * np.log(2 * np.pi * spread) + np.square(error).sum(axis=1) / spread)
        )

    def place(self, frames: Block, z: Array) -> Array:
        """Most probable position (p,) of one frame ``z`` (d,), NaN = not seen."""
        if np.isnan(z).all():
            raise InputError("a frame to be placed needs a seen pixel that changes along the curve, got none")
        at_training = self.log_likelihood(frames, z, self.x)
        low, high = self.x.min(axis=0), self.x.max(axis=0)
        best, value = self.x[int(at_training.argmax())], float(at_training.max())
        for i in np.argsort(-at_training, kind="stable")[:STARTS]:
            found = minimize(
                lambda x: -float(self.log_likelihood(frames, z, x[None])[0]),
                self.x[i],
                method="L-BFGS-B",
                bounds=list(zip(low, high)),
            )
            if -found.fun > value:
                best, value = found.x, -float(found.fun)
        return np.asarray(best)

    def log_density(self, frames: Block, z: Array) -> float:
        """Log density of the seen values of ``z`` (d,), its position in the cube integrated out by Laplace."""
        seen = np.flatnonzero(~np.isnan(z))
        at = self.place(frames, z)
        p = at.size
        steps = np.concatenate([at + STEP * np.eye(p), at - STEP * np.eye(p), at[None]])
        weight, variance = self.weights(steps)
        path = weight @ (frames[:, seen] - self.mean[seen])
        slope = (path[:p] - path[p : 2 * p]) / (2.0 * STEP)
        bend = slope @ slope.T / (self.phi * (variance[-1] + self.ratio))
        # Where a frame says nothing about a coordinate, the cube is what is known.
        _, log_det = np.linalg.slogdet(bend + 2 * np.pi * np.eye(p))
        return float(self.log_likelihood(frames, z, at[None])[0] + 0.5 * (p * np.log(2 * np.pi) - log_det))


def fit_sheet(frames: Block, options: Options, components: int | str) -> Sheet:
    """Fit positions of ``components`` dimensions to ``frames`` (n, d); ``auto``: as many as predict held-out frames best."""
    if np.isnan(frames).any():
        raise InputError(
            "with n_components above 1 no value may be missing in fit; fill or leave out, found NaN"
        )
    if frames.shape[0] < 6:
        raise InputError(f"a surface needs at least 6 frames, got {frames.shape[0]} sample(s); add frames")
    if components == "auto":
        components = _dimension(frames, options)
    return _fit(frames, options, int(components))


def _dimension(frames: Block, options: Options) -> int:
    """Dimension by evidence: of neighbourhoods where values are few, else of held-out frames.

    Pictures of what moves bend too much for a neighbourhood to be flat.
    """
    if frames.shape[1] <= FEW:
        return local_dimension(frames.astype(np.float64), MOST_COMPONENTS)
    held = np.arange(frames.shape[0]) % HELD == HELD // 2
    best, score = 1, -np.inf
    for p in range(1, MOST_COMPONENTS + 1):
        part = _fit(frames[~held], options, p)
        logs = [part.log_density(frames[~held], z) for z in frames[held].astype(np.float64)]
        mean = float(np.mean(logs)) / frames.shape[1]
        if mean < score + GAIN:
            break
        best, score = p, mean
    return best


def _fit(frames: Block, options: Options, p: int) -> Sheet:
    mean = frames.mean(axis=0, dtype=np.float64)
    centred = frames - mean
    gram = centred @ centred.T
    if not np.trace(gram) > 0:
        raise InputError("frames must differ, got equal ones only; there is no curve through one point")
    kernel = kernel_named("se" if options.kernel == "auto" else options.kernel)
    posterior = SheetPosterior(
        gram=gram,
        size=float(frames.shape[1]),
        p=p,
        kernel=kernel,
        r=base_r(options),
        floor=options.noise_floor,
    )
    x = _start(gram, p, options.n_neighbors)
    theta = np.concatenate([np.log(x / (1.0 - x)).ravel(), np.full(p, np.log(4.0)), [np.log(0.1)]])
    taken = 0
    held = np.ones(theta.size, dtype=bool)
    held[: x.size] = False
    for free, steps in ((held, 30), (None, options.max_iter), (None, options.max_iter)):
        found = minimise(
            posterior, theta, method=options.optimizer, max_iter=steps, tolerance=options.tolerance, free=free
        )
        theta, taken = found.theta, taken + found.n_iter
        if free is None and options.temper and posterior.r > 0:
            posterior = replace(posterior, r=base_r(options) / posterior.effective_share(theta))
    return _finish(posterior, theta, mean, taken)


def _finish(posterior: SheetPosterior, theta: Array, mean: Array, taken: int) -> Sheet:
    x, alpha, ratio = posterior.unpack(theta)
    noisy = posterior.correlations(x, alpha)[1]
    noisy.flat[:: posterior.n + 1] += ratio
    inverse, _ = inverse_and_logdet(noisy)
    if inverse is None:
        raise NumericalError("the covariance of the frames is singular; raise noise_floor")
    product = inverse @ posterior.gram
    count = posterior.n * posterior.size
    phi = float(np.trace(product)) / count
    own = np.diagonal(inverse)
    square = np.einsum("ij,ij->i", product, inverse)
    logs = -0.5 * posterior.size * np.log(2 * np.pi * phi / own) - 0.5 * square / (phi * own)
    return Sheet(
        x=x,
        alpha=alpha,
        ratio=ratio,
        phi=phi,
        kernel=posterior.kernel,
        r=posterior.r,
        mean=mean,
        inverse=inverse,
        log_posterior=-posterior(theta)[0] * count,
        log_score=float(logs.sum()) / count,
        n_iter=taken,
    )


def _start(gram: Array, p: int, neighbours: int) -> Array:
    """Isomap's coordinates (n, p), scaled into the cube."""
    n = gram.shape[0]
    own = np.diagonal(gram)
    distance = np.maximum(own[:, None] + own - 2.0 * gram, 0.0)
    way = np.square(shortest_path(neighbour_graph(distance, min(neighbours, n - 1)), directed=False))
    centred = -0.5 * (way - way.mean(axis=0) - way.mean(axis=1)[:, None] + way.mean())
    values, vectors = np.linalg.eigh(centred)
    top = np.argsort(-values)[:p]
    x = vectors[:, top] * np.sqrt(np.maximum(values[top], 1e-12))
    x = x - x.min(axis=0)
    # One scale for all coordinates: a long sheet stays long.
    x = x / max(float(x.max()), 1e-300)
    return np.asarray(MARGIN + (1.0 - 2.0 * MARGIN) * (x + 0.5 * (1.0 - x.max(axis=0))))
