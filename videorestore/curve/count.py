"""How many frames are missing between two frames: distances across the gap against distances at known lags.

On a curve this is the latent gap over the local spacing. Both follow from the distances between frames, which the
repulsion of the latent positions does not touch: if ``c`` frames are missing, two frames across the gap that would
be k apart without it are as different as frames k + c apart on either side.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError

_Doubles = NDArray[np.float64]

REACH = 32
"""Frames on either side that are looked at."""

_SCALES = (0.0, 1.5, 3.0, 6.0)
"""Blurs, in pixels of the shrunken frames: coarse pictures still tell large gaps apart when fine ones do not."""

_ACROSS = 4
"""Frames on either side that are compared across the gap."""

_EVIDENCE = 1.0
"""Independent measurements that all scales together are worth."""

_FLOOR = 0.12
"""Smallest sd of a log squared distance about the mean of its lag: speed changes inside the gap, unseen."""


def count_missing(frames: Any, after: int, *, most: int = 20) -> _Doubles:
    """Probabilities of the number of frames missing behind a frame.

    Parameters
    ----------
    frames : array, shape (n, height, width, channels)
        One shot; the missing frames are not in it.
    after : int
        The gap is between this frame and the next.
    most : int

    Returns
    -------
    ndarray, shape (most + 1,)
        Probability of 0, 1, ..., ``most`` missing frames.
    """
    n = len(frames)
    if not 0 <= after < n - 1:
        raise InputError(f"after must be a frame number from 0 to {n - 2}, got {after}; pass another.")
    low, high = max(0, after + 1 - REACH), min(n, after + 1 + REACH)
    window = np.stack([np.asarray(frames[i], np.float32) for i in range(low, high)])
    before = after + 1 - low
    total = np.zeros(most + 1)
    used = 0
    for squares in _squares(window):
        table = _scale(squares, before, most)
        if table is not None:
            total += table
            used += 1
    table = _EVIDENCE * total / used if used else np.zeros(most + 1)
    moved = _motion(window, before, most)
    if moved is not None:
        table = table + moved
    density = np.exp(table - table.max())
    density = 0.98 * density / density.sum() + 0.02 / (most + 1)
    return np.asarray(density / density.sum())


def _motion(window: FloatArray, before: int, most: int) -> _Doubles | None:
    """Log likelihood of every count from motion: the way across the gap over the way of one step.

    The steps on either side say how far each pixel moves per frame. Every count is tried as a start of the flow
    across the gap; the flow that explains the two frames best is measured in steps.
    """
    from videorestore.motion.flow import luma, medium_flow

    n, height, width = window.shape[:3]
    if before < 2 or n - before < 2:
        return None
    scale = 320.0 / max(height, width)
    scale = min(1.0, scale) if scale < 1 else min(2.0, max(1.0, 96.0 / min(height, width)))
    size = (max(16, round(width * scale)), max(16, round(height * scale)))
    method = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    pictures = {
        k: luma(
            cv2.resize(cv2.GaussianBlur(window[k], (0, 0), 0.7), size, interpolation=method).reshape(
                size[1], size[0], -1
            )
        )
        for k in range(max(0, before - 1 - _STEPS), min(n, before + 1 + _STEPS))
    }
    a, b = before - 1, before
    ahead = _step(pictures, a, -1)
    behind = _step(pictures, b, 1)
    if ahead is None or behind is None:
        return None
    guesses = []
    for here, there, step in ((a, b, ahead), (b, a, behind)):
        residual = [_miss(pictures[here], pictures[there], (c + 1) * step, step) for c in range(most + 1)]
        starts = sorted({int(k) for k in np.argsort(residual)[:3]} | {0})
        best: tuple[float, Any] | None = None
        for c in starts:
            for begin in (None, (c + 1) * step) if c == 0 else ((c + 1) * step,):
                flow = medium_flow(pictures[here], pictures[there], start=begin)
                miss = _miss(pictures[here], pictures[there], flow, step)
                if best is None or miss < best[0]:
                    best = (miss, flow)
        assert best is not None
        guesses.append((best[1], best[0]))
    (flow_a, miss_a), (flow_b, miss_b) = guesses
    ways, weights = [], []
    for flow, own, other, here, there in ((flow_a, ahead, behind, a, b), (flow_b, behind, ahead, b, a)):
        from videorestore.motion.warp import inside, warp

        # Mean of the steps at both ends of the way; the other end's step points the other way.
        mean = (own - warp(other, flow, method="linear")) / 2
        ok = inside(flow) & (
            np.abs(pictures[here].astype(np.float32) - warp(pictures[there], flow, method="linear")) < 25
        )
        squared = np.square(mean).sum(axis=2) * ok
        limit = np.quantile(squared, 0.9)
        weight = np.minimum(squared, limit) / np.maximum(squared, 1e-9) * ok
        bottom = float((weight * np.square(mean).sum(axis=2)).sum())
        if bottom <= 1e-6 * mean.size:
            continue
        ways.append(float((weight * (mean * flow).sum(axis=2)).sum() / bottom))
        weights.append(1.0)
    speeds = [float(np.sqrt(np.square(s).sum(axis=2).mean())) for s in (ahead, behind)]
    # On a still picture with a few small movers flow across a long gap finds the background instead of them.
    moving = float(np.mean(np.hypot(ahead[..., 0], ahead[..., 1]) > 0.3))
    if not ways or min(speeds) < 0.05 or moving < _MOVING:
        return None
    way = float(np.mean(ways))
    usual = max(_miss(pictures[a], pictures[a - 1], -ahead, ahead), 1.0)
    trouble = max(0.0, min(miss_a, miss_b) / usual - 1.3)
    change = abs(speeds[0] - speeds[1]) / (speeds[0] + speeds[1])
    apart = (max(ways) - min(ways)) / 2
    sd = np.sqrt(0.3**2 + (0.06 * way) ** 2 + (0.35 * change * way) ** 2 + apart**2 + (2.5 * trouble) ** 2)
    deviation = (np.arange(most + 1) + 1 - way) / sd
    # Student's t with few degrees of freedom: flow that went astray must not silence the distances.
    return np.asarray(-2.0 * np.log1p(np.square(deviation) / 3))


_MOVING = 0.12
"""Share of the picture that must move for motion to be heard."""

_STEPS = 2
"""Frames on either side whose motion is taken for that inside the gap."""


def _step(pictures: dict[int, Any], at: int, direction: int) -> Any:
    """Motion of one step at a frame, away from its own side: from the frames before it (-1) or after it (1)."""
    from videorestore.motion.flow import medium_flow

    total, count = None, 0.0
    for k in range(1, _STEPS + 1):
        other = at + direction * k
        if other in pictures:
            flow = -medium_flow(pictures[at], pictures[other]) / k
            total = flow if total is None else total + flow
            count += 1
    return None if total is None else total / count


def _miss(first: Any, second: Any, flow: Any, step: Any) -> float:
    """Mean difference of two pictures along a flow, where there is motion at all."""
    from videorestore.motion.warp import inside, warp

    speed = np.sqrt(np.square(step).sum(axis=2))
    weight = np.minimum(speed, np.quantile(speed, 0.9)) * inside(np.asarray(flow, np.float32))
    total = float(weight.sum())
    if total < 0.1 * float(np.minimum(speed, np.quantile(speed, 0.9)).sum()):
        return 1e3
    difference = np.abs(
        np.asarray(first, np.float32) - warp(second, np.asarray(flow, np.float32), method="linear")
    )
    return float((weight * np.minimum(difference, 40)).sum() / total)


def _squares(window: FloatArray) -> list[_Doubles]:
    """Squared distances between all frames at each scale."""
    from videorestore.curve.reorder import SIDE

    n, height, width, channels = window.shape
    scale = min(1.0, SIDE / min(height, width))
    size = (max(4, round(width * scale)), max(4, round(height * scale)))
    small = np.stack(
        [
            cv2.resize(f, size, interpolation=cv2.INTER_AREA).reshape(size[1], size[0], channels)
            for f in window
        ]
    )
    tables = []
    for sigma in _SCALES:
        rows = small
        if sigma > 0:
            if 3 * sigma > min(size):
                continue
            rows = np.stack([cv2.GaussianBlur(f, (0, 0), sigma).reshape(f.shape) for f in small])
        flat = rows.reshape(n, -1).astype(np.float64)
        flat = flat - flat.mean(axis=0)
        gram = flat @ flat.T
        norm = np.diag(gram)
        tables.append(np.maximum(norm[:, None] + norm[None, :] - 2 * gram, 1e-9))
    return tables


def _scale(squares: _Doubles, before: int, most: int) -> _Doubles | None:
    """Log likelihood of every count at one scale."""
    n = len(squares)
    sides = [np.arange(before), np.arange(before, n)]
    longest = max(len(s) for s in sides) - 1
    if longest < 2:
        return None
    logs = np.log(squares + 1e-9)
    mean, spread = np.zeros(longest + 1), np.full(longest + 1, _FLOOR**2)
    for lag in range(1, longest + 1):
        values, weights = [], []
        for side, near in zip(sides, (1, -1)):
            if len(side) <= lag:
                continue
            first = side[: len(side) - lag]
            values.append(logs[first, first + lag])
            # Steps near the gap say more about its speed than those far away.
            away = (before - 1 - (first + lag)) if near == 1 else first - before
            weights.append(np.exp(-away / 8.0))
        value, weight = np.concatenate(values), np.concatenate(weights)
        mean[lag] = np.average(value, weights=weight)
        spread[lag] += np.average(np.square(value - mean[lag]), weights=weight)
    mean[1:] = np.maximum.accumulate(mean[1:])
    reach = most + 2 * _ACROSS
    mean, spread = _extended(mean, spread, reach)
    depth = min(_ACROSS, before, n - before)
    table = np.empty(most + 1)
    for count in range(most + 1):
        rest, variance = [], []
        for i in range(depth):
            for j in range(depth):
                lag = i + j + 1 + count
                rest.append(logs[before - 1 - i, before + j] - mean[lag])
                variance.append(spread[lag])
        # Pairs across one gap share its surprises: they count as one measurement.
        v = float(np.mean(variance))
        table[count] = -0.5 * (float(np.mean(rest)) ** 2 / v + np.log(v))
    return table


def _extended(mean: _Doubles, spread: _Doubles, reach: int) -> tuple[_Doubles, _Doubles]:
    """Means and variances up to a lag, continued as a power of the lag beyond what was seen."""
    known = len(mean) - 1
    if known >= reach:
        return mean[: reach + 1], spread[: reach + 1]
    back = max(1, known // 2)
    power = (mean[known] - mean[back]) / (np.log(known) - np.log(back)) if known > back else 1.0
    lags = np.arange(known + 1, reach + 1)
    more = mean[known] + np.clip(power, 0, 2) * (np.log(lags) - np.log(known))
    wider = spread[known] + 0.05 * (np.log(lags) - np.log(known))
    return np.append(mean, more), np.append(spread, wider)
