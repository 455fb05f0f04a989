"""A plane read between its samples, pixel by pixel; beyond the border the nearest one. Exact: older OpenCV rounds places to 1/32."""

import numpy as np


def linear(plane: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _read(plane, x, y, lambda t: np.array([1 - t, t]), 0)


def cubic(plane: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By Keys' kernel with a = -3/4, as OpenCV's."""
    return _read(plane, x, y, lambda t: np.array([_keys(t + 1), _keys(t), _keys(1 - t), _keys(2 - t)]), 1)


def _keys(d: float, a: float = -0.75) -> float:
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a


def _read(plane, x, y, weights, before):
    h, w = plane.shape
    out = np.empty(x.shape)
    for at in np.ndindex(*x.shape):
        i, j = int(np.floor(y[at])), int(np.floor(x[at]))
        down, across = weights(float(y[at]) - i), weights(float(x[at]) - j)
        rows = np.clip(np.arange(len(down)) + i - before, 0, h - 1)
        columns = np.clip(np.arange(len(across)) + j - before, 0, w - 1)
        out[at] = down @ plane[np.ix_(rows, columns)].astype(float) @ across
    return out
