"""Holes of which no frame shows anything: a smooth fill from the rim, by what would have served beside the hole.

Five linear guesses at every missing pixel: the means, by nearness, of what it meets above and below, to the left and
right, and in all four directions, which continue upright and level edges; and ordinary kriging from the rim with two
variograms, which continues what is irregular. Holes of the same shape beside the real one, where the truth is known,
tell how to mix them and how far off the mixture is, in units of what a hole itself shows of its difficulty: how lively
its rim is and how much the guesses disagree.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask

_MOST_KNOWN = 96, 8.0, 320  # known pixels that kriging learns from: at least, by the side of a hole, at most
_RIM = 2  # of these most lie so near to the hole
_RING = 8  # and all within this distance
_VARIOGRAMS = (
    (0.5, 0.1),
    (1.0, 0.2),
)  # power of the distance; nugget in units of the value at the ring's width
_EQUAL = 0.2  # share of the mean squared error by which weights are drawn towards equal ones
_GAP = 2  # pixels between the hole and the one beside it
_CHUNK = 1 << 14  # pixels that are kriged at once
_FLAT = 4.0, 1.0  # variance of a rim, and of guesses, in levels, that is as good as none
_USUAL = 900.0  # variance in levels where there is no room for a hole beside the hole

Doubles = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """A hole without its place: what depends on its outline alone.

    Attributes
    ----------
    inside : (m, 2) int64
        Missing pixels, from the corner of the box around them.
    rim : (n, 2) int64
        Pixels around to learn from, known or not.
    """

    inside: Places
    rim: Places


def outline(hole: Mask) -> tuple[Shape, Places]:
    """The shape of a hole ``(h, w)``, and its corner ``(2,)``."""
    inside = np.argwhere(hole)
    corner = inside.min(axis=0)
    height, width = inside.max(axis=0) - corner + 1
    around = np.zeros((height + 2 * _RING, width + 2 * _RING), np.uint8)
    at = inside - corner + _RING
    around[at[:, 0], at[:, 1]] = 1
    parts = []
    taken = around.copy()
    least, by_side, most = _MOST_KNOWN
    count = np.clip(by_side * np.sqrt(len(inside)), least, most)
    for reach, share in ((_RIM, 0.7), (_RING, 0.3)):
        near = cv2.dilate(around, np.ones((2 * reach + 1,) * 2, np.uint8))
        found = np.argwhere((near > 0) & (taken == 0))
        parts.append(found[:: max(1, int(np.ceil(len(found) / (share * count))))])
        taken = near
    return Shape(inside=inside - corner, rim=np.concatenate(parts) - _RING), corner


def blind_fill(frame: FloatArray, known: Mask, hole: Mask) -> tuple[FloatArray, FloatArray]:
    """Values ``(m, c)`` and variance ``(m, c)`` of a hole, its pixels row by row.

    Parameters
    ----------
    frame : (h, w, c) float32
    known : (h, w) bool
        What may be read.
    hole : (h, w) bool
        Connected and unknown.
    """
    rows, columns = np.nonzero(hole)
    far = 2 * (_GAP + _RING)
    around = tuple(
        slice(max(0, int(at.min()) - int(np.ptp(at)) - far), int(at.max()) + int(np.ptp(at)) + far + 1)
        for at in (rows, columns)
    )
    frame, known, hole = frame[around], known[around], hole[around]
    shape, corner = outline(hole)
    guesses = _guesses(frame, known, shape, corner)
    height, width = shape.inside.max(axis=0) + 1
    errors, places, rims = [], [], []
    for step in ((height + _GAP, 0), (-height - _GAP, 0), (0, width + _GAP), (0, -width - _GAP)):
        place = corner + np.array(step)
        at = shape.inside + place
        if (at < 0).any() or (at >= known.shape).any():
            continue
        true = known[at[:, 0], at[:, 1]]
        if true.mean() < 0.5:
            continue
        hidden = known.copy()
        hidden[at[:, 0], at[:, 1]] = False
        # The real hole is as blind for the one beside it as the other way round.
        made = _guesses(frame, hidden, shape, place)
        errors.append(made[:, true] - frame[at[true, 0], at[true, 1]])
        places.append(np.nonzero(true)[0])
        rims.append(_liveliness(frame, hidden, shape, place))
    if not errors:
        mean = guesses.mean(axis=0)
        return mean.astype(np.float32), np.full(mean.shape, _USUAL, np.float32)
    off = np.concatenate(errors, axis=1)
    shares = mixture(off.reshape(len(guesses), -1))
    mean = np.tensordot(shares, guesses, axes=1)
    missed = [
        np.square(np.tensordot(shares, error, axes=1)).mean(axis=1) / _difficulty(error, shares, rim)
        for error, rim in zip(errors, rims)
    ]
    variance = _by_depth(_depth(shape), np.concatenate(places), np.concatenate(missed))
    variance = variance * _difficulty(guesses, shares, _liveliness(frame, known, shape, corner)) + 1.0
    return mean.astype(np.float32), np.repeat(variance[:, None], mean.shape[1], axis=1).astype(np.float32)


def mixture(errors: Doubles) -> Doubles:
    """Weights ``(k,)`` of k guesses, none negative, 1 in all, of least error, given errors ``(k, m)`` seen elsewhere."""
    gram = errors @ errors.T / max(errors.shape[1], 1)
    gram[np.diag_indices(len(gram))] += _EQUAL * np.trace(gram) / len(gram) + 1e-6
    left = list(range(len(gram)))
    while True:
        weights = np.linalg.solve(gram[np.ix_(left, left)], np.ones(len(left)))
        if (weights > 0).all():
            break
        left = [k for k, weight in zip(left, weights) if weight > 0]
    result = np.zeros(len(gram))
    result[left] = weights / weights.sum()
    return result


def _liveliness(frame: FloatArray, known: Mask, shape: Shape, corner: Places) -> float:
    """Variance of what is known around a hole of this shape at a place."""
    at = shape.rim + corner
    at = at[((at >= 0) & (at < known.shape)).all(axis=1)]
    at = at[known[at[:, 0], at[:, 1]]]
    return float(frame[at[:, 0], at[:, 1]].var(axis=0, dtype=np.float64).mean()) if len(at) else 0.0


def _difficulty(guesses: Doubles, shares: Doubles, rim: float) -> Doubles:
    """Squared error ``(m,)`` to expect, up to a factor, of a mixture of guesses ``(k, m, c)``.

    The geometric mean of the variance along the rim and of that of the guesses, half of the latter that of the pixel
    and half that of the whole hole. Guesses may be given by their errors.
    """
    apart = np.square(guesses - np.tensordot(shares, guesses, axes=1))
    spread = np.tensordot(shares, apart, axes=1).mean(axis=1)
    return np.asarray(np.sqrt((rim + _FLAT[0]) * (spread + spread.mean() + _FLAT[1])))


def _depth(shape: Shape) -> NDArray[np.int64]:
    """Distance ``(m,)`` of every missing pixel from the rim, in whole pixels."""
    height, width = shape.inside.max(axis=0) + 3
    hole = np.zeros((height, width), np.uint8)
    hole[shape.inside[:, 0] + 1, shape.inside[:, 1] + 1] = 1
    far = cv2.distanceTransform(hole, cv2.DIST_L2, 5)
    return np.asarray(np.rint(far[shape.inside[:, 0] + 1, shape.inside[:, 1] + 1]), np.int64)


def _by_depth(depth: NDArray[np.int64], places: NDArray[np.int64], squares: Doubles) -> Doubles:
    """Variance ``(m,)`` of every missing pixel: the mean square seen at its depth beside the hole, or nearer.

    ``squares`` (k,) were seen at the pixels with the numbers ``places`` (k,).
    """
    count = np.bincount(depth[places], minlength=depth.max() + 1)
    total = np.bincount(depth[places], weights=squares, minlength=depth.max() + 1)
    # Few pixels are deep: a depth that was hardly seen has the mean of all, and none is surer than what is nearer.
    usual = 16.0
    means = (total + usual * squares.mean()) / (count + usual)
    return np.asarray(np.maximum.accumulate(means)[depth])


def _guesses(frame: FloatArray, known: Mask, shape: Shape, corner: Places) -> Doubles:
    """Guesses ``(5, m, c)`` at a hole of this shape at a place."""
    at = shape.rim + corner
    inside = ((at >= 0) & (at < known.shape)).all(axis=1)
    at = at[inside]
    at = at[known[at[:, 0], at[:, 1]]]
    made = [*_rays(frame, known, shape.inside + corner)]
    values = frame[at[:, 0], at[:, 1]].astype(np.float64)
    for power, nugget in _VARIOGRAMS:
        made.append(
            _kriged(at, values, shape.inside + corner, power, nugget) if len(at) > 3 else made[2].copy()
        )
    return np.stack(made)


def _kriged(at: Places, values: Doubles, targets: Places, power: float, nugget: float) -> Doubles:
    """Ordinary kriging ``(m, c)`` with the variogram ``distance ** power``."""
    count = len(at)
    system = np.ones((count + 1, count + 1))
    system[count, count] = 0.0
    system[:count, :count] = -(_distances(at, at) ** power)
    system[np.arange(count), np.arange(count)] += nugget * _RING**power
    # Dual form: the values are solved for once, so that a target costs one row of distances.
    right = np.concatenate([values, np.zeros((1, values.shape[1]))])
    dual = np.linalg.solve(system, right)
    made = np.empty((len(targets), values.shape[1]))
    for first in range(0, len(targets), _CHUNK):
        part = slice(first, first + _CHUNK)
        made[part] = -(_distances(targets[part], at) ** power) @ dual[:count] + dual[count]
    return made


def _distances(first: Places, second: Places) -> Doubles:
    apart = first[:, None, :].astype(np.float32) - second[None, :, :].astype(np.float32)
    return np.asarray(np.sqrt(np.square(apart).sum(axis=2)), np.float64)


def _rays(frame: FloatArray, known: Mask, targets: Places) -> Doubles:
    """Means ``(3, m, c)`` of the first known pixels above and below, left and right, and all four, by nearness."""
    rows, columns = targets[:, 0], targets[:, 1]
    total = np.zeros((3, len(targets), frame.shape[2]))
    weight = np.zeros((3, len(targets), 1))
    seen = known.astype(np.float32)
    held = np.where(known[..., None], frame, np.float32(0))
    for axis in (0, 1):
        # A little along the rim, so that one noisy pixel does not draw a line.
        box = (3, 1) if axis == 0 else (1, 3)
        share = cv2.blur(seen, box, borderType=cv2.BORDER_REFLECT)
        smooth = cv2.blur(held, box, borderType=cv2.BORDER_REFLECT).reshape(frame.shape)
        smooth = smooth / np.maximum(share, np.float32(1e-3))[..., None]
        length = known.shape[axis]
        place = np.arange(length).reshape((-1, 1) if axis == 0 else (1, -1))
        before = np.maximum.accumulate(np.where(known, place, -1), axis=axis)
        turned = np.flip(np.where(known, place, length), axis=axis)
        after = np.flip(np.minimum.accumulate(turned, axis=axis), axis=axis)
        for met in (before[rows, columns], after[rows, columns]):
            there = (met >= 0) & (met < length)
            at = np.clip(met, 0, length - 1)
            value = smooth[at, columns] if axis == 0 else smooth[rows, at]
            near = np.where(there, 1.0 / np.maximum(np.abs(targets[:, axis] - met), 1), 0.0)[:, None]
            total[axis] += near * value
            weight[axis] += near
    total[2], weight[2] = total[0] + total[1], weight[0] + weight[1]
    overall = frame[known].mean(axis=0, dtype=np.float64) if known.any() else np.float64(128.0)
    means = total / np.maximum(weight, 1e-9)
    # Where a direction leads to the border of the picture, the others; where all do, the mean of all that is known.
    means[2] = np.where(weight[2] > 0, means[2], overall)
    return np.where(weight > 0, means, means[2])
