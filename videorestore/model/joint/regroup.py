"""Pixels sorted into groups at given positions, in one pass: group, signal and noise variance, Gram matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.model.gram import group_grams
from videorestore.model.groups import Array, Group, Indices, Part
from videorestore.model.joint.centred import Pixels
from videorestore.model.joint.objective import Posterior
from videorestore.model.joint.pixels import (
    Classes,
    choose,
    eigenbasis,
    find_classes,
    likelihood_table,
    ratio_grid,
)

Block = NDArray[Any]
Assign = Callable[[Block, slice], tuple[Indices, Array | None]]
"""Labels (k,) of a centred block (u, k) of pixels, and their phi (k,) where they are to be divided by its root."""

PIECE = 4_000_000
"""Values that are turned to the eigenvectors at once."""


def group_pixels(pixels: Pixels, assign: Assign, count: int) -> list[list[Part]]:
    """Gram matrices of ``count`` groups, each in parts by the frames in which its pixels are seen."""
    patterns, rows = pixels.facts.patterns, pixels.rows
    many = max(len(patterns), 1)
    grams, sizes = group_grams(pixels.labelled(assign, many), rows.size, count * many)
    seen = [np.flatnonzero(pattern[rows]) for pattern in patterns]
    out: list[list[Part]] = []
    for g in range(count):
        parts = []
        for p in range(many):
            size = float(sizes[g * many + p])
            if size == 0:
                continue
            gram = grams[g * many + p]
            part_rows = seen[p] if patterns and seen[p].size < rows.size else None
            if part_rows is not None:
                gram = gram[np.ix_(part_rows, part_rows)]
            parts.append(Part(gram=0.5 * (gram + gram.T), size=size, rows=part_rows))
        out.append(parts)
    return out


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
    seen: Array,
    noise_var: float | None,
    scaled: bool,
) -> Sorting:
    """Find at most ``limit`` groups for positions ``x`` (u,), then let each pixel choose in one pass.

    Parameters
    ----------
    offered : ndarray
        Alphas to choose from.
    seen : ndarray (d,)
        Distinct frames in which each pixel is seen.
    noise_var : float, optional
        Known noise variance.
    scaled : bool
        Divide each pixel by its own sqrt(phi) before it enters its group's Gram matrix.
    """
    facts = pixels.facts
    d = facts.mean.size
    counted = None if facts.complete else seen
    sample, columns = pixels.sample()
    ratio = ratio_grid(posterior.noise_floor)
    noise = None if noise_var is None else np.full(columns.size, noise_var)
    table = likelihood_table(
        sample, posterior.kernel, x, offered, ratio, periodic=posterior.periodic, noise=noise,
        count=None if counted is None else counted[columns],
    )  # fmt: skip
    classes = find_classes(table, offered, ratio, limit)
    bases = [eigenbasis(posterior.kernel, x, float(a), posterior.periodic) for a in classes.alpha]
    label, phi = np.full(d, -1, dtype=np.intp), np.zeros(d)
    size = max(256, PIECE // x.size)

    def assign(block: Block, here: slice) -> tuple[Indices, Array | None]:
        for first in range(0, block.shape[1], size):
            piece = slice(first, min(first + size, block.shape[1]))
            at = slice(here.start + piece.start, here.start + piece.stop)
            on = facts.active[at]
            known = None if noise_var is None else np.full(on.size, noise_var)
            one, own = choose(
                block[:, piece], bases, classes, known, None if counted is None else counted[at]
            )
            label[at], phi[at] = np.where(on, one, -1), np.where(on, own, 0.0)
        return label[here], phi[here] if scaled else None

    parts = group_pixels(pixels, assign, classes.ratio.size)
    # A class that no pixel chose would leave an empty Gram matrix.
    used = np.flatnonzero([bool(own) for own in parts])
    number = np.full(len(parts), -1, dtype=np.intp)
    number[used] = np.arange(used.size)
    shapes, shape = np.unique(classes.shape[used], return_inverse=True)
    kept = Classes(
        alpha=classes.alpha[shapes], shape=shape, ratio=classes.ratio[used], weight=classes.weight[used]
    )
    return Sorting(
        classes=kept,
        label=np.where(label >= 0, number[np.maximum(label, 0)], -1),
        phi=phi,
        groups=[Group(parts=tuple(parts[g]), shape=int(s), noise_var=noise_var) for g, s in zip(used, shape)],
    )
