"""The integrated posterior behind the same interface as the posterior at fixed positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from videorestore.errors import InputError
from videorestore.model.integrated.basis import features
from videorestore.model.integrated.marginal import Array, Marginal
from videorestore.model.outcome import CurveFit
from videorestore.model.placement import Placement
from videorestore.model.posterior import Block, Columns, CurvePosterior, Weights


def adopt(marginal: Marginal, fit: CurveFit) -> CurveFit:
    """The record of a fit with positions and hyper-parameters of the integrated posterior."""
    d = fit.mean.size
    active = marginal.phi > 0
    share = marginal.noise_var[active].mean() / max(float(marginal.phi[active].mean()), 1e-300)
    posterior = MarginalPosterior(marginal, fit)
    # Equal frames share the position of the one that counts.
    order = np.argsort(fit.x[fit.rows], kind="stable")
    index = order[np.searchsorted(fit.x[fit.rows][order], fit.x)]
    return replace(
        fit,
        x=marginal.x[index],
        alpha=np.array([marginal.alpha]),
        ratio=np.array([share]),
        label=np.where(fit.label >= 0, 0, -1).astype(np.int16),
        phi=np.where(fit.label >= 0, marginal.phi, 0.0),
        noise_var=np.where(fit.label >= 0, marginal.noise_var, 0.0),
        mean=marginal.mean.astype(fit.mean.dtype).reshape(d),
        log_posterior=marginal.evidence,
        log_score=posterior.log_score(),
        start=marginal.start if marginal.start != "given" else fit.start,
        n_iter=fit.n_iter + marginal.n_iter,
    )


class MarginalPosterior(CurvePosterior):
    """Posterior of the curve with positions integrated out; see :class:`videorestore.model.integrated.marginal.Marginal`.

    The data are in it already, so that the blocks of pixels asked for elsewhere are not looked at.
    """

    def __init__(self, marginal: Marginal, fit: CurveFit) -> None:
        super().__init__(fit)
        self.marginal = marginal

    @property
    def span(self) -> tuple[float, float]:
        """Where the curve is held by data: beyond it lies the prior."""
        return self.marginal.span

    def weights(self, x: Array) -> MarginalWeights:
        """The posterior at positions ``x`` (m,)."""
        at = np.asarray(x, dtype=np.float64).reshape(-1)
        if not np.isfinite(at).all():
            raise InputError("positions must be finite numbers, found NaN or inf")
        mean, sd = self.marginal.predict(at)
        # A pixel that never changes is known.
        constant = self.fit.label < 0
        if constant.any():
            mean[:, constant], sd[:, constant] = self.fit.mean[constant], 0.0
        none = np.empty((0, at.size))
        return MarginalWeights(posterior=self, x=at, matrix=none, variance=none, values=mean, spread=sd)

    def sample(
        self,
        x: Array,
        block: Block,
        rng: np.random.Generator,
        columns: Columns = slice(None),
        noise: bool = True,
    ) -> Array:
        """One draw (m, k) of pixels at ``x`` (m,), jointly over x, from the posterior predictive."""
        drawn = self.marginal.sample(x, rng, noise=noise)
        constant = self.fit.label < 0
        if constant.any():
            drawn[:, constant] = self.fit.mean[constant]
        return drawn[:, columns]

    def leave_one_out(
        self, block: Block | None = None, columns: Columns = slice(None)
    ) -> tuple[Block, Block]:
        """Each frame that counts predicted from the others at its own position: mean and sd (u, k).

        The beliefs about the other positions and the hyper-parameters stay as they are.
        """
        m = self.marginal
        data, curve, axes = m.data, m.curve, m.axes
        k, d = curve.mean.shape
        on_grid = self._raw_features(m.grid)
        at = self._raw_features(1.0 - m.s if m.flip else m.s)
        mean = np.empty((m.s.size, d))
        variance = np.empty((m.s.size, d))
        for j in range(d):
            grid_white = on_grid @ curve.root[:, :, j]
            here = at @ curve.root[:, :, j]
            for i in range(m.s.size):
                use = np.flatnonzero(m.q[i] > 1e-9)
                part = grid_white[use] * (data.seen[i, j] * m.q[i, use] / curve.noise_var[j])[:, None]
                left = np.eye(k) - grid_white[use].T @ part
                right = np.stack([curve.white[:, j] - part.sum(axis=0) * data.y[i, j], here[i]], axis=1)
                solved = np.linalg.solve(left, right)
                mean[i, j] = here[i] @ solved[:, 0]
                variance[i, j] = here[i] @ solved[:, 1]
        total = np.maximum(variance, 0.0) @ np.square(axes).T + m.noise_var
        return (mean @ axes.T + m.mean)[:, columns], np.sqrt(total)[:, columns]

    def log_score(self) -> float:
        """Leave-one-out log predictive density at the fitted positions, per seen value."""
        m = self.marginal
        mean, sd = self.leave_one_out()
        y = m.data.y @ m.axes.T + m.mean
        seen = m.data.seen > 0
        z = (y - mean) / sd
        logs = -0.5 * np.square(z) - np.log(sd) - 0.5 * np.log(2 * np.pi)
        return float(logs[seen].mean())

    def place(self, frame: Block) -> Placement:
        """Posterior of the position of one frame (d,), NaN = not seen."""
        return MarginalPlacement(self, np.asarray(frame, dtype=np.float64).reshape(-1))

    def _raw_features(self, s: Array) -> Array:
        """Features (m, k) in the coordinate in which the covariance is stationary."""
        return features(s, self.marginal.omega, self.marginal.periodic)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalWeights(Weights):
    """Mean and sd (m, d) of the curve at positions ``x`` (m,); the weights themselves are not kept."""

    values: Array
    spread: Array

    def mean(self, block: Block | None = None, columns: Columns = slice(None)) -> Block:
        """Posterior mean (m, k) of the pixels ``columns``."""
        return self.values[:, columns]

    def sd(self, columns: Columns = slice(None), noise: bool = False) -> Array:
        """Standard deviation (m, k) of the curve, or of a new noisy value."""
        spread = self.spread[:, columns]
        if not noise:
            return spread
        return np.asarray(np.sqrt(np.square(spread) + self.posterior.fit.noise_var[columns]))

    def apply(
        self,
        block: Block | None = None,
        columns: Columns = slice(None),
        *,
        sd: bool = True,
        noise: bool = False,
    ) -> tuple[Block, Block]:
        """Mean and sd (m, k) of the pixels ``columns``."""
        return self.mean(block, columns), self.sd(columns, noise) if sd else np.empty((0, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    values: Array
    columns: Any
    size: Array


class MarginalPlacement(Placement):
    """Posterior of the position of one frame under the integrated curve, uniform prior on its span."""

    def __init__(self, posterior: MarginalPosterior, frame: Array) -> None:
        columns = np.flatnonzero(~np.isnan(frame) & (posterior.fit.label >= 0))
        seen = _Seen(values=frame[columns], columns=columns, size=np.array([columns.size]))
        super().__init__(posterior, seen)  # type: ignore[arg-type]

    def log_likelihood(self, x: Array) -> Array:
        """Log density (m,) of the seen pixels at positions ``x`` (m,)."""
        seen: _Seen = self.seen  # type: ignore[assignment]
        marginal: Marginal = self.posterior.marginal  # type: ignore[attr-defined]
        phi = marginal.features(x)
        error = seen.values - (phi @ marginal.weights[:, seen.columns] + marginal.mean[seen.columns])
        lever = np.tensordot(phi, marginal.root[:, seen.columns], axes=(1, 0))
        covariance = lever @ lever.transpose(0, 2, 1)
        step = np.arange(seen.columns.size)
        covariance[:, step, step] += marginal.noise_var[seen.columns]
        factor = np.linalg.cholesky(covariance)
        white = np.linalg.solve(factor, error[:, :, None])[:, :, 0]
        log_det = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(-0.5 * (np.square(white).sum(axis=1) + log_det + step.size * np.log(2 * np.pi)))
