"""Later passes over the pixels: centred blocks of the frames that count, missing values filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.model.gram import PixelFacts, Stream, as_block, group_grams
from videorestore.model.missing import fill

Array = NDArray[np.float64]
Block = NDArray[Any]
Indices = NDArray[np.intp]

Assign = Callable[[Block, slice], tuple[Indices, Array | None]]
"""Labels (k,) of a centred block (u, k) of pixels, and their phi (k,) where they are to be divided by its root."""
Extra = tuple[int, Indices, Array]
"""Label, rows and matrix to be added to that label's Gram matrix on those rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """What is believed about missing values: group and phi (d,) of each pixel, inverse (groups, u, u)."""

    label: Indices
    phi: Array
    inverse: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Pixels:
    """A stream with what the first pass learnt about it.

    ``rows`` (u,) are the frames that count, ``scale`` what pixels are divided by. Missing values are 0 (the
    pixel's mean) until there is a ``belief``.
    """

    stream: Stream
    n: int
    facts: PixelFacts
    rows: Indices
    scale: Array | float | None = None
    belief: Belief | None = None

    @property
    def seen(self) -> Array:
        """Distinct frames in which each pixel is seen (d,)."""
        return np.minimum(self.facts.seen, self.rows.size).astype(np.float64)

    def _centred(self) -> Iterator[tuple[slice, Block]]:
        start = 0
        for raw in self.stream():
            block = as_block(raw, self.n, self.scale, start)
            columns = slice(start, start + block.shape[1])
            if self.rows.size < self.n:
                block = block[self.rows]
            yield columns, block - self.facts.mean[columns].astype(block.dtype)
            start = columns.stop

    def _filled(self, block: Block, columns: slice | Indices) -> list[tuple[Indices, int, Indices, Array]]:
        """Fill what is missing in a centred block, in place; see :func:`videorestore.model.missing.fill`."""
        if self.facts.complete:
            return []
        if self.belief is None:
            np.nan_to_num(block, copy=False, nan=0.0)
            return []
        return list(fill(block, self.belief.label[columns], self.belief.inverse))

    def sample(self) -> tuple[Array, Indices]:
        """The pixels of the first pass that change (u, s), filled, and where they stand."""
        columns = self.facts.columns[self.facts.active[self.facts.columns]]
        at = np.isin(self.facts.columns, columns)
        block = self.facts.sample[np.ix_(self.rows, np.flatnonzero(at))]
        self._filled(block, columns)
        return block, columns

    def labelled(self, assign: Assign) -> Iterator[tuple[Block, Indices, list[Extra]]]:
        """Centred, filled blocks, divided by sqrt(phi) where ``assign`` gives one, with their pixels' labels.

        The third entry holds what the uncertainty of filled values adds to the Gram matrices.
        """
        for columns, block in self._centred():
            filled = self._filled(block, columns)
            label, phi = assign(block, columns)
            extras: list[Extra] = []
            for at, _, rows, covariance in filled:
                own = self.belief.phi[columns][at] if self.belief is not None else np.zeros(at.size)
                share = own if phi is None else own / np.where(phi[at] > 0, phi[at], 1.0)
                for g in np.unique(label[at]):
                    if g >= 0:
                        extras.append((int(g), rows, covariance * float(share[label[at] == g].sum())))
            if phi is not None:
                scale = np.sqrt(np.where(phi > 0, phi, 1.0))
                block = block / scale.astype(block.dtype)
            yield block, label, extras

    def grams(self, assign: Assign, count: int) -> tuple[Array, NDArray[np.int64]]:
        """Gram matrices (count, u, u) of groups of pixels, and their sizes."""
        grams, sizes = group_grams(self.labelled(assign), self.rows.size, count)
        return 0.5 * (grams + grams.transpose(0, 2, 1)), sizes
