"""A Matern process along the curve as a Markov chain of states: cost and memory grow with the number of frames.

The states are the curve and its derivatives in units of the length, so that a step depends only on ``a``, the distance times
``rate``: its matrix is ``exp(F a) = exp(-a) (I + N a + N^2 a^2 / 2)`` with ``N = F + I``, whose cube is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.model.line._kernels import add_products, pull_states, smooth_pixels, spread_states

Array = NDArray[np.float64]

PIXELS = 32
"""Pixels smoothed at a time where only sums over them are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The chain of one kernel: drift ``f`` (m, m), covariance without data ``still`` (m, m), ``rate`` over root alpha."""

    f: Array
    still: Array
    rate: float

    def move(self, a: Array) -> Array:
        """Matrices (k, m, m) of steps ``a`` (k,)."""
        n = self.f + np.eye(len(self.f))
        step = np.asarray(a)[:, None, None]
        return np.asarray(np.exp(-step) * (np.eye(len(n)) + n * step + (n @ n) * (0.5 * step * step)))


CHAINS = {
    "matern32": Chain(f=np.array([[0.0, 1.0], [-1.0, -2.0]]), still=np.eye(2), rate=float(np.sqrt(6.0))),
    "matern52": Chain(
        f=np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -3.0, -3.0]]),
        still=np.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]]),
        rate=float(np.sqrt(10.0)),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What does not depend on pixels, at steps ``a`` (n - 1,): see the kernels that fill it."""

    chain: Chain
    move: Array
    before: Array
    after: Array
    gain: Array
    scale: Array
    told: Array
    own: Array

    @classmethod
    def of(cls, chain: Chain, a: Array, ratio: float) -> Spread:
        n, m = a.size + 1, len(chain.f)
        move = chain.move(a)
        before, after, told = np.empty((n, m, m)), np.empty((n, m, m)), np.empty((n, m, m))
        gain, scale, own = np.empty((n, m)), np.empty(n), np.empty(n)
        spread_states(move, chain.still, ratio, before, after, gain, scale)
        pull_states(move, gain, scale, told, own)
        return cls(
            chain=chain,
            move=move,
            before=before,
            after=after,
            gain=gain,
            scale=scale,
            told=told,
            own=own,
        )

    def smooth(self, y: Array) -> tuple[Array, Array, Array, Array]:
        """State and pull (d, n, m), error and what is new (d, n), of pixels ``y`` (d, n)."""
        shape = (*y.shape, self.gain.shape[1])
        state, pull, error, fresh = np.empty(shape), np.empty(shape), np.empty(y.shape), np.empty(y.shape)
        smooth_pixels(y, self.move, self.gain, self.scale, state, pull, error, fresh)
        return state, pull, error, fresh


def likelihood(
    y: Array, chain: Chain, a: Array, ratio: float, noise_var: float | None
) -> tuple[float, float, Array, float]:
    """Log density of pixels ``y`` (d, n), the signal variance, and slopes in ``a`` (n - 1,) and in log ratio.

    The signal variance is at its best value, or ``noise_var / ratio`` where the noise is known. The slope in a step follows
    from those of the density of all later frames in the mean and the covariance of the state before them.
    """
    d, n = y.shape
    spread = Spread.of(chain, a, ratio)
    m = len(chain.f)
    square, cross = np.zeros((n, m, m)), np.zeros((n, m, m))
    quadratic, errors = 0.0, 0.0
    for first in range(0, d, PIXELS):
        state, pull, error, fresh = spread.smooth(y[first : first + PIXELS])
        add_products(state, pull, square, cross)
        quadratic += float((np.square(fresh) / spread.scale).sum())
        errors += float(np.square(error).sum())
    phi = quadratic / (n * d) if noise_var is None else noise_var / ratio
    value = -0.5 * (d * float(np.log(spread.scale).sum()) + n * d * np.log(2 * np.pi * phi) + quadratic / phi)
    move = spread.move
    slope_cov = 0.5 * (square[:-1] / phi - d * spread.told[1:])
    turned = chain.f @ move
    # Trace of F A times the state's products, and of the covariance's own change.
    slope = np.einsum("tij,tji->t", turned, cross[:-1]) / phi
    change = turned @ (spread.after[:-1] - chain.still) @ move.transpose(0, 2, 1)
    slope += 2.0 * np.einsum("tij,tji->t", slope_cov, change)
    in_ratio = 0.5 * ratio * (errors / phi - d * float(spread.own.sum()))
    if noise_var is not None:
        in_ratio += 0.5 * (n * d - quadratic / phi)
    return value, phi, slope, in_ratio
