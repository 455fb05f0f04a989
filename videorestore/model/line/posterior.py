"""The posterior of a long film behind the same interface as that of a short one."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.model.gram import Stream
from videorestore.model.line.states import CHAINS, Spread
from videorestore.model.outcome import CurveFit
from videorestore.model.placement import Placement
from videorestore.model.posterior import Block, CurvePosterior, HeldWeights, positions

Array = NDArray[np.float64]


class LinePosterior(CurvePosterior):
    """Posterior of the curve at fitted positions, from the states of all frames.

    Parameters
    ----------
    fit : CurveFit
    y : ndarray (active pixels, n)
        Centred pixels along the curve.
    order : ndarray (n,)
        Frames along the curve.
    """

    def __init__(self, fit: CurveFit, y: Array, order: NDArray[np.intp]) -> None:
        self.chain = CHAINS[fit.kernel.name]
        self.rate = self.chain.rate * float(np.sqrt(fit.alpha[0]))
        self.at = fit.x[order]
        self.order = order
        self.y = y
        self.active = np.flatnonzero(fit.label >= 0)
        self.spread = Spread.of(self.chain, self.rate * np.diff(self.at), float(fit.ratio[0]))
        self.state, self.pull, self.error, _ = self.spread.smooth(y)
        phi, own = float(fit.phi.max()), self.spread.own
        logs = np.log(own / (2 * np.pi * phi)) - np.square(self.error) / (own * phi)
        super().__init__(replace(fit, log_score=0.5 * float(logs.mean())))

    def _curve(self, x: Array, state: Array, pull: Array) -> tuple[Array, Array]:
        """Mean (p, d) and variance (p,) over phi of the centred active pixels at ``x`` (p,).

        What is known from the left is led to ``x``, what all frames on the right add to it is led back.
        """
        n = self.at.size
        left = np.searchsorted(self.at, x, side="right") - 1
        right = np.minimum(left + 1, n - 1)
        inside, still = np.maximum(left, 0), self.chain.still
        forth = self.chain.move(self.rate * np.maximum(x - self.at[inside], 0.0))
        known = forth @ (self.spread.after[inside] - still) @ forth.transpose(0, 2, 1) + still
        known[left < 0] = still
        back = self.chain.move(self.rate * np.maximum(self.at[right] - x, 0.0))
        told = back.transpose(0, 2, 1) @ self.spread.told[right] @ back
        told[left >= n - 1] = 0.0
        # Only the first state is asked for.
        first = known[:, 0]
        variance = known[:, 0, 0] - np.einsum("pi,pij,pj->p", first, told, first)
        forth[left < 0] = 0.0
        lever = np.einsum("pij,pj->pi", back, first)
        lever[left >= n - 1] = 0.0
        mean = np.einsum("dpi,pi->pd", state[:, inside], forth[:, 0])
        mean += np.einsum("dpi,pi->pd", pull[:, right], lever)
        return mean, np.maximum(variance, 0.0)

    def weights(self, x: Array) -> HeldWeights:
        """The posterior at positions ``x`` (m,)."""
        at = positions(x)
        found, variance = self._curve(at, self.state, self.pull)
        mean = np.tile(self.fit.mean, (at.size, 1))
        mean[:, self.active] += found
        none = np.empty((0, at.size))
        spread = np.sqrt(variance[:, None] * self.fit.phi)
        return HeldWeights(posterior=self, x=at, matrix=none, variance=none, values=mean, spread=spread)

    def sample(
        self,
        x: Array,
        block: Block,
        rng: np.random.Generator,
        noise: bool = True,
    ) -> Array:
        """One draw (m, d) of pixels at ``x`` (m,), jointly over x, from the posterior predictive.

        A draw without data, at the frames and at ``x``, is corrected by what the data say of its error there.
        """
        every = np.concatenate([self.at, x])
        order = np.argsort(every, kind="stable")
        move = self.chain.move(self.rate * np.diff(every[order]))
        rest = self.chain.still - move @ self.chain.still @ move.transpose(0, 2, 1)
        values, vectors = np.linalg.eigh(rest)
        root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        m, d = len(self.chain.f), self.active.size
        state = np.linalg.cholesky(self.chain.still) @ rng.standard_normal((m, d))
        path = np.empty((every.size, d))
        path[order[0]] = state[0]
        for t in range(every.size - 1):
            state = move[t] @ state + root[t] @ rng.standard_normal((m, d))
            path[order[t + 1]] = state[0]
        phi, ratio = np.sqrt(self.fit.phi[self.active]), float(self.fit.ratio[0])
        n = self.at.size
        made = (path[:n] + np.sqrt(ratio) * rng.standard_normal((n, d))) * phi
        states, pulls, _, _ = self.spread.smooth(np.ascontiguousarray(self.y - made.T))
        out = np.tile(self.fit.mean, (x.size, 1))
        out[:, self.active] += self._curve(np.asarray(x), states, pulls)[0] + path[n:] * phi
        if noise:
            out += rng.standard_normal(out.shape) * np.sqrt(self.fit.noise_var)
        return np.asarray(out)

    @cached_property
    def at_frames(self) -> tuple[Array, Array]:
        """Mean (n, active pixels) and variance (n,) of the curve at the frames."""
        return self._curve(self.at, self.state, self.pull)

    def place(self, stream: Stream, frames: Block) -> list[Placement]:
        """Posterior of the position of each of ``frames`` (m, d), NaN = not seen."""
        return [LinePlacement(self, frame.astype(np.float64)) for frame in frames]


class LinePlacement(Placement):
    """Posterior of the position of one frame on a long film."""

    def __init__(self, posterior: LinePosterior, frame: Array) -> None:
        centred = (frame - posterior.fit.mean)[posterior.active]
        self.use = np.flatnonzero(~np.isnan(centred))
        if self.use.size == 0:
            raise InputError("a frame to be placed needs a seen pixel that changes along the curve, got none")
        self.frame = centred[self.use]
        self.line = posterior
        super().__init__(posterior, None)

    def make_nodes(self) -> Array:
        """The positions of the frames."""
        return self.line.at

    def log_likelihood(self, x: Array) -> Array:
        """Log density (m,) of the seen pixels at positions ``x`` (m,)."""
        line = self.line
        mean, variance = (
            line.at_frames if x is line.at else line._curve(x, line.state[self.use], line.pull[self.use])
        )
        if x is line.at:
            mean = mean[:, self.use]
        spread = float(line.fit.phi.max()) * (variance + float(line.fit.ratio[0]))
        square = np.square(mean - self.frame).sum(axis=1)
        return np.asarray(-0.5 * (self.use.size * np.log(2 * np.pi * spread) + square / spread))
