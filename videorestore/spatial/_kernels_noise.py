"""Compiled table of a function of one variable."""

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
