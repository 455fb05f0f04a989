"""What goes into a fit and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.model.covariance import Kernel

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Progress = Callable[[str, int, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to fit; the meaning of each is said at :class:`videorestore.model.estimator.ElectroGP`."""

    r: float | str = 1.0
    temper: bool = True
    kernel: str = "se"
    init: str | Array = "auto"
    hyper: str = "pixel"
    periodic: bool = False
    optimizer: str = "lbfgs"
    max_iter: int = 200
    tolerance: float = 1e-7
    n_groups: int = 8
    refits: int = 2
    noise: str = "normal"
    noise_var: float | Array | None = None
    noise_floor: float = 1e-5
    n_neighbors: int = 8
    learn_x: bool = True
    callback: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveFit:
    """A fitted curve.

    Attributes
    ----------
    x : ndarray (n,)
        Position of each frame; equal frames share theirs.
    rows : ndarray (u,)
        Frames that count, one of each set of equal ones, in order of time; ``x[rows]`` are distinct.
    alpha, ratio : ndarray (groups,)
        Inverse squared length and noise ratio of each group.
    label : ndarray (d,)
        Group of each pixel, -1 for a pixel that never changes.
    phi, noise_var, mean : ndarray (d,)
        Signal variance, noise variance and centre of each pixel.
    r : float
        Repulsion that was used.
    log_posterior : float
        log p(Y | x, Theta) + log Corp(x).
    log_score : float
        Closed-form leave-one-out log predictive density of the frames, per value.
    evidence : dict
        Leave-one-out log score per value of each kernel that was tried.
    """

    x: Array
    rows: Indices
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
