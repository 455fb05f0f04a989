"""What comes out of a fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.model.covariance import Kernel

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFit:
    """A fitted curve.

    Attributes
    ----------
    x : ndarray (n,), or (n, p) on a surface
        Position of each frame; equal frames share theirs.
    rows : ndarray (u,)
        Frames that count, one of each set of equal ones, in order of time; ``x[rows]`` are distinct.
    index : ndarray (n,)
        Which of ``rows`` each frame is equal to.
    alpha, ratio : ndarray (groups,)
        Inverse squared length and noise ratio of each group; on a surface alpha is (groups, p).
    label : ndarray (d,)
        Group of each pixel, -1 for a pixel that never changes.
    phi, noise_var, mean : ndarray (d,)
        Signal variance, noise variance and centre of each pixel.
    r : float
        Repulsion that was used.
    log_posterior : float
        log p(Y | x, Theta) + log Corp(x), missing values as they were filled.
    log_score : float
        Closed-form leave-one-out log predictive density of the frames, per value.
    evidence : dict
        Log score per value of each kernel that was tried, runs of frames left out.
    """

    x: Array
    rows: Indices
    index: Indices
    kernel: Kernel
    periodic: bool
    r: float
    alpha: Array
    ratio: Array
    label: NDArray[np.int16]
    phi: Array
    noise_var: Array
    mean: Array
    log_posterior: float
    log_score: float
    n_iter: int
    start: str
    evidence: dict[str, float]
