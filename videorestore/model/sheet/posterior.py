"""Where on a surface a partly seen frame belongs."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from videorestore.errors import InputError
from videorestore.model.covariance import Array
from videorestore.model.gram import Stream
from videorestore.model.placement import DRAWS, Placement
from videorestore.model.posterior import Block, CurvePosterior

STARTS = 4
"""Nearest training frames from whose positions a frame is placed."""
STEP = 1e-4
"""Of the cube, by which slopes are measured."""


class SheetPosterior(CurvePosterior):
    """Posterior of a surface (or solid) at fitted positions (n, p), one set of hyper-parameters for all pixels."""

    def place(self, stream: Stream, frames: Block) -> list[Placement]:
        """Posterior of the position of each of ``frames`` (m, d), NaN = not seen."""
        pixels = np.concatenate(list(stream()), axis=1)
        return [SheetPlacement(self, pixels, frame.astype(np.float64)) for frame in frames]


class SheetPlacement(Placement):
    """Posterior of the position of one frame ``z`` (d,), NaN = not seen: its mode, and a normal law around it."""

    def __init__(self, posterior: SheetPosterior, pixels: Block, z: Array) -> None:
        fit = posterior.fit
        seen = np.flatnonzero(~np.isnan(z) & (fit.label >= 0))
        if seen.size == 0:
            raise InputError("a frame to be placed needs a seen pixel that changes along the curve, got none")
        self.posterior = posterior
        self.pixels, self.frame = posterior.centred(pixels[:, seen], seen), z[seen] - fit.mean[seen]
        self.phi, self.ratio = float(fit.phi[seen[0]]), float(fit.ratio[0])
        self.low, self.high = fit.x.min(axis=0), fit.x.max(axis=0)

    def _predict(self, x: Array) -> tuple[Array, Array]:
        """Seen pixels (m, k) at ``x`` (m, p), and the variance (m,) of a noisy one."""
        weights = self.posterior.weights(x)
        return weights.matrix[0] @ self.pixels, self.phi * (weights.variance[0] + self.ratio)

    def log_likelihood(self, x: Array) -> Array:
        """Log density (m,) of the seen pixels at positions ``x`` (m, p)."""
        mean, spread = self._predict(x)
        square = np.square(self.frame - mean).sum(axis=1)
        return np.asarray(-0.5 * (self.frame.size * np.log(2 * np.pi * spread) + square / spread))

    def mode(self) -> Array:  # type: ignore[override]
        """Most probable position (p,)."""
        known = self.posterior.x
        at_training = self.log_likelihood(known)
        best, value = known[int(at_training.argmax())], float(at_training.max())
        for i in np.argsort(-at_training, kind="stable")[:STARTS]:
            found = minimize(
                lambda x: -float(self.log_likelihood(x[None])[0]),
                known[i],
                method="L-BFGS-B",
                bounds=list(zip(self.low, self.high)),
            )
            if -found.fun > value:
                best, value = found.x, -float(found.fun)
        return np.asarray(best)

    def _bend(self, at: Array) -> Array:
        """Precision (p, p) of the position; where a frame says nothing about a coordinate, the cube is what is known."""
        p = at.size
        path, spread = self._predict(np.concatenate([at + STEP * np.eye(p), at - STEP * np.eye(p), at[None]]))
        slope = (path[:p] - path[p : 2 * p]) / (2.0 * STEP)
        return np.asarray(slope @ slope.T / spread[-1] + 2 * np.pi * np.eye(p))

    @property
    def log_evidence(self) -> float:  # type: ignore[override]
        """Log density of the seen pixels, the position in the cube integrated out by Laplace."""
        at = self.mode()
        _, log_det = np.linalg.slogdet(self._bend(at))
        return float(self.log_likelihood(at[None])[0] + 0.5 * (at.size * np.log(2 * np.pi) - log_det))

    def support(self, method: str, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """The mode for ``map``, else draws (k, p) of the normal law around it, and their log masses (k,)."""
        at = self.mode()
        if method == "map":
            return at[None], np.zeros(1)
        root = np.linalg.cholesky(np.linalg.inv(self._bend(at)))
        drawn = at + rng.standard_normal((DRAWS, at.size)) @ root.T
        return np.clip(drawn, self.low, self.high), np.zeros(DRAWS)
