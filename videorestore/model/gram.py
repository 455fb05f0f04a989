"""Passes over streamed pixels: first facts about them, then Gram matrices per group.

A stream is a callable that starts the blocks (n_frames, k) again from the first pixel each time; blocks
are float32 (a clip) or float64 (a small matrix), NaN = missing. Products run in the block's own type,
sums over blocks in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError

Array = NDArray[np.float64]
Block = NDArray[Any]
Indices = NDArray[np.intp]
Stream = Callable[[], Iterable[Block]]

SAMPLE = 2048
"""Pixels kept from the first pass, evenly spread, to find the groups."""
CHUNK = 8192
STEPS = 16.0
"""Rounding steps of a pixel's type at its mean below which its change is rounding."""


def columns_of(matrix: Block, size: int = CHUNK) -> Stream:
    """Stream over the columns of a matrix (n_frames, n_pixels) in memory."""

    def start() -> Iterator[Block]:
        for first in range(0, matrix.shape[1], size):
            yield matrix[:, first : first + size]

    return start


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelFacts:
    """What the first pass learns.

    Attributes
    ----------
    mean, variance : ndarray (d,)
        Of each pixel over the frames in which it is seen.
    active : ndarray (d,) of bool
        Pixels that change by more than the rounding of their type.
    seen : ndarray (d,)
        Number of frames in which each pixel is seen.
    gram : ndarray (n, n)
        Sum over pixels of the centred products, missing values counted as the pixel's mean.
    distance : ndarray (n, n)
        Mean squared difference between frames over the pixels seen in both, times the number of pixels.
    codes : ndarray (n,) of uint64
        Equal for equal frames.
    observed : ndarray (n,)
        Number of pixels seen in each frame.
    sample : ndarray (n, s) and columns (s,)
        Evenly spread pixels, centred, NaN = missing, and where they stand.
    """

    mean: Array
    variance: Array
    active: NDArray[np.bool_]
    seen: Indices
    gram: Array
    distance: Array
    codes: NDArray[np.uint64]
    observed: Indices
    sample: Array
    columns: Indices

    @property
    def complete(self) -> bool:
        """Nothing is missing."""
        return bool((self.seen == self.gram.shape[0]).all())

    def check(self) -> None:
        """Refuse frames through which no curve can be laid."""
        unseen = np.flatnonzero(self.observed == 0)
        if unseen.size:
            raise InputError(
                f"each frame needs a value that is not NaN, frame(s) {_some(unseen)} have none; leave them out"
            )
        blind = np.flatnonzero(self.seen == 0)
        if blind.size:
            raise InputError(
                f"each pixel needs a value that is not NaN, pixel(s) {_some(blind)} have none in "
                f"{self.gram.shape[0]} frames; leave them out"
            )
        if not self.active.any():
            raise InputError("frames must differ, got equal ones only; there is no curve through one point")


def _some(numbers: Indices) -> str:
    text = ", ".join(str(k) for k in numbers[:5])
    return text + (", ..." if numbers.size > 5 else "")


def first_pass(stream: Stream, n: int, scale: Array | float | None = None) -> PixelFacts:
    """Go through the pixels once.

    Parameters
    ----------
    stream : callable
    n : int
        Frames.
    scale : float or ndarray (d,), optional
        Pixels are divided by this first.
    """
    found = _Pass(n)
    for raw in stream():
        found.add(as_block(raw, n, scale, found.pixels))
    if found.pixels == 0:
        raise InputError("frames must have at least one pixel, got none")
    return found.first_pass()


class _Pass:
    """What comes together while blocks of pixels (n, k) go by; see `PixelFacts`."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.pixels = 0
        self.gram, self.distance, self.common = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        self.codes = np.zeros(n, dtype=np.uint64)
        self.observed = np.zeros(n, dtype=np.intp)
        self.means: list[Array] = []
        self.variances: list[Array] = []
        self.actives: list[NDArray[np.bool_]] = []
        self.counts: list[Indices] = []
        self.columns: list[tuple[int, Array]] = []
        self.stride = 1
        self.dice = np.random.default_rng(0)

    def add(self, block: Block) -> None:
        """Take the next block."""
        missing = np.isnan(block)
        if missing.any():
            mean, kept, variance = self._add_in_part(block, missing)
        else:
            mean, kept, variance = self._add_whole(block)
        bits = (block + block.dtype.type(0)).view(np.uint32 if block.dtype == np.float32 else np.uint64)
        k = block.shape[1]
        weight = self.dice.integers(1, 2**63, size=k, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self.codes += (bits * weight).sum(axis=1, dtype=np.uint64)
        for j in range((-self.pixels) % self.stride, k, self.stride):
            self.columns.append((self.pixels + j, kept[:, j].astype(np.float64)))
        while len(self.columns) > SAMPLE:
            self.stride *= 2
            self.columns = [item for item in self.columns if item[0] % self.stride == 0]
        self.means.append(mean)
        self.variances.append(variance)
        rounding = STEPS * np.finfo(block.dtype).eps * np.abs(mean)
        self.actives.append(variance > np.square(rounding) + 1e-30)
        self.pixels += k

    def _add_whole(self, block: Block) -> tuple[Array, Block, Array]:
        """Sums over pixels that all frames have; gives mean, centred pixels and variance."""
        n, k = block.shape
        mean = block.mean(axis=0, dtype=np.float64)
        centred = block - mean.astype(block.dtype)
        variance = np.square(centred).sum(axis=0, dtype=np.float64) / n
        self.counts.append(np.full(k, n, dtype=np.intp))
        self.observed += k
        self.common += k
        product = centred @ centred.T
        self.gram += product
        norms = np.diagonal(product)
        self.distance += norms[:, None] + norms[None, :] - 2.0 * product
        return mean, centred, variance

    def _add_in_part(self, block: Block, missing: NDArray[np.bool_]) -> tuple[Array, Block, Array]:
        """The same over pixels that some frames lack; these are NaN in the centred pixels."""
        present = ~missing
        count = present.sum(axis=0)
        total = np.where(missing, 0, block).sum(axis=0, dtype=np.float64)
        mean = total / np.maximum(count, 1)
        centred = np.where(missing, 0, block - mean.astype(block.dtype))
        variance = np.square(centred).sum(axis=0, dtype=np.float64) / np.maximum(count, 1)
        self.counts.append(count.astype(np.intp))
        self.observed += present.sum(axis=1)
        # Squared differences over pixels seen in both frames, as three products.
        seen = present.astype(block.dtype)
        square = np.square(centred) @ seen.T
        product = centred @ centred.T
        self.distance += square + square.T - 2.0 * product
        self.common += seen @ seen.T
        self.gram += product
        return mean, np.where(missing, np.nan, centred), variance

    def first_pass(self) -> PixelFacts:
        """All that was learnt."""
        distance = np.where(self.common > 0, self.distance / np.maximum(self.common, 1), np.nan)
        distance = np.where(np.isnan(distance), np.nanmax(distance), distance) * self.pixels
        np.fill_diagonal(distance, 0.0)
        return PixelFacts(
            mean=np.concatenate(self.means),
            variance=np.concatenate(self.variances),
            active=np.concatenate(self.actives),
            seen=np.concatenate(self.counts),
            gram=0.5 * (self.gram + self.gram.T),
            distance=np.maximum(0.5 * (distance + distance.T), 0.0),
            codes=self.codes,
            observed=self.observed,
            sample=np.stack([column for _, column in self.columns], axis=1),
            columns=np.array([index for index, _ in self.columns], dtype=np.intp),
        )


def as_block(raw: Block, n: int, scale: Array | float | None, start: int) -> Block:
    """Check a block of a stream and bring it to float32 or float64, C order, scaled."""
    block = np.asarray(raw)
    if block.ndim != 2 or block.shape[0] != n:
        raise InputError(f"a block of pixels must have shape ({n}, k), got {block.shape}")
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float32)
    if np.isinf(block).any():
        raise InputError("pixels must be finite or NaN (missing), found an infinite value; replace it by NaN")
    if scale is not None:
        part = (
            scale if isinstance(scale, float) else scale[start : start + block.shape[1]].astype(block.dtype)
        )
        block = (block / part).astype(block.dtype, copy=False)
    return np.ascontiguousarray(block)


def group_grams(
    blocks: Iterable[tuple[Block, Indices, list[tuple[int, Indices, Array]]]], n: int, n_labels: int
) -> tuple[Array, NDArray[np.int64]]:
    """Gram matrices (labels, n, n) and numbers of pixels (labels,) of labelled, centred blocks.

    ``blocks`` yields (n, k) values with (k,) labels, a negative label leaves the pixel out, and matrices
    to be added to a label's Gram matrix on some rows.
    """
    grams = np.zeros((n_labels, n, n))
    sizes = np.zeros(n_labels, dtype=np.int64)
    for block, label, extras in blocks:
        for g, rows, matrix in extras:
            grams[g][np.ix_(rows, rows)] += matrix
        # Sorted by label, each group is a slice of rows that BLAS takes as it stands.
        order = np.argsort(label, kind="stable")
        edges = np.searchsorted(label[order], np.arange(n_labels + 1))
        if not np.array_equal(order, np.arange(order.size)):
            block = np.take(block, order, axis=1, mode="clip")
        for g in range(n_labels):
            first, last = edges[g], edges[g + 1]
            if last > first:
                # A matrix times its own transpose runs as a rank-k update: half the work of a general product.
                part = block[:, first:last]
                grams[g] += part @ part.T
                sizes[g] += int(last - first)
    return grams, sizes
