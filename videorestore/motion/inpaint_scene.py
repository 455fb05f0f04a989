"""One part of the picture over a stretch of frames: what its other moments say about each hole.

Everything is made when asked for and kept: spatial fills, bridges across large holes, flows between filled frames,
filled frames of the first pass (level 1) and of the second (level 2). Motion is sought in whole frames, all else is done
in boxes around the holes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Generic, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.motion._kernels_inpaint import walk
from videorestore.motion._kernels_still import resting
from videorestore.motion.flow import consistency, luma, medium_flow
from videorestore.motion.inpaint_blind import blind_fill
from videorestore.motion.inpaint_bridge import DENSE, Box, Bridges, boxes_around, deep_parts, share_of
from videorestore.motion.inpaint_far import follow
from videorestore.motion.inpaint_fusion import BAND, WINDOW, Around, Guess, fuse, over_channels
from videorestore.motion.warp import grid
from videorestore.spatial.kriging import fill
from videorestore.spatial.membrane import blur, gaussian_mean, push_pull

FIRST, SECOND = 3, 6
"""Frames on either side that the first and the second pass look for content in."""

BRIDGE = 6
"""A large hole is bridged between frames that are whole there, no farther away than this."""

STATIC = 6
"""Frames on either side that serve a place that stands still."""

FAR = 30
"""Frames on either side that the second pass follows the places through that no near frame shows."""

REACH = FIRST + FAR + BRIDGE + 2
"""Frames on either side that a result may depend on."""

_BESIDE = 0.85  # share of the variance beside a bridged hole that holds inside; its ends say the rest
_AMIDST = 0.6, 2.0  # what missing neighbours add to the variance; sigma in pixels of a neighbourhood
_HIDDEN = 4.0, 0.2  # slope, and what missing neighbours must exceed known ones by before a motion is doubted
_APART = 1.0, 5.0  # sigma in pixels of what counts as one place, and of what is around it
_TAUGHT = 4.0  # sigma in pixels of the part of a hole that known pixels beside it speak for
_FADE = 0.8  # trust that is left per step
_MISS = 1.5  # pixels by which forward and backward may disagree
_TOLD = 0.5  # share of the missing pixels that the next frames must show for another model to be heard
_LATE = 0.03  # share of the missing pixels that may still be unseen when no farther frame is asked
_STEPS = 12, 6  # of the search for motion in either pass: the second finds the same by half of them
_ANEW = 12  # pixels around a hole in which the second pass seeks its motion anew
_FEW = 0.2  # share of missing pixels below which the first pass need not be careful: it only fills in for the second


def told(hole: Mask, *beside: Mask) -> bool:
    """Whether the holes of the frames beside leave so much of a hole in sight that another model is heard there."""
    shown = ~np.logical_or.reduce(beside)
    return bool(hole.any() and shown[hole].mean() >= _TOLD)


_Made = TypeVar("_Made")


class _Kept(Generic[_Made]):
    """What a function makes of the number of a frame, first of all or after a level, until it is forgotten."""

    def __init__(self, make: Callable[..., _Made]) -> None:
        self._make = make
        self._made: dict[tuple[int, ...], _Made] = {}

    def __call__(self, *key: int) -> _Made:
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def forget(self, before: int, place: int = 0) -> None:
        """Forget what belongs to earlier frames; ``place`` of the number in the key."""
        self._made = {key: made for key, made in self._made.items() if key[place] >= before}


class Scene:
    """Holes in a stretch of frames.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
    holes : ndarray of bool, shape (n, height, width)
    beside : tuple of ndarray, optional
        Another model's guess at every frame and its variance; see `inpaint.inpaint`.
    """

    def __init__(
        self, frames: FloatArray, holes: Mask, beside: tuple[FloatArray, FloatArray] | None = None
    ) -> None:
        self.known: Mask = np.ascontiguousarray(~holes)
        self.frames: FloatArray = np.where(holes[..., None], np.float32(0), frames).astype(np.float32)
        self.whole: NDArray[np.bool_] = np.asarray(~holes.any(axis=(1, 2)))
        self.few: NDArray[np.bool_] = np.asarray(holes.mean(axis=(1, 2)) < _FEW)
        self.boxes = _Kept(lambda k: boxes_around(~self.known[k], WINDOW))
        self.around = _Kept(lambda k, at: Around(self.known[k][self.boxes(k)[at]]))
        self.spatial = _Kept(self._spatial)
        self.deep = _Kept(lambda k: deep_parts(self.known[k]))
        self.clear = _Kept(self._clear)
        bridges = Bridges(self.frames, self.known, self.deep, lambda k: self.spatial(k)[0], BRIDGE)
        self.bridge = _Kept(bridges.at)
        self.alone = _Kept(self._alone)
        self.filled = _Kept(self._filled)
        self.vectors = _Kept(self._vectors)
        self.flow = _Kept(self._flow)
        self.rest = _Kept(self._rest)
        self.other = _Kept(lambda k: None if beside is None else self._judged(k, beside[0][k], beside[1][k]))
        # What is followed far comes back along all motion on the way.
        self._far = FAR if any(self.deep(k).any() for k in range(len(holes)) if not self.whole[k]) else SECOND

    def result(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Mean and variance ``(height, width, channels)`` of frame k after both passes."""
        return self._mend(k, 1, SECOND)

    def forget(self, before: int) -> None:
        """Forget what the results of earlier frames were made of, but for what the others look back at."""
        kept: _Kept[Any]
        for kept in (self.around, self.alone, self.rest, self.other, self.bridge):
            kept.forget(before)
        self.spatial.forget(before - SECOND - BRIDGE)
        self.clear.forget(before - STATIC)
        for kept in (self.filled, self.vectors):
            kept.forget(before - SECOND, place=1)
        self.flow.forget(before - self._far, place=1)

    def _spatial(self, k: int) -> tuple[FloatArray, FloatArray]:
        pixels, sd = self.frames[k].copy(), np.zeros_like(self.frames[k])
        for at, box in enumerate(self.boxes(k)):
            found = self.around(k, at).neighbours
            pixels[box], sd[box] = fill(self.frames[k][box], self.known[k][box], found=found)
        return pixels, sd

    def _alone(self, k: int) -> tuple[FloatArray, FloatArray]:
        """The fill and its sd from this frame alone; smooth in holes that nothing bridges."""
        pixels, sd = self.spatial(k)
        blind = self._blind(k)
        if not blind.any():
            return pixels, sd
        pixels, sd = pixels.copy(), sd.copy()
        count, labels = cv2.connectedComponents(blind.astype(np.uint8))
        for label in range(1, count):
            hole = labels == label
            pixels[hole], variance = blind_fill(self.frames[k], self.known[k], hole)
            sd[hole] = np.sqrt(variance)
        return pixels, sd

    def _blind(self, k: int) -> Mask:
        """Deep holes that nothing bridges."""
        return np.asarray(self.deep(k) & ~self.bridge(k)[1])

    def _filled(self, level: int, k: int) -> tuple[FloatArray, FloatArray]:
        """Frame k with its holes filled so far; and, of every pixel, its variance and whether it was seen ``(h, w, 2)``."""
        seen = self.known[k].astype(np.float32)
        if self.whole[k]:
            return self.frames[k], np.dstack([np.zeros_like(seen), seen])
        if level:
            pixels, variance = self._mend(k, 0, 1 if self.few[k] else FIRST)
            return pixels, np.dstack([over_channels(variance), seen])
        pixels, sd = self.alone(k)
        doubt = over_channels(sd * sd)
        guess, covered, _ = self.bridge(k)
        if guess is not None:
            pixels = np.where(covered[..., None], guess.pixels, pixels)
            doubt = np.where(covered, np.float32(50), doubt)
        return pixels, np.dstack([doubt, seen]).astype(np.float32)

    def _flow(self, level: int, i: int, j: int) -> FloatArray:
        """Flow from frame i to its neighbour j, and trust in it ``(height, width, 3)``."""
        if level and self.whole[i] and self.whole[j]:
            return self.flow(0, i, j)
        there, back = self.vectors(level, i, j), self.vectors(level, j, i)
        miss = consistency(there, back) / _MISS
        return np.dstack([there, np.exp(-miss * miss)]).astype(np.float32)

    def _vectors(self, level: int, i: int, j: int) -> FloatArray:
        here, there = (luma(self.filled(level, k)[0]) for k in (i, j))
        anew = boxes_around(~(self.known[i] & self.known[j]), _ANEW, cell=4) if level else []
        if not level or share_of(anew, here.shape) > DENSE:
            # Half of the resolution sees past narrow holes, and is misled less by what fills them at first.
            fine = bool(level or not (self.few[i] and self.few[j]))
            vectors = medium_flow(here, there, fine=fine, steps=_STEPS[level])
        else:
            # Only what was filled has changed since the first pass.
            vectors = self.vectors(0, i, j).copy()
            for box in anew:
                vectors[box] = medium_flow(
                    here[box], there[box], start=vectors[box], fine=True, steps=_STEPS[level]
                )
        blind = self._blind(i) if not self.whole[i] else None
        if blind is None or not blind.any():
            return vectors
        # Nothing was seen there at any near time: the motion around goes on inside.
        seen = 1 - cv2.dilate(blind.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(np.float32)
        return push_pull(vectors, seen)

    def _mend(self, k: int, level: int, reach: int) -> tuple[FloatArray, FloatArray]:
        bridge, covered, least = self.bridge(k)
        if not self.known[k].any() and bridge is not None and covered.all():
            # Nothing is left to learn from: the moment between its neighbours, as it is.
            return bridge.pixels, np.repeat(bridge.variance[..., None], self.frames.shape[3], axis=2)
        deep, blind = self.deep(k), self._blind(k)
        far = []
        if level and blind.any():
            far = [
                follow(k, step, FAR, blind, self.frames, self.known, lambda i, j: self.flow(level, i, j))
                for step in (-1, 1)
            ]
        spatial, sd = self.alone(k)
        mean, variance = self.frames[k].copy(), np.zeros_like(self.frames[k])
        for at, box in enumerate(self.boxes(k)):
            guesses = self._along(k, box, -1, level, reach) + self._along(k, box, 1, level, reach)
            amidst = self._amidst(self.known[k][box])
            voices = 1 + max(len(guesses) - 1, 0) * self._unseen(k, box, amidst)
            resting = self.rest(k, at)
            guesses += [*resting[:1], *(replace(guess, voices=voices) for guess in resting[1:])]
            others = (bridge, *far, self.other(k) if level else None)
            guesses += [guess.cut(box) for guess in others if guess is not None]
            around = self.around(k, at)
            made, spread = fuse(
                self.frames[k][box],
                self.known[k][box],
                guesses,
                spatial[box],
                sd[box],
                around,
                kriged=level > 0,
            )
            # Deep holes have a variance of their own that says what is not seen inside.
            share = np.where(deep[box], np.float32(1), 1 + np.float32(_AMIDST[0]) * amidst)
            share = np.where(covered[box], np.float32(_BESIDE), share)
            mean[box] = made
            variance[box] = np.maximum(spread * share[..., None], least[box][..., None])
        return mean, variance

    def _judged(self, k: int, pixels: FloatArray, variance: FloatArray) -> Guess | None:
        """Another model's guess; None where it has little to go by.

        Deep in a hole nothing nearby tells what it is worth: there the whole frame does. Where the next frames miss a pixel,
        what fills it there was learnt from this very frame: it tells nothing.
        """
        known = self.known[k]
        shown = np.asarray(self.known[[j for j in (k - 1, k + 1) if 0 <= j < len(self.known)]].all(axis=0))
        if not known.any() or not told(~known, ~shown):
            return None
        off = float(np.square((pixels - self.frames[k])[known]).mean())
        return Guess(pixels=pixels, trust=shown.astype(np.float32), variance=variance, usual=off)

    def _amidst(self, known: Mask) -> FloatArray:
        """How much more a missing pixel is among missing ones than the known ones beside it ``(height, width)``, 0 to 1.

        The motion was found with the known pixels in sight, so that other frames fit them better than what is missing.
        Where known and missing pixels are all mixed up, they fit both alike.
        """
        missing = (~known).astype(np.float32)
        share = blur(missing, _AMIDST[1])
        beside = gaussian_mean(share, 1 - missing, 2 * _AMIDST[1], fallback=1.0)
        return np.asarray(np.maximum(share - beside, 0), np.float32)

    def _unseen(self, k: int, box: Box, amidst: FloatArray) -> FloatArray:
        """How little the motion in a hole is to be believed, 0 to 1 ``(height, width)``, against a rest.

        In a deep hole only where the frames before and after show the very place: farther away it may be another.
        """
        deep = self.deep(k)[box]
        shown = self.known[max(k - 1, 0)][box] & self.known[min(k + 1, len(self.known) - 1)][box]
        inside = np.where(shown | ~deep, np.clip(_HIDDEN[0] * (amidst - _HIDDEN[1]), 0, 1), np.float32(0))
        # Known pixels beside a deep hole teach with the shares that hold inside.
        beside = gaussian_mean(inside, deep.astype(np.float32), _TAUGHT)
        return np.where(self.known[k][box], beside, inside).astype(np.float32)

    def _along(self, k: int, box: Box, step: int, level: int, reach: int) -> list[Guess]:
        """Frames on one side, followed until nearly every missing pixel has been seen."""
        guesses: list[Guess] = []
        column, row = grid(*self.known.shape[1:])
        at = np.dstack([column[box], row[box]])
        holes = ~self.known[k][box]
        seen, way = np.zeros(holes.shape, np.float32), np.ones(holes.shape, np.float32)
        for distance in range(1, reach + 1):
            j = k + step * distance
            if not 0 <= j < len(self.frames):
                break
            pixels, facts = self.filled(level, j)
            trust, doubt = np.empty((2, *holes.shape), np.float32)
            flow = self.flow(level, j - step, j)
            walk(flow, facts, at, way, np.float32(_FADE ** (distance - 1)), trust, doubt, seen)
            warped = cv2.remap(pixels, at, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
            warped = np.asarray(warped, np.float32).reshape(*holes.shape, -1)
            guesses.append(Guess(pixels=warped, trust=trust, variance=doubt, usual=400.0))
            if distance >= 2 and np.count_nonzero(holes & (seen < 0.9)) <= _LATE * np.count_nonzero(holes):
                break
        return guesses

    def _rest(self, k: int, at: int) -> list[Guess]:
        """What this very place shows at other times: at all of them, and just before and after.

        The latter tells by itself where nothing stands still: what was just before differs there from what comes after.
        """
        first, last = max(0, k - STATIC), min(len(self.frames), k + STATIC + 1)
        if last - first < 2:
            return []
        box = self.boxes(k)[at]
        wide = self.around(k, at).wide
        known = self.known[k][box]
        clear = np.stack([self.clear(j)[box] for j in range(first, last)])
        shown = np.where(known, clear, self.known[first:last][(slice(None), *box)])
        mean, near = np.zeros((2, *wide.shape, self.frames.shape[3]), np.float32)
        apart, sides, count = np.zeros((3, *wide.shape), np.float32)
        corner = box[0].start, box[1].start
        resting(self.frames[first:last], shown, wide, k - first, *corner, mean, near, apart, sides, count)
        usual = Guess(
            pixels=mean,
            trust=(count > 0).astype(np.float32),
            variance=np.where(count > 0, np.float32(0), np.float32(1e4)),
            usual=4000.0,
        )
        # More than what the known pixels around show, which is measured on them.
        apart = blur(apart, _APART[0])
        excess = apart - gaussian_mean(apart, known.astype(np.float32), _APART[1])
        beside = Guess(
            pixels=near,
            trust=sides / 2,
            variance=np.where(sides > 0, np.maximum(excess, 0), np.float32(1e4)).astype(np.float32),
            usual=4000.0,
        )
        return [usual, beside]

    def _clear(self, j: int) -> Mask:
        """Known pixels that are not beside a deep hole.

        A hole that lasts hides its place in the next frames, too. Known pixels beside it teach what to expect inside
        only if they wait as long.
        """
        if self.whole[j]:
            return np.ones(self.known.shape[1:], np.bool_)
        box = np.ones((2 * BAND + 1,) * 2, np.uint8)
        return np.asarray(self.known[j] & (cv2.dilate(self.deep(j).astype(np.uint8), box) == 0))
