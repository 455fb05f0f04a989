"""Hyper-parameters of single pixels for given positions: each chooses its alpha and noise ratio from a grid.

How usual a choice is among all pixels counts as its prior: a noisy pixel alone says little of its own length and noise.
With E = U diag(s) U' the likelihood of a pixel at any noise ratio follows from its rotated values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.model.covariance import Kernel, covariance
from videorestore.model.joint.centred import Pixels
from videorestore.model.joint.group import Group
from videorestore.model.joint.objective import MAX_RATIO, Posterior

Array = NDArray[np.float64]
Block = NDArray[Any]
Indices = NDArray[np.intp]

RATIOS = 10
"""Noise ratios that are offered to the pixels."""
LENGTHS = (0.2, 1.0, 5.0)
"""Alphas that are offered, over the one that all pixels share."""
MATRICES = 5000
"""Frames times classes of pixels at most: each class has matrices of the frames."""
STEPS = 100
"""Of the search for how usual each class is (expectation and maximisation in turn)."""
RARE = 0.5
"""Pixels of the sample that must belong to a class for it to be offered."""
BLOCK = 800
"""Frames that are decomposed at once."""
PIECE = 4_000_000
"""Values that are turned to the eigenvectors at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eigenbasis:
    """Eigenvectors and eigenvalues (n,) of the unit covariance at one alpha, in blocks of frames."""

    blocks: tuple[tuple[Indices, Array], ...]
    values: Array

    def squares(self, block: Block) -> Block:
        """Squared coordinates (k, n) of centred pixels (n, k)."""
        parts = [block[rows].T @ vectors.astype(block.dtype) for rows, vectors in self.blocks]
        rotated: Block = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
        return np.asarray(np.square(rotated, out=rotated))


def eigenbasis(kernel: Kernel, x: Array, alpha: float, periodic: bool) -> Eigenbasis:
    """Eigen-decomposition of E(x; alpha).

    Beyond ``BLOCK`` frames it is taken in stretches along the curve, as if they were independent: noise and
    signal of a pixel show as well in each of them.
    """
    order = np.argsort(x, kind="stable")
    count = 1 if x.size <= BLOCK else int(np.ceil(x.size / (0.75 * BLOCK)))
    blocks, values = [], []
    for rows in np.array_split(order, count):
        s, vectors = np.linalg.eigh(covariance(kernel, x[rows], x[rows], alpha, periodic))
        blocks.append((rows, vectors))
        values.append(np.maximum(s, 0.0))
    return Eigenbasis(blocks=tuple(blocks), values=np.concatenate(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """What pixels choose from: noise ratio (classes,), which of the offered alphas it goes with, how usual that is."""

    shape: Indices
    ratio: Array
    share: Array


def log_likelihood(
    squares: Block, values: Array, ratio: Array, noise: Array | None, count: Array | None = None
) -> Array:
    """Log likelihood (k, len(ratio)) of pixels, phi at its best value, or at noise / ratio if noise is known.

    ``squares`` (k, n), ``values`` (n,) eigenvalues, ``noise`` (k,) known variances; constants left out.
    ``count`` (k,) is the number of frames in which a pixel was really seen, where some were filled: the
    quadratic form of a filled pixel is that of its seen values, the determinant is taken in proportion.
    """
    n: Any = values.size if count is None else count[:, None]
    spread = values[:, None] + ratio[None, :]
    quadratic = (squares @ (1.0 / spread).astype(squares.dtype)).astype(np.float64)
    logdet = np.log(spread).sum(axis=0) * (n / values.size)
    if noise is None:
        return np.asarray(-0.5 * (n * np.log(np.maximum(quadratic, 1e-300) / n) + n + logdet))
    phi = noise[:, None] / ratio[None, :]
    return np.asarray(-0.5 * (n * np.log(phi) + logdet + quadratic / phi))


def shares(likelihood: Array) -> Array:
    """How usual each class is: the mixture (classes,) that makes pixels of these log likelihoods (k, classes) likeliest."""
    scaled = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    found = np.full(scaled.shape[1], 1.0 / scaled.shape[1])
    for _ in range(STEPS if len(scaled) else 0):
        found = found * (scaled / (scaled @ found)[:, None]).mean(axis=0)
    return np.asarray(found)


def choose(
    block: Block, bases: list[Eigenbasis], classes: Classes, noise: Array | None, count: Array | None = None
) -> tuple[Indices, Array]:
    """The likeliest class (k,) of each centred pixel (n, k), and its phi (k,) there; other arguments as of `log_likelihood`."""
    every = np.arange(block.shape[1])
    best, phi = np.full(every.size, -np.inf), np.zeros(every.size)
    label = np.zeros(every.size, dtype=np.intp)
    for a in np.unique(classes.shape):
        member, b = np.flatnonzero(classes.shape == a), bases[a]
        squares = b.squares(block)
        value = log_likelihood(squares, b.values, classes.ratio[member], noise, count)
        value += np.log(classes.share[member])
        top = value.argmax(axis=1)
        better = value[every, top] > best
        best = np.where(better, value[every, top], best)
        label = np.where(better, member[top], label)
        ratio = classes.ratio[member[top]]
        if noise is None:
            own = (squares / (b.values + ratio[:, None])).sum(axis=1, dtype=np.float64)
            own /= len(block) if count is None else count
        else:
            own = noise / ratio
        phi = np.where(better, own, phi)
    return label, phi


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """Classes of pixels at given positions.

    Attributes
    ----------
    alpha : ndarray (shapes,)
    ratio : ndarray (groups,)
    label, phi : ndarray (d,)
        Group of each pixel, -1 where it never changes, and its own signal variance there.
    groups : list of Group
    """

    alpha: Array
    ratio: Array
    label: Indices
    phi: Array
    groups: list[Group]


def sort_pixels(
    pixels: Pixels, posterior: Posterior, x: Array, alpha: float, *, noise_var: float | None
) -> Sorting:
    """Let each pixel choose its class at positions ``x`` (u,), in one pass; those that hardly any of a sample has are not offered.

    Parameters
    ----------
    alpha : float
        What all pixels share.
    noise_var : float, optional
        Known noise variance; else each pixel is divided by its own sqrt(phi) in its group's Gram matrix.
    """
    facts = pixels.facts
    counted = None if facts.complete else pixels.seen

    def known(block: Block, at: slice | Indices) -> tuple[Array | None, Array | None]:
        noise = None if noise_var is None else np.full(block.shape[1], noise_var)
        return noise, None if counted is None else counted[at]

    offered = alpha * np.array(LENGTHS)
    bases = [eigenbasis(posterior.kernel, x, float(a), posterior.periodic) for a in offered]
    shape, step = np.divmod(np.arange(offered.size * RATIOS), RATIOS)
    ratio = np.geomspace(posterior.noise_floor, MAX_RATIO, RATIOS)
    block, at = pixels.sample()
    facts_of = known(block, at)
    share = shares(np.hstack([log_likelihood(b.squares(block), b.values, ratio, *facts_of) for b in bases]))
    usual = np.argsort(-share, kind="stable")[: max(2, MATRICES // x.size)]
    usual = usual[: max(1, np.count_nonzero(share[usual] * block.shape[1] > RARE))]
    classes = Classes(shape=shape[usual], ratio=ratio[step[usual]], share=share[usual])
    label, phi = np.full(facts.mean.size, -1, dtype=np.intp), np.zeros(facts.mean.size)
    size = max(256, PIECE // x.size)

    def assign(block: Block, here: slice) -> tuple[Indices, Array | None]:
        for first in range(0, block.shape[1], size):
            piece = slice(first, min(first + size, block.shape[1]))
            at = slice(here.start + piece.start, here.start + piece.stop)
            one, own = choose(block[:, piece], bases, classes, *known(block[:, piece], at))
            label[at], phi[at] = np.where(facts.active[at], one, -1), np.where(facts.active[at], own, 0.0)
        return label[here], phi[here] if noise_var is None else None

    grams, sizes = pixels.grams(assign, classes.ratio.size)
    # A class that no pixel chose would leave an empty Gram matrix.
    used = np.flatnonzero(sizes)
    number = np.full(sizes.size, -1, dtype=np.intp)
    number[used] = np.arange(used.size)
    shapes, shape = np.unique(classes.shape[used], return_inverse=True)
    return Sorting(
        alpha=offered[shapes],
        ratio=classes.ratio[used],
        label=np.where(label >= 0, number[np.maximum(label, 0)], -1),
        phi=phi,
        groups=[
            Group(gram=grams[g], size=float(sizes[g]), shape=int(s), noise_var=noise_var)
            for g, s in zip(used, shape)
        ],
    )
