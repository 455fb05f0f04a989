"""Slow twin of the normalised Gaussian mean: explicit sums over mirrored pixels."""

import numpy as np


def gaussian_mean(values, weights, sigma, fallback):
    """Weighted mean ``(h, w)`` with a truncated Gaussian window, mirrored at the borders."""
    radius = int(np.ceil(3 * sigma))
    step = np.arange(-radius, radius + 1)
    window = np.exp(-(step**2) / (2 * sigma**2))
    window /= window.sum()
    height, width = values.shape
    result = np.zeros(values.shape)
    for y in range(height):
        for x in range(width):
            top = below = 0.0
            for i, dy in enumerate(step):
                for j, dx in enumerate(step):
                    yy, xx = _mirror(y + dy, height), _mirror(x + dx, width)
                    share = window[i] * window[j] * weights[yy, xx]
                    below += share
                    top += share * (values[yy, xx] if weights[yy, xx] > 0 else 0.0)
            result[y, x] = (top + 1e-3 * fallback) / (below + 1e-3)
    return result


def _mirror(i, size):
    while i < 0 or i >= size:
        i = -1 - i if i < 0 else 2 * size - 1 - i
    return i
