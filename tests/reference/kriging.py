"""Slow twin of local kriging: one dense solve per pixel."""

import numpy as np


def krige(values, known, targets, *, length, nugget, neighbours, radius, gap=None):
    """Mean ``(h, w, c)`` and sd ``(h, w)`` at the targets, zero elsewhere, by numpy.linalg.solve."""
    height, width, _ = values.shape
    mean, sd = np.zeros(values.shape), np.zeros((height, width))
    places = np.argwhere(known)
    for y, x in np.argwhere(targets):
        squared = ((places - [y, x]) ** 2).sum(axis=1)
        least = -1 if gap is None else max(gap[y, x] ** 2, 1)
        near = [tuple(p) for p in places[(squared <= radius**2) & (squared >= least)]]
        # The nearest first; ties row by row, as a reader scans the page.
        near.sort(key=lambda p: ((p[0] - y) ** 2 + (p[1] - x) ** 2, p))
        near = np.array(near[:neighbours], float).reshape(-1, 2)
        if len(near) == 0:
            sd[y, x] = 1
            continue
        cov = _matern(near[:, None] - near[None], length) + nugget * np.eye(len(near))
        cross = _matern(near - [y, x], length)
        weights = np.linalg.solve(cov, cross)
        rows, columns = near.astype(int).T
        mean[y, x] = weights @ values[rows, columns]
        sd[y, x] = np.sqrt(max(1 - weights @ cross, 0))
    return mean, sd


def _matern(step, length):
    scaled = np.sqrt(3) * np.sqrt((np.asarray(step, float) ** 2).sum(axis=-1)) / length
    return (1 + scaled) * np.exp(-scaled)
