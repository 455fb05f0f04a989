"""Hyper-parameters of single pixels for given positions, and groups of pixels that are alike.

With E = U diag(s) U' each pixel is a one-dimensional search over its noise ratio on the rotated data.
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

GRID = 28
"""Noise ratios tried before the search."""
BLOCK = 800
"""Frames that are decomposed at once."""
SPREAD = 5.0
"""Factor between the alphas that are offered to the pixels."""
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
    """Groups of hyper-parameters that pixels choose from: (groups,) each.

    ``shape`` says which alpha, ``ratio`` the noise ratio, ``weight`` the share of pixels (a prior for the
    choice: it keeps the scatter of single pixels out of the groups).
    """

    alpha: Array
    shape: Indices
    ratio: Array
    weight: Array


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


def ratio_grid(floor: float) -> Array:
    """Noise ratios from the floor to pure noise."""
    return np.geomspace(floor, MAX_RATIO, GRID)


def find_classes(table: Array, alpha: Array, ratio: Array, limit: int) -> Classes:
    """Groups of hyper-parameters that serve a sample of pixels best.

    The shares of a grid of (alpha, ratio) cells are estimated by EM from the pixels' likelihoods
    (empirical Bayes), then neighbouring cells are joined until at most ``limit`` groups are left.
    """
    likelihood = np.exp(table - table.max(axis=(1, 2), keepdims=True))
    share = np.full(table.shape[1:], 1.0 / table[0].size)
    for _ in range(50):
        joint = likelihood * share
        share = (joint / joint.sum(axis=(1, 2), keepdims=True)).mean(axis=0)
    mass = share.sum(axis=1)
    used = mass > 0.03
    used[mass.argmax()] = True
    shape: list[int] = []
    ratios: list[float] = []
    weights: list[float] = []
    for a in np.flatnonzero(used):
        bins = max(1, round(limit * mass[a] / mass[used].sum()))
        part = share[a] / mass[a]
        # Middle of each cell's share in the cumulative distribution says which bin it goes to.
        place = np.minimum(((np.cumsum(part) - 0.5 * part) * bins).astype(int), bins - 1)
        for slot in range(bins):
            member = place == slot
            inside = part[member].sum()
            if inside > 0.01:
                shape.append(int(a))
                ratios.append(float(np.exp(part[member] @ np.log(ratio[member]) / inside)))
                weights.append(float(inside * mass[a]))
    while len(shape) > limit:
        out = int(np.argmin(weights))
        for column in (shape, ratios, weights):
            del column[out]
    kept, renumbered = np.unique(shape, return_inverse=True)
    weight = np.array(weights)
    return Classes(
        alpha=alpha[kept],
        shape=renumbered.astype(np.intp),
        ratio=np.array(ratios),
        weight=weight / weight.sum(),
    )


def choose(
    block: Block, bases: list[Eigenbasis], classes: Classes, noise: Array | None, count: Array | None = None
) -> tuple[Indices, Array]:
    """Group (k,) of each centred pixel (n, k), and its phi (k,) there."""
    k = block.shape[1]
    n: Any = block.shape[0] if count is None else count
    best = np.full(k, -np.inf)
    label = np.zeros(k, dtype=np.intp)
    phi = np.zeros(k)
    for a, b in enumerate(bases):
        member = np.flatnonzero(classes.shape == a)
        squares = b.squares(block)
        ratio = classes.ratio[member]
        value = log_likelihood(squares, b.values, ratio, noise, count) + np.log(classes.weight[member])
        top = value.argmax(axis=1)
        better = value[np.arange(k), top] > best
        best = np.where(better, value[np.arange(k), top], best)
        label = np.where(better, member[top], label)
        if noise is None:
            quadratic = squares @ (1.0 / (b.values[:, None] + ratio[None, :])).astype(squares.dtype)
            here = quadratic[np.arange(k), top].astype(np.float64) / n
        else:
            here = noise / ratio[top]
        phi = np.where(better, here, phi)
    return label, phi


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """Groups of pixels at given positions.

    Attributes
    ----------
    classes : Classes
        Hyper-parameters of each group.
    label, phi : ndarray (d,)
        Group of each pixel, -1 where it never changes, and its own signal variance there.
    groups : list of Group
    """

    classes: Classes
    label: Indices
    phi: Array
    groups: list[Group]


def sort_pixels(
    pixels: Pixels,
    posterior: Posterior,
    x: Array,
    offered: Array,
    *,
    limit: int,
    noise_var: float | None,
    scaled: bool,
) -> Sorting:
    """Find at most ``limit`` groups for positions ``x`` (u,), then let each pixel choose in one pass.

    Parameters
    ----------
    offered : ndarray
        Alphas to choose from.
    noise_var : float, optional
        Known noise variance.
    scaled : bool
        Divide each pixel by its own sqrt(phi) before it enters its group's Gram matrix.
    """
    facts = pixels.facts
    counted = None if facts.complete else pixels.seen

    def known(size: int) -> Array | None:
        return None if noise_var is None else np.full(size, noise_var)

    def count_of(at: slice | Indices) -> Array | None:
        return None if counted is None else counted[at]

    sample, columns = pixels.sample()
    ratio = ratio_grid(posterior.noise_floor)
    bases = [eigenbasis(posterior.kernel, x, float(a), posterior.periodic) for a in offered]
    tables = [
        log_likelihood(b.squares(sample), b.values, ratio, known(columns.size), count_of(columns))
        for b in bases
    ]
    classes = find_classes(np.stack(tables, axis=1), offered, ratio, limit)
    bases = [bases[int(np.flatnonzero(offered == a)[0])] for a in classes.alpha]
    label, phi = np.full(facts.mean.size, -1, dtype=np.intp), np.zeros(facts.mean.size)
    size = max(256, PIECE // x.size)

    def assign(block: Block, here: slice) -> tuple[Indices, Array | None]:
        for first in range(0, block.shape[1], size):
            piece = slice(first, min(first + size, block.shape[1]))
            at = slice(here.start + piece.start, here.start + piece.stop)
            on = facts.active[at]
            one, own = choose(block[:, piece], bases, classes, known(on.size), count_of(at))
            label[at], phi[at] = np.where(on, one, -1), np.where(on, own, 0.0)
        return label[here], phi[here] if scaled else None

    grams, sizes = pixels.grams(assign, classes.ratio.size)
    # A class that no pixel chose would leave an empty Gram matrix.
    used = np.flatnonzero(sizes)
    number = np.full(sizes.size, -1, dtype=np.intp)
    number[used] = np.arange(used.size)
    shapes, shape = np.unique(classes.shape[used], return_inverse=True)
    return Sorting(
        classes=Classes(
            alpha=classes.alpha[shapes], shape=shape, ratio=classes.ratio[used], weight=classes.weight[used]
        ),
        label=np.where(label >= 0, number[np.maximum(label, 0)], -1),
        phi=phi,
        groups=[
            Group(gram=grams[g], size=float(sizes[g]), shape=int(s), noise_var=noise_var)
            for g, s in zip(used, shape)
        ],
    )
