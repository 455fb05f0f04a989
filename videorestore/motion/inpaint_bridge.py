"""Large holes: the moment between the nearest frames that are whole there, along the motion between these.

Motion needs the whole frames, and is the same for all holes; the moment itself is made in boxes around the holes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import cv2
import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.motion.flow import Flow, FlowCache, View, pair
from videorestore.motion.inpaint_fusion import WINDOW, Guess
from videorestore.motion.interpolate import interpolate

_DEPTH = 3.0  # a hole deeper than this many pixels is large: no spatial fill lets a flow see through it
_MARGIN = 8  # pixels beyond these, and beyond the motion, that its paths are found from
_ENDS = 0.17  # share, per frame between the ends, of the variance of that moment that other guesses leave
_MANY = 4000.0  # known pixels that teach as much about the moment between the ends as what is usual
_CELL = 8  # pixels, of the grid on which boxes are found; a multiple of the bins of the fusion
DENSE = 0.6
"""Share of the frame from which on boxes are not worth their borders."""

Box = tuple[slice, slice]
Bridge = tuple[Guess | None, Mask, FloatArray]


def deep_parts(known: Mask) -> Mask:
    """Holes ``(h, w)`` too deep for the spatial fill."""
    holes = (~known).astype(np.uint8)
    padded = cv2.copyMakeBorder(holes, 1, 1, 1, 1, cv2.BORDER_REPLICATE)
    depth = cv2.distanceTransform(padded, cv2.DIST_L2, 5)[1:-1, 1:-1]
    core = (depth > _DEPTH).astype(np.uint8)
    return np.asarray((cv2.dilate(core, np.ones((9, 9), np.uint8)) > 0) & (holes > 0))


def boxes_around(holes: Mask, margin: int, cell: int = _CELL) -> list[Box]:
    """Boxes that hold all holes ``(h, w)`` with a margin and do not overlap; one for all where they are most of it."""
    if not holes.any():
        return []
    height, width = holes.shape
    near = cv2.dilate(holes.astype(np.uint8), np.ones((2 * margin + 1,) * 2, np.uint8)).astype(np.float32)
    near = cv2.copyMakeBorder(near, 0, -height % cell, 0, -width % cell, cv2.BORDER_CONSTANT, value=0.0)
    size = near.shape[1] // cell, near.shape[0] // cell
    marked = (cv2.resize(near, size, interpolation=cv2.INTER_AREA) > 0).astype(np.uint8)
    while True:
        before = int(marked.sum())
        stats = cv2.connectedComponentsWithStats(marked, connectivity=4)[2][1:, :4].tolist()
        for x, y, w, h in stats:
            marked[y : y + h, x : x + w] = 1
        if int(marked.sum()) == before:
            break
    boxes = [
        (slice(y * cell, min((y + h) * cell, height)), slice(x * cell, min((x + w) * cell, width)))
        for x, y, w, h in stats
    ]
    return [(slice(0, height), slice(0, width))] if share_of(boxes, holes.shape) > DENSE else boxes


def share_of(boxes: list[Box], shape: tuple[int, ...]) -> float:
    """Share of a frame that boxes fill."""
    return float(sum((y.stop - y.start) * (x.stop - x.start) for y, x in boxes) / (shape[0] * shape[1]))


class Bridges:
    """Of the deep holes of a stretch of frames.

    Parameters
    ----------
    frames : (n, h, w, c) float32
    known : (n, h, w) bool
    deep, spatial : callable
        Of a frame's number: its deep holes ``(h, w)``, and the frame filled from its own pixels ``(h, w, c)``.
    reach : int
        Frames on either side within which one must be whole.
    """

    def __init__(
        self,
        frames: FloatArray,
        known: Mask,
        deep: Callable[[int], Mask],
        spatial: Callable[[int], FloatArray],
        reach: int,
    ) -> None:
        self.frames, self.known, self.deep, self.spatial, self.reach = frames, known, deep, spatial, reach
        self._view = cache(lambda k: View(spatial(k)))
        self._pair = cache(self._pair_between)

    def at(self, k: int) -> Bridge:
        """A guess at the deep holes from the nearest frames that are whole there, where it holds, and the least
        variance ``(height, width)`` that is left there.
        """
        deep = self.deep(k)
        covered = np.zeros_like(deep)
        least = np.zeros(deep.shape, np.float32)
        groups: dict[tuple[int, int], Mask] = {}
        count, labels = cv2.connectedComponents(deep.astype(np.uint8)) if deep.any() else (0, deep)
        for label in range(1, count):
            part = labels == label
            around = cv2.dilate(part.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
            before, after = self._whole_at(k, -1, around), self._whole_at(k, 1, around)
            if before is not None and after is not None:
                groups[before, after] = groups.get((before, after), np.zeros_like(part)) | part
        if not groups:
            return None, covered, least
        pixels = self.spatial(k).copy()
        trust = np.zeros(deep.shape, np.float32)
        variance = np.full(deep.shape, 1e3, np.float32)
        for (before, after), part in sorted(groups.items()):
            # As far as it is judged by what is known there.
            near = cv2.dilate(part.astype(np.uint8), np.ones((2 * WINDOW + 1,) * 2, np.uint8)) > 0
            near &= ~covered
            way = self.flow(before, after).vectors[near]
            far = int(np.abs(way).max()) if len(way) else 0
            for box in boxes_around(part, WINDOW + _MARGIN + far):
                here = near[box]
                middle, spread = self._between(before, k, after, box)
                pixels[box][here] = middle[here]
                trust[box][here] = 1
                variance[box][here] = spread[here]
            covered |= part
            # Beside a hole that lasts for several frames the next frames are seen, inside they are not: what is
            # measured there is too small for the inside, where all that is known comes from both ends.
            least[part] = min(_ENDS * (after - before), 1.0) * variance[part]
        seen = self.known[k] & (trust > 0)
        least *= honesty((pixels - self.frames[k])[seen], variance[seen])
        return Guess(pixels=pixels, trust=trust, variance=variance, usual=50.0), covered, least

    def flow(self, start: int, end: int) -> Flow:
        """Between two whole frames filled from their own pixels."""
        first, last = min(start, end), max(start, end)
        return self._pair(first, last)[int(start > end)]

    def _pair_between(self, first: int, last: int) -> tuple[Flow, Flow]:
        return pair(self._view(first), self._view(last), thorough=last - first > 1)

    def _between(self, before: int, k: int, after: int, box: Box) -> tuple[FloatArray, FloatArray]:
        """A box of the moment k between two frames, and the variance ``(height, width)`` of what is made up there."""
        moments = tuple(j for j in (before - 1, before, after, after + 1) if 0 <= j < len(self.frames))
        cut = _Cut(self, moments, box)
        made = interpolate(cut.frames, np.array(moments, float), np.array([k], float), cache=cut)
        return made.frames[0], (made.sd[0] ** 2).mean(axis=2)

    def _whole_at(self, k: int, step: int, region: Mask) -> int | None:
        for j in range(k + step, k + step * (self.reach + 1), step):
            if not 0 <= j < len(self.frames):
                return None
            if self.known[j][region].all():
                return j
        return None


class _Cut(FlowCache):
    """A box of some frames, with the flows between the whole of them."""

    def __init__(self, bridges: Bridges, numbers: tuple[int, ...], box: Box) -> None:
        super().__init__(np.stack([bridges.spatial(k)[box] for k in numbers]))
        self._bridges, self._numbers, self._box = bridges, numbers, box

    def flow(self, start: int, end: int) -> Flow:
        """See `FlowCache.flow`."""
        found = self._bridges.flow(self._numbers[start], self._numbers[end])
        parts = (found.vectors, found.consistency, found.residual)
        vectors, consistency, residual = (np.ascontiguousarray(part[self._box]) for part in parts)
        return Flow(vectors=vectors, consistency=consistency, residual=residual)


def honesty(errors: FloatArray, variance: FloatArray) -> float:
    """Factor of variances ``(m,)`` by which errors ``(m, channels)`` exceed 1.96 sd as rarely as they should."""
    if not len(errors):
        return 1.0
    ratio = np.quantile(np.abs(errors) / np.sqrt(variance + np.float32(0.1))[:, None], 0.95) / 1.96
    sure = len(errors) / (len(errors) + _MANY)
    return float(np.clip(max(ratio, 0.1) ** sure, 0.5, 1.5) ** 2)
