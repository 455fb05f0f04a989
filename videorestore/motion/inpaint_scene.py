"""One part of the picture over a stretch of frames: what its other moments say about each hole.

Everything is made when asked for and kept: spatial fills, bridges across large holes, flows between filled frames,
filled frames of the first pass (level 1) and of the second (level 2).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.motion._kernels_inpaint import midmean
from videorestore.motion.flow import consistency, luma, medium_flow
from videorestore.motion.inpaint_blind import blind_fill
from videorestore.motion.inpaint_far import follow
from videorestore.motion.inpaint_fusion import BAND, Around, Guess, fuse
from videorestore.motion.interpolate import interpolate
from videorestore.motion.warp import compose, inside, warp
from videorestore.spatial.kriging import fill
from videorestore.spatial.membrane import blur, gaussian_mean, push_pull

FIRST, SECOND = 4, 12
"""Frames on either side that the first and the second pass look for content in."""

BRIDGE = 6
"""A large hole is bridged between frames that are whole there, no farther away than this."""

STATIC = 6
"""Frames on either side that serve a place that stands still."""

FAR = 30
"""Frames on either side that the second pass follows the places through that no near frame shows."""

REACH = FIRST + FAR + BRIDGE + 2
"""Frames on either side that a result may depend on."""

_DEPTH = 3.0  # a hole deeper than this many pixels is large: no spatial fill lets a flow see through it
_ENDS = 0.17  # share, per frame between the ends, of the variance of that moment that other guesses leave
_MANY = 4000.0  # known pixels that teach as much about the moment between the ends as what is usual
_BESIDE = 0.85  # share of the variance beside a bridged hole that holds inside; its ends say the rest
_AMIDST = 0.6, 2.0  # what missing neighbours add to the variance; sigma in pixels of a neighbourhood
_HIDDEN = 4.0, 0.2  # slope, and what missing neighbours must exceed known ones by before a motion is doubted
_APART = 1.0, 5.0  # sigma in pixels of what counts as one place, and of what is around it
_TAUGHT = 4.0  # sigma in pixels of the part of a hole that known pixels beside it speak for
_FADE = 0.8  # trust that is left per step
_MISS = 1.5  # pixels by which forward and backward may disagree


class Scene:
    """Holes in a stretch of frames.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
    holes : ndarray of bool, shape (n, height, width)
    """

    def __init__(self, frames: FloatArray, holes: Mask) -> None:
        self.known: Mask = ~holes
        self.frames: FloatArray = np.where(holes[..., None], np.float32(0), frames).astype(np.float32)
        self.whole: NDArray[np.bool_] = np.asarray(~holes.any(axis=(1, 2)))
        self.around = cache(lambda k: Around(self.known[k]))
        self.spatial = cache(self._spatial)
        self.deep = cache(self._deep)
        self.clear = cache(self._clear)
        self.bridge = cache(self._bridge)
        self.alone = cache(self._alone)
        self.filled = cache(self._filled)
        self.vectors = cache(self._vectors)
        self.flow = cache(self._flow)
        self.rest = cache(self._rest)

    def result(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Mean and variance ``(height, width, channels)`` of frame k after both passes."""
        return self._mend(k, 1, SECOND)

    def _spatial(self, k: int) -> tuple[FloatArray, FloatArray]:
        return fill(self.frames[k], self.known[k], found=self.around(k).neighbours)

    def _alone(self, k: int) -> tuple[FloatArray, FloatArray]:
        """The fill and its sd from this frame alone; smooth in holes that nothing bridges."""
        pixels, sd = self.spatial(k)
        blind = self.deep(k) & ~self.bridge(k)[1]
        if not blind.any():
            return pixels, sd
        pixels, sd = pixels.copy(), sd.copy()
        count, labels = cv2.connectedComponents(blind.astype(np.uint8))
        for label in range(1, count):
            hole = labels == label
            pixels[hole], variance = blind_fill(self.frames[k], self.known[k], hole)
            sd[hole] = np.sqrt(variance)
        return pixels, sd

    def _deep(self, k: int) -> Mask:
        """Holes too deep for the spatial fill."""
        holes = (~self.known[k]).astype(np.uint8)
        padded = cv2.copyMakeBorder(holes, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
        depth = cv2.distanceTransform(padded, cv2.DIST_L2, 5)[1:-1, 1:-1]
        core = (depth > _DEPTH).astype(np.uint8)
        return np.asarray((cv2.dilate(core, np.ones((9, 9), np.uint8)) > 0) & (holes > 0))

    def _bridge(self, k: int) -> tuple[Guess | None, Mask, FloatArray]:
        """A guess at the deep holes from the nearest frames that are whole there, where it holds, and the least
        variance ``(height, width)`` that is left there.
        """
        deep = self.deep(k)
        covered = np.zeros_like(deep)
        least = np.zeros(deep.shape, np.float32)
        if not deep.any():
            return None, covered, least
        groups: dict[tuple[int, int], Mask] = {}
        count, labels = cv2.connectedComponents(deep.astype(np.uint8))
        for label in range(1, count):
            part = labels == label
            around = cv2.dilate(part.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
            before, after = self._whole_at(k, -1, around), self._whole_at(k, 1, around)
            if before is not None and after is not None:
                groups[before, after] = groups.get((before, after), np.zeros_like(part)) | part
        if not groups:
            return None, covered, least
        pixels = self.spatial(k)[0].copy()
        trust = np.zeros(deep.shape, np.float32)
        variance = np.full(deep.shape, 1e3, np.float32)
        for (before, after), part in sorted(groups.items()):
            middle, spread = self._between(before, k, after)
            near = cv2.dilate(part.astype(np.uint8), np.ones((41, 41), np.uint8)) > 0
            near &= ~covered
            pixels[near] = middle[near]
            trust[near] = 1
            variance[near] = spread[near]
            covered |= part
            # Beside a hole that lasts for several frames the next frames are seen, inside they are not: what is
            # measured there is too small for the inside, where all that is known comes from both ends.
            least[part] = min(_ENDS * (after - before), 1.0) * spread[part]
        seen = self.known[k] & (trust > 0)
        least *= _honesty((pixels - self.frames[k])[seen], variance[seen])
        return Guess(pixels=pixels, trust=trust, variance=variance, usual=50.0), covered, least

    def _between(self, before: int, k: int, after: int) -> tuple[FloatArray, FloatArray]:
        """The moment k between two frames, and the variance ``(height, width)`` of what is made up there."""
        moments = [j for j in (before - 1, before, after, after + 1) if 0 <= j < len(self.frames)]
        made = interpolate(
            np.stack([self.spatial(j)[0] for j in moments]), np.array(moments, float), np.array([k], float)
        )
        return made.frames[0], (made.sd[0] ** 2).mean(axis=2)

    def _whole_at(self, k: int, step: int, region: Mask) -> int | None:
        for j in range(k + step, k + step * (BRIDGE + 1), step):
            if not 0 <= j < len(self.frames):
                return None
            if self.known[j][region].all():
                return j
        return None

    def _filled(self, level: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Frame k with its holes filled so far, and the variance ``(height, width)`` of every pixel."""
        if self.whole[k]:
            return self.frames[k], np.zeros(self.known.shape[1:], np.float32)
        if level:
            mean, variance = self._mend(k, 0, FIRST)
            return mean, variance.mean(axis=2)
        pixels, sd = self.alone(k)
        variance = (sd**2).mean(axis=2)
        guess, covered, _ = self.bridge(k)
        if guess is not None:
            pixels = np.where(covered[..., None], guess.pixels, pixels)
            variance = np.where(covered, np.float32(50), variance)
        return pixels, variance

    def _flow(self, level: int, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """Flow from frame i to its neighbour j, and trust ``(height, width)`` in it."""
        if level and self.whole[i] and self.whole[j]:
            return self.flow(0, i, j)
        there, back = self.vectors(level, i, j), self.vectors(level, j, i)
        miss = consistency(there, back) / _MISS
        return there, np.exp(-miss * miss)

    def _vectors(self, level: int, i: int, j: int) -> FloatArray:
        here, there = (luma(self.filled(level, k)[0]) for k in (i, j))
        vectors = medium_flow(here, there, fine=True)
        blind = self.deep(i) & ~self.bridge(i)[1] if not self.whole[i] else None
        if blind is None or not blind.any():
            return vectors
        # Nothing was seen there at any near time: the motion around goes on inside.
        seen = 1 - cv2.dilate(blind.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(np.float32)
        return push_pull(vectors, seen)

    def _mend(self, k: int, level: int, reach: int) -> tuple[FloatArray, FloatArray]:
        if not self.known[k].any():
            bridge, covered, _ = self.bridge(k)
            if bridge is not None and covered.all():
                # Nothing is left to learn from: the moment between its neighbours, as it is.
                return bridge.pixels, np.repeat(bridge.variance[..., None], self.frames.shape[3], axis=2)
        guesses = self._along(k, -1, level, reach) + self._along(k, 1, level, reach)
        amidst = self._amidst(k)
        voices = 1 + max(len(guesses) - 1, 0) * self._unseen(k, amidst)
        guesses += self._static(k, voices)
        bridge, covered, least = self.bridge(k)
        if bridge is not None:
            guesses.append(bridge)
        blind = self.deep(k) & ~covered
        if level and blind.any():
            for step in (-1, 1):
                far = follow(
                    k, step, FAR, blind, self.frames, self.known, lambda i, j: self.flow(level, i, j)
                )
                if far is not None:
                    guesses.append(far)
        spatial, sd = self.alone(k)
        mean, variance = fuse(
            self.frames[k], self.known[k], guesses, spatial, sd, self.around(k), kriged=level > 0
        )
        # Deep holes have a variance of their own that says what is not seen inside.
        share = np.where(self.deep(k), np.float32(1), 1 + np.float32(_AMIDST[0]) * amidst)
        share = np.where(covered, np.float32(_BESIDE), share)
        return mean, np.maximum(variance * share[..., None], least[..., None])

    def _amidst(self, k: int) -> FloatArray:
        """How much more a missing pixel is among missing ones than the known ones beside it ``(height, width)``, 0 to 1.

        The motion was found with the known pixels in sight, so that other frames fit them better than what is missing.
        Where known and missing pixels are all mixed up, they fit both alike.
        """
        missing = (~self.known[k]).astype(np.float32)
        share = blur(missing, _AMIDST[1])
        beside = gaussian_mean(share, 1 - missing, 2 * _AMIDST[1], fallback=1.0)
        return np.asarray(np.maximum(share - beside, 0), np.float32)

    def _unseen(self, k: int, amidst: FloatArray) -> FloatArray:
        """How little the motion in a hole is to be believed, 0 to 1 ``(height, width)``, against a rest.

        In a deep hole only where the frames before and after show the very place: farther away it may be another.
        """
        deep = self.deep(k)
        shown = self.known[max(k - 1, 0)] & self.known[min(k + 1, len(self.known) - 1)]
        inside = np.where(shown | ~deep, np.clip(_HIDDEN[0] * (amidst - _HIDDEN[1]), 0, 1), np.float32(0))
        # Known pixels beside a deep hole teach with the shares that hold inside.
        beside = gaussian_mean(inside, deep.astype(np.float32), _TAUGHT)
        return np.where(self.known[k], beside, inside).astype(np.float32)

    def _along(self, k: int, step: int, level: int, reach: int) -> list[Guess]:
        """Frames on one side, followed until every hole has been seen."""
        guesses: list[Guess] = []
        holes = ~self.known[k]
        seen = np.zeros(holes.shape, np.float32)
        way: FloatArray | None = None
        trust = np.ones(holes.shape, np.float32)
        for distance in range(1, reach + 1):
            j = k + step * distance
            if not 0 <= j < len(self.frames):
                break
            vectors, sure = self.flow(level, j - step, j)
            if way is None:
                way, trust = vectors, sure
            else:
                trust = trust * warp(sure, way, method="linear")
                way = compose(way, vectors)
            here = trust * inside(way) * np.float32(_FADE ** (distance - 1))
            pixels, variance = self.filled(level, j)
            if self.whole[j]:
                found = here
                doubt = variance
            else:
                found = here * warp(self.known[j].astype(np.float32), way, method="linear")
                doubt = np.maximum(warp(variance, way, method="linear"), 0)
            guesses.append(
                Guess(pixels=warp(pixels, way), trust=here.astype(np.float32), variance=doubt, usual=400.0)
            )
            seen = seen + found
            if distance >= 2 and not (holes & (seen < 0.9)).any():
                break
        return guesses

    def _static(self, k: int, voices: FloatArray) -> list[Guess]:
        """What this very place shows at other times: at all of them, and just before and after.

        ``voices`` (height, width) are those of the latter, which tells by itself where nothing stands still: what was
        just before differs there from what comes after.
        """
        guesses = self.rest(k)
        return [*guesses[:1], *(replace(guess, voices=voices) for guess in guesses[1:])]

    def _rest(self, k: int) -> list[Guess]:
        first, last = max(0, k - STATIC), min(len(self.frames), k + STATIC + 1)
        if last - first < 2:
            return []
        shape = self.known.shape[1:]
        rows, columns = np.nonzero(self.around(k).wide)
        at = np.empty((len(rows), self.frames.shape[3]), np.float32)
        count = np.empty(len(rows), np.int64)
        shown = np.stack([self._shown(k, j) for j in range(first, last)])
        midmean(self.frames[first:last], shown, k - first, rows, columns, at, count)
        seen = np.zeros(shape, np.bool_)
        seen[rows, columns] = count > 0
        mean = np.zeros((*shape, self.frames.shape[3]), np.float32)
        mean[rows, columns] = at
        usual = Guess(
            pixels=mean,
            trust=seen.astype(np.float32),
            variance=np.where(seen, np.float32(0), np.float32(1e4)),
            usual=4000.0,
        )
        before, was = _nearest(self.frames[first:k][::-1], shown[: k - first][::-1])
        after, will = _nearest(self.frames[k + 1 : last], shown[k + 1 - first :])
        share = (was.astype(np.float32) / np.maximum(was.astype(np.float32) + will, 1))[..., None]
        # More than what the known pixels around show, which is measured on them.
        apart = np.where(was & will, ((before - after) ** 2).mean(axis=2) / 4, np.float32(0))
        apart = blur(apart.astype(np.float32), _APART[0])
        excess = apart - gaussian_mean(apart, self.known[k].astype(np.float32), _APART[1])
        near = Guess(
            pixels=(share * before + (1 - share) * after).astype(np.float32),
            trust=((was.astype(np.float32) + will) / 2).astype(np.float32),
            variance=np.where(was | will, np.maximum(excess, 0), np.float32(1e4)).astype(np.float32),
            usual=4000.0,
        )
        return [usual, near]

    def _shown(self, k: int, j: int) -> Mask:
        """Which places of frame j say what stands there in frame k ``(height, width)``.

        A hole that lasts hides its place in the next frames, too. Known pixels beside it teach what to expect inside
        only if they wait as long.
        """
        return np.asarray(np.where(self.known[k], self.clear(j), self.known[j]), np.bool_)

    def _clear(self, j: int) -> Mask:
        """Known pixels that are not beside a deep hole."""
        if self.whole[j]:
            return np.ones(self.known.shape[1:], np.bool_)
        box = np.ones((2 * BAND + 1,) * 2, np.uint8)
        return np.asarray(self.known[j] & (cv2.dilate(self.deep(j).astype(np.uint8), box) == 0))


def _nearest(frames: FloatArray, shown: Mask) -> tuple[FloatArray, Mask]:
    """The first value shown ``(height, width, channels)`` in frames ``(n, height, width, channels)``, and where."""
    value = np.zeros(frames.shape[1:], np.float32)
    found = np.zeros(frames.shape[1:3], np.bool_)
    for frame, there in zip(frames, shown):
        new = there & ~found
        value[new] = frame[new]
        found |= new
        if found.all():
            break
    return value, found


def _honesty(errors: FloatArray, variance: FloatArray) -> float:
    """Factor of variances ``(m,)`` by which errors ``(m, channels)`` exceed 1.96 sd as rarely as they should."""
    if not len(errors):
        return 1.0
    ratio = np.quantile(np.abs(errors) / np.sqrt(variance + np.float32(0.1))[:, None], 0.95) / 1.96
    sure = len(errors) / (len(errors) + _MANY)
    return float(np.clip(max(ratio, 0.1) ** sure, 0.5, 1.5) ** 2)
