"""Backward warping: read a frame at the places a flow points to."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

_METHODS = {"cubic": cv2.INTER_CUBIC, "linear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST}


@lru_cache(maxsize=8)
def _grid(height: int, width: int) -> tuple[Floats, Floats]:
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    x.flags.writeable = y.flags.writeable = False
    return x, y


@lru_cache(maxsize=8)
def _table(height: int, width: int) -> Floats:
    places = np.stack(_grid(height, width), axis=2)
    places.flags.writeable = False
    return places


def _places(height: int, width: int) -> Floats:
    """Column and row number ``(height, width, 2)`` of every pixel side by side, as flows have them."""
    # Parts of a frame have many sizes, which share a few tables.
    return _table(-(-height // 64) * 64, -(-width // 64) * 64)[:height, :width]


def grid(height: int, width: int) -> tuple[Floats, Floats]:
    """Column and row number of every pixel, two read-only arrays ``(height, width)``."""
    return _grid(height, width)


def warp(frame: NDArray[np.generic], flow: Floats, *, method: str = "cubic") -> Floats:
    """The frame seen through a flow: ``result[p] = frame[p + flow[p]]``.

    Parameters
    ----------
    frame : (h, w) or (h, w, c) array
        Beyond the border the nearest pixel is read; see `inside` for where that happened.
    flow : (h, w, 2) float32
        Displacement in pixels, x (columns) first. Its height and width are those of the result.
    method : {"cubic", "linear", "nearest"}

    Returns
    -------
    (h, w) or (h, w, c) float32
    """
    height, width = flow.shape[:2]
    pixels = np.ascontiguousarray(frame, dtype=np.float32)
    warped = cv2.remap(
        pixels, _places(height, width) + flow, None, _METHODS[method], borderMode=cv2.BORDER_REPLICATE
    )
    # OpenCV drops a channel axis of length one.
    return np.asarray(warped, dtype=np.float32).reshape((height, width) + frame.shape[2:])


def inside(flow: Floats, *, margin: float = 0.0) -> Mask:
    """Where the flow points into the frame (at most ``margin`` pixels beyond its outermost pixel centres)."""
    height, width = flow.shape[:2]
    x, y = _grid(height, width)
    to_x, to_y = x + flow[..., 0], y + flow[..., 1]
    return np.asarray(
        (to_x >= -margin) & (to_x <= width - 1 + margin) & (to_y >= -margin) & (to_y <= height - 1 + margin)
    )


def compose(first: Floats, second: Floats) -> Floats:
    """Two steps as one: ``first[p] + second[p + first[p]]``, each ``(h, w, 2)``."""
    return first + warp(second, first, method="linear")


def reduced(frame: Floats, size: int) -> Floats:
    """A frame ``(h, w[, c])`` by means over squares of a side; at the border the last pixels count as often as is needed."""
    height, width = frame.shape[:2]
    rows, columns = -(-height // size), -(-width // size)
    bottom, right = rows * size - height, columns * size - width
    if bottom or right:
        frame = cv2.copyMakeBorder(frame, 0, bottom, 0, right, cv2.BORDER_REPLICATE)
    means = cv2.resize(frame, (columns, rows), interpolation=cv2.INTER_AREA)
    return np.asarray(means, np.float32).reshape(rows, columns, *frame.shape[2:])


def odd(length: float) -> int:
    """The odd number next to a length in pixels."""
    return 2 * round((length - 1) / 2) + 1
