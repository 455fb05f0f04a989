"""Loops over the states of a Markov process along the curve, compiled. They check nothing; their callers do.

Shapes: ``n`` frames, ``d`` pixels, ``m`` states (the curve and its derivatives in units of the length).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from videorestore.compiled import kernel, parallel_kernel

Array = NDArray[np.float64]


@kernel
def spread_states(
    move: Array, still: Array, ratio: float, before: Array, after: Array, gain: Array, scale: Array
) -> None:
    """Kalman's covariances, the same for all pixels.

    ``move`` (n - 1, m, m) leads from one frame to the next, ``still`` (m, m) is the covariance without data.
    Filled: covariance ``before`` and ``after`` (n, m, m) a frame is seen, ``gain`` (n, m), ``scale`` (n,) the
    variance of what is new in it.
    """
    n, m = gain.shape
    half = np.empty((m, m))
    before[0] = still
    for t in range(n):
        p = before[t]
        scale[t] = p[0, 0] + ratio
        for i in range(m):
            gain[t, i] = p[i, 0] / scale[t]
        for i in range(m):
            for j in range(m):
                after[t, i, j] = p[i, j] - gain[t, i] * p[0, j]
        if t + 1 < n:
            a = move[t]
            for i in range(m):
                for j in range(m):
                    s = 0.0
                    for k in range(m):
                        s += a[i, k] * (after[t, k, j] - still[k, j])
                    half[i, j] = s
            for i in range(m):
                for j in range(i + 1):
                    s = still[i, j]
                    for k in range(m):
                        s += half[i, k] * a[j, k]
                    before[t + 1, i, j] = s
                    before[t + 1, j, i] = s


@kernel
def pull_states(move: Array, gain: Array, scale: Array, told: Array, own: Array) -> None:
    """Backward: precision ``told`` (n, m, m) that a frame and those after it add to what was known before them.

    ``own`` (n,) is the precision with which a frame is predicted by all others.
    """
    n, m = gain.shape
    later = np.empty((m, m))
    half = np.empty((m, m))
    keep = np.empty((m, m))
    for back in range(n):
        t = n - 1 - back
        later[:] = 0.0
        if t + 1 < n:
            a, more = move[t], told[t + 1]
            for i in range(m):
                for j in range(m):
                    s = 0.0
                    for k in range(m):
                        s += more[i, k] * a[k, j]
                    half[i, j] = s
            for i in range(m):
                for j in range(m):
                    s = 0.0
                    for k in range(m):
                        s += a[k, i] * half[k, j]
                    later[i, j] = s
        g = gain[t]
        own[t] = 1.0 / scale[t]
        for i in range(m):
            for j in range(m):
                own[t] += g[i] * later[i, j] * g[j]
                keep[i, j] = (1.0 if i == j else 0.0) - (g[i] if j == 0 else 0.0)
        for i in range(m):
            for j in range(m):
                s = 0.0
                for k in range(m):
                    s += later[i, k] * keep[k, j]
                half[i, j] = s
        for i in range(m):
            for j in range(m):
                s = 1.0 / scale[t] if i == 0 and j == 0 else 0.0
                for k in range(m):
                    s += keep[k, i] * half[k, j]
                told[t, i, j] = s


@parallel_kernel(lambda y, *_: y.shape[0], grain=1)
def smooth_pixels(
    start: int,
    stop: int,
    y: Array,
    move: Array,
    gain: Array,
    scale: Array,
    state: Array,
    pull: Array,
    error: Array,
    fresh: Array,
) -> None:
    """Kalman filter and smoother of pixels ``y`` (d, n).

    Filled, all (d, n, ...): ``state`` (m) after a frame is seen, ``pull`` (m) the slope of the log density of a frame and
    those after it in the state before them, ``error`` the slope in the frame's own value (its leave-one-out
    error times ``own``), ``fresh`` what is new in each frame.
    """
    n, m = gain.shape
    s = np.empty(m)
    for p in range(start, stop):
        for i in range(m):
            s[i] = 0.0
        for t in range(n):
            v = y[p, t] - s[0]
            fresh[p, t] = v
            for i in range(m):
                state[p, t, i] = s[i] + gain[t, i] * v
            if t + 1 < n:
                for i in range(m):
                    total = 0.0
                    for k in range(m):
                        total += move[t, i, k] * state[p, t, k]
                    s[i] = total
        for back in range(n):
            t = n - 1 - back
            for i in range(m):
                total = 0.0
                if t + 1 < n:
                    for k in range(m):
                        total += move[t, k, i] * pull[p, t + 1, k]
                s[i] = total
            held = 0.0
            for i in range(m):
                held += gain[t, i] * s[i]
            e = fresh[p, t] / scale[t] - held
            error[p, t] = e
            for i in range(m):
                pull[p, t, i] = s[i]
            pull[p, t, 0] += e


@parallel_kernel(lambda state, *_: state.shape[1], grain=64)
def add_products(start: int, stop: int, state: Array, pull: Array, square: Array, cross: Array) -> None:
    """Add, over pixels, products of the next frame's pull with itself and with the state: (n, m, m) each."""
    d, n, m = state.shape
    for t in range(start, min(stop, n - 1)):
        for p in range(d):
            for i in range(m):
                for j in range(m):
                    square[t, i, j] += pull[p, t + 1, i] * pull[p, t + 1, j]
                    cross[t, i, j] += state[p, t, i] * pull[p, t + 1, j]


@parallel_kernel(lambda x, *_: x.size, grain=256)
def near_repulsion(start: int, stop: int, x: Array, even: Array, logs: Array, cots: Array) -> None:
    """Per point of sorted ``x`` (n,), over the nearest on either side: sums of log sin(pi d) and of cot(pi d).

    Logs are relative to ``even`` (k,), log sin(pi d) at equal spacing; the interval is a circle.
    """
    n, reach = x.size, even.size
    for i in range(start, stop):
        log_sum = 0.0
        cot_sum = 0.0
        for k in range(1, reach + 1):
            right = x[(i + k) % n] - x[i] + (1.0 if i + k >= n else 0.0)
            left = x[i] - x[(i - k) % n] + (1.0 if i < k else 0.0)
            sine, other = np.sin(np.pi * left), np.sin(np.pi * right)
            if sine <= 0.0 or other <= 0.0:
                log_sum = -np.inf
                break
            log_sum += np.log(sine) + np.log(other) - 2.0 * even[k - 1]
            cot_sum += np.cos(np.pi * left) / sine - np.cos(np.pi * right) / other
        logs[i] = log_sum
        cots[i] = cot_sum
