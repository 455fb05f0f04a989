"""How fast this machine is, beside the one on which the costs of `make.cost` were taken."""

from __future__ import annotations

import functools
import os
import time

import numpy as np

REFERENCE_S = 0.0028
"""CPU seconds of the trial on that machine (AMD EPYC, two cores, quiet)."""

SIDE, TRIALS, PAUSE_S = 320, 12, 0.02
"""Pixels a side of the trial's picture; the quickest of so many, with pauses between, tells the speed: the others are cold, or
disturbed by whoever shares the processor."""


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


@functools.cache
def slowness() -> float:
    """Seconds of this machine for one of that one: motion, warping and sums, as most of the work is."""
    import cv2

    y, x = np.mgrid[0 : SIDE * 3 // 4, 0:SIDE].astype(np.float32)
    picture = 127 + 60 * np.sin(x / 7) * np.cos(y / 5) + 30 * np.sin(x * y / 900)
    moved = np.roll(picture, (1, 2), (0, 1))
    flow = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    threads = cv2.getNumThreads()
    taken = []
    cv2.setNumThreads(1)
    try:
        for _ in range(TRIALS):
            begun = time.thread_time()
            step = flow.calc(picture.astype(np.uint8), moved.astype(np.uint8), None)  # type: ignore[call-overload]
            for _ in range(3):
                warped = cv2.remap(moved, x + step[..., 0], y + step[..., 1], cv2.INTER_CUBIC)
            cv2.blur(np.square(warped - picture), (7, 7))
            cv2.dct(picture)
            taken.append(time.thread_time() - begun)
            time.sleep(PAUSE_S)
    finally:
        cv2.setNumThreads(threads)
    return min(taken) / REFERENCE_S
