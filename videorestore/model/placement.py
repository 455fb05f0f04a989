"""Where on the curve a partly seen frame belongs: log p(x | seen pixels) on a grid, mode, sampler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.model.covariance import Array
from videorestore.model.gram import Stream

if TYPE_CHECKING:
    from videorestore.model.posterior import CurvePosterior

Block = NDArray[Any]

METHODS = ("exact", "map", "mh", "em")
DRAWS = 64
"""Draws of a chain that are averaged, and positions of equal mass that stand for the exact posterior."""
MASSES = 4000
"""Positions of equal mass from which mean and sd are taken."""
CELLS = 200
"""Cells of the grid that the EM estimate looks at, the heaviest."""
POINTS = 6
"""Nodes that a value between them is interpolated from; at 8 a length it is off by less than 1e-7 of the signal."""
ZOOMS, FINER = 3, 32
"""Times that the neighbourhood of the top is cut into so many parts: to 2e-4 of a cell of the grid."""
PEAKS = 32
"""Highest nodes around which the search looks closer, whatever their density: a peak may stand between nodes."""
DEEP, STEEP = 25.0, 0.3
"""Nats below the top from which a cell does not count, and change of log density across a cell that is too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPixels:
    """What a frame's seen pixels say about each node of the curve, per group.

    Attributes
    ----------
    band : ndarray (groups, p, POINTS)
        Products of the curve at node k with itself at node k + j, over the seen pixels, each over its phi.
    line : ndarray (groups, p)
        Products of the curve at the nodes with the frame.
    norm, size : ndarray (groups,)
        Sum of squares of the frame's pixels, and their number.
    logs : float
        Sum of log(phi) over the seen pixels.
    """

    band: Array
    line: Array
    norm: Array
    size: Array
    logs: float


def gather(posterior: CurvePosterior, stream: Stream, frames: Block) -> list[SeenPixels]:
    """Products of the curve at its nodes with each of ``frames`` (f, d), NaN = not seen."""
    fit = posterior.fit
    f, groups = frames.shape[0], fit.ratio.size
    seen = ~np.isnan(frames)
    weights = posterior.table
    p = weights.x.size
    band, line = np.zeros((f, groups, p, POINTS)), np.zeros((f, groups, p))
    norm, size = np.zeros((f, groups)), np.zeros((f, groups))
    logs = np.zeros(f)
    start = 0
    for raw in stream():
        columns = slice(start, start + raw.shape[1])
        start = columns.stop
        if start > frames.shape[1]:
            break
        label = fit.label[columns].astype(np.intp)
        phi = fit.phi[columns]
        scale = np.sqrt(np.where(phi > 0, phi, 1.0))
        centre = fit.mean[columns]
        curve = ((weights.mean(raw, columns) - centre) / scale).astype(np.float64)
        z = (frames[:, columns] - centre) / scale
        on = seen[:, columns] & (label >= 0)
        z = np.where(on, z, 0.0).astype(np.float64)
        logs += on @ np.log(np.square(scale))
        for g in np.unique(label[label >= 0]):
            member = np.flatnonzero(label == g)
            here, shown = curve[:, member], on[:, member].astype(np.float64)
            line[:, g] += z[:, member] @ here.T
            norm[:, g] += np.square(z[:, member]).sum(axis=1)
            size[:, g] += shown.sum(axis=1)
            for j in range(POINTS):
                band[:, g, : p - j, j] += shown @ (here[: p - j] * here[j:]).T
    if start != frames.shape[1]:
        raise InputError(f"frames must have {start} pixels like the fit, got {frames.shape[1]}")
    return [
        SeenPixels(band=band[i], line=line[i], norm=norm[i], size=size[i], logs=float(logs[i]))
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

    def __init__(self, posterior: CurvePosterior, seen: SeenPixels | None) -> None:
        if seen is not None and seen.size.sum() == 0:
            raise InputError("a frame to be placed needs a seen pixel that changes along the curve, got none")
        self.posterior = posterior
        self.seen: Any = seen
        low, high = posterior.span
        grid = self.nodes = self.make_nodes()
        value = self.log_likelihood(grid)
        high_ones = np.argsort(-value, kind="stable")[:PEAKS]
        for first in range(7):
            # Cut into ten the cells near the top across which the density changes much.
            near = np.maximum(value[1:], value[:-1]) > value.max() - DEEP
            if first == 0:
                near[np.minimum(high_ones, near.size - 1)] = near[np.maximum(high_ones - 1, 0)] = True
            steep = near & (np.abs(np.diff(value)) > STEEP)
            # A peak between two equal nodes shows in the bend, not in the step.
            bend = np.zeros(value.size)
            bend[1:-1] = np.abs(np.diff(value, 2))
            steep |= near & (np.maximum(bend[1:], bend[:-1]) > STEEP)
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

    def make_nodes(self) -> Array:
        """Positions (p,) to begin with."""
        return self.posterior.table.x

    def log_likelihood(self, x: Array) -> Array:
        """Log density (m,) of the seen pixels at positions ``x`` (m,), the curve interpolated between its nodes."""
        fit, seen = self.posterior.fit, self.seen
        at, share = self._interpolation(x)
        variance = self.posterior.table.variance
        out = np.full(x.size, -0.5 * seen.logs)
        for g, ratio in enumerate(fit.ratio):
            if seen.size[g] == 0:
                continue
            band = seen.band[g][at]
            square = np.einsum("ma,ma->m", np.square(share), band[:, :, 0])
            for j in range(1, POINTS):
                square += 2.0 * np.einsum(
                    "ma,ma,ma->m", share[:, :-j], share[:, j:], band[:, : POINTS - j, j]
                )
            error = square - 2.0 * np.einsum("ma,ma->m", share, seen.line[g][at]) + seen.norm[g]
            spread = np.maximum(np.einsum("ma,ma->m", share, variance[g][at]), 0.0) + ratio
            out -= 0.5 * (seen.size[g] * np.log(2 * np.pi * spread) + np.maximum(error, 0.0) / spread)
        return out

    def _interpolation(self, x: Array) -> tuple[NDArray[np.intp], Array]:
        """Nodes (m, POINTS) around each of ``x`` (m,), and Lagrange's weights of their values."""
        nodes = self.nodes
        step = (nodes[-1] - nodes[0]) / (nodes.size - 1)
        where = (x - nodes[0]) / step
        first = np.clip(np.floor(where).astype(np.intp) - (POINTS // 2 - 1), 0, nodes.size - POINTS)
        t = where - first
        offsets = np.arange(POINTS)
        share = np.ones((x.size, POINTS))
        for a in offsets:
            for b in offsets[offsets != a]:
                share[:, a] *= (t - b) / (a - b)
        return first[:, None] + offsets, share

    def mode(self) -> float:
        """Position of highest posterior density, refined between grid points."""
        top = int(self.log_density.argmax())
        low = self.grid[max(top - 1, 0)]
        high = self.grid[min(top + 1, self.grid.size - 1)]
        best, value = self.grid[top], -np.inf
        for _ in range(ZOOMS):
            at = np.append(np.linspace(low, high, FINER + 1), best)
            logs = self.log_likelihood(at)
            if logs.max() > value:
                best, value = at[int(logs.argmax())], float(logs.max())
            step = (high - low) / FINER
            low, high = max(best - step, low), min(best + step, high)
        return float(best)

    def support(self, method: str, n_samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Positions (k,) that stand for the posterior, and their log masses (k,).

        ``exact``: evenly by mass. ``map``: the mode. ``mh``: draws of a chain. ``em``: the heaviest cells of the grid.
        """
        if method == "em":
            log_mass = self.log_density + np.log(np.gradient(self.grid))
            top = np.sort(np.argsort(log_mass, kind="stable")[-CELLS:])
            top = top[log_mass[top] > log_mass[top].max() - 30.0]
            return self.grid[top], log_mass[top]
        if method == "map":
            at = np.array([self.mode()])
        elif method == "exact":
            at = self.quantiles((np.arange(DRAWS) + 0.5) / DRAWS)[0]
        else:
            x = self.sample(n_samples, rng).x
            at = x[:: max(1, x.size // DRAWS)]
        return at, np.zeros(at.size)

    def moments(self) -> tuple[float, float]:
        """Mean and sd of the grid posterior, from positions of equal mass."""
        # From the top, so that a narrow posterior does not drown in rounding.
        top = self.grid[int(self.log_density.argmax())]
        at = self.quantiles((np.arange(MASSES) + 0.5) / MASSES)[0] - top
        return float(top + at.mean()), float(at.std())

    def quantiles(self, v: Array) -> tuple[Array, Array]:
        """Positions (k,) with shares ``v`` (k,) of the posterior before them, and the log density there."""
        mass = np.exp(_cell_masses(self.grid, self.log_density))
        edges = np.concatenate([[0.0], np.cumsum(mass)])
        wanted = v * edges[-1]
        cell = np.clip(np.searchsorted(edges, wanted, side="right") - 1, 0, mass.size - 1)
        inside = np.clip((wanted - edges[cell]) / np.maximum(mass[cell], 1e-300), 0.0, 1.0)
        slope = np.diff(self.log_density)[cell]
        flat = np.abs(slope) < 1e-6
        safe = np.where(flat, 1.0, np.abs(slope))
        # Inverse of the distribution function of exp(slope t) on [0, 1], on the side that cannot overflow.
        share = np.where(slope > 0, 1.0 - inside, inside)
        down = np.log1p(share * np.expm1(-safe)) / -safe
        t = np.where(flat, inside, np.where(slope > 0, 1.0 - down, down))
        x = self.grid[cell] + t * (self.grid[cell + 1] - self.grid[cell])
        return x, self.log_density[cell] + slope * t

    def propose(self, size: int, rng: np.random.Generator, proposal: str = "grid") -> tuple[Array, Array]:
        """Draws (size,) of a proposal and their log density (size,).

        ``grid``: the grid's density, log-linear in each cell. ``uniform``: on the span. ``piecewise``: the
        paper's, uniform between two neighbouring training positions, which are drawn by their mass.
        """
        v = rng.uniform(size=size)
        low, high = self.posterior.span
        if proposal == "grid":
            return self.quantiles(v)
        if proposal == "uniform":
            return low + (high - low) * v, np.full(size, -np.log(high - low))
        if proposal != "piecewise":
            raise InputError(f"proposal must be 'grid', 'uniform' or 'piecewise', got {proposal!r}")
        edges = np.unique(np.concatenate([[low], np.clip(self.posterior.x, low, high), [high]]))
        share = np.exp(_cell_masses(self.grid, self.log_density))
        before = np.interp(edges, self.grid, np.concatenate([[0.0], np.cumsum(share)]))
        mass = np.maximum(np.diff(before), 1e-12 * before[-1])
        mass /= mass.sum()
        cell = np.minimum(np.searchsorted(np.cumsum(mass), v, side="right"), mass.size - 1)
        width = np.diff(edges)[cell]
        return edges[cell] + width * rng.uniform(size=size), np.log(mass[cell] / width)

    def sample(self, n_samples: int, rng: np.random.Generator, proposal: str = "grid") -> Chain:
        """Metropolis-Hastings chain of positions with independent proposals, see :meth:`propose`."""
        x, log_q = self.propose(n_samples + 1, rng, proposal)
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
