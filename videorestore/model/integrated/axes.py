"""The data as the search sees them: centred, in few axes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.model.integrated.steps import Data
from videorestore.model.options import Options

Array = NDArray[np.float64]

FEW = 2
"""Dimensions up to which every principal axis is kept."""
MOST_AXES = 16
"""Axes kept at most; data that need more have positions so sharp that their mode serves."""
NOISIER = 2.0
"""Times the noise variance at the mode that noise may have: positions at their mode soak some of it up."""
SETTLED = 0.2
"""Of the error of a log noise variance, by which it moves (root mean square) where it has settled."""
EDGE = 1.05
"""Times the largest variance that noise alone would give an axis (Marchenko and Pastur), above which one is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Centred points and the axes in which they are written.

    Attributes
    ----------
    mean : ndarray (d,)
    principal : ndarray (d, a), optional
        Orthonormal columns, of which the smallest may be left out; None: the dimensions as they are.
    points : ndarray (n, d)
        Centred, 0 where missing.
    seen : ndarray (n, d)
    scale : ndarray (d,)
        What each dimension was divided by, so that all have about one noise.
    """

    mean: Array
    principal: Array | None
    points: Array
    seen: Array
    scale: Array

    @property
    def axes(self) -> Array:
        """The axes (d, a)."""
        return np.eye(self.points.shape[1]) if self.principal is None else self.principal

    def data(self, *, tied: bool, options: Options) -> Data:
        """The points in the axes."""
        noise_var = options.noise_var
        y = self.points @ self.axes
        a = y.shape[1]
        left = self.points.shape[1] - a
        rest = np.maximum(np.square(self.points).sum(axis=1) - np.square(y).sum(axis=1), 0.0)
        seen = self.seen if self.principal is None else np.ones_like(y)
        if seen.all():
            groups: tuple[NDArray[np.intp], ...] = (np.arange(a),)
        else:
            _, index = np.unique(seen.T, axis=0, return_inverse=True)
            index = index.reshape(-1)
            groups = tuple(np.flatnonzero(index == g) for g in range(index.max() + 1))
        scale = float(np.square(y).sum() / seen.sum())
        return Data(
            y=y,
            seen=seen,
            groups=groups,
            tied=tied,
            scale=scale,
            floor=max(options.noise_floor, 1e-7)
            * float(np.square(self.points).sum() / max(self.seen.sum(), 1)),
            noise_var=None if noise_var is None else max(float(noise_var), 1e-7 * scale),
            rest=rest if left else np.zeros(y.shape[0]),
            rest_size=left,
            weight=np.ones(y.shape[0]),
        )

    def untied(self) -> Frame:
        """The same in the dimensions as they are."""
        return replace(self, principal=None)


def evened(frame: Frame, noise_var: Array) -> Frame | None:
    """Each dimension divided by the sd of its own noise, ``noise_var`` (d,) in the frame; None where it is already.

    Between dimensions the log noise variance is taken for normal, so that an estimate counts by as much of the
    differences as is not its own error.
    """
    logs = np.log(np.maximum(noise_var, 1e-6 * noise_var.mean() + 1e-300)) + 2.0 * np.log(frame.scale)
    chance = 2.0 / len(frame.points)
    apart = max(float(logs.var()) - chance, 0.0)
    sd = np.exp(0.5 * apart / (apart + chance) * (logs - logs.mean())) / frame.scale
    if np.square(2.0 * np.log(sd)).mean() < SETTLED**2 * chance:
        return None
    return weighed(frame, sd)


def weighed(frame: Frame, sd: Array) -> Frame:
    """The same with each dimension divided once more by its ``sd`` (d,), in the dimensions as they are."""
    return replace(frame, points=frame.points / sd, scale=frame.scale * sd, principal=None)


def centred(y: Array) -> Frame:
    """Points (n, d), NaN = missing, in the dimensions as they are."""
    seen = ~np.isnan(y)
    mean = np.where(seen, y, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    return Frame(
        mean=mean,
        principal=None,
        points=np.where(seen, y - mean, 0.0),
        seen=seen.astype(np.float64),
        scale=np.ones(y.shape[1]),
    )


def turned(frame: Frame, level: float) -> Frame | None:
    """The principal axes that rise above the noise; None where they are too many.

    ``level`` is the noise variance at the mode: where few dimensions are left, they may all hold the curve.
    """
    points = frame.points
    n, d = points.shape
    if d <= FEW:
        return replace(frame, principal=np.linalg.svd(points, full_matrices=True)[2].T)
    values, vectors = np.linalg.eigh(points @ points.T if d > n else points.T @ points)
    order = np.argsort(-values)[: min(n - 1, d)]
    values = np.maximum(values[order], 0.0) / n
    above, before = 0, -1
    while above != before and above < values.size:
        # What the axes above leave is noise: the more there are, the less it is.
        noise = min(values[above:].sum() / (d - above), NOISIER * level)
        before, above = above, int((values > noise * np.square(1.0 + np.sqrt(d / n)) * EDGE).sum())
    if above > MOST_AXES and values[MOST_AXES:above].sum() > 0.5 * noise * d:
        return None
    kept = order[: int(np.clip(above, 2, MOST_AXES))]
    axes = vectors[:, kept]
    if d > n:
        axes = points.T @ axes
        axes = axes / np.linalg.norm(axes, axis=0)
    return replace(frame, principal=axes)
