"""Slow twins of the integrated posterior: everything dense, nothing factored."""

from __future__ import annotations

import numpy as np


def dense_evidence(y, q, phi, prior, signal, noise):
    """Log of the integral over the curve of exp(sum_ig q_ig log N(y_i; f_g, noise)), per dimension summed.

    ``y`` (n, d), ``q`` (n, m), features ``phi`` (m, k) with variances ``prior`` (k,) times ``signal`` (d,).
    """
    total = 0.0
    weight = q.sum(axis=0)
    for j in range(y.shape[1]):
        precision = np.diag(1 / (signal[j] * prior)) + phi.T @ np.diag(weight) @ phi / noise
        pull = phi.T @ (q.T @ y[:, j]) / noise
        mean = np.linalg.solve(precision, pull)
        total += 0.5 * pull @ mean - 0.5 * np.linalg.slogdet(precision)[1]
        total -= 0.5 * np.log(signal[j] * prior).sum()
        total -= 0.5 * y.shape[0] * np.log(2 * np.pi * noise) + 0.5 * (y[:, j] @ y[:, j]) / noise
    return total


def log_marginal(weights, y, phi, prior, signal, noise):
    """Log density of points (n, d) and curve weights (k, d), positions summed out over the even grid."""
    curve = phi @ weights
    total = -0.5 * (np.square(weights) / (prior[:, None] * signal)).sum()
    for point in y:
        logs = -0.5 * np.square(point - curve).sum(axis=1) / noise
        total += np.log(np.exp(logs - logs.max()).sum()) + logs.max()
    return total


def repulsion_energy(x, r, modes):
    """Log Corp(r) density of positions (n,), unnormalised, from its first ``modes`` Fourier terms per pair."""
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total -= 2 * r * sum(np.cos(2 * np.pi * k * (x[i] - x[j])) / k for k in range(1, modes + 1))
    return total
