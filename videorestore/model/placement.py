"""Where on the curve a partly seen frame belongs: log p(x | seen pixels) on a grid, mode, sampler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from videorestore.errors import InputError
from videorestore.model.covariance import Array, covariance
from videorestore.model.gram import Stream
from videorestore.model.missing import fill
from videorestore.model.posterior import Block, CurvePosterior

GRID = 2001
MEMORY = 256 * 2**20
"""Bytes of Gram matrices held at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPixels:
    """What a frame's seen pixels say, per group: enough to score any position in O(u^2).

    Attributes
    ----------
    gram : ndarray (groups, u, u)
        Of the training pixels that are seen in the frame, each divided by its sqrt(phi).
    cross : ndarray (groups, u)
        Training pixels times the frame's.
    norm, size : ndarray (groups,)
        Sum of squares of the frame's pixels, and their number.
    logs : float
        Sum of log(phi) over the seen pixels.
    """

    gram: Array
    cross: Array
    norm: Array
    size: Array
    logs: float


def gather(posterior: CurvePosterior, stream: Stream, frames: Block) -> list[SeenPixels]:
    """Products of the training pixels with each of ``frames`` (f, d), NaN = not seen.

    Frames that miss the same pixels share one Gram matrix; where the matrices of all would not fit into
    ``MEMORY``, the pixels stream by more than once.
    """
    _, mask = np.unique(np.packbits(np.isnan(frames), axis=1), axis=0, return_inverse=True)
    mask = mask.reshape(-1)
    room = max(1, MEMORY // (8 * posterior.fit.ratio.size * posterior.fit.rows.size**2))
    out: list[SeenPixels | None] = [None] * frames.shape[0]
    for first in range(0, int(mask.max()) + 1, room):
        chosen = np.flatnonzero((mask >= first) & (mask < first + room))
        for i, seen in zip(chosen, _gather(posterior, stream, frames[chosen])):
            out[i] = seen
    return [seen for seen in out if seen is not None]


def _gather(posterior: CurvePosterior, stream: Stream, frames: Block) -> list[SeenPixels]:
    fit = posterior.fit
    f = frames.shape[0]
    seen = ~np.isnan(frames)
    packed = np.packbits(seen, axis=1)
    _, first, mask = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    mask = mask.reshape(-1)
    groups, u = fit.ratio.size, fit.rows.size
    gram = np.zeros((first.size, groups, u, u))
    cross = np.zeros((f, groups, u))
    norm, size = np.zeros((f, groups)), np.zeros((f, groups))
    logs = np.zeros(f)
    start = 0
    for raw in stream():
        k = raw.shape[1]
        columns = slice(start, start + k)
        y = posterior.centred(raw, columns)
        label = fit.label[columns].astype(np.intp)
        if np.isnan(y).any():
            for _ in fill(y, label, posterior.inverse):
                pass
        phi = fit.phi[columns]
        scale = np.sqrt(np.where(phi > 0, phi, 1.0))
        y = y / scale.astype(y.dtype)
        z = (frames[:, columns] - fit.mean[columns]) / scale
        on = seen[:, columns] & (label >= 0)
        z = np.where(on, z, 0.0).astype(y.dtype)
        logs += on @ np.log(np.square(scale))
        for g in np.unique(label[label >= 0]):
            member = np.flatnonzero(label == g)
            part = y[:, member]
            cross[:, g] += z[:, member] @ part.T
            norm[:, g] += np.square(z[:, member], dtype=np.float64).sum(axis=1)
            size[:, g] += on[:, member].sum(axis=1)
            for p, example in enumerate(first):
                visible = on[example, member]
                some = part if visible.all() else part[:, visible]
                gram[p, g] += some @ some.T
        start += k
    if start != frames.shape[1]:
        raise InputError(f"frames must have {start} pixels like the fit, got {frames.shape[1]}")
    return [
        SeenPixels(gram=gram[mask[i]], cross=cross[i], norm=norm[i], size=size[i], logs=float(logs[i]))
        for i in range(f)
    ]


class Placement:
    """Posterior of the position of one frame, uniform prior on the span of the curve.

    Parameters
    ----------
    posterior : CurvePosterior
    seen : SeenPixels

    Attributes
    ----------
    grid : ndarray (p,)
        Positions, dense where the posterior has its mass.
    log_density : ndarray (p,)
        Normalised log p(x | seen pixels) there.
    log_evidence : float
        Log density of the seen pixels, the position integrated out.
    """

    def __init__(self, posterior: CurvePosterior, seen: SeenPixels, n_grid: int = GRID) -> None:
        if seen.size.sum() == 0:
            raise InputError("a frame to be placed needs a seen pixel that changes along the curve, got none")
        self.posterior = posterior
        self.seen = seen
        low, high = posterior.span
        count = max(n_grid, 4 * posterior.fit.rows.size + 1)
        grid = np.linspace(low, high, count)
        value = self.log_likelihood(grid)
        for _ in range(4):
            # Halve nothing, but cut into ten the cells near the top across which the density changes much.
            near = np.maximum(value[1:], value[:-1]) > value.max() - 25.0
            steep = near & (np.abs(np.diff(value)) > 0.3)
            # A peak between two equal nodes shows in the bend, not in the step.
            bend = np.zeros(value.size)
            bend[1:-1] = np.abs(np.diff(value, 2))
            steep |= near & (np.maximum(bend[1:], bend[:-1]) > 0.3)
            cells = np.flatnonzero(steep)[:400]
            if cells.size == 0:
                break
            step = (grid[cells + 1] - grid[cells])[:, None] * (np.arange(1, 10) / 10.0)
            fresh = (grid[cells][:, None] + step).ravel()
            all_x = np.concatenate([grid, fresh])
            all_value = np.concatenate([value, self.log_likelihood(fresh)])
            order = np.argsort(all_x, kind="stable")
            grid, value = all_x[order], all_value[order]
        self.grid = grid
        mass = _cell_masses(grid, value)
        total = _log_sum(mass)
        self.log_density = value - total
        self.log_evidence = total - float(np.log(high - low)) if high > low else float(value[0])

    def log_likelihood(self, x: Array) -> Array:
        """Log density (m,) of the seen pixels at positions ``x`` (m,)."""
        fit, seen = self.posterior.fit, self.seen
        own = self.posterior.x
        out = np.full(x.size, -0.5 * seen.logs)
        for g, (alpha, ratio) in enumerate(zip(fit.alpha, fit.ratio)):
            if seen.size[g] == 0:
                continue
            cross = covariance(fit.kernel, x, own, float(alpha), fit.periodic)
            weight = cross @ self.posterior.inverse[g]
            variance = np.maximum(1.0 - np.einsum("ij,ij->i", weight, cross), 0.0) + ratio
            error = (
                np.einsum("ij,ij->i", weight @ seen.gram[g], weight)
                - 2.0 * weight @ seen.cross[g]
                + seen.norm[g]
            )
            out -= 0.5 * (seen.size[g] * np.log(2 * np.pi * variance) + np.maximum(error, 0.0) / variance)
        return out

    def mode(self) -> float:
        """Position of highest posterior density, refined between grid points."""
        top = int(self.log_density.argmax())
        low = self.grid[max(top - 1, 0)]
        high = self.grid[min(top + 1, self.grid.size - 1)]
        if high <= low:
            return float(self.grid[top])
        found = minimize_scalar(
            lambda x: -float(self.log_likelihood(np.array([x]))[0]),
            bounds=(low, high),
            method="bounded",
            options={"xatol": 1e-4 * (high - low)},
        )
        best = self.log_likelihood(self.grid[top : top + 1])[0]
        return float(found.x) if -found.fun >= best else float(self.grid[top])

    def moments(self) -> tuple[float, float]:
        """Mean and sd of the grid posterior (log-linear between its points)."""
        share = np.exp(_cell_masses(self.grid, self.log_density))
        held = np.flatnonzero(share > 1e-12 * share.max())
        share = share[held] / share[held].sum()
        width = np.diff(self.grid)[held]
        slope = np.diff(self.log_density)[held]
        # Moments of exp(slope t) on [0, 1] by Gauss-Legendre: exact where cells are as flat as they are made.
        node, weight = np.polynomial.legendre.leggauss(32)
        t = 0.5 * (node + 1)
        logs = np.log(weight) + slope[:, None] * t
        density = np.exp(logs - logs.max(axis=1, keepdims=True))
        density /= density.sum(axis=1, keepdims=True)
        # From the top, so that a narrow posterior does not drown in rounding.
        top = self.grid[int(self.log_density.argmax())]
        at = (self.grid[held] - top)[:, None] + width[:, None] * t
        mean = float(share @ (density * at).sum(axis=1))
        variance = float(share @ (density * np.square(at - mean)).sum(axis=1))
        return float(top + mean), float(np.sqrt(variance))

    def propose(self, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draws (size,) from the grid's density, log-linear in each cell, and their log density (size,)."""
        mass = np.exp(_cell_masses(self.grid, self.log_density))
        edges = np.cumsum(mass)
        cell = np.minimum(
            np.searchsorted(edges, rng.uniform(0, edges[-1], size), side="right"), mass.size - 1
        )
        slope = np.diff(self.log_density)[cell]
        v = rng.uniform(size=size)
        flat = np.abs(slope) < 1e-6
        safe = np.where(flat, 1.0, slope)
        # Inverse of the distribution function of exp(slope t) on [0, 1], on the side that cannot overflow.
        down = np.log1p(v * np.expm1(-np.abs(safe))) / -np.abs(safe)
        t = np.where(flat, v, np.where(safe > 0, 1.0 - down, down))
        x = self.grid[cell] + t * (self.grid[cell + 1] - self.grid[cell])
        return x, self.log_density[cell] + slope * t

    def sample(self, n_samples: int, rng: np.random.Generator) -> Chain:
        """Metropolis-Hastings chain of positions with the grid's density as proposal."""
        x, log_q = self.propose(n_samples + 1, rng)
        log_p = self.log_likelihood(x)
        log_u = np.log(rng.uniform(size=n_samples + 1))
        out = np.empty(n_samples)
        at = 0
        accepted = 0
        for i in range(1, n_samples + 1):
            if log_u[i] < (log_p[i] - log_q[i]) - (log_p[at] - log_q[at]):
                at = i
                accepted += 1
            out[i - 1] = x[at]
        return Chain(x=out, acceptance=accepted / n_samples, effective=effective_size(out))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Draws of a position ``x`` (s,), share of accepted proposals, effective sample size.

    As an array, in a loop and by ``len`` it is its draws.
    """

    x: Array
    acceptance: float
    effective: float

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.x, dtype=dtype, copy=True if copy is None else copy)

    def __len__(self) -> int:
        return self.x.size

    def __iter__(self) -> Iterator[float]:
        return iter(self.x.tolist())

    def __getitem__(self, index: Any) -> Any:
        return self.x[index]


def effective_size(chain: Array) -> float:
    """Effective number of independent draws, Geyer's initial positive sequence."""
    n = chain.size
    centred = chain - chain.mean()
    variance = float(centred @ centred) / n
    if n < 4 or variance <= 0:
        return float(n)
    size = 2 ** int(np.ceil(np.log2(2 * n)))
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    correlation = np.fft.irfft(spectrum, size)[:n] / (n * variance)
    pairs = correlation[1 : 2 * ((n - 1) // 2) + 1].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else pairs.size
    return float(min(n, n / (1.0 + 2.0 * pairs[:stop].sum())))


def _cell_masses(grid: Array, log_value: Array) -> Array:
    """Log integral over each cell of a function that is log-linear in it."""
    slope = np.abs(np.diff(log_value))
    top = np.maximum(log_value[1:], log_value[:-1])
    safe = np.where(slope < 1e-6, 1.0, slope)
    factor = np.where(slope < 1e-6, 1.0 - 0.5 * slope, -np.expm1(-safe) / safe)
    return np.asarray(top + np.log(factor) + np.log(np.diff(grid)))


def _log_sum(values: NDArray[np.float64]) -> float:
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))
