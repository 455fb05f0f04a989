"""The integrated posterior behind the same interface as the posterior at fixed positions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from videorestore.model.gram import Stream
from videorestore.model.integrated.marginal import Array, Marginal
from videorestore.model.outcome import CurveFit
from videorestore.model.placement import Placement
from videorestore.model.posterior import Block, Columns, CurvePosterior, HeldWeights, positions
from videorestore.model.threads import one_thread


class MarginalPosterior(CurvePosterior):
    """Posterior of the curve with positions integrated out; see :class:`videorestore.model.integrated.marginal.Marginal`.

    The data are in it already, so that the blocks of pixels asked for elsewhere are not looked at.
    """

    def __init__(self, marginal: Marginal, fit: CurveFit) -> None:
        super().__init__(fit)
        self.marginal = marginal

    @classmethod
    def of(cls, marginal: Marginal, fit: CurveFit, frames: Block) -> MarginalPosterior:
        """With the record of a fit, its positions and hyper-parameters replaced by the integrated ones."""
        active = fit.label >= 0
        return cls(
            marginal,
            replace(
                fit,
                x=marginal.x[fit.index],
                alpha=np.array([marginal.curve.alpha]),
                ratio=np.array([marginal.noise_var.mean() / max(float(marginal.phi.mean()), 1e-300)]),
                label=np.where(active, 0, -1).astype(np.int16),
                phi=np.where(active, marginal.phi, 0.0),
                noise_var=np.where(active, marginal.noise_var, 0.0),
                mean=marginal.mean,
                r=marginal.r,
                log_posterior=marginal.evidence,
                log_score=cls(marginal, fit).log_score(frames[fit.rows]),
                start=marginal.start if marginal.start != "given" else fit.start,
                n_iter=fit.n_iter + marginal.n_iter,
            ),
        )

    @property
    def span(self) -> tuple[float, float]:
        """Where the curve is held by data: beyond it lies the prior."""
        return self.marginal.span

    @cached_property
    def nodes(self) -> Array:
        """Positions at which every frame is tried first."""
        return np.linspace(*self.span, NODES + 1)

    @cached_property
    def spread_at_nodes(self) -> Array:
        """Covariance (p, a, a) of the curve across itself there, made once: see :meth:`Marginal.across`."""
        root = self.marginal.across(self.nodes)[1]
        return np.asarray(root @ root.transpose(0, 2, 1))

    def near(self, x: Array) -> tuple[Array, Array]:
        """Mean (m, a) of the curve at ``x`` (m,) on the span, and its covariance (m, a, a) across, straight between nodes."""
        nodes, table = self.nodes, self.spread_at_nodes
        where = (x - nodes[0]) * ((nodes.size - 1) / max(nodes[-1] - nodes[0], 1e-300))
        cell = np.clip(where.astype(np.intp), 0, nodes.size - 2)
        share = (where - cell)[:, None, None]
        mean = self.marginal.features(x) @ self.marginal.weights
        return mean, (1.0 - share) * table[cell] + share * table[cell + 1]

    def weights(self, x: Array) -> HeldWeights:
        """The posterior at positions ``x`` (m,)."""
        at = positions(x)
        mean, sd = self.marginal.predict(at)
        # A pixel that never changes is known.
        constant = self.fit.label < 0
        if constant.any():
            mean[:, constant], sd[:, constant] = self.fit.mean[constant], 0.0
        none = np.empty((0, at.size))
        return HeldWeights(posterior=self, x=at, matrix=none, variance=none, values=mean, spread=sd)

    def sample(
        self,
        x: Array,
        block: Block,
        rng: np.random.Generator,
        noise: bool = True,
    ) -> Array:
        """One draw (m, d) of pixels at ``x`` (m,), jointly over x, from the posterior predictive."""
        drawn = self.marginal.sample(x, rng, noise=noise)
        constant = self.fit.label < 0
        if constant.any():
            drawn[:, constant] = self.fit.mean[constant]
        return drawn

    def leave_one_out(
        self, block: Block | None = None, columns: Columns = slice(None)
    ) -> tuple[Block, Block]:
        """Each frame that counts predicted from the others at its own position: mean and sd (u, k).

        The beliefs about the other positions and the hyper-parameters stay as they are.
        """
        m = self.marginal
        data, curve = m.data, m.curve
        n = m.x.size
        k, d = curve.mean.shape
        on_grid = m.basis.phi[:, curve.keep]
        at = m.features(m.x)
        known = data.weight[:, None] * data.seen
        mean = np.empty((n, d))
        variance = np.empty((n, d))
        for j in range(d):
            grid_white = on_grid @ curve.root[:, :, j]
            here = at @ curve.root[:, :, j]
            for i in range(n):
                use = np.flatnonzero(m.q[i] > 1e-9)
                part = grid_white[use] * (known[i, j] * m.q[i, use] / curve.noise_var[j])[:, None]
                left = np.eye(k) - grid_white[use].T @ part
                right = np.stack([curve.white[:, j] - part.sum(axis=0) * data.y[i, j], here[i]], axis=1)
                solved = np.linalg.solve(left, right)
                mean[i, j] = here[i] @ solved[:, 0]
                variance[i, j] = here[i] @ solved[:, 1]
        total = np.maximum(variance, 0.0) @ np.square(m.loading).T + m.noise_var
        return (mean @ m.loading.T + m.mean)[:, columns], np.sqrt(total)[:, columns]

    def log_score(self, frames: Block) -> float:
        """Leave-one-out log predictive density of the frames that count, per seen value."""
        mean, sd = self.leave_one_out()
        z = (frames - mean) / sd
        logs = -0.5 * np.square(z) - np.log(sd) - 0.5 * np.log(2 * np.pi)
        return float(np.nanmean(logs))

    def place(self, stream: Stream, frames: Block) -> list[Placement]:
        """Posterior of the position of each of ``frames`` (m, d), NaN = not seen."""
        with one_thread():
            return [MarginalPlacement(self, frame.astype(np.float64)) for frame in frames]


NODES = 500
"""Cells of the grid on which a frame is placed, before it is cut finer where the density is high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A frame against the kept axes, over its seen pixels weighted by their noise.

    ``gram`` (a, a) products of the axes, ``line`` (a,) with the frame, ``norm`` the frame's own, ``logs`` the sum of
    the logs of the noise variances, ``size`` (1,) the number of pixels.
    """

    gram: Array
    line: Array
    norm: float
    logs: float
    size: Array


class MarginalPlacement(Placement):
    """Posterior of the position of one frame under the integrated curve, uniform prior on its span."""

    def __init__(self, posterior: MarginalPosterior, frame: Array) -> None:
        marginal = posterior.marginal
        columns = np.flatnonzero(~np.isnan(frame) & (posterior.fit.label >= 0))
        noise = marginal.noise_var[columns]
        loading, z = marginal.loading[columns], frame[columns] - marginal.mean[columns]
        over = loading / noise[:, None]
        seen = _Seen(
            gram=loading.T @ over,
            line=over.T @ z,
            norm=float(np.square(z) @ (1.0 / noise)) if columns.size else 0.0,
            logs=float(np.log(2 * np.pi * noise).sum()),
            size=np.array([columns.size]),
        )
        super().__init__(posterior, seen)  # type: ignore[arg-type]

    def log_likelihood(self, x: Array) -> Array:
        """Log density (m,) of the seen pixels at positions ``x`` (m,).

        With the covariance C of the curve in the axes and G their products, the determinant is that of I + CG, and the
        error loses what the curve's own variance explains.
        """
        seen: _Seen = self.seen
        own: MarginalPosterior = self.posterior  # type: ignore[assignment]
        marginal = own.marginal
        at, spread = own.near(x)
        pulled = at @ seen.gram
        square = np.maximum(seen.norm + np.einsum("ma,ma->m", pulled - 2.0 * seen.line, at), 0.0)
        score = seen.line - pulled
        core = np.eye(at.shape[1]) + spread @ seen.gram
        moved = np.linalg.solve(core, np.einsum("mab,mb->ma", spread, score)[:, :, None])[:, :, 0]
        square = square - np.einsum("ma,ma->m", score, moved)
        log_det = np.linalg.slogdet(core)[1] + seen.logs
        freedom = marginal.freedom
        if freedom is None:
            return np.asarray(-0.5 * (square + log_det))
        size = float(seen.size[0])
        constant = (
            gammaln(0.5 * (freedom + size)) - gammaln(0.5 * freedom) - 0.5 * size * np.log(0.5 * freedom)
        )
        tail = -0.5 * (freedom + size) * np.log1p(np.maximum(square, 0.0) / freedom)
        return np.asarray(constant + tail - 0.5 * log_det)

    def make_nodes(self) -> Array:
        """Positions (p,) to begin with."""
        return self.posterior.nodes  # type: ignore[attr-defined, no-any-return]
