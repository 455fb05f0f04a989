"""Frames at times between given frames, with their standard deviation: the posterior along moving pixels.

Every new pixel has three candidate paths through the two frames around it: as seen from the earlier frame, from the
later one, and from both. Each is read from both frames, weighed by how well the frames agree on it, and fused. Where
all frames agree without any motion the pixel stands still.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore import pulse
from videorestore.errors import InputError
from videorestore.motion._kernels_ways import WAY, ways_along, weigh_candidates
from videorestore.motion.flow import SMALL, FlowCache, reduction, surroundings
from videorestore.motion.fusion import compare, fuse, look, spline_coefficients
from videorestore.motion.interpolate_sd import Bytes, Evidence, copied, deviation
from videorestore.motion.splat import apart, carry, favour, fill, splat
from videorestore.motion.tracks import flickering, track
from videorestore.motion.warp import Floats, odd, reduced

REACH = 2  # frames read on each side of a target
_COST_BOX = 9
_APART = 3.0  # pixels by which something moves otherwise than its surroundings, if anything does
_STILL = 2.0  # levels by which a pixel that stands still may differ between frames
_LARGE = 400_000  # pixels of reduced frames up to which paths are as fine: drawn film at 720p lost .2 dB
_LONG = 1.5  # times the steps around it, from which on a step is a gap
_FINE = {"fast": False, "default": None, "best": True}  # flow at full resolution; None: in small frames


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpolated:
    """New frames.

    Attributes
    ----------
    frames : (m, h, w, c) float32
        On the scale of the input, not clipped.
    sd : (m, h, w, c) float32
        Standard deviation of what a camera would have recorded there, given what is known; 0 for a given frame.
    """

    frames: Floats
    sd: Floats


class _Held:
    """Frames ``(n, h, w, c)`` of a stack as float32, by means over squares of a side; the last few are held."""

    def __init__(self, frames: Any, size: int = 1) -> None:
        count, height, width, channels = frames.shape
        self.shape: tuple[int, ...] = (count, -(-height // size), -(-width // size), channels)
        self._frames, self._size = frames, size
        self._held: dict[int, Floats] = {}

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int) -> Floats:
        if index not in self._held:
            self._held = {k: v for k, v in self._held.items() if abs(k - index) < 2 * REACH}
            frame = np.asarray(self._frames[index], np.float32)
            self._held[index] = frame if self._size == 1 else reduced(frame, self._size)
        return self._held[index]


@dataclass(slots=True)
class _Window:
    """What is computed once for all targets."""

    frames: _Held
    times: NDArray[np.float64]
    cache: FlowCache
    curved: bool
    size: int
    """Pixels of a frame, along an axis, to one of the flows and paths."""
    splines: dict[int, Floats] = field(default_factory=dict)
    pairs: dict[int, Bytes] = field(default_factory=dict)
    scratch: dict[str, Floats] = field(default_factory=dict)

    def space(self, name: str, *shape: int) -> Floats:
        """An array for one frame after the other: fresh memory costs more than what is written to it."""
        if name not in self.scratch:
            self.scratch[name] = np.empty(shape, np.float32)
        return self.scratch[name]

    def alike(self, index: int) -> Bytes:
        """1 where ``(2, h, w)`` a frame and the next one are close, and where they are the same; see `compare`."""
        if index not in self.pairs:
            self.pairs = {k: v for k, v in self.pairs.items() if abs(k - index) <= 1}
            self.pairs[index] = np.empty((2, *self.frames.shape[1:3]), np.uint8)
            compare(self.frames[index], self.frames[index + 1], np.float32(_STILL), *self.pairs[index])
        return self.pairs[index]

    def spline(self, index: int) -> Floats:
        if index not in self.splines:
            self.splines = {k: v for k, v in self.splines.items() if abs(k - index) <= 1}
            self.splines[index] = spline_coefficients(self.frames[index])
        return self.splines[index]


def interpolate(
    frames: NDArray[np.generic],
    times: NDArray[np.float64],
    targets: NDArray[np.float64],
    *,
    quality: str = "default",
    cache: FlowCache | None = None,
) -> Interpolated:
    """Frames at any times, from the frames around them.

    Parameters
    ----------
    frames : (n, h, w, c) array
        Given frames on the 0..255 scale, RGB or grey, without a cut among them.
    times : (n,) float64
        Their times, rising, evenly spaced or not.
    targets : (m,) float64
        Times asked for. A time of a given frame returns that frame; beyond the ends the nearest one is repeated.
    quality : {"fast", "default", "best"}
        ``fast`` follows straight paths and looks for no large motion. ``best`` finds the flow at the full resolution
        in frames of any size, ``default`` in small ones only.
    cache : FlowCache, optional
        Of the same frames, to share flows with other work.

    Returns
    -------
    Interpolated
        A target depends on the `REACH` frames before and after it, and on no others.
    """
    return Maker(frames, times, quality=quality, cache=cache).at(targets)


class Maker:
    """New frames that are asked for in several portions, best in order of time: what is known of the frames is kept.

    Parameters as in `interpolate`; frames may be anything that can be cut like an array.
    """

    def __init__(
        self,
        frames: Any,
        times: NDArray[np.float64],
        *,
        quality: str = "default",
        cache: FlowCache | None = None,
    ) -> None:
        at = np.asarray(times, dtype=np.float64)
        _check(frames, at, quality)
        fast = quality == "fast"
        self._moves_on = cache is None
        held, size = _Held(frames), 1
        if cache is None:
            size = 1 if quality == "best" else reduction(*frames.shape[1:3])
            seen = held if size == 1 else _Held(held, size)
            fine = _FINE[quality] if size == 1 else not fast
            # The last step of the flow in larger frames has half of their resolution: what follows needs no more.
            places = seen.shape[1] * seen.shape[2]
            coarse = 1 if quality == "best" or places <= (SMALL if size == 1 else _LARGE) else 2
            thorough = None if fast else _alone(at)
            cache = FlowCache(seen, seeded=not fast, fine=fine, thorough=thorough, coarse=coarse)
        whole = size * cache.coarse
        self._window = _Window(frames=held, times=at, cache=cache, curved=not fast, size=whole)

    def at(self, targets: NDArray[np.float64]) -> Interpolated:
        """See `interpolate`."""
        window, wanted = self._window, np.asarray(targets, dtype=np.float64)
        if not np.isfinite(wanted).all():
            raise InputError("times must be finite; give numbers.")
        made = np.empty((len(wanted), *window.frames.shape[1:]), np.float32)
        sd = np.empty((*made.shape[:3], 1), np.float32)
        for number in pulse.counted(np.argsort(wanted, kind="stable").tolist()):
            _frame(window, float(wanted[number]), made[number], sd[number])
            if self._moves_on:
                window.cache.drop_before(int(np.searchsorted(window.times, wanted[number])) - REACH)
        return Interpolated(frames=made, sd=np.broadcast_to(sd, made.shape))


def _check(frames: Any, times: NDArray[np.float64], quality: str) -> None:
    if len(frames.shape) != 4 or 0 in frames.shape:
        raise InputError(
            f"frames must have shape (n, h, w, c) without a zero, got {frames.shape}; reshape them."
        )
    if times.shape != (len(frames),):
        raise InputError(f"times must have shape ({len(frames)},), got {times.shape}; give one per frame.")
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError(
            "times must be finite and rise from frame to frame; sort the frames and drop repeats."
        )
    if quality not in _FINE:
        raise InputError(f"quality must be one of {', '.join(_FINE)}, got {quality!r}; choose one of these.")


def _frame(window: _Window, target: float, mean: Floats, sd: Floats) -> None:
    """Write one frame ``(h, w, c)`` and its sd ``(h, w, 1)``."""
    times = window.times
    after = int(np.searchsorted(times, target))
    if after < len(times) and times[after] == target:
        mean[...], sd[...] = window.frames[after], 0.0
    elif after == 0 or after == len(times):
        end = 0 if after == 0 else after - 1
        mean[...], sd[...] = window.frames[end], _repeated(window, end, target)
    else:
        _between(window, after - 1, target, mean, sd)


def _repeated(window: _Window, end: int, target: float) -> Floats:
    """Sd ``(h, w, 1)`` of the first or last frame beyond the ends: it grows with the steps away, as differences between frames do."""
    times = window.times
    if len(times) == 1:
        return np.full((*window.frames.shape[1:3], 1), 255.0 / np.sqrt(12.0), np.float32)
    inner = 1 if end == 0 else end - 1
    steps = abs(target - times[end]) / abs(times[inner] - times[end])
    change = np.square(window.frames[end] - window.frames[inner]).mean(axis=2)
    around = np.sqrt(
        cv2.blur(change, (_COST_BOX, _COST_BOX), borderType=cv2.BORDER_REFLECT) + 1.0
    ) * np.float32(np.sqrt(steps))
    return np.asarray(around, np.float32)[..., None]


def _between(window: _Window, before: int, target: float, mean: Floats, sd: Floats) -> None:
    after = before + 1
    times = window.times
    frames = window.frames[before], window.frames[after]
    share = (target - times[before]) / (times[after] - times[before])
    sides = (
        track(window.cache, times, before, after, target, curved=window.curved),
        track(window.cache, times, after, before, target, curved=window.curved),
    )
    shape, small = frames[0].shape, sides[0].doubt.shape
    away, carried = window.space("away", 2, *small, 2), window.space("carried", 2, *small, 6)
    weight = window.space("weight", 2, *small)
    sure = [side.flow.sure() for side in sides]
    passing = False
    for k, side in enumerate(sides):
        away[k] = side.displacement
        carry(
            side.whole, side.displacement, side.doubt, side.unrest, side.flow.consistency, side.flow.residual,
            side.known, k == 1, carried[k], weight[k],
        )  # fmt: skip
        around = surroundings(side.flow)
        if apart(side.flow.vectors, around) > _APART:
            favour(side.flow.vectors, around, sure[k], weight[k])
            passing = True
    sums, support = window.space("sums", 2, *small, 6), window.space("support", 3, *small)
    splat(away, carried, weight, out=(sums, support[:2]))
    support[2] = support[0] + support[1]
    paths = window.space("paths", 3, *small, 6)
    fill(sums[0], support[0], paths[0])
    fill(sums[1], support[1], paths[1])
    fill(np.add(sums[0], sums[1], out=sums[0]), support[2], paths[2])
    support[2] *= np.float32(0.5)
    ways, agree = window.space("ways", *small, 3 * WAY), np.empty(small, np.uint8)
    flows = sides[0].flow.vectors, sides[1].flow.vectors
    ways_along(paths, *flows, *sure, window.size, np.float32(share), ways, agree)
    others = window.space("others", 2, *shape)
    gaps, costs = window.space("gaps", *small, 3), window.space("costs", *small, 3)
    single = np.empty(shape[:2], np.uint8)
    look(
        *frames, _standing(window, before), passing, window.spline(before), window.spline(after), ways, agree,
        window.size, support, np.float32(share), mean, others, gaps, costs, single,
    )  # fmt: skip
    box = (odd(_COST_BOX / window.size),) * 2
    costs = cv2.blur(costs, box, borderType=cv2.BORDER_REFLECT)
    weights, evidence = window.space("weights", *small, 3), window.space("evidence", 3, *small)
    weigh_candidates(costs, support, window.size, paths, gaps, weights, evidence)
    fuse(mean, others, weights, window.size, single)
    known = Evidence(
        gap=evidence[0], doubt=evidence[1], unrest=evidence[2], copied=copied(window.alike(before)[1]),
        flicker=_flicker(window, before, share), size=window.size,
    )  # fmt: skip
    sd[...] = deviation(mean, known)[..., None]


def _flicker(window: _Window, before: int, share: float) -> float:
    """Sd of the brightness of a frame between two others, as far as the four frames around tell."""
    low, high = before - 1, before + 3
    if not window.curved or low < 0 or high > len(window.times):
        return 0.0
    ways = (before, low), (before, before + 1), (before + 1, before + 2)
    first, middle, last = (window.cache.flow(*way).vectors for way in ways)
    pace = window.cache.coarse
    seen = [window.cache.frames[k][::pace, ::pace] for k in range(low, high)]
    variance = flickering(seen, (first, middle, last), window.times[low:high])
    return float(np.sqrt(variance * (1.0 + (1.0 - share) ** 2 + share**2)))


def _standing(window: _Window, before: int) -> Bytes:
    """1 at ``(h, w)`` where a pixel stands still: the frames around agree there without motion.

    A logo or a subtitle over a moving scene is what needs this; its edges are dragged along by any smooth flow.
    """
    low, high = before - 1, before + 3
    agree = window.alike(before)[0]
    # Two frames agree by chance more often than four do: then most of the neighbours must stand still as well.
    two = _mostly(agree, 7)
    if low < 0 or high > len(window.times) or not _even(window.times[low:high]):
        return two
    both = agree & window.alike(low)[0]
    if not _mostly(both, 4).any():
        return two
    close, same = np.empty((2, *agree.shape), np.uint8)
    compare(window.frames[before], window.frames[high - 1], np.float32(_STILL), close, same)
    return two | _mostly(both & close, 4)


def _even(times: NDArray[np.float64]) -> bool:
    """Whether four frames are four looks: beyond a long gap the outer ones only repeat the inner ones."""
    return not _alone(times)[1]


def _alone(times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Steps ``(n - 1,)`` across which the flow has to find the way alone: long gaps, and those of two or three frames."""
    steps = np.diff(times)
    if len(steps) < 3:
        return np.ones(len(steps), np.bool_)
    around = np.pad(steps, 1, constant_values=np.inf)
    return np.asarray(steps >= _LONG * np.minimum(around[:-2], around[2:]))


def _mostly(agree: Bytes, least: int) -> Bytes:
    """1 at ``(h, w)`` where it is 1, and so it is at the ``least`` number of 3 x 3 pixels."""
    count = cv2.boxFilter(agree, -1, (3, 3), normalize=False, borderType=cv2.BORDER_REFLECT)
    return np.asarray(agree & (count >= least), np.uint8)
