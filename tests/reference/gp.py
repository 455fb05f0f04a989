"""Slow, obvious twin of the electroGP's likelihood and posterior: one dense Gaussian per pixel."""

from __future__ import annotations

import math

import numpy as np


def kernel_value(kernel: str, distance: float, alpha: float) -> float:
    length = 1.0 / math.sqrt(2.0 * alpha)
    if kernel == "se":
        return math.exp(-alpha * distance**2)
    if kernel == "matern32":
        s = math.sqrt(3.0) * distance / length
        return (1.0 + s) * math.exp(-s)
    s = math.sqrt(5.0) * distance / length
    return (1.0 + s + s * s / 3.0) * math.exp(-s)


def covariance(kernel: str, x, z, alpha: float, periodic: bool = False):
    out = np.empty((len(x), len(z)))
    for i, a in enumerate(x):
        for k, b in enumerate(z):
            distance = abs(math.sin(math.pi * (a - b)) / math.pi) if periodic else abs(a - b)
            out[i, k] = kernel_value(kernel, distance, alpha)
    return out


def log_gaussian(y, cov) -> float:
    """Log density of N(0, cov) at y, by the formula."""
    _, logdet = np.linalg.slogdet(cov)
    return -0.5 * (len(y) * math.log(2 * math.pi) + logdet + y @ np.linalg.solve(cov, y))


def log_corp(x, r: float) -> float:
    """Normalised log density of the Coulomb process, pair by pair."""
    total = math.lgamma(1 + r) * len(x) - math.lgamma(1 + r * len(x))
    for i in range(len(x)):
        for j in range(i):
            total += 2 * r * math.log(abs(2 * math.sin(math.pi * (x[i] - x[j]))))
    return total


def log_posterior(Y, x, kernel, alpha, phi, noise, r, periodic=False) -> float:
    """Sum over pixels of log N(y_j; 0, phi_j E + noise_j I) on their seen frames, plus log Corp."""
    total = log_corp(x, r)
    for j in range(Y.shape[1]):
        seen = ~np.isnan(Y[:, j])
        cov = phi[j] * covariance(kernel, x[seen], x[seen], alpha[j], periodic) + noise[j] * np.eye(
            seen.sum()
        )
        total += log_gaussian(Y[seen, j], cov)
    return total


def predict(Y, x, at, kernel, alpha, phi, noise, periodic=False):
    """Posterior mean and sd of the curve (m, d), pixel by pixel, from the seen frames of each."""
    mean, sd = np.empty((len(at), Y.shape[1])), np.empty((len(at), Y.shape[1]))
    for j in range(Y.shape[1]):
        seen = ~np.isnan(Y[:, j])
        own = phi[j] * covariance(kernel, x[seen], x[seen], alpha[j], periodic) + noise[j] * np.eye(
            seen.sum()
        )
        cross = phi[j] * covariance(kernel, at, x[seen], alpha[j], periodic)
        mean[:, j] = cross @ np.linalg.solve(own, Y[seen, j])
        sd[:, j] = np.sqrt(phi[j] - np.einsum("ij,ji->i", cross, np.linalg.solve(own, cross.T)))
    return mean, sd


def gradient(function, at, step=1e-6):
    """Central differences."""
    out = np.empty_like(at)
    for i in range(at.size):
        up, down = at.copy(), at.copy()
        up.flat[i] += step
        down.flat[i] -= step
        out.flat[i] = (function(up) - function(down)) / (2 * step)
    return out


def polyline_distance(point, nodes) -> float:
    best = math.inf
    for a, b in zip(nodes[:-1], nodes[1:]):
        edge = b - a
        t = 0.0 if edge @ edge == 0 else min(1.0, max(0.0, float((point - a) @ edge / (edge @ edge))))
        best = min(best, float(np.linalg.norm(point - a - t * edge)))
    return best
