"""How many frames are missing between two frames, judged by gaps that the program plants elsewhere in the clip.

On a curve the count is the latent gap over the local spacing. Both follow from the distances between frames, which
the repulsion of the latent positions does not touch. How a distance grows with the number of frames in between
differs from clip to clip and levels off; so frames that are there are hidden in thought on either side of the gap,
and what is measured across them, with the true count known, says how to read what is measured across the gap.

Two experts speak: distances in several ways of looking, and the way that things moved in steps of one frame. Each is
a Gaussian of its measurements for every count, learnt on one side and tried on the other; how loud each speaks is set
by the log score that both together reach on planted gaps they did not learn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError

_Doubles = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Flags = NDArray[np.bool_]

REACH = 32
"""Frames on either side that are looked at."""

_PLANTED = 10
"""Longest gap that is planted; beyond it the means go on as they did."""

_DECAY = 16.0
"""Frames over which planted gaps lose weight: the speed far away says less."""

_FEWEST = 15
"""Planted gaps below which there is nothing to learn from."""

_LOUD = np.array([0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4])
"""Powers of an expert's likelihood that are tried."""

_MODEST = 0.01
"""Penalty on powers away from one half: a few planted gaps must not silence or shout."""

_ASTRAY = 0.03
"""Share of gaps in which nothing measured means anything."""


_RARE = 3.0
"""Frames by which counts beyond the planted ones become rarer by a factor e: nothing there is calibrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planted:
    """Gaps in thought: frame ``a`` before, frame ``b`` after, their true counts, weights, and two halves."""

    a: _Ints
    b: _Ints
    count: _Ints
    weight: _Doubles
    half: _Flags

    def some(self, chosen: _Ints) -> _Planted:
        """Those with these numbers."""
        return _Planted(
            a=self.a[chosen],
            b=self.b[chosen],
            count=self.count[chosen],
            weight=self.weight[chosen],
            half=self.half[chosen],
        )


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
    from videorestore.order.count_distance import measures, squared_distances
    from videorestore.order.count_motion import Ways

    n = len(frames)
    if not 0 <= after < n - 1:
        raise InputError(f"after must be a frame number from 0 to {n - 2}, got {after}; pass another.")
    low, high = max(0, after + 1 - REACH), min(n, after + 1 + REACH)
    window = np.stack([np.asarray(frames[i], np.float32) for i in range(low, high)])
    before = after + 1 - low
    prior = _prior(most)
    depth = min(3, before, len(window) - before)
    planted = _plant(len(window), before, depth)
    if len(planted.a) < _FEWEST:
        return prior
    still = np.concatenate([measures(s, depth, before) for s in squared_distances(window)], axis=-1)
    a, b = np.array([before - 1]), np.array([before])
    tables = [_calibrate(still[planted.a, planted.b], still[a, b], planted, most, by_step=False)]
    # Flow is dear: a third of the planted gaps is enough for the few numbers that motion needs.
    some = np.flatnonzero((planted.a + planted.count) % 3 == 0)
    ways = Ways(window, before)
    if ways.moving and len(some) >= _FEWEST:
        planted = planted.some(some)
        there, across = ways.measure(planted.a, planted.b), ways.measure(a, b)
        moved = _calibrate(there, across, planted, most, by_step=True)
        tables = [(tables[0][0][some], tables[0][1]), moved]
    power = _loudness([t[0] for t in tables], planted, prior)
    total = sum((p * t[1] for p, t in zip(power, tables)), np.log(prior))
    density = (1 - _ASTRAY) * np.exp(_normal(total)) + _ASTRAY * prior
    return np.asarray(density / density.sum())


def _prior(most: int) -> _Doubles:
    """Even up to the longest planted gap, then falling; no gap at all is half as likely as any: someone asked."""
    count = np.arange(most + 1.0)
    chance = np.exp(-np.maximum(count - _PLANTED, 0) / _RARE)
    chance[0] = 0.5
    return np.asarray(chance / chance.sum())


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


def _loudness(tables: list[_Doubles], planted: _Planted, prior: _Doubles) -> _Doubles:
    """The powers of the experts' likelihoods with a good log score on planted gaps, found one after the other."""
    rows = np.arange(len(planted.count))

    def score(power: _Doubles) -> float:
        total = sum((p * t for p, t in zip(power, tables)), np.log(prior)[None])
        reached = float(np.average(_normal(total)[rows, planted.count], weights=planted.weight))
        return reached - _MODEST * float(np.square(power - 0.5).sum())

    chosen = np.full(len(tables), 0.35)
    best, better = score(chosen), True
    while better:
        better = False
        for k in range(len(tables)):
            for value in _LOUD:
                trial = chosen.copy()
                trial[k] = value
                reached = score(trial)
                if reached > best + 1e-9:
                    best, chosen, better = reached, trial, True
    return chosen


def _normal(table: _Doubles) -> _Doubles:
    """Log probabilities along the last axis."""
    top = table.max(axis=-1, keepdims=True)
    return np.asarray(table - top - np.log(np.exp(table - top).sum(axis=-1, keepdims=True)))
