"""The curve given the frames: mean, standard deviation, samples, leave-one-out, as weights on pixels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.model.covariance import Array, covariance, precision
from videorestore.model.gram import Stream
from videorestore.model.missing import fill
from videorestore.model.outcome import CurveFit
from videorestore.model.placement import Placement, gather
from videorestore.model.threads import one_thread

Block = NDArray[Any]
Indices = NDArray[np.intp]
Columns = slice | Indices

PER_LENGTH = 8.0
"""Nodes for each length of the shortest kernel at which the curve is tabulated."""
FEWEST = 64
"""Nodes of a table at least."""


class CurvePosterior:
    """Posterior of the curve at fitted positions and hyper-parameters.

    Parameters
    ----------
    fit : CurveFit
    """

    def __init__(self, fit: CurveFit) -> None:
        self.fit = fit

    @property
    def x(self) -> Array:
        """Positions (u,) of the frames that count."""
        return self.fit.x[self.fit.rows]

    @property
    def span(self) -> tuple[float, float]:
        """Where the curve is held by data: beyond it lies the prior."""
        return (0.0, 1.0) if self.fit.periodic else (float(self.fit.x.min()), float(self.fit.x.max()))

    @cached_property
    def inverse(self) -> Array:
        """Inverse of E + ratio I of each group (groups, u, u)."""
        return np.stack(
            [
                precision(covariance(self.fit.kernel, self.x, self.x, alpha, self.fit.periodic), float(ratio))
                for alpha, ratio in zip(self.fit.alpha, self.fit.ratio)
            ]
        )

    def weights(self, x: Array) -> Weights:
        """Weights that turn pixels of the frames into the posterior mean at ``x`` (m,)."""
        at = positions(x, self.x.shape[1:])
        fit = self.fit
        own = self.x
        matrix = np.empty((fit.ratio.size, len(at), len(own)))
        variance = np.empty((fit.ratio.size, len(at)))
        with one_thread():
            for g, alpha in enumerate(fit.alpha):
                cross = covariance(fit.kernel, at, own, alpha, fit.periodic)
                matrix[g] = cross @ self.inverse[g]
                variance[g] = np.maximum(1.0 - np.einsum("ij,ij->i", matrix[g], cross), 0.0)
        return Weights(posterior=self, x=at, matrix=matrix, variance=variance)

    @cached_property
    def table(self) -> Weights:
        """The posterior at evenly spaced positions on the span, made once: frames are placed between them."""
        low, high = self.span
        lengths = (high - low) * np.sqrt(2.0 * float(self.fit.alpha.max()))
        most = max(8 * self.fit.rows.size, FEWEST)
        count = int(np.clip(np.ceil(PER_LENGTH * lengths), FEWEST, most))
        return self.weights(np.linspace(low, high, count + 1))

    def centred(self, block: Block, columns: Columns) -> Block:
        """Pixels (n, k) of all frames -> centred pixels (u, k) of the frames that count, NaN kept."""
        fit = self.fit
        values = np.asarray(block)
        if values.ndim != 2 or values.shape[0] != len(fit.x):
            raise InputError(f"a block of pixels must have shape ({len(fit.x)}, k), got {values.shape}")
        centre = fit.mean[columns]
        if centre.size != values.shape[1]:
            raise InputError(f"columns must name {values.shape[1]} pixels like the block, got {centre.size}")
        if values.dtype != np.float64:
            values = values.astype(np.float32, copy=False)
        if fit.rows.size < len(fit.x):
            values = values[fit.rows]
        return np.asarray(values - centre.astype(values.dtype))

    def leave_one_out(self, block: Block, columns: Columns = slice(None)) -> tuple[Block, Block]:
        """Each frame predicted from the others at its own position: mean and sd (u, k), noise included.

        Given positions and hyper-parameters, closed form; nothing may be missing.
        """
        fit = self.fit
        y = self.centred(block, columns)
        label = fit.label[columns].astype(np.intp)
        phi = fit.phi[columns]
        mean = np.zeros_like(y)
        sd = np.zeros_like(y)
        with one_thread():
            for g in np.unique(label[label >= 0]):
                member = np.flatnonzero(label == g)
                inverse = self.inverse[g].astype(y.dtype)
                own = np.diagonal(self.inverse[g])[:, None]
                part = y[:, member]
                mean[:, member] = part - (inverse @ part) / own.astype(y.dtype)
                sd[:, member] = np.sqrt(phi[member][None, :] / own)
        return mean + fit.mean[columns].astype(y.dtype), sd

    def place(self, stream: Stream, frames: Block) -> list[Placement]:
        """Posterior of the position of each of ``frames`` (m, d), NaN = not seen, from the pixels of the fit."""
        with one_thread():
            return [Placement(self, seen) for seen in gather(self, stream, frames)]

    def sample(
        self,
        x: Array,
        block: Block,
        rng: np.random.Generator,
        noise: bool = True,
    ) -> Array:
        """One draw (m, d) of pixels at ``x`` (m,), jointly over x, from the posterior predictive."""
        fit = self.fit
        weights = self.weights(x)
        out = weights.mean(block).astype(np.float64)
        label = fit.label.astype(np.intp)
        for g in np.unique(label[label >= 0]):
            member = np.flatnonzero(label == g)
            alpha = fit.alpha[g]
            cross = covariance(fit.kernel, weights.x, self.x, alpha, fit.periodic)
            inner = (
                covariance(fit.kernel, weights.x, weights.x, alpha, fit.periodic)
                - weights.matrix[g] @ cross.T
            )
            values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            out[:, member] += (root @ rng.standard_normal((root.shape[1], member.size))) * np.sqrt(
                fit.phi[member]
            )
        if noise:
            out += rng.standard_normal(out.shape) * np.sqrt(fit.noise_var)
        return out


def positions(x: Array, shape: tuple[int, ...] = ()) -> Array:
    """Positions (m, *shape) that can be asked for."""
    at = np.asarray(x, dtype=np.float64).reshape(-1, *shape)
    if not np.isfinite(at).all():
        raise InputError("positions must be finite numbers, found NaN or inf")
    return at


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The posterior at positions ``x`` (m,), ready to be applied to streamed pixels.

    Attributes
    ----------
    matrix : ndarray (groups, m, u)
        Weights on the centred frames that count.
    variance : ndarray (groups, m)
        Variance of the curve over phi, where nothing is missing.
    """

    posterior: CurvePosterior
    x: Array
    matrix: Array
    variance: Array

    def mean(self, block: Block, columns: Columns = slice(None)) -> Block:
        """Posterior mean (m, k) of the pixels ``columns`` from their values (n, k) in all frames."""
        return self.apply(block, columns, sd=False)[0]

    def sd(self, columns: Columns = slice(None), noise: bool = False) -> Array:
        """Standard deviation (m, k) of the curve, or of a new noisy value, where nothing is missing."""
        fit = self.posterior.fit
        label = np.maximum(fit.label[columns], 0)
        variance = self.variance[label].T * fit.phi[columns]
        return np.sqrt(variance + fit.noise_var[columns] if noise else variance)

    def apply(
        self, block: Block, columns: Columns = slice(None), *, sd: bool = True, noise: bool = False
    ) -> tuple[Block, Block]:
        """Mean and sd (m, k) of pixels from their values (n, k) in all frames; NaN = missing, treated exactly.

        Parameters
        ----------
        block : ndarray (n, k)
            Not centred, as given to the fit.
        columns : slice or ndarray (k,)
            Which pixels of the fit they are.
        sd : bool
            Compute the sd; otherwise it comes back empty.
        noise : bool
            Include the noise of a new value in the sd.
        """
        with one_thread():
            return self._apply(block, columns, sd, noise)

    def _apply(self, block: Block, columns: Columns, sd: bool, noise: bool) -> tuple[Block, Block]:
        fit = self.posterior.fit
        y = self.posterior.centred(block, columns)
        label = fit.label[columns].astype(np.intp)
        phi = fit.phi[columns]
        spread = self.variance[np.maximum(label, 0)].T * phi if sd else np.empty((0, 0))
        if np.isnan(y).any():
            for at, g, rows, covariance_ in fill(y, label, self.posterior.inverse):
                if sd:
                    lever = self.matrix[g][:, rows]
                    extra = np.einsum("ij,ij->i", lever @ covariance_, lever)
                    spread[:, at] += extra[:, None] * phi[at]
        mean = np.zeros((len(self.x), y.shape[1]), dtype=y.dtype)
        matrix = self.matrix.astype(y.dtype)
        groups = np.unique(label[label >= 0])
        for g in groups:
            if groups.size == 1 and label.min(initial=0) >= 0:
                mean = matrix[g] @ y
            else:
                member = np.flatnonzero(label == g)
                mean[:, member] = matrix[g] @ y[:, member]
        mean += fit.mean[columns].astype(y.dtype)
        if sd and noise:
            spread = spread + fit.noise_var[columns]
        return mean, np.sqrt(spread).astype(y.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldWeights(Weights):
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
