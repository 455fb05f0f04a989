"""Compiled cores of the search for damage. Shapes and meanings are checked by the callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.compiled import kernel


@kernel
def best_place(
    values: FloatArray, places: NDArray[np.int64], picture: FloatArray, rows: int, columns: int, most: float
) -> tuple[int, int]:
    """Row and column by which pixels are moved to differ least from a picture; (-1, -1) where all differ by ``most``.

    Parameters
    ----------
    values : (m, channels) float32
        Of the pixels.
    places : (m, 2) int64
        Their rows and columns, from 0 on.
    picture : (height, width, channels) float32
    rows, columns : int
        So many moves are tried, from 0 on.
    most : float
        Sum of the squared differences.
    """
    best, top, left = most, -1, -1
    for row in range(rows):
        for column in range(columns):
            total = 0.0
            for i in range(len(values)):
                y, x = row + places[i, 0], column + places[i, 1]
                for c in range(values.shape[1]):
                    off = values[i, c] - picture[y, x, c]
                    total += off * off
                if total >= best:
                    break
            if total < best:
                best, top, left = total, row, column
    return top, left


@kernel
def beyond(frame: FloatArray, low: FloatArray, high: FloatArray, out: FloatArray) -> None:
    """By how much a frame ``(h, w, c)`` leaves the range from ``low`` to ``high`` in any channel, ``out`` (h, w)."""
    for row in range(frame.shape[0]):
        for column in range(frame.shape[1]):
            most = np.float32(0.0)
            for c in range(frame.shape[2]):
                value = frame[row, column, c]
                most = max(most, value - high[row, column, c], low[row, column, c] - value)
            out[row, column] = most
