"""Values that were not seen: their conditional mean and covariance under the fitted curve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Block = NDArray[Any]
Indices = NDArray[np.intp]


def fill(block: Block, label: Indices, inverse: Array) -> Iterator[tuple[Indices, int, Indices, Array]]:
    """Replace NaN in a centred block (n, k) by its conditional mean, in place.

    Parameters
    ----------
    block : ndarray (n, k)
        Changed.
    label : ndarray (k,)
        Group of each pixel, negative ones are set to 0.
    inverse : ndarray (groups, n, n)
        Inverse of E + ratio I of each group.

    Yields
    ------
    columns, group, rows, covariance
        For each pattern of missing rows in a group: its pixels, the rows, and the conditional covariance
        (rows, rows) of what is missing, over phi, noise included.
    """
    missing = np.isnan(block)
    touched = np.flatnonzero(missing.any(axis=0))
    if touched.size == 0:
        return
    constant = touched[label[touched] < 0]
    block[:, constant] = np.where(missing[:, constant], 0, block[:, constant])
    touched = touched[label[touched] >= 0]
    if touched.size == 0:
        return
    packed = np.packbits(missing[:, touched], axis=0).T
    key = np.concatenate([packed, label[touched].astype(">i4").view(np.uint8).reshape(-1, 4)], axis=1)
    _, first, pattern = np.unique(np.ascontiguousarray(key), axis=0, return_index=True, return_inverse=True)
    pattern = pattern.reshape(-1)
    by_pattern = np.argsort(pattern, kind="stable")
    edges = np.searchsorted(pattern[by_pattern], np.arange(first.size + 1))
    for p in range(first.size):
        columns = touched[by_pattern[edges[p] : edges[p + 1]]]
        g = int(label[columns[0]])
        rows = np.flatnonzero(missing[:, columns[0]])
        precision = inverse[g][rows]
        covariance = np.linalg.inv(precision[:, rows])
        values = block[:, columns].astype(np.float64)
        values[rows] = 0.0
        block[np.ix_(rows, columns)] = -covariance @ (precision @ values)
        yield columns, g, rows, covariance
