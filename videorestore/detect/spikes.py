"""What is there in one frame only: dust, blotches, scratches and dropouts stand out of both neighbours in time.

The frame in question never takes part in the motion it is judged by: the neighbours are brought together from their
own flow. It is asked again only to acquit: what can be found in a neighbour is a thing, not damage. Spots that stand
out are then weighed one by one, see `verdict`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.detect._kernels import best_place, beyond
from videorestore.detect.sight import NOISY, SMOOTH, Moments, Sight, lit_like, median
from videorestore.detect.verdict import features, log_odds
from videorestore.motion.warp import inside, warp
from videorestore.spatial.membrane import blur

NEAR = 4
"""Frames on either side by which the spots of a frame are judged."""

_BASE = 14.0  # levels that a clean, calm picture never jumps by
_NOISE = 2.5  # in units of the noise
_UNREST = 3.0  # in units of how much the neighbours disagree around
_TEXTURE = 6.0  # in units of how much stands out around anyway
_RELIT = (
    0.15  # of the change of the light, which is not the same everywhere, that counts as such disagreement
)
_CAP = 40.0  # levels of disagreement that count
_WEAK = 0.4  # pixels beyond this share of the threshold belong to a spot
_PEAK = 0.9  # somewhere in the spot the threshold is (almost) reached
_EVIDENCE = 4.2  # thresholds that a spot exceeds in sum
_LOOSE = 0.55  # of what is asked of a spot that needs no second look
_SAME = 0.3  # a thing found elsewhere differs by less than this share of its contrast
_GROW = 0.45  # share of a spot's contrast that its edge pixels have
_RIM = 0.2  # and those of its soft rim
_FAR = 0.11  # of the longer side: how far things fly between two frames
_FLASH, _DARK = 1.6, 16.0  # change of the brightness, and the level below which it counts less, of a flash
_BIG = 30  # pixels from which a spot can be recognised elsewhere

_GOLDEN = (5**0.5 - 1) / 2
_CROSS = np.ones((3, 3), np.uint8)
Labels = NDArray[np.int32]
Places = NDArray[np.intp]
Ways = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    excess: FloatArray  # how far a pixel stands out of all that its neighbours in time show nearby
    unrest: FloatArray  # how much the neighbours disagree around
    expected: FloatArray  # the neighbours' mean


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Something that stands out, be it damage or not.

    Attributes
    ----------
    box : tuple of int
        x, y, width, height.
    area : int
    step : ndarray, shape (channels,)
        By how much it differs from what the frames around show there.
    """

    box: tuple[int, ...]
    area: int
    step: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A spot that is worth a second look; ``left`` and ``flew`` speak for damage until that is taken."""

    label: int
    box: tuple[int, ...]
    where: tuple[slice, slice]
    inside: Mask  # of the box
    step: FloatArray  # by which it differs, for each channel
    evidence: float
    left: float = 1.0
    flew: bool = False

    def asked(self, left: FloatArray, excess: FloatArray) -> _Candidate:
        """The same after the frame's own motion was asked how much of the excess is left."""
        stands = max(float(excess[self.where][self.inside].sum()), 1e-6)
        return replace(self, left=float(left[self.where][self.inside].sum()) / stands)

    def log_odds(self, off: FloatArray, unrest: FloatArray, noise_sd: float, inner: bool) -> float:
        """See `verdict.log_odds`."""
        return log_odds(self.features(off, unrest, noise_sd), inner)

    def features(self, off: FloatArray, unrest: FloatArray, noise_sd: float) -> tuple[float, ...]:
        """See `verdict.features`."""
        off, unrest = (field[self.where][self.inside] for field in (off, unrest))
        return features(off, unrest, self.evidence, self.left, self.flew, noise_sd)


@dataclass(frozen=True, slots=True, eq=False)
class Spikes:
    """What stands out of a frame.

    Attributes
    ----------
    odds : ndarray, shape (height, width)
        Log odds of damage, -inf where there is none.
    seen : list of Seen
        All that stands out, damage or not.
    moments : Moments or None
        The frames by which it was judged.
    ways : tuple of ndarray, shape (height, width, 2)
        Where pixels are in the two of them whose motion was used.
    """

    odds: FloatArray
    seen: list[Seen]
    moments: Moments | None = None
    ways: Ways | tuple[()] = ()


def find_spikes(sight: Sight, k: int, least: float = 0.0) -> Spikes:
    """What stands out of frame k, with log odds where they reach ``least``; nothing with fewer than 3 frames."""
    frames, noise_sd = sight.frames, sight.noise_sd
    found = np.full(frames.shape[1:3], -np.inf, np.float32)
    moments = sight.moments(k, NEAR)
    if moments is None:
        return Spikes(found, [])
    frame = frames[k]
    if any(_flash(frame, frames[j]) for j in moments.beside):
        return Spikes(found, [])
    ways = sight.ways(moments)
    evidence = _stands_out(frames, k, moments, ways)
    usual = cv2.blur(np.minimum(evidence.excess, 4), (31, 31))
    threshold = _BASE + _NOISE * noise_sd + _UNREST * evidence.unrest + _TEXTURE * usual
    share = evidence.excess / (_LOOSE * threshold)
    _, labels, boxes, _ = cv2.connectedComponentsWithStats((share > _WEAK).astype(np.uint8), connectivity=8)
    off = frame - evidence.expected
    spots = _candidates(share, labels, boxes, off)
    seen = [Seen(spot.box, int(spot.inside.sum()), spot.step) for spot in spots]
    inner = len(moments.beside) > 1

    def hopeful(spots: list[_Candidate]) -> list[_Candidate]:
        """Those that reach the odds so far: a further look can only acquit."""
        return [s for s in spots if s.log_odds(off, evidence.unrest, noise_sd, inner) > least]

    # Each look costs more than the one before, and is taken of what is left.
    spots = hopeful(spots)
    if spots:
        left = _unexplained(sight, k, moments.beside, evidence.excess)
        spots = hopeful([s.asked(left, evidence.excess) for s in spots])
    others = [frames[j] for j in moments.beside]
    for spot in hopeful([replace(s, flew=_flew(frame, others, labels, s)) for s in spots]):
        odds = spot.log_odds(off, evidence.unrest, noise_sd, inner)
        spread = np.zeros(frame.shape[:2], np.bool_)
        _grow(spread, off, evidence.unrest, labels, spot, sight.smoothed)
        found[spread] = np.maximum(found[spread], np.float32(odds))
    return Spikes(found, seen, moments, ways)


def _flash(frame: FloatArray, other: FloatArray) -> bool:
    """Whether the light is so different that nothing can be compared."""
    here, there = (float(median(f).mean()) + _DARK for f in (frame, other))
    return max(here, there) > _FLASH * min(here, there)


def _stands_out(frames: FloatArray, k: int, moments: Moments, ways: Ways) -> _Evidence:
    frame = frames[k]
    shown = [warp(frames[j], way, method="linear") for j, way in zip((moments.one, moments.two), ways)]
    before, after = (lit_like(frame, side) for side in shown)
    relit = max(
        float(np.abs(new[::4, ::4] - old[::4, ::4]).mean()) for new, old in zip((before, after), shown)
    )
    excess = _beyond(frame, np.minimum(before, after), np.maximum(before, after))
    apart = np.empty(frame.shape[:2], np.float32)
    beyond(before, after, after, apart)
    # Capped, or the dust of the neighbours would hide that of the frame.
    unrest = cv2.blur(np.minimum(apart, _CAP), (15, 15)) + np.float32(_RELIT * relit)
    if len(moments.beside) < 2:
        # Beyond the ends the motion is only assumed to go on.
        excess, unrest = 0.6 * excess, 1.5 * unrest
    middle = np.asarray((before + after) / 2, np.float32)
    return _Evidence(excess, np.asarray(unrest, np.float32), middle)


def _candidates(
    share: FloatArray, labels: Labels, boxes: NDArray[np.int32], off: FloatArray
) -> list[_Candidate]:
    """The spots that are worth a second look: enough evidence in sum, and a peak."""
    total = np.bincount(labels.ravel(), share.ravel(), len(boxes))
    found = []
    for label in np.nonzero(total >= _EVIDENCE)[0]:
        if label == 0:
            continue
        box = tuple(int(value) for value in boxes[label][:4])
        where = _around(box, share.shape, 0)
        inside = labels[where] == label
        values = share[where][inside]
        if float(values.max()) >= _PEAK:
            step = np.asarray(off[where][inside].mean(axis=0))
            found.append(_Candidate(int(label), box, where, inside, step, _LOOSE * float(values.sum())))
    return found


def _beyond(frame: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """By how much a frame leaves a range of values, those of the next pixels included."""
    low, high = cv2.erode(low, _CROSS).reshape(low.shape), cv2.dilate(high, _CROSS).reshape(high.shape)
    excess = np.empty(frame.shape[:2], np.float32)
    beyond(frame, low, high, excess)
    return excess


def _unexplained(sight: Sight, k: int, others: tuple[int, ...], excess: FloatArray) -> FloatArray:
    """What is left of the excess after looking at the neighbours through the frame's own flow."""
    left, frame = excess, sight.frames[k]
    for j in others:
        way = sight.flow(k, j)
        seen = lit_like(frame, warp(sight.frames[j], way, method="linear"))
        left = np.minimum(left, _beyond(frame, seen, seen))
        # What a weaving film shows at its border may be outside of the other frame.
        left = np.where(inside(way), left, np.float32(0))
    return np.asarray(left, np.float32)


def _flew(frame: FloatArray, others: list[FloatArray], labels: Labels, spot: _Candidate) -> bool:
    """Is the spot a thing that stands elsewhere in a neighbour, against its surroundings as here?"""
    _, _, width, height = spot.box
    area = int(spot.inside.sum())
    if area < 6 or max(width, height) >= 64:
        return False
    far = max(8, round(_FAR * max(frame.shape[:2])))
    far = far if area >= _BIG else far // 3
    rows, columns = _around(spot.box, frame.shape, 4)
    core = (labels[rows, columns] == spot.label).astype(np.uint8)
    ring = (cv2.dilate(core, np.ones((7, 7), np.uint8)) - cv2.dilate(core, _CROSS)).astype(np.bool_)
    inner = core.astype(np.bool_)
    if not ring.any():
        return False
    patch = frame[rows, columns]
    here = patch[inner].mean(axis=0) - patch[ring].mean(axis=0)
    places = np.argwhere(inner)
    # In an order that jumps to and fro, so that what differs is soon seen to.
    places = places[np.argsort(np.arange(len(places)) * _GOLDEN % 1)]
    values = np.ascontiguousarray(patch[places[:, 0], places[:, 1]], np.float32)
    most = float((_SAME * np.abs(spot.step).max()) ** 2 * values.size)

    def stands_in(other: FloatArray) -> bool:
        search = np.ascontiguousarray(other[_around(spot.box, frame.shape, 4 + far)], np.float32)
        span = search.shape[0] - patch.shape[0] + 1, search.shape[1] - patch.shape[1] + 1
        top, side = best_place(values, places, search, *span, most)
        if top < 0:
            return False
        found = search[top : top + patch.shape[0], side : side + patch.shape[1]]
        there = found[inner].mean(axis=0) - found[ring].mean(axis=0)
        return float((here * there).sum() / max(float((here * here).sum()), 1e-6)) > 0.6

    # A small spot is easily found somewhere by chance: both neighbours must show it.
    return (any if area >= _BIG else all)(stands_in(other) for other in others)


def _grow(
    damage: Mask, step: FloatArray, unrest: FloatArray, labels: Labels, spot: _Candidate, smoothed: bool
) -> None:
    """Mark the spot and the pixels around it that share its step in brightness."""
    rows, columns = _around(spot.box, step.shape, 3)
    channel = int(np.abs(spot.step).argmax())
    height = step[rows, columns, channel]
    sign, contrast = np.sign(spot.step[channel]), abs(float(spot.step[channel]))
    seed = labels[rows, columns] == spot.label
    # Smoothing has made the spot wider already.
    like = height * sign > max((1.4 if smoothed else 1.0) * _GROW * contrast, 4.0)
    like &= np.abs(height) > 0.7 * unrest[rows, columns]
    _, parts = cv2.connectedComponents((like | seed).astype(np.uint8), connectivity=8)
    grown = np.isin(parts, np.unique(parts[seed])).astype(np.uint8)
    if smoothed:
        damage[rows, columns] |= grown > 0
        return
    # The soft rim of a spot shows as a ghost if it stays.
    faint = height * sign > max(_RIM * contrast, 3.0)
    damage[rows, columns] |= (grown > 0) | ((cv2.dilate(grown, _CROSS) > 0) & faint)


def enlarged(sight: Sight, k: int, spikes: Spikes, rows: Places, columns: Places) -> tuple[Places, Places]:
    """The pixels of the whole frame k that belong to a spot which was found in the reduced one."""
    size = sight.factor
    if size == 1:
        return rows, columns
    box = (int(columns.min()), int(rows.min()), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)
    where = _around(box, sight.frames.shape[1:3], 4)
    spot = np.zeros(sight.frames.shape[1:3], np.uint8)
    spot[rows, columns] = 1
    limits = sight.whole.shape[1:3]
    tall, wide = (slice(s.start * size, min(s.stop * size, end)) for s, end in zip(where, limits))
    shape = (tall.stop - tall.start, wide.stop - wide.start)
    seed = np.kron(spot[where], np.ones((size, size), np.uint8))[: shape[0], : shape[1]]
    assert spikes.moments is not None
    sides = [
        _seen_through(
            sight.whole, j, size * np.kron(way[where], np.ones((size, size, 1), np.float32)), tall, wide
        )
        for j, way in zip((spikes.moments.one, spikes.moments.two), spikes.ways)
    ]
    off = sight.whole[k : k + 1, tall, wide][0] - (sides[0] + sides[1]) / 2
    off = blur(off, SMOOTH) if sight.whole_noise_sd > NOISY else off
    inner = seed > 0
    off = off - np.median(off[~inner], axis=0) if (~inner).any() else off
    # Spots that touch may differ either way.
    height = np.abs(off).max(axis=2)
    contrast = float(np.quantile(height[inner], 0.75))
    near = cv2.dilate(seed, np.ones((2 * size + 1, 2 * size + 1), np.uint8)) > 0
    like = near & (height > max(_GROW * contrast, 4.0))
    faint = near & (height > max(_RIM * contrast, 3.0))
    like |= (cv2.dilate(like.astype(np.uint8), _CROSS) > 0) & faint
    found = np.nonzero(like if like.any() else inner)
    return found[0] + tall.start, found[1] + wide.start


def _seen_through(frames: Any, j: int, way: FloatArray, rows: slice, columns: slice) -> FloatArray:
    """A part of the time in question as frame j shows it, read through the ``way`` there."""
    way = way[: rows.stop - rows.start, : columns.stop - columns.start]
    far = int(np.abs(way).max()) + 2
    top, left = max(0, rows.start - far), max(0, columns.start - far)
    part = frames[j : j + 1, top : rows.stop + far, left : columns.stop + far][0]
    return warp(part, way + np.array([columns.start - left, rows.start - top], np.float32), method="linear")


def _around(box: tuple[int, ...], shape: tuple[int, ...], margin: int) -> tuple[slice, slice]:
    x, y, width, height = box
    return (
        slice(max(0, y - margin), min(shape[0], y + height + margin)),
        slice(max(0, x - margin), min(shape[1], x + width + margin)),
    )
