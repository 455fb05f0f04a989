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
