"""Posterior in space and along the curve: overlapped cosine blocks, shrunk by an empirical Wiener filter.

The posterior along the curve treats pixels as independent and leaves noise of known sd in each of them. What it
leaves is smooth in space; here the noisy frames are filtered once more in blocks of neighbouring pixels and frames,
with the energies that the first posterior shows as prior variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Size of the blocks and distance between them, in pixels and frames."""

    size: int = 8
    depth: int = 16
    step: int = 4
    stride: int = 8
    beta: float = 2.0


def cosines(n: int) -> NDArray[np.float32]:
    """Orthonormal cosine transform ``(n, n)``, row = frequency."""
    k = np.arange(n)
    matrix = np.sqrt(2 / n) * np.cos(np.pi * (2 * k[None, :] + 1) * k[:, None] / (2 * n))
    matrix[0] /= np.sqrt(2)
    return np.ascontiguousarray(matrix, np.float32)


def _starts(length: int, size: int, step: int) -> NDArray[np.int64]:
    """Where blocks begin; the last one ends at the border."""
    last = length - size
    return np.unique(np.append(np.arange(0, last + 1, step), last)).astype(np.int64)


def _phases(starts: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """Starts sorted into sets whose blocks do not touch each other."""
    phases: list[list[int]] = []
    for start in starts:
        for phase in phases:
            if start - phase[-1] >= size:
                phase.append(int(start))
                break
        else:
            phases.append([int(start)])
    return [np.array(phase, np.int64) for phase in phases]


def wiener(
    noisy: FloatArray,
    pilot: FloatArray,
    variance: FloatArray,
    *,
    blocks: Blocks | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Empirical Wiener filter of planes in space and from frame to frame.

    Parameters
    ----------
    noisy, pilot : ndarray, shape (n, channels, height, width)
    variance : ndarray, shape (n, channels, height, width)
        Noise variance of every value.
    blocks : Blocks, optional

    Returns
    -------
    mean, variance : ndarray, shape (n, channels, height, width), float32
        Posterior mean and variance of every value.
    """
    from videorestore.curve._kernels_blocks import filter_blocks

    shape = Blocks() if blocks is None else blocks
    n, _, height, width = noisy.shape
    size, depth = min(shape.size, height, width), min(shape.depth, n)
    windows = tuple(np.kaiser(side, shape.beta).astype(np.float32) for side in (depth, size))
    rows, columns = (_starts(side, size, min(shape.step, size)) for side in (height, width))
    mean, mass, spread = (np.zeros(noisy.shape, np.float32) for _ in range(3))
    given = [np.ascontiguousarray(array, np.float32) for array in (noisy, pilot, variance)]
    for times in _phases(_starts(n, depth, min(shape.stride, depth)), depth):
        filter_blocks(
            *given, cosines(size), cosines(depth), windows, times, rows, columns, mean, mass, spread
        )
    mean /= mass
    spread /= mass
    return mean, spread
