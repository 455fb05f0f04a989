"""Slow twins of the inpainting kernels."""

import numpy as np


def midmean(frames, known, skip):
    """Mean of the middle half of the known values over time ``(h, w, c)`` and their number ``(h, w)``."""
    n, height, width, channels = frames.shape
    mean, count = np.zeros((height, width, channels)), np.zeros((height, width), int)
    for y in range(height):
        for x in range(width):
            times = [k for k in range(n) if k != skip and known[k, y, x]]
            count[y, x] = len(times)
            cut = len(times) // 4
            for c in range(channels):
                values = sorted(frames[k, y, x, c] for k in times)[cut : len(times) - cut]
                mean[y, x, c] = np.mean(values) if values else 0.0
    return mean, count
