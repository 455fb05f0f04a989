"""Pictures that a computer drew: no dust falls on them, and they have no noise."""

from __future__ import annotations

import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.spatial.noise import LUMA

_TONES, _APART = 24, 60.0
"""Tones of pictures that were drawn at most, and levels between the darkest and the brightest of them at least."""

_EVEN, _WRITTEN = 0.35, 0.6
_BLACK, _WHITE = 8.0, 247.0
"""Share of such pictures that is quite even, between these levels, or with what is black and white between the rest."""


def drawn(frames: FloatArray) -> bool:
    """Whether every picture ``(n, height, width, channels)`` has few tones, far apart, or is mostly quite even."""
    tones = np.rint(frames @ LUMA if frames.shape[3] == 3 else frames[..., 0])
    if all(float(np.ptp(t)) > _APART and len(np.unique(t)) <= _TONES for t in tones):
        return True
    return all(_evenly(f, t) for f, t in zip(frames, tones))


def equal_pixels(frame: FloatArray) -> Mask:
    """Which pixels ``(height - 1, width - 1)`` are exactly as those below and to the right."""
    here, below, right = frame[:-1, :-1], frame[1:, :-1], frame[:-1, 1:]
    return np.asarray(((here == below) & (here == right)).all(axis=2))


def _evenly(frame: FloatArray, tones: FloatArray) -> bool:
    """Whether most pixels equal their neighbours exactly: a camera always has some noise.

    Black and white have none; they count for more where they are what something is written on, not its border.
    """
    equal = equal_pixels(frame)
    inner = ((tones > _BLACK) & (tones < _WHITE))[:-1, :-1]
    if not inner.size:
        return False
    if inner.mean() > 0.2:
        return float(equal[inner].mean()) > _EVEN
    rows, columns = np.flatnonzero(inner.any(axis=1)), np.flatnonzero(inner.any(axis=0))
    if not len(rows):
        return False
    return float(equal[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].mean()) > _WRITTEN
