"""Slow, obvious twins of the Coulomb process's samplers and sums."""

from __future__ import annotations

import math

import numpy as np


def repulsion(x):
    """Sums over the others of log|2 sin pi(x_i - x_j)| and cot pi(x_i - x_j)."""
    logs, cots = np.zeros(len(x)), np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                angle = math.pi * (x[i] - x[j])
                logs[i] += math.log(abs(2 * math.sin(angle)))
                cots[i] += 1 / math.tan(angle)
    return logs, cots


def conditional_moments(x, r, function, nodes=200_001):
    """E f(X) of one more point, by the midpoint rule."""
    grid = (np.arange(nodes) + 0.5) / nodes
    log_density = np.zeros(nodes)
    for point in x:
        log_density += 2 * r * np.log(np.abs(np.sin(np.pi * (grid - point))))
    weight = np.exp(log_density - log_density.max())
    return float((weight * function(grid)).sum() / weight.sum())


def log_sines(at, points):
    """Sum over points of log|sin pi(at - point)|."""
    return sum(math.log(abs(math.sin(math.pi * (at - p)))) if at != p else -math.inf for p in points)


def between(points, left, right, r, nodes=4001):
    """Grid strictly inside (left, right) and the density of one more point there, normalised to sum to one."""
    grid = left + (right - left) * (np.arange(nodes) + 0.5) / nodes
    logs = np.array([2 * r * log_sines(t, points) for t in grid])
    weight = np.exp(logs - logs.max())
    return grid, weight / weight.sum()


def sequential(n, r, uniforms, nodes=20_000):
    """Definition (1) on a grid: each point is the quantile of its conditional law at its uniform number."""
    grid = (np.arange(nodes) + 0.5) / nodes
    log_density = np.zeros(nodes)
    x = []
    for u in uniforms[:n]:
        weight = np.exp(log_density - log_density.max())
        x.append(float(grid[np.searchsorted(np.cumsum(weight) / weight.sum(), u)]))
        log_density += 2 * r * np.log(np.abs(np.sin(np.pi * (grid - x[-1]))) + 1e-300)
    return np.array(x)


def unitary(gamma, end):
    """Angles of the eigenvalues of a unitary matrix with Verblunsky coefficients ``gamma``, and exp(-i end) last.

    Szego's recursion on polynomials, coefficient by coefficient; its roots lie on the circle.
    """
    phi, star = np.array([1 + 0j]), np.array([1 + 0j])
    for g in [*gamma, np.exp(-1j * end)]:
        # Highest power first: z phi - conj(g) star, star - g z phi.
        up = np.append(phi, 0)
        star = np.concatenate([np.zeros(up.size - star.size), star])
        phi, star = up - np.conj(g) * star, star - g * up
    return np.angle(np.roots(phi)) % (2 * math.pi)
