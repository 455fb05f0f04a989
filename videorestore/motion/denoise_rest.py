"""What rests is seen in every frame: a recursive posterior over all frames at hand, forward and backward.

The state is a mean and a mass (noise variance over its own variance) for every pixel. From frame to frame the light may
change: the mean follows by a local line. Where it then does not fit the mean along motion, the misfit q takes mass away,
mass' = mass / (1 + mass q / v); nothing is warped. A frame then has three independent witnesses, weighed by their
variances: its mean along motion, the state of the frames before those that are in it, and the state of those behind.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.compiled import in_threads
from videorestore.motion._kernels_rest import (
    expect,
    join,
    largest_excess,
    light_sums,
    lose,
    mean_square,
    relight,
    share_below,
    take_in,
)
from videorestore.motion.denoise_along import Along

_CELL, _LIGHT = 2, 15
"""Blocks of the cells in which sums for the light are taken, and cells over which it changes along one line: so many
that the line has hardly any noise of its own."""
_STEADY = np.float32(4.0)
"""Weight of a line without change, in units of the variance of the two means that are compared."""
_SCALES = ((1, 3, 1.1), (3, 5, 1.4))
"""Misfit is sought in single pixels and in means over so many, within boxes of so many, beyond so many times what noise
brings about: a box of 147 values varies by 12 %, one of 15 independent means by 37 %."""
_SLIGHT = 0.1
"""A place rests in the light of a frame where its misfit is less than this share of what noise brings about."""
_SEVERITY, _FEWEST = 4.0, 0.05
"""What a box shows of a misfit counts so many times, as it is seldom spread evenly over it, and more the less of the
picture rests, which is the prior for every place: over the square of the share, which counts as no less than this."""

State = tuple[FloatArray, FloatArray]
"""Mean ``(c, h, w)`` and mass ``(h / 2, w / 2)``."""


def with_rest(
    parts: list[Along], noisy: FloatArray, level: FloatArray, growth: FloatArray, distance: int
) -> list[Along]:
    """The means along motion, joined by what all other frames say of places that rest; the means are changed.

    Parameters
    ----------
    parts : list of Along
        Of successive frames.
    noisy : ndarray, shape (n, c, h, w)
        The same frames.
    level : ndarray, shape (n, h / 2, w / 2)
        Variance of their noise.
    growth : ndarray, shape (n,)
        The same over the usual variance: 1 where the noise does not drift.
    distance : int
        Frames on each side that are in a mean along motion already.
    """
    n = len(parts)
    if n <= distance + 1:
        return parts
    # Masses and shares of frames that differ in their noise: all in units of the usual one, and back.
    usual = [replace(part, left=part.left * g) for part, g in zip(parts, growth)]
    level = level / growth[:, None, None]

    def told(order: Iterable[int]) -> list[State | None]:
        return _carried(usual, noisy, level, growth, order, distance)

    before, behind = in_threads(told, (range(n), range(n - 1, -1, -1)))
    joined = [
        _joined(part, [state for state in (before[t], behind[n - 1 - t]) if state is not None])
        for t, part in enumerate(usual)
    ]
    return [replace(part, left=part.left / g) for part, g in zip(joined, growth)]


def _carried(
    parts: list[Along],
    noisy: FloatArray,
    level: FloatArray,
    growth: FloatArray,
    order: Iterable[int],
    distance: int,
) -> list[State | None]:
    """For every frame, in this order, the mean and mass that earlier ones have for it, misfit taken off."""
    states: deque[State] = deque(maxlen=distance + 1)
    given: list[State | None] = []
    for t in order:
        part, v = parts[t], level[t]
        if len(states) == distance + 1:
            given.append(_fitted(states[0], part, v))
        else:
            given.append(None)
        # After a codec a frame repeats a part of the noise of its neighbours: only the rest of it is news.
        news = np.float32(1) - part.common if part.common is not None else np.ones_like(v)
        news /= growth[t]
        if not states:
            states.append((noisy[t].copy(), np.maximum(news, np.float32(1e-3))))
            continue
        mean, mass = _fitted(states[-1], part, v, min(len(states), distance), distance)
        take_in(noisy[t], news, mean, mass)
        states.append((mean, mass))
    return given


def _fitted(state: State, part: Along, level: FloatArray, shared: int = 0, distance: int = 1) -> State:
    """The state in the light of another frame, with the mass that its fit to the frame's mean leaves it.

    ``shared`` frames are in both; the mean along motion has so many as ``distance`` on each side.
    """
    mean, mass = state
    noise, common, expected, square, misfit = (np.empty_like(level) for _ in range(5))
    expect(level, mass, part.left, part.own, shared, distance, noise, common, expected)
    lit, difference = np.empty_like(mean), np.empty((len(mean), *level.shape), np.float32)
    lines = _light(mean, part.mean, expected, noise, common)
    relight(mean, part.mean, lines, 2 * _CELL, lit, difference, square)
    misfit[:] = 0
    for smooth, box, chance in _SCALES:
        pixels = 1
        if smooth > 1:
            even = np.stack(
                [cv2.blur(d, (smooth, smooth), borderType=cv2.BORDER_REFLECT) for d in difference]
            )
            mean_square(even, square)
            pixels = 4 * smooth * smooth
        around = cv2.blur(square, (box, box), borderType=cv2.BORDER_REFLECT)
        largest_excess(around, expected, chance / pixels, misfit)
    resting = max(share_below(misfit, expected, _SLIGHT), _FEWEST)
    lighter = np.empty_like(mass)
    lose(mass, misfit, level, _SEVERITY / resting**2, lighter)
    return lit, lighter


def _light(
    mean: FloatArray, wanted: FloatArray, hold: FloatArray, noise: FloatArray, common: FloatArray
) -> FloatArray:
    """Slopes and offsets ``(2 c, rows, columns)`` of the lines that bring ``mean`` to the light of ``wanted``, cell by cell.

    ``hold`` (h / 2, w / 2) keeps the slope at 1 where the picture is even; ``noise`` is the variance of the mean's noise, and
    ``common`` what of it is in both: they are no part of the picture.
    """
    c = len(mean)
    h, w = hold.shape
    sums = np.empty((4 * c + 1, -(-h // _CELL), -(-w // _CELL)), np.float32)
    light_sums(mean, wanted, hold, noise, common, _CELL, sums)
    sums = np.stack([cv2.blur(s, (_LIGHT, _LIGHT), borderType=cv2.BORDER_REFLECT) for s in sums])
    kept = _STEADY * sums[4 * c :]
    m, target, across, own = (sums[k * c : (k + 1) * c] for k in range(4))
    slope = (across - m * target + kept) / (np.maximum(own - m * m, np.float32(0)) + kept)
    slope = np.maximum(slope, np.float32(0))
    return np.concatenate([slope, target - slope * m])


def _joined(part: Along, states: list[State]) -> Along:
    """A mean along motion and independent states, weighed by their variances."""
    if not states:
        return part
    own = np.float32(1) / part.left
    total = own.copy()
    mean = part.mean
    for other, mass in states:
        total += mass
        join(total, other, mass, mean)
    share = own / total
    return replace(
        part,
        mean=mean,
        left=np.asarray(1 / total, np.float32),
        trust=np.asarray(1 - (1 - part.trust) * share, np.float32),
        own=np.asarray(part.own * share, np.float32),
    )
