"""Local simple kriging: the Gaussian posterior of a missing pixel given its nearest known neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.spatial._kernels_kriging import krige_weights, weighted_sums
from videorestore.spatial.membrane import blur, gaussian_mean, push_pull

SMOOTHING = 3.0
"""Sigma of the Gaussian window that takes the local mean away before kriging, in pixels."""


_ENOUGH = 0.1
"""Share of what is known within the window from which on its mean is a mean."""


def matern(distance: NDArray[np.float64], length: float) -> NDArray[np.float64]:
    """Matern-3/2 correlation at these distances."""
    scaled = np.sqrt(3.0) * distance / length
    correlation: NDArray[np.float64] = (1.0 + scaled) * np.exp(-scaled)
    return correlation


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The nearest known pixels of some targets, and what each of them counts for there, whatever field is kriged.

    Attributes
    ----------
    targets : (h, w) bool
    places : (m, k) int32
        Of the neighbours of the m targets, row by row: row * width + column.
    weights : (m, k) float32
    variance : (m,) float32
        That is left, in units of the field's own: 1 where nothing is near.
    """

    targets: Mask
    places: NDArray[np.int32]
    weights: FloatArray
    variance: FloatArray

    def means(self, field: FloatArray) -> FloatArray:
        """Posterior means ``(m, c)`` of a field ``(h, w, c)`` with mean zero; what is unknown is not read."""
        sums = np.empty((len(self.places), field.shape[2]), np.float32)
        flat = np.ascontiguousarray(field, np.float32).reshape(-1, field.shape[2])
        weighted_sums(flat, self.places, self.weights, sums)
        return sums

    def put(self, image: FloatArray, field: FloatArray) -> FloatArray:
        """The image ``(h, w, c)``, in place, with the means of the field added at the targets."""
        image[self.targets] += self.means(field)
        return image


def neighbours_of(
    known: Mask,
    targets: Mask,
    gap: FloatArray | None = None,
    *,
    length: float = 3.0,
    nugget: float = 0.01,
    neighbours: int = 16,
    radius: int = 5,
) -> Neighbours:
    """The nearest known pixels of targets ``(h, w)`` in a field with mean zero and Matern-3/2 covariance.

    Parameters
    ----------
    known, targets : ndarray of bool, shape (height, width)
    gap : ndarray, shape (height, width), optional
        Known pixels nearer to a target than its gap are left out, as if a hole of that size were there.
        A known target is then predicted from the others only.
    length, nugget : float
        Length scale in pixels, and variance of the noise of a known pixel in units of the field's variance.
    neighbours, radius : int
        At most so many known pixels, the nearest first, no farther than the radius.
    """
    rows, columns = np.nonzero(targets)
    offsets = _offsets(radius)
    if gap is None:
        gap = np.zeros(known.shape, np.float32)
    else:
        # A target's own value is never its neighbour when something is left out.
        offsets = offsets[1:]
    apart = np.linalg.norm(offsets[:, None] - offsets[None], axis=2)
    alone = matern(np.linalg.norm(offsets, axis=1), length)
    most = min(int(neighbours), len(offsets))
    places = np.empty((len(rows), most), np.int32)
    weights = np.empty((len(rows), most), np.float32)
    variance = np.empty(len(rows), np.float32)
    krige_weights(
        np.ascontiguousarray(known), rows, columns, offsets, alone.astype(np.float32),
        matern(apart, length).astype(np.float32), np.asarray(gap, np.float32), np.float32(nugget), places, weights,
        variance,
    )  # fmt: skip
    return Neighbours(targets, places, weights, variance)


def fill(image: FloatArray, known: Mask, *, found: Neighbours | None = None) -> tuple[FloatArray, FloatArray]:
    """Spatial fill: membrane, normalised Gaussian mean, and local kriging of the rest.

    Parameters
    ----------
    image : ndarray, shape (height, width, channels)
        Unknown pixels are never read and may be NaN.
    known : ndarray of bool, shape (height, width)
    found : Neighbours, optional
        Of the unknown pixels, and maybe of others.

    Returns
    -------
    filled : ndarray, shape (height, width, channels)
        Known pixels as they are.
    sd : ndarray, shape (height, width, channels)
        Zero at known pixels.
    """
    known = np.asarray(known, np.bool_)
    image = np.asarray(image, np.float32)
    if known.all():
        return image.copy(), np.zeros_like(image)
    if found is None:
        found = neighbours_of(known, ~known)
    trust = known.astype(np.float32)
    near = blur(trust, SMOOTHING)
    # Where enough is near by, the membrane has no say.
    membrane = push_pull(image, trust) if near.min() < _ENOUGH else np.float32(0)
    floor = np.float32(1e-3) if near.min() < _ENOUGH else np.float32(0)
    held = np.where(known[..., None], image, np.float32(0))
    smooth = (blur(held, SMOOTHING) + floor * membrane) / (near + floor)[..., None]
    rest = np.where(known[..., None], held - smooth, np.float32(0))
    # The field's variance is that of the known residuals around; far from all of them, that of the picture.
    overall = _variance(rest, known) + np.float32(1.0)
    local = gaussian_mean(rest * rest, trust, 2 * SMOOTHING, fallback=overall)
    share = np.zeros(known.shape, np.float32)
    share[found.targets] = found.variance
    filled = np.where(known[..., None], image, found.put(smooth, rest))
    # Outside the window the membrane itself drifts: its error grows with the distance to what is known. Neighbours
    # tell about that, too, so that it counts no more than the field does between known pixels.
    cover = np.clip(blur(trust, 2 * SMOOTHING), 0, 1)[..., None]
    spread = _variance(image, known) * (1 - cover) ** 2
    variance = (local + np.float32(0.5) * spread) * share[..., None]
    sd = np.where(known[..., None], np.float32(0), np.sqrt(variance))
    return filled.astype(np.float32), sd.astype(np.float32)


def _variance(field: FloatArray, known: Mask) -> FloatArray:
    """Variance of the known pixels, per channel."""
    if not known.any():
        return np.full(field.shape[2], 255.0**2 / 12, np.float32)
    return np.asarray(field[known].var(axis=0, dtype=np.float64), np.float32)


def _offsets(radius: int) -> NDArray[np.int64]:
    """Offsets ``(k, 2)`` within the radius, the nearest first."""
    span = np.arange(-radius, radius + 1)
    offsets = np.stack(np.meshgrid(span, span, indexing="ij"), axis=2).reshape(-1, 2)
    squared = (offsets**2).sum(axis=1)
    order = np.argsort(squared, kind="stable")
    return np.asarray(offsets[order[squared[order] <= radius * radius]], np.int64)
