"""Compiled tables of functions of one variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel

Floats = NDArray[np.float32]


@kernel
def look_up(values: Floats, table: Floats, low: float, width: float, out: Floats) -> None:
    """Piecewise linear ``table``, even over ``width`` from ``low`` on, at ``values``; constant beyond its ends."""
    last = table.shape[0] - 1
    scale = np.float32(last / width)
    top = np.float32(last)
    for i in range(values.shape[0]):
        place = min(max((values[i] - np.float32(low)) * scale, np.float32(0.0)), top)
        k = min(int(place), last - 1)
        out[i] = table[k] + (place - np.float32(k)) * (table[k + 1] - table[k])


@kernel
def look_up_channels(
    luma: Floats, chroma: Floats, mixing: Floats, table: Floats, low: float, width: float, even: Floats
) -> None:
    """`look_up` of the three channels of a picture, in place.

    The picture is given as luma ``(h, w)`` and chroma ``(2, h / 2, w / 2)``, which ``mixing[0]`` (3, 3) makes channels of, and ``mixing[1]``
    planes of channels; between ``even[0]`` and ``even[1]`` the table changes nothing.
    """
    to_channels, to_planes = mixing[0], mixing[1]
    last = table.shape[0] - 1
    scale, top = np.float32(last / width), np.float32(last)
    for i in range(chroma.shape[1]):
        for j in range(chroma.shape[2]):
            blue, red = chroma[0, i, j], chroma[1, i, j]
            more_blue = more_red = np.float32(0.0)
            for y in range(2 * i, 2 * i + 2):
                for x in range(2 * j, 2 * j + 2):
                    bright = luma[y, x]
                    more = np.float32(0.0)
                    for c in range(3):
                        value = (
                            to_channels[c, 0] * bright + to_channels[c, 1] * blue + to_channels[c, 2] * red
                        )
                        if even[0] <= value <= even[1]:
                            continue
                        place = min(max((value - np.float32(low)) * scale, np.float32(0.0)), top)
                        k = min(int(place), last - 1)
                        off = table[k] + (place - np.float32(k)) * (table[k + 1] - table[k]) - value
                        more += to_planes[0, c] * off
                        more_blue += to_planes[1, c] * off
                        more_red += to_planes[2, c] * off
                    luma[y, x] = bright + more
            chroma[0, i, j] = blue + np.float32(0.25) * more_blue
            chroma[1, i, j] = red + np.float32(0.25) * more_red
