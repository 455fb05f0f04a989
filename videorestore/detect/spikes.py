"""What is there in one frame only: dust, blotches, scratches and dropouts stand out of both neighbours in time.

The frame in question never takes part in the motion it is judged by: the neighbours are brought together from their
own flow. It is asked again only to acquit: what can be found in a neighbour is a thing, not damage. Spots that stand
out are then weighed one by one, see `verdict`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.detect.verdict import Forecast, forecast, log_odds
from videorestore.motion.flow import luma, medium_flow
from videorestore.motion.warp import inside, warp
from videorestore.spatial.membrane import blur

_BASE = 14.0  # levels that a clean, calm picture never jumps by
_NOISE = 2.5  # in units of the noise
_UNREST = 3.0  # in units of how much the neighbours disagree around
_TEXTURE = 6.0  # in units of how much stands out around anyway
_CAP = 40.0  # levels of disagreement that count
_WEAK = 0.4  # pixels beyond this share of the threshold belong to a spot
_PEAK = 0.9  # somewhere in the spot the threshold is (almost) reached
_EVIDENCE = 4.2  # thresholds that a spot exceeds in sum
_LOOSE = 0.55  # of what is asked of a spot that needs no second look
_SAME = 0.3  # a thing found elsewhere differs by less than this share of its contrast
_GROW = 0.45  # share of a spot's contrast that its edge pixels have
_RIM = 0.2  # and those of its soft rim
_FAR = 0.11  # of the longer side: how far things fly between two frames
_NOISY = 4.0  # from this noise on the frames are smoothed first
_SMOOTH, _LEFT = 0.8, 0.36  # by this sigma, which leaves so much of white noise
_LIGHT, _WIDE = 12.0, 20.0  # levels by which the light may differ over areas of this sigma
_FLASH, _DARK = 1.6, 16.0  # change of the brightness, and the level below which it counts less, of a flash
_EVEN = 0.04  # relative contrast that needs no correction
_MARGIN = 2.0  # log odds by which a forecast may raise a spot above what the neighbours' mean says
_BIG = 30  # pixels from which a spot can be recognised elsewhere

_CROSS = np.ones((3, 3), np.uint8)
Labels = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    excess: FloatArray  # how far a pixel stands out of all that its neighbours in time show nearby
    unrest: FloatArray  # how much the neighbours disagree around
    expected: FloatArray  # the neighbours' mean


@dataclass(frozen=True, slots=True)
class _Moments:
    one: int  # frames whose motion is used, earlier first
    two: int
    t: float  # the time in question: 0 at the first, 1 at the second
    beside: tuple[int, ...]  # those of them next to the frame in question
    around: tuple[int, ...] = ()  # up to two on each side, earlier first, where there are both


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

    def judged(
        self,
        frame: FloatArray,
        others: list[FloatArray],
        labels: Labels,
        left: FloatArray,
        excess: FloatArray,
    ) -> _Candidate:
        """The same after the frame's own motion and the neighbours were asked."""
        stands = max(float(excess[self.where][self.inside].sum()), 1e-6)
        flew = _flew(frame, others, labels, self.label, self.box, float(np.abs(self.step).max()))
        return replace(self, left=float(left[self.where][self.inside].sum()) / stands, flew=flew)

    def log_odds(self, miss: FloatArray, sd: FloatArray, noise_sd: float, inner: bool) -> float:
        """See `verdict.log_odds`."""
        where, inside = self.where, self.inside
        return log_odds(miss[where], sd[where], inside, self.evidence, self.left, self.flew, noise_sd, inner)


def find_spikes(
    frames: FloatArray, k: int, noise_sd: float, least: float = 0.0, steps: Sequence[float] | None = None
) -> tuple[FloatArray, list[Seen]]:
    """Log odds ``(height, width)`` of damage in frame k of ``(n, height, width, channels)``, and all that stands out.

    -inf where there is none, or where its log odds are below ``least``; nothing with fewer than 3 frames.
    ``steps`` are the `changes` of these frames, where they are known already.
    """
    found = np.full(frames.shape[1:3], -np.inf, np.float32)
    moments = _moments(changes(frames) if steps is None else steps, k)
    if moments is None:
        return found, []
    smoothed = noise_sd > _NOISY
    if smoothed:
        # Spots are wider than grains.
        frames = np.stack([blur(frame, _SMOOTH) for frame in frames])
        noise_sd *= _LEFT
    frame = np.asarray(frames[k], np.float32)
    if any(_flash(frame, frames[j]) for j in moments.beside):
        return found, []
    evidence = _stands_out(frames, k, moments)
    usual = cv2.blur(np.minimum(evidence.excess, 4), (31, 31))
    threshold = _BASE + _NOISE * noise_sd + _UNREST * evidence.unrest + _TEXTURE * usual
    share = evidence.excess / (_LOOSE * threshold)
    _, labels, boxes, _ = cv2.connectedComponentsWithStats((share > _WEAK).astype(np.uint8), connectivity=8)
    off = frame - evidence.expected
    spots = _candidates(share, labels, boxes, off)
    seen = [Seen(spot.box, int(spot.inside.sum()), spot.step) for spot in spots]
    inner = bool(moments.around)

    def hopeful(spots: list[_Candidate]) -> list[_Candidate]:
        """Those that reach the odds if the neighbours' mean is as good as a forecast without any doubt."""
        certain = np.zeros(frame.shape[:2], np.float32)
        return [s for s in spots if s.log_odds(off, certain, noise_sd, inner) > least - _MARGIN]

    spots = hopeful(spots)
    if not spots:
        return found, seen
    others = [frames[j] for j in moments.beside]
    left = _unexplained(frame, others, evidence.excess)
    spots = hopeful([s.judged(frame, others, labels, left, evidence.excess) for s in spots])
    if not spots:
        return found, seen
    expected = _expected(frames, moments, evidence)
    miss = frame - _lit_like(frame, expected.mean)
    for spot in spots:
        odds = spot.log_odds(miss, expected.sd, noise_sd, inner)
        if odds > least:
            spread = np.zeros(frame.shape[:2], np.bool_)
            _grow(spread, off, evidence.unrest, labels, spot.label, spot.box, spot.step, smoothed)
            found[spread] = np.maximum(found[spread], np.float32(odds))
    return found, seen


def _flash(frame: FloatArray, other: FloatArray) -> bool:
    """Whether the light is so different that nothing can be compared."""
    here, there = (float(np.median(f[::2, ::2])) + _DARK for f in (frame, other))
    return max(here, there) > _FLASH * min(here, there)


def _expected(frames: FloatArray, moments: _Moments, evidence: _Evidence) -> Forecast:
    if moments.around:
        return forecast(frames[list(moments.around)])
    return Forecast(evidence.expected, evidence.unrest, False)


def changes(frames: FloatArray) -> list[float]:
    """How much every frame ``(n, height, width, channels)`` differs from the one before, where it differs most."""
    return [_difference(a, b) for a, b in zip(frames[:-1], frames[1:])]


def _moments(steps: Sequence[float], k: int) -> _Moments | None:
    """The nearest frames on both sides of k that do not merely repeat it; None where there are too few.

    ``steps`` are the `changes` of the frames.
    """
    usual = float(np.median(steps)) if steps else 0.0
    fresh = [step > min(0.3 * usual, 4.0) or usual == 0 for step in steps]
    shown = [k]
    for j in range(k - 1, -1, -1):
        if fresh[j]:
            shown.insert(0, j)
    at = len(shown) - 1
    for j in range(k + 1, len(steps) + 1):
        if fresh[j - 1]:
            shown.append(j)
    if 0 < at < len(shown) - 1:
        one, two = shown[at - 1], shown[at + 1]
        before, after = shown[max(0, at - 2) : at], shown[at + 1 : at + 3]
        if len(before) != len(after):
            before, after = before[-1:], after[:1]
        return _Moments(one, two, 0.5, (one, two), (*before, *after))
    elif len(shown) < 3:
        return None
    elif at == 0:
        one, two, t, sides = shown[1], shown[2], -1.0, (shown[1],)
    else:
        one, two, t, sides = shown[at - 2], shown[at - 1], 2.0, (shown[at - 1],)
    return _Moments(one, two, t, sides)


def _difference(one: FloatArray, two: FloatArray) -> float:
    """Mean difference of the 5 % of 16 x 16 blocks that differ most."""
    image = np.abs(np.asarray(one, np.float32) - two).mean(axis=2)
    size = (max(1, image.shape[1] // 16), max(1, image.shape[0] // 16))
    blocks = np.sort(cv2.resize(image, size, interpolation=cv2.INTER_AREA).ravel())
    return float(blocks[-max(1, len(blocks) // 20) :].mean())


def _stands_out(frames: FloatArray, k: int, moments: _Moments) -> _Evidence:
    frame = np.asarray(frames[k], np.float32)
    before, after = (_lit_like(frame, side) for side in _brought_together(frames, moments))
    low = cv2.erode(np.minimum(before, after), _CROSS).reshape(before.shape)
    high = cv2.dilate(np.maximum(before, after), _CROSS).reshape(before.shape)
    excess = np.maximum(np.maximum(frame - high, low - frame), 0).max(axis=2)
    # Capped, or the dust of the neighbours would hide that of the frame.
    unrest = cv2.blur(np.minimum(np.abs(before - after).max(axis=2), _CAP), (15, 15))
    if len(moments.beside) < 2:
        # Beyond the ends the motion is only assumed to go on.
        excess, unrest = 0.6 * excess, 1.5 * unrest
    middle = np.asarray((before + after) / 2, np.float32)
    return _Evidence(excess, np.asarray(unrest, np.float32), middle)


def _brought_together(frames: FloatArray, moments: _Moments) -> tuple[FloatArray, FloatArray]:
    """The two frames as they look at the time in question."""
    one, two, t = frames[moments.one], frames[moments.two], np.float32(moments.t)
    ahead, back = medium_flow(luma(one), luma(two)), medium_flow(luma(two), luma(one))
    to_one, to_two = -t * ahead, -(1 - t) * back
    for _ in range(3):
        to_one = -t * warp(ahead, to_one, method="linear")
        to_two = -(1 - t) * warp(back, to_two, method="linear")
    return warp(one, to_one, method="linear"), warp(two, to_two, method="linear")


def _lit_like(frame: FloatArray, other: FloatArray) -> FloatArray:
    """The other frame in the light of this one: what differs over wide areas is flicker, not damage."""
    shift = _median(frame - other)
    gain = _gain(frame, other + shift)
    if abs(gain - 1) > _EVEN:
        middle = _median(other)
        other = middle + np.float32(gain) * (other - middle)
        shift = _median(frame - other)
    rest = np.clip(frame - other - shift, -_LIGHT, _LIGHT)
    return np.asarray(other + shift + _wide_blur(rest), np.float32)


def _median(image: FloatArray) -> FloatArray:
    """Of every channel, by every other pixel in both directions."""
    some = image[::2, ::2]
    return np.asarray(np.median(some.reshape(-1, some.shape[2]), axis=0), np.float32)


def _wide_blur(image: FloatArray) -> FloatArray:
    """Gauss of a sigma so wide that it is done on means of 4 x 4 pixels."""
    height, width, channels = image.shape
    size = (max(1, width // 4), max(1, height // 4))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA).reshape(*size[::-1], channels)
    large = cv2.resize(blur(small, _WIDE / 4), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(large, np.float32).reshape(image.shape)


def _gain(frame: FloatArray, other: FloatArray) -> float:
    """Contrast of a frame relative to the other one, by small averages."""
    size = (max(1, frame.shape[1] // 8), max(1, frame.shape[0] // 8))
    one, two = (cv2.resize(f.mean(axis=2), size, interpolation=cv2.INTER_AREA) for f in (frame, other))
    near = np.abs(one - two) < 3 * np.median(np.abs(one - two)) + 1
    one, two = one[near] - one[near].mean(), two[near] - two[near].mean()
    variance = float((two * two).mean()) if two.size else 0.0
    return float(np.clip(((one * two).mean() + 50) / (variance + 50), 0.7, 1.4)) if two.size else 1.0


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


def _unexplained(frame: FloatArray, others: list[FloatArray], excess: FloatArray) -> FloatArray:
    """What is left of the excess after looking at the neighbours through the frame's own flow."""
    left = excess
    own = luma(frame)
    for other in others:
        way = medium_flow(own, luma(other))
        seen = _lit_like(frame, warp(other, way, method="linear"))
        low = cv2.erode(seen, _CROSS).reshape(seen.shape)
        high = cv2.dilate(seen, _CROSS).reshape(seen.shape)
        left = np.minimum(left, np.maximum(np.maximum(frame - high, low - frame), 0).max(axis=2))
        # What a weaving film shows at its border may be outside of the other frame.
        left = np.where(inside(way), left, np.float32(0))
    return np.asarray(left, np.float32)


def _flew(
    frame: FloatArray,
    others: list[FloatArray],
    labels: Labels,
    label: int,
    box: tuple[int, ...],
    contrast: float,
) -> bool:
    """Is the spot a thing that stands elsewhere in a neighbour, against its surroundings as here?"""
    x, y, width, height = box
    area = int((labels[y : y + height, x : x + width] == label).sum())
    if area < 6 or max(width, height) >= 64:
        return False
    far = max(8, round(_FAR * max(frame.shape[:2])))
    far = far if area >= _BIG else far // 3
    rows, columns = _around(box, frame.shape, 4)
    core = (labels[rows, columns] == label).astype(np.uint8)
    ring = (cv2.dilate(core, np.ones((7, 7), np.uint8)) - cv2.dilate(core, _CROSS)).astype(np.bool_)
    inner = core.astype(np.bool_)
    if not ring.any():
        return False
    patch = np.ascontiguousarray(frame[rows, columns], np.float32)
    weight = np.ascontiguousarray(np.repeat(core[..., None], patch.shape[2], axis=2), np.float32)
    here = patch[inner].mean(axis=0) - patch[ring].mean(axis=0)
    verdicts = []
    for other in others:
        wide_rows, wide_columns = _around(box, frame.shape, 4 + far)
        search = np.ascontiguousarray(other[wide_rows, wide_columns], np.float32)
        misfit = cv2.matchTemplate(search, patch, cv2.TM_SQDIFF, mask=weight)
        top, side = divmod(int(misfit.argmin()), misfit.shape[1])
        found = search[top : top + patch.shape[0], side : side + patch.shape[1]]
        there = found[inner].mean(axis=0) - found[ring].mean(axis=0)
        alike = float((here * there).sum() / max(float((here * here).sum()), 1e-6))
        error = np.sqrt(max(float(misfit.min()), 0.0) / weight.sum())
        verdicts.append(error < _SAME * contrast and alike > 0.6)
    # A small spot is easily found somewhere by chance: both neighbours must show it.
    return any(verdicts) if area >= _BIG else all(verdicts)


def _grow(
    damage: Mask, step: FloatArray, unrest: FloatArray, labels: Labels, label: int, box: tuple[int, ...],
    mean: FloatArray, smoothed: bool,
) -> None:  # fmt: skip
    """Mark the spot and the pixels around it that share its step in brightness."""
    rows, columns = _around(box, step.shape, 3)
    channel = int(np.abs(mean).argmax())
    height = step[rows, columns, channel]
    contrast = abs(float(mean[channel]))
    seed = labels[rows, columns] == label
    # Smoothing has made the spot wider already.
    like = height * np.sign(mean[channel]) > max((1.4 if smoothed else 1.0) * _GROW * contrast, 4.0)
    like &= np.abs(height) > 0.7 * unrest[rows, columns]
    _, parts = cv2.connectedComponents((like | seed).astype(np.uint8), connectivity=8)
    spot = np.isin(parts, np.unique(parts[seed])).astype(np.uint8)
    if smoothed:
        damage[rows, columns] |= spot > 0
        return
    # The soft rim of a spot shows as a ghost if it stays.
    faint = height * np.sign(mean[channel]) > max(_RIM * contrast, 3.0)
    damage[rows, columns] |= (spot > 0) | ((cv2.dilate(spot, _CROSS) > 0) & faint)


def _around(box: tuple[int, ...], shape: tuple[int, ...], margin: int) -> tuple[slice, slice]:
    x, y, width, height = box
    return (
        slice(max(0, y - margin), min(shape[0], y + height + margin)),
        slice(max(0, x - margin), min(shape[1], x + width + margin)),
    )
