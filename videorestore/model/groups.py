"""Pixels in groups, known to the likelihood only by their Gram matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Pixels of a group that are seen in the same frames.

    Attributes
    ----------
    gram : ndarray (n, n), or (len(rows), len(rows))
        Sum over the pixels of y y', y centred.
    size : float
        Number of pixels; negative (and ``gram`` too) for a part that is to be taken away again.
    rows : ndarray of int, optional
        Frames in which they are seen; all by default.
    """

    gram: Array
    size: float
    rows: Indices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Pixels that share their hyper-parameters.

    Attributes
    ----------
    parts : tuple of Part
    shape : int
        Which alpha the group uses.
    noise_var : float, optional
        Known noise variance: then phi = noise_var / ratio instead of its profile value.
    """

    parts: tuple[Part, ...]
    shape: int = 0
    noise_var: float | None = None

    @property
    def size(self) -> float:
        """Number of pixels."""
        return sum(part.size for part in self.parts)
