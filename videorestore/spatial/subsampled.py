"""Chroma at half the resolution of the picture, as most files keep it: found, taken out and put back.

The two directions are inverse to each other: :func:`scatter` keeps the mean over the four pixels of every sample,
and :func:`gather` takes that mean, as `videorestore.colour` does with files.
"""

from __future__ import annotations

import numpy as np

from videorestore.clip import FloatArray


def gather(planes: FloatArray) -> FloatArray:
    """Means over 2x2 pixels of planes ``(..., h, w)`` with even sides."""
    *rest, h, w = planes.shape
    return np.asarray(planes.reshape(*rest, h // 2, 2, w // 2, 2).mean(axis=(-3, -1), dtype=np.float32))


def scatter(planes: FloatArray) -> FloatArray:
    """Planes ``(..., h, w)`` at twice the resolution, linear within each sample, with its mean unchanged."""
    for axis in (-2, -1):
        planes = np.moveaxis(planes, axis, 0)
        padded = np.concatenate([planes[:1], planes, planes[-1:]])
        slope = (padded[2:] - padded[:-2]) * np.float32(0.125)
        fine = np.empty((2 * len(planes), *planes.shape[1:]), np.float32)
        fine[0::2], fine[1::2] = planes - slope, planes + slope
        planes = np.moveaxis(fine, 0, axis)
    return np.ascontiguousarray(planes)


_SHARE, _ROUNDING = 0.1, 0.3
"""Samples of half the resolution may leave so much unexplained: of the noise's variance, and by rounding to 8 bit."""


def find_grid(chroma: FloatArray, sd: float) -> tuple[int, int] | None:
    """Row and column (0 or 1 each) at which the first whole chroma sample of a picture starts.

    Parameters
    ----------
    chroma : ndarray, shape (c, h, w)
        Planes in which white noise of the picture's channels keeps its sd.
    sd : float
        Of that noise.

    Returns
    -------
    tuple of int, or None
        None where the chroma has the full resolution. A part of a larger picture may start within a sample.
    """
    h, w = chroma.shape[-2:]
    if h < 16 or w < 16:
        return None
    rests = {}
    for y in (0, 1):
        for x in (0, 1):
            part = chroma[..., y : y + (h - y) // 2 * 2, x : x + (w - x) // 2 * 2]
            small = gather(part)
            # Interpolated or repeated. Slopes at the border are not those of the whole picture.
            rests[y, x] = min(
                float(np.mean(np.square(part - fine)[..., 4:-4, 4:-4], dtype=np.float64))
                for fine in (scatter(small), small.repeat(2, axis=-2).repeat(2, axis=-1))
            )
    best = min(rests, key=lambda place: rests[place])
    if rests[0, 0] <= 2 * rests[best] + 1e-6:
        best = (0, 0)
    return best if rests[best] <= _SHARE * sd * sd + _ROUNDING else None
