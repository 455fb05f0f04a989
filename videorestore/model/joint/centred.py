"""Later passes over the pixels: centred blocks of the frames that count, missing values filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.model.gram import PixelFacts, Stream, as_block
from videorestore.model.missing import fill

Array = NDArray[np.float64]
Block = NDArray[Any]
Indices = NDArray[np.intp]


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

    def labelled(
        self, assign: Callable[[Block, slice], tuple[Indices, Array | None]], many: int
    ) -> Iterator[tuple[Block, Indices, list[Extra]]]:
        """Centred, filled blocks, divided by sqrt(phi) where ``assign`` gives one, with their pixels' cells.

        ``assign`` names the labels of a block's pixels; a cell is the label times ``many`` plus the pattern of
        missing frames. The third entry holds what the uncertainty of filled values adds to the Gram matrices.
        """
        for columns, block in self._centred():
            filled = self._filled(block, columns)
            label, phi = assign(block, columns)
            cell = np.where(label < 0, -1, label * many + (self.facts.pattern[columns] if many > 1 else 0))
            extras: list[Extra] = []
            for at, _, rows, covariance in filled:
                own = self.belief.phi[columns][at] if self.belief is not None else np.zeros(at.size)
                share = own if phi is None else own / np.where(phi[at] > 0, phi[at], 1.0)
                for g in np.unique(cell[at]):
                    if g >= 0:
                        extras.append((int(g), rows, covariance * float(share[cell[at] == g].sum())))
            if phi is not None:
                scale = np.sqrt(np.where(phi > 0, phi, 1.0))
                block = block / scale.astype(block.dtype)
            yield block, cell, extras
