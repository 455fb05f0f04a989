"""Frames planted on a known curve."""

from __future__ import annotations

import numpy as np


def planted(n=60, d=40, *, noise=0.1, cycles=2.0, seed=0, closed=False):
    """Positions (n,), clean and noisy frames (n, d)."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.02, 0.98, n) ** 1.15
    if closed:
        x = (np.arange(n) + 0.3 * rng.uniform(size=n)) / n
        rate = rng.integers(1, 4, d)
    else:
        rate = rng.uniform(0.3 * cycles, cycles, d)
    clean = np.sin(2 * np.pi * np.outer(x, rate) + rng.uniform(0, 6, d))
    return x, clean, clean + noise * rng.normal(size=clean.shape)


def same_order(a, b):
    """Kendall's tau, up to reversal."""
    from scipy.stats import kendalltau

    return abs(kendalltau(a, b).statistic)
