"""Slow twin of the splatting kernel: lists of arrivals per pixel, then their sums."""

import numpy as np


def splat(displacement, values, weight, apart):
    """Sums ``(h, w, k)`` and support ``(h, w)`` of one source."""
    height, width = weight.shape
    arrivals = {}
    for y in range(height):
        for x in range(width):
            to_x, to_y = x + float(displacement[y, x, 0]), y + float(displacement[y, x, 1])
            for row in (int(np.floor(to_y)), int(np.floor(to_y)) + 1):
                for column in (int(np.floor(to_x)), int(np.floor(to_x)) + 1):
                    share = (1 - abs(to_x - column)) * (1 - abs(to_y - row)) * float(weight[y, x])
                    if 0 <= row < height and 0 <= column < width:
                        arrivals.setdefault((row, column), []).append(
                            (share, displacement[y, x].astype(float), values[y, x].astype(float))
                        )
    sums, support = np.zeros(values.shape), np.zeros(weight.shape)
    for place, found in arrivals.items():
        leader = max(found, key=lambda arrival: arrival[0])[1]
        for share, motion, value in found:
            if ((motion - leader) ** 2).sum() <= apart**2:
                support[place] += share
                sums[place] += share * value
    return sums, support
