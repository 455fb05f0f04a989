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
MAX_PATTERNS = 8
"""Patterns of missing frames that are treated one by one; beyond, an EM step fills what is missing."""
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
class Survey:
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
    pattern : ndarray (d,) of int
        Which of ``patterns`` each pixel has; all 0 where nothing is missing.
    patterns : tuple of ndarray (n,) of bool
        Frames seen; empty where there are more than ``MAX_PATTERNS`` of them.
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
    pattern: Indices
    patterns: tuple[NDArray[np.bool_], ...]
    sample: Array
    columns: Indices

    @property
    def complete(self) -> bool:
        """Nothing is missing."""
        return len(self.patterns) == 1 and bool(self.patterns[0].all())


def survey(stream: Stream, n: int, scale: Array | float | None = None) -> Survey:
    """Go through the pixels once.

    Parameters
    ----------
    stream : callable
    n : int
        Frames.
    scale : float or ndarray (d,), optional
        Pixels are divided by this first.
    """
    means: list[Array] = []
    variances: list[Array] = []
    actives: list[NDArray[np.bool_]] = []
    counts: list[Indices] = []
    pattern_ids: list[Indices] = []
    known: dict[bytes, int] = {}
    gram, distance = np.zeros((n, n)), np.zeros((n, n))
    common = np.zeros((n, n))
    codes = np.zeros(n, dtype=np.uint64)
    observed = np.zeros(n, dtype=np.intp)
    dice = np.random.default_rng(0)
    sample: list[tuple[int, Array]] = []
    stride = 1
    start = 0
    for raw in stream():
        block = as_block(raw, n, scale, start)
        k = block.shape[1]
        missing = np.isnan(block)
        any_missing = bool(missing.any())
        if any_missing:
            present = ~missing
            count = present.sum(axis=0)
            observed += present.sum(axis=1)
            total = np.where(missing, 0, block).sum(axis=0, dtype=np.float64)
            mean = total / np.maximum(count, 1)
            centred = np.where(missing, 0, block - mean.astype(block.dtype))
            kept = np.where(missing, np.nan, centred)
            variance = np.square(centred).sum(axis=0, dtype=np.float64) / np.maximum(count, 1)
            packed = np.packbits(present, axis=0).T
            rows, inverse = np.unique(np.ascontiguousarray(packed), axis=0, return_inverse=True)
            ids = np.array([known.setdefault(row.tobytes(), len(known)) for row in rows], dtype=np.intp)
            pattern_ids.append(ids[inverse.reshape(-1)])
            # Squared differences over pixels seen in both frames, as three products.
            seen_both = present.astype(block.dtype)
            square = np.square(centred) @ seen_both.T
            distance += square + square.T - 2.0 * (centred @ centred.T)
            common += seen_both @ seen_both.T
        else:
            count = np.full(k, n, dtype=np.intp)
            observed += k
            mean = block.mean(axis=0, dtype=np.float64)
            centred = kept = block - mean.astype(block.dtype)
            variance = np.square(centred).sum(axis=0, dtype=np.float64) / n
            full = np.packbits(np.ones((n, 1), dtype=bool), axis=0).tobytes()
            pattern_ids.append(np.full(k, known.setdefault(full, len(known)), dtype=np.intp))
            common += k
        product = centred @ centred.T
        gram += product
        if not any_missing:
            norms = np.diagonal(product)
            distance += norms[:, None] + norms[None, :] - 2.0 * product
        bits = (block + block.dtype.type(0)).view(np.uint32 if block.dtype == np.float32 else np.uint64)
        weight = dice.integers(1, 2**63, size=k, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        codes += (bits * weight).sum(axis=1, dtype=np.uint64)
        for j in range((-start) % stride, k, stride):
            sample.append((start + j, kept[:, j].astype(np.float64)))
        while len(sample) > SAMPLE:
            stride *= 2
            sample = [item for item in sample if item[0] % stride == 0]
        means.append(mean)
        variances.append(variance)
        rounding = STEPS * np.finfo(block.dtype).eps * np.abs(mean)
        actives.append(variance > np.square(rounding) + 1e-30)
        counts.append(count.astype(np.intp))
        start += k
    if start == 0:
        raise InputError("frames must have at least one pixel, got none")
    few = len(known) <= MAX_PATTERNS
    patterns = (
        [np.unpackbits(np.frombuffer(key, dtype=np.uint8))[:n].astype(bool) for key in known] if few else []
    )
    distance = np.where(common > 0, distance / np.maximum(common, 1), np.nan)
    distance = np.where(np.isnan(distance), np.nanmax(distance), distance) * start
    np.fill_diagonal(distance, 0.0)
    return Survey(
        mean=np.concatenate(means),
        variance=np.concatenate(variances),
        active=np.concatenate(actives),
        seen=np.concatenate(counts),
        gram=0.5 * (gram + gram.T),
        distance=np.maximum(0.5 * (distance + distance.T), 0.0),
        codes=codes,
        observed=observed,
        pattern=np.concatenate(pattern_ids),
        patterns=tuple(patterns),
        sample=np.stack([column for _, column in sample], axis=1),
        columns=np.array([index for index, _ in sample], dtype=np.intp),
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


def add_gram(total: Array, block: Block) -> None:
    """Add ``block block'`` to ``total`` (n, n)."""
    # A matrix times its own transpose runs as a rank-k update: half the work of a general product.
    total += block @ block.T


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
                add_gram(grams[g], block[:, first:last])
                sizes[g] += int(last - first)
    return grams, sizes
