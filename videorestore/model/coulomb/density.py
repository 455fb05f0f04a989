"""The joint density of eq. (2) in one dimension, normalised, with its gradient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from videorestore.model.coulomb._kernels import repulsion

Array = NDArray[np.float64]


def corp_log_density(x: Array, r: float) -> tuple[float, Array]:
    """Normalised log density of the Coulomb process on (0, 1)^n, eq. (2), and its gradient (n,)."""
    n = x.size
    if r == 0 or n < 2:
        return 0.0, np.zeros(n)
    angle = np.pi * x
    logs, cots = np.empty(n), np.empty(n)
    repulsion(np.sin(angle), np.cos(angle), logs, cots)
    constant = gammaln(1 + r * n) - n * gammaln(1 + r)
    return float(r * logs.sum() - constant), 2 * r * np.pi * cots
