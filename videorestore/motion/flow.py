"""Dense optical flow between two frames, in both directions, with what is known about its reliability.

``flow[p]`` is the displacement (x, y) in pixels from pixel p of the first frame to its place in the second.
The estimator is OpenCV's DIS. Its object keeps an initial field between calls and silently seeds later calls
with it, so an object lives for exactly one call here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.motion._kernels_paths import judge, take_better, unrest
from videorestore.motion.patchmatch import halved, seeds
from videorestore.motion.warp import compose, odd, reduced, warp

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

# DIS refuses frames smaller than about 12 pixels and works on a pyramid: small frames are padded.
_SMALLEST = 32
_BOX = 7  # pixels of a side over which residuals are means
_SMOOTHING = 4  # steps of variational refinement
_MARGIN = 24  # pixels around a place with another start in which the flow is sought anew
SMALL = 65536  # pixels of a frame in which flow at the full resolution is cheap, and half of it is coarse
_NEEDED = 8.0  # residual in levels above which seeds for large motion are looked for
_FEW = 0.005  # share of pixels that may have it
_ASTRAY = 2.0  # inconsistency in pixels at which a flow is no longer sure of what it follows
_UNLIKE = 24.0  # residual in levels at which it is not
_ENOUGH = 200_000  # pixels in which motion is sought, at least: larger frames are reduced by a whole number
_MOST = 2  # pixels of a frame to one of those, along an axis: by 3, some frames of 720p lost .15 dB


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The way from one frame to another.

    Attributes
    ----------
    vectors : (h, w, 2) float32
        ``vectors[p]`` leads from pixel p of the first frame to its place in the second.
    consistency : (h, w) float32
        Distance in pixels by which going there and back misses the start; large where p is hidden in the
        second frame or the flow is wrong.
    residual : (h, w) float32
        Mean absolute luma difference over 7 x 7 pixels between the first frame and the second, warped to it.
    """

    vectors: Floats
    consistency: Floats
    residual: Floats

    def sure(self) -> Floats:
        """How sure the flow is of what it follows, ``(h, w)`` from 0 to 1: it returns to its start and finds the same there."""
        doubt = np.square(self.consistency * np.float32(1 / _ASTRAY))
        doubt += np.square(self.residual * np.float32(1 / _UNLIKE))
        return np.asarray(np.exp(np.negative(doubt, out=doubt), out=doubt))

    def reduced(self, size: int) -> Flow:
        """By means over squares of a side, in whose lengths it then counts."""
        if size == 1:
            return self
        share = np.float32(1 / size)
        return Flow(
            vectors=reduced(self.vectors, size) * share,
            consistency=reduced(self.consistency, size) * share,
            residual=reduced(self.residual, size),
        )


def surroundings(flow: Flow) -> Floats:
    """Usual motion ``(h / 8, w / 8, 2)`` around every place: the median over 40 x 40 pixels or so."""
    height, width = flow.vectors.shape[:2]
    coarse = cv2.resize(
        flow.vectors, (max(width // 8, 1), max(height // 8, 1)), interpolation=cv2.INTER_NEAREST
    )
    middle = [cv2.medianBlur(np.ascontiguousarray(coarse[..., k]), 5) for k in (0, 1)]
    return np.asarray(np.stack(middle, axis=2), dtype=np.float32)


def reduction(height: int, width: int) -> int:
    """Pixels along an axis to one of those in which motion of new frames is sought."""
    return int(np.clip(np.sqrt(height * width / _ENOUGH), 1, _MOST))


def luma(frame: NDArray[np.generic]) -> Bytes:
    """Luma ``(h, w)`` uint8 of a frame ``(h, w, c)`` on the 0..255 scale (RGB or grey)."""
    pixels = np.asarray(frame, dtype=np.float32)
    if pixels.ndim == 3:
        if pixels.shape[2] >= 3:
            pixels = np.asarray(cv2.cvtColor(np.ascontiguousarray(pixels[..., :3]), cv2.COLOR_RGB2GRAY))
        else:
            pixels = pixels[..., 0]
    return np.asarray(np.clip(np.rint(pixels), 0, 255), dtype=np.uint8)


def fast_flow(first: Bytes, second: Bytes) -> Floats:
    """Flow ``(h, w, 2)`` by the FAST preset, between two lumas ``(h, w)`` uint8."""
    return _padded(first, second, None, lambda: cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST))


def half_flow(first: Bytes, second: Bytes) -> Floats:
    """The same between lumas that have half the resolution: the last step is made at a quarter of it, where `fast_flow` makes it."""

    def make() -> cv2.DISOpticalFlow:
        estimator = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_FAST)
        estimator.setFinestScale(1)
        return estimator

    return _padded(first, second, None, make)


def medium_flow(
    first: Bytes,
    second: Bytes,
    *,
    start: Floats | None = None,
    fine: bool = False,
    smooth: bool = True,
    steps: int = 12,
) -> Floats:
    """Careful flow ``(h, w, 2)`` between two lumas ``(h, w)`` uint8, from ``start`` (h, w, 2) where given.

    The last step is made at half the resolution, and with ``fine`` at the full one, at about three times the cost. To
    ``smooth`` the flow costs as much as to find it.
    """
    return _padded(first, second, start, _careful(4 if fine else 3, fine=fine, smooth=smooth, steps=steps))


class View:
    """A frame ``(h, w, c)`` on the 0..255 scale as the search for motion sees it; each sight is made once.

    Attributes
    ----------
    luma : (h, w) uint8
    """

    def __init__(self, frame: NDArray[np.generic]) -> None:
        self._frame = frame
        self._half: Floats | None = None
        self.luma = luma(frame)

    def half(self) -> Floats:
        """The frame at half size; see `halved`."""
        if self._half is None:
            self._half = halved(self._frame)
        return self._half


def pair(
    first: View,
    second: View,
    *,
    seeded: bool = True,
    fine: bool | None = None,
    thorough: bool = False,
    coarse: int = 1,
) -> tuple[Flow, Flow]:
    """Careful flows between two frames, there and back, each judged by the other.

    Parameters
    ----------
    first, second : View
    seeded : bool
        Look for large motion where the flow leaves something unexplained.
    fine : bool, optional
        Flow at the full resolution; by default in small frames, where half of it loses most.
    thorough : bool
        As `medium_flow` does it, at three times the cost.
    coarse : int
        Pixels of the frames, along an axis, to one of the flows that are returned, whose vectors count their own.
    """
    lumas = first.luma, second.luma
    fine = lumas[0].size <= SMALL if fine is None else fine
    # What is not matched well is sought anew below, with more care. Frames made of smoothed flows are no better, unless
    # there is little else to go by.
    estimator = _careful(4 if fine else 3 if thorough else 5, fine=fine, smooth=thorough)
    flows = _padded(*lumas, None, estimator), _padded(*lumas[::-1], None, estimator)
    judged = _judged(lumas, flows)
    residuals = judged[0].residual, judged[1].residual
    if seeded and any(_unexplained(r) for r in residuals):
        starts = seeds(first.half(), second.half(), flows, residuals)
        better = (
            _best_of(*lumas, flows[0], residuals[0], starts[0], fine),
            _best_of(*lumas[::-1], flows[1], residuals[1], starts[1], fine),
        )
        if better[0] is not flows[0] or better[1] is not flows[1]:
            judged = _judged(lumas, better)
    return judged[0].reduced(coarse), judged[1].reduced(coarse)


def _judged(lumas: tuple[Bytes, Bytes], flows: tuple[Floats, Floats]) -> tuple[Flow, Flow]:
    """Two flows, there and back, judged by each other and by the frames."""
    found = []
    for a, b in ((0, 1), (1, 0)):
        miss, difference = np.empty((2, *lumas[0].shape), np.float32)
        judge(lumas[a], lumas[b], flows[a], flows[b], miss, difference)
        blurred = cv2.blur(difference, (_BOX, _BOX), borderType=cv2.BORDER_REFLECT)
        found.append(Flow(vectors=flows[a], consistency=miss, residual=blurred))
    return found[0], found[1]


def consistency(forward: Floats, backward: Floats) -> Floats:
    """Distance ``(h, w)`` in pixels by which ``forward`` followed by ``backward`` misses its start."""
    miss = compose(forward, backward)
    return np.asarray(np.hypot(miss[..., 0], miss[..., 1]), dtype=np.float32)


def block_residual(first: NDArray[np.generic], second: NDArray[np.generic], flow: Floats) -> Floats:
    """7 x 7 mean ``(h, w)`` of the absolute difference of ``first`` and ``second`` read through the flow."""
    difference = warp(second, flow, method="linear")
    np.abs(np.subtract(first, difference, out=difference), out=difference)
    if difference.ndim == 3:
        difference = difference.mean(axis=2)
    return np.asarray(cv2.blur(difference, (_BOX, _BOX), borderType=cv2.BORDER_REFLECT), dtype=np.float32)


class FlowCache:
    """Flows between the frames of a window, each computed once.

    Parameters
    ----------
    frames : (n, h, w, c) array, or what gives frames by their numbers
        Working frames on the 0..255 scale. They are read only.
    seeded : bool
        Whether careful flows look for large motion.
    fine : bool, optional
        Careful flows at the full resolution; by default in small frames.
    thorough : (n - 1,) bool, optional
        Between which frames and their next ones careful flows are sought as `pair` does where it is thorough.
    coarse : int
        Pixels of the frames, along an axis, to one of the careful flows as they are given out.

    Notes
    -----
    Keys are pairs of frame numbers in the window. Several threads may ask at once.
    """

    def __init__(
        self,
        frames: Any,
        *,
        seeded: bool = True,
        fine: bool | None = None,
        thorough: NDArray[np.bool_] | None = None,
        coarse: int = 1,
    ) -> None:
        self.frames = frames
        self.coarse = coarse
        self.seeded = seeded
        self.fine = fine
        self.thorough = np.zeros(len(frames), np.bool_) if thorough is None else thorough
        self._views: dict[int, View] = {}
        self._careful: dict[tuple[int, int], Flow] = {}
        self._unrest: dict[tuple[int, int, int, float], Floats] = {}
        self._locks: dict[tuple[int, int], Lock] = {}
        self._guard = Lock()

    def luma(self, index: int) -> Bytes:
        """Luma ``(h, w)`` uint8 of one frame."""
        return self._view(index).luma

    def _view(self, index: int) -> View:
        if index not in self._views:
            self._views[index] = View(self.frames[index])
        return self._views[index]

    def flow(self, start: int, end: int) -> Flow:
        """The careful `Flow` from frame ``start`` to frame ``end``."""
        with self._lock(min(start, end), max(start, end)):
            if (start, end) not in self._careful:
                ends = self._view(start), self._view(end)
                thorough = abs(end - start) == 1 and bool(self.thorough[min(start, end)])
                both = pair(*ends, seeded=self.seeded, fine=self.fine, thorough=thorough, coarse=self.coarse)
                self._careful[start, end], self._careful[end, start] = both
        return self._careful[start, end]

    def unrest(self, middle: int, one: int, other: int, share: float) -> Floats:
        """How far a frame differs from the mean of two others along the flows, in levels over 7 x 7 pixels ``(h, w)``.

        ``share`` is the weight of frame ``one``.
        """
        if share == 0.5:
            # The same from both sides, and asked for from both.
            one, other = min(one, other), max(one, other)
        key = (middle, one, other, share)
        if key not in self._unrest:
            ways = self.flow(middle, one).vectors, self.flow(middle, other).vectors
            lumas = self.luma(middle), self.luma(one), self.luma(other)
            differs = np.empty(ways[0].shape[:2], np.float32)
            unrest(*lumas, *ways, self.coarse, np.float32(share), differs)
            box = (odd(_BOX / self.coarse),) * 2
            self._unrest[key] = np.asarray(cv2.blur(differs, box, borderType=cv2.BORDER_REFLECT))
        return self._unrest[key]

    def drop_before(self, index: int) -> None:
        """Forget everything about frames before ``index``; a window that moves on needs them no more."""
        with self._guard:
            self._careful = {key: value for key, value in self._careful.items() if min(key) >= index}
            self._views = {key: value for key, value in self._views.items() if key >= index}
            self._unrest = {key: value for key, value in self._unrest.items() if min(key[:3]) >= index}

    def _lock(self, start: int, end: int) -> Lock:
        with self._guard:
            return self._locks.setdefault((start, end), Lock())


def _unexplained(residual: Floats) -> bool:
    """Whether more than a few pixels have a residual that asks for seeds."""
    return bool(np.count_nonzero(residual > _NEEDED) > _FEW * residual.size)


def _best_of(
    first: Bytes, second: Bytes, flow: Floats, residual: Floats, start: Floats | None, fine: bool
) -> Floats:
    """A flow, replaced by what is found from ``start`` where that leaves 5 % less of its residual."""
    boxes = [] if start is None else _changed(flow, start)
    if start is None or not boxes:
        return flow
    flow, residual = flow.copy(), residual.copy()
    for box in boxes:
        a, b, seed = first[box], second[box], start[box]
        other = medium_flow(a, b, start=seed, fine=fine, smooth=False)
        # On a small thing the flow may have slipped off its start again.
        left, slipped = block_residual(a, b, other), block_residual(a, b, seed)
        take_better(other, left, seed, slipped, flow[box], residual[box])
    return flow


def _changed(flow: Floats, start: Floats) -> list[tuple[slice, slice]]:
    """Boxes, with a margin for what comes from outside, in which a start differs from the flow.

    Places far from each other have a box each, unless one box is less work.
    """
    # A start comes from half the resolution: every second pixel tells where it differs.
    start, flow = start[::2, ::2], flow[::2, ::2]
    apart = np.abs(start - flow) > 2.0
    moved = (apart[..., 0] | apart[..., 1]).astype(np.uint8)
    if not moved.any():
        return []
    near = cv2.dilate(moved, np.ones((_MARGIN // 2 + 1, _MARGIN // 2 + 1), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(near)
    boxes = []
    for label, (x, y, w, h) in enumerate(stats[1:, :4].tolist(), start=1):
        part = (slice(y, y + h), slice(x, x + w))
        here = (moved[part] > 0) & (labels[part] == label)
        # The dilated part has half of the margin already.
        margin = _MARGIN // 2 + int(np.abs(start[part][here]).max())
        rows, columns = ((2 * a - margin, 2 * (a + length) + margin) for a, length in ((y, h), (x, w)))
        boxes.append((slice(max(rows[0], 0), rows[1]), slice(max(columns[0], 0), columns[1])))
    around = (
        slice(min(b[0].start for b in boxes), max(b[0].stop for b in boxes)),
        slice(min(b[1].start for b in boxes), max(b[1].stop for b in boxes)),
    )

    def work(box: tuple[slice, slice]) -> int:
        return int((box[0].stop - box[0].start) * (box[1].stop - box[1].start))

    return boxes if sum(work(box) for box in boxes) < work(around) else [around]


def _careful(stride: int, *, fine: bool, smooth: bool, steps: int = 12) -> Callable[[], cv2.DISOpticalFlow]:
    """Makes estimators with patches every ``stride`` pixels of their finest scale: the full one, or half of it."""

    def make() -> cv2.DISOpticalFlow:
        estimator = cv2.DISOpticalFlow.create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
        estimator.setFinestScale(0 if fine else 1)
        estimator.setPatchSize(8)
        estimator.setPatchStride(stride)
        estimator.setGradientDescentIterations(steps)
        estimator.setVariationalRefinementIterations(_SMOOTHING if smooth else 0)
        return estimator

    return make


def _padded(
    first: Bytes, second: Bytes, start: Floats | None, estimator: Callable[[], cv2.DISOpticalFlow]
) -> Floats:
    """Run DIS on frames of any size; what is small is padded with its border."""
    height, width = first.shape
    bottom, right = max(0, _SMALLEST - height), max(0, _SMALLEST - width)
    initial = None if start is None else np.array(start, dtype=np.float32)
    if bottom or right:
        first, second = (np.pad(image, ((0, bottom), (0, right)), mode="edge") for image in (first, second))
        if initial is not None:
            initial = np.pad(initial, ((0, bottom), (0, right), (0, 0)), mode="edge")
    vectors = estimator().calc(np.ascontiguousarray(first), np.ascontiguousarray(second), initial)
    return np.ascontiguousarray(vectors[:height, :width], dtype=np.float32)
