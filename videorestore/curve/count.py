"""How many frames are missing between two frames, judged by gaps that the program plants elsewhere in the clip.

On a curve the count is the latent gap over the local spacing. Both follow from the distances between frames, which
the repulsion of the latent positions does not touch. How a distance grows with the number of frames in between
differs from clip to clip and levels off; so frames that are there are hidden in thought on either side of the gap,
and what is measured across them, with the true count known, says how to read what is measured across the gap.

Two experts speak: distances at several scales, and the way that things moved in steps of one frame. Each is a
Gaussian of its measurements for every count, learnt on one side and tried on the other; how loud each speaks is set
by the log score that both together reach on planted gaps they did not learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Flags = NDArray[np.bool_]

REACH = 32
"""Frames on either side that are looked at."""

_SCALES = (0.0, 1.5, 3.0, 6.0)
"""Blurs, in pixels of the shrunken frames: coarse pictures still tell large gaps apart when fine ones do not."""

_PLANTED = 10
"""Longest gap that is planted; beyond it the means go on as they did."""

_DECAY = 16.0
"""Frames over which planted gaps lose weight: the speed far away says less."""

_FEWEST = 15
"""Planted gaps below which there is nothing to learn from."""

_LOUD = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4])
"""Powers of an expert's likelihood that are tried."""

_MODEST = 0.01
"""Penalty on powers away from one half: a few planted gaps must not silence or shout."""

_ASTRAY = 0.03
"""Share of gaps in which nothing measured means anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planted:
    """Gaps in thought: frame ``a`` before, frame ``b`` after, their true counts, weights, and two halves."""

    a: _Ints
    b: _Ints
    count: _Ints
    weight: _Doubles
    half: _Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expert:
    """Measurements of each count: means ``(counts, k)``, inverse covariance ``(k, k)``, degrees of freedom."""

    mean: _Doubles
    precision: _Doubles
    freedom: float

    def table(self, values: _Doubles) -> _Doubles:
        """Log likelihood ``(m, counts)`` of measurements ``(m, k)``, Student's t."""
        rest = values[:, None] - self.mean[None]
        squared = np.einsum("nij,jk,nik->ni", rest, self.precision, rest)
        return np.asarray(-0.5 * (self.freedom + values.shape[1]) * np.log1p(squared / self.freedom))


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
    from videorestore.curve.count_motion import Ways

    n = len(frames)
    if not 0 <= after < n - 1:
        raise InputError(f"after must be a frame number from 0 to {n - 2}, got {after}; pass another.")
    low, high = max(0, after + 1 - REACH), min(n, after + 1 + REACH)
    window = np.stack([np.asarray(frames[i], np.float32) for i in range(low, high)])
    before = after + 1 - low
    even = np.full(most + 1, 1 / (most + 1))
    depth = min(3, before, len(window) - before)
    planted = _plant(len(window), before, depth)
    if len(planted.a) < _FEWEST:
        return even
    still = np.stack([_measures(s, depth) for s in _squares(window)], axis=-1)
    still = np.concatenate(np.moveaxis(still, -1, 0), axis=-1)
    a, b = np.array([before - 1]), np.array([before])
    tables = [_calibrate(still[planted.a, planted.b], still[a, b], planted, most, by_step=False)]
    ways = Ways(window, before)
    if ways.moving:
        # Flow is dear: a third of the planted gaps is enough for the few numbers that motion needs.
        some = np.flatnonzero((planted.a + planted.count) % 3 == 0)
        if len(some) >= _FEWEST:
            thin = _Planted(
                a=planted.a[some],
                b=planted.b[some],
                count=planted.count[some],
                weight=planted.weight[some],
                half=planted.half[some],
            )
            moved = _calibrate(ways.measure(thin.a, thin.b), ways.measure(a, b), thin, most, by_step=True)
            tables = [(tables[0][0][some], tables[0][1]), moved]
            planted = thin
    power = _loudness([t[0] for t in tables], planted)
    total = sum((p * t[1] for p, t in zip(power, tables)), np.zeros(most + 1))
    density = (1 - _ASTRAY) * np.exp(_normal(total)) + _ASTRAY * even
    return np.asarray(density / density.sum())


def _plant(n: int, before: int, depth: int) -> _Planted:
    """All gaps in thought that leave ``depth`` frames on either side of them, within one side of the true gap."""
    a, b = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    count = b - a - 1
    left = (a >= depth - 1) & (b + depth <= before)
    right = (a >= before + depth - 1) & (b + depth <= n)
    chosen = (count >= 0) & (count <= _PLANTED) & (left | right)
    a, b, count, left = a[chosen], b[chosen], count[chosen], left[chosen]
    away = np.where(left, before - 1 - b, a - before)
    half = left
    if min(left.sum(), (~left).sum()) < 25 and len(a):
        half = (a + b) < np.median(a + b)
    return _Planted(
        a=a.astype(np.int64),
        b=b.astype(np.int64),
        count=count.astype(np.int64),
        weight=np.exp(-away / _DECAY),
        half=half,
    )


def _calibrate(
    values: _Doubles, own: _Doubles, planted: _Planted, most: int, *, by_step: bool
) -> tuple[_Doubles, _Doubles]:
    """Tables of the planted gaps, each from the half it is not in, and of the true gap from all."""
    tables = np.zeros((len(values), most + 1))
    for half in (planted.half, ~planted.half):
        if half.sum() >= 8:
            expert = _learn(values[half], planted.count[half], planted.weight[half], most, by_step)
            tables[~half] = expert.table(values[~half])
    return tables, _learn(values, planted.count, planted.weight, most, by_step).table(own)[0]


def _learn(values: _Doubles, count: _Ints, weight: _Doubles, most: int, by_step: bool) -> _Expert:
    """An expert from measurements ``(m, k)`` at known counts.

    ``by_step`` says that these are logs of ways in steps, so that their means are known up to an offset and only
    some of them are far off; otherwise the means are quadratic in the log of the count.
    """
    x, grid = np.log(count + 1.0), np.log(np.arange(most + 1) + 1.0)
    size = values.shape[1]
    if by_step:
        offset = np.median(values - x[:, None], axis=0)
        rest = values - x[:, None] - offset
        floor = 0.06**2 * np.eye(size)
        spread = (rest * weight[:, None]).T @ rest / weight.sum() + floor
        for _ in range(4):
            squared = np.einsum("ij,jk,ik->i", rest, np.linalg.inv(spread), rest)
            trusted = weight * (4 + size) / (4 + squared)
            spread = (rest * trusted[:, None]).T @ rest / weight.sum() + floor
        return _Expert(mean=grid[:, None] + offset, precision=np.linalg.inv(spread), freedom=3.0)

    def powers(v: _Doubles) -> _Doubles:
        return np.stack([np.ones_like(v), v, v * v], axis=1)

    root = np.sqrt(weight)[:, None]
    basis = powers(x) * root
    slope = np.linalg.solve(basis.T @ basis + np.diag([1e-6, 1e-3, 0.3]), basis.T @ (values * root))
    rest = values - powers(x) @ slope
    spread = (rest * weight[:, None]).T @ rest / weight.sum()
    spread = 0.9 * spread + 0.1 * np.diag(np.diag(spread)) + 3e-3 * np.eye(size)
    return _Expert(mean=powers(grid) @ slope, precision=np.linalg.inv(spread), freedom=5.0)


def _loudness(tables: list[_Doubles], planted: _Planted) -> tuple[float, ...]:
    """The powers of the experts' likelihoods with the best log score on planted gaps."""
    rows = np.arange(len(planted.count))
    best, chosen = -np.inf, (0.0,) * len(tables)
    for index in np.ndindex(*(len(_LOUD),) * len(tables)):
        power = _LOUD[list(index)]
        total = sum((p * t for p, t in zip(power, tables)), np.zeros_like(tables[0]))
        score = float(np.average(_normal(total)[rows, planted.count], weights=planted.weight))
        score -= _MODEST * float(np.square(power - 0.5).sum())
        if score > best:
            best, chosen = score, tuple(float(p) for p in power)
    return chosen


def _normal(table: _Doubles) -> _Doubles:
    """Log probabilities along the last axis."""
    top = table.max(axis=-1, keepdims=True)
    return np.asarray(table - top - np.log(np.exp(table - top).sum(axis=-1, keepdims=True)))


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


def _measures(squares: _Doubles, depth: int) -> _Doubles:
    """What the distances at one scale say about the gap between any frame and any later one.

    Parameters
    ----------
    squares : ndarray, shape (n, n)
        Squared distances.
    depth : int
        Frames on either side of the gap that are used.

    Returns
    -------
    ndarray, shape (n, n, 5)
        For frame a before and b after the gap: log squared distance, its mean over the frames around, the usual
        log squared distance of near frames before and after, and the log of the way along the tangent in steps.
    """
    n = len(squares)
    logs = np.log(squares + 1e-9)
    mean_a, slope_a, mean_b, slope_b = _filters(n, depth)
    usual_a, usual_b = np.zeros(n), np.zeros(n)
    for i in range(n):
        # Means over pairs at most four frames apart that end at, or begin with, this frame or one of three more.
        lags = [lag for lag in (1, 2, 3, 4) if lag <= i]
        steps = [np.mean([logs[k, k + g] for k in range(max(0, i - g - 3), i - g + 1)]) for g in lags]
        usual_a[i] = np.mean(steps) if steps else logs[0, min(1, n - 1)]
        lags = [lag for lag in (1, 2, 3, 4) if i + lag < n]
        steps = [np.mean([logs[k, k + g] for k in range(i, min(i + 4, n - g))]) for g in lags]
        usual_b[i] = np.mean(steps) if steps else logs[max(0, n - 2), n - 1]
    inner = -0.5 * squares

    def cross(left: _Doubles, right: _Doubles) -> _Doubles:
        return np.asarray(left @ inner @ right.T)

    def same(left: _Doubles, right: _Doubles) -> _Doubles:
        return np.asarray(np.einsum("ij,jk,ik->i", left, inner, right))

    # Inner products of the difference of the means across the gap with the mean of the slopes on both sides.
    ahead = cross(slope_a, mean_b) + same(mean_b, slope_b) - same(mean_a, slope_a)[:, None]
    ahead = 0.5 * (ahead - cross(mean_a, slope_b))
    length = 0.25 * (same(slope_a, slope_a)[:, None] + same(slope_b, slope_b) + 2 * cross(slope_a, slope_b))
    way = np.log(np.maximum(ahead / np.maximum(length, 1e-9) - (depth - 1), 0.3))
    before = np.broadcast_to(usual_a[:, None], (n, n))
    behind = np.broadcast_to(usual_b[None, :], (n, n))
    return np.stack([logs, mean_a @ logs @ mean_b.T, before, behind, way], axis=-1)


def _filters(n: int, depth: int) -> tuple[_Doubles, _Doubles, _Doubles, _Doubles]:
    """Weights ``(n, n)`` of mean and slope over the frames that end at a frame, and over those that begin with it."""
    time = np.arange(depth) - (depth - 1) / 2
    slope = time / max(float(np.sum(time * time)), 1e-9)
    made = tuple(np.zeros((n, n)) for _ in range(4))
    for i in range(n):
        if i >= depth - 1:
            made[0][i, i - depth + 1 : i + 1] = 1 / depth
            made[1][i, i - depth + 1 : i + 1] = slope
        if i + depth <= n:
            made[2][i, i : i + depth] = 1 / depth
            made[3][i, i : i + depth] = slope
    return made[0], made[1], made[2], made[3]
