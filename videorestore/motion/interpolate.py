"""Frames at times between given frames, with their standard deviation: the posterior along moving pixels.

Every new pixel has three candidate paths through the two frames around it: as seen from the earlier frame, from the
later one, and from both. Each is read from both frames, weighed by how well the frames agree on it, and fused. Where
all frames agree without any motion the pixel stands still.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError
from videorestore.motion.flow import FlowCache, surroundings
from videorestore.motion.fusion import agreeing, fuse, look, spline_coefficients
from videorestore.motion.interpolate_sd import Evidence, copied, deviation
from videorestore.motion.splat import apart, carry, favour, fill, splat
from videorestore.motion.tracks import flickering, track
from videorestore.motion.warp import Floats

REACH = 2  # frames read on each side of a target
_COST_BOX = (9, 9)
_PASSES, _HEAVY = 1.5, 2.0  # pixels of motion and support of what passes over a pixel that stands still
_APART = 3.0  # pixels by which something moves otherwise than its surroundings, if anything does
_STILL = 2.0  # levels by which a pixel that stands still may differ between frames
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


@dataclass(slots=True)
class _Window:
    """What is computed once for all targets."""

    frames: Floats
    times: NDArray[np.float64]
    cache: FlowCache
    curved: bool
    splines: dict[int, Floats] = field(default_factory=dict)
    scratch: dict[str, Floats] = field(default_factory=dict)

    def space(self, name: str, *shape: int) -> Floats:
        """An array for one frame after the other: fresh memory costs more than what is written to it."""
        if name not in self.scratch:
            self.scratch[name] = np.empty(shape, np.float32)
        return self.scratch[name]

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
    at = np.asarray(times, dtype=np.float64)
    wanted = np.asarray(targets, dtype=np.float64)
    _check(frames, at, wanted, quality)
    fast = quality == "fast"
    flows = cache
    if flows is None:
        thorough = None if fast else _alone(at)
        flows = FlowCache(frames, seeded=not fast, fine=_FINE[quality], thorough=thorough)
    window = _Window(frames=np.asarray(frames, dtype=np.float32), times=at, cache=flows, curved=not fast)
    made = np.empty((len(wanted), *frames.shape[1:]), np.float32)
    sd = np.empty_like(made)
    for number in np.argsort(wanted, kind="stable"):
        _frame(window, float(wanted[number]), made[number], sd[number])
        if cache is None:
            # Targets come in order of time: flows that lie behind are not needed again.
            window.cache.drop_before(int(np.searchsorted(at, wanted[number])) - REACH)
    return Interpolated(frames=made, sd=sd)


def _check(
    frames: NDArray[np.generic], times: NDArray[np.float64], targets: NDArray[np.float64], quality: str
) -> None:
    if frames.ndim != 4 or 0 in frames.shape:
        raise InputError(
            f"frames must have shape (n, h, w, c) without a zero, got {frames.shape}; reshape them."
        )
    if times.shape != (len(frames),):
        raise InputError(f"times must have shape ({len(frames)},), got {times.shape}; give one per frame.")
    if not np.isfinite(times).all() or not np.isfinite(targets).all() or (np.diff(times) <= 0).any():
        raise InputError(
            "times must be finite and rise from frame to frame; sort the frames and drop repeats."
        )
    if quality not in _FINE:
        raise InputError(f"quality must be one of {', '.join(_FINE)}, got {quality!r}; choose one of these.")


def _frame(window: _Window, target: float, mean: Floats, sd: Floats) -> None:
    """Write one frame and its sd, each ``(h, w, c)``."""
    times, frames = window.times, window.frames
    after = int(np.searchsorted(times, target))
    if after < len(times) and times[after] == target:
        mean[...], sd[...] = frames[after], 0.0
    elif after == 0 or after == len(times):
        end = 0 if after == 0 else after - 1
        mean[...], sd[...] = frames[end], _repeated(window, end, target)
    else:
        _between(window, after - 1, target, mean, sd)


def _repeated(window: _Window, end: int, target: float) -> Floats:
    """Sd ``(h, w, 1)`` of the first or last frame beyond the ends: it grows with the steps away, as differences between frames do."""
    frames, times = window.frames, window.times
    if len(frames) == 1:
        return np.full((*frames.shape[1:3], 1), 255.0 / np.sqrt(12.0), np.float32)
    inner = 1 if end == 0 else end - 1
    steps = abs(target - times[end]) / abs(times[inner] - times[end])
    change = np.square(frames[end] - frames[inner]).mean(axis=2)
    around = np.sqrt(cv2.blur(change, _COST_BOX, borderType=cv2.BORDER_REFLECT) + 1.0) * np.float32(
        np.sqrt(steps)
    )
    return np.asarray(around, np.float32)[..., None]


def _between(window: _Window, before: int, target: float, mean: Floats, sd: Floats) -> None:
    after = before + 1
    times, frames = window.times, window.frames
    share = (target - times[before]) / (times[after] - times[before])
    sides = (
        track(window.cache, times, before, after, target, curved=window.curved),
        track(window.cache, times, after, before, target, curved=window.curved),
    )
    shape = frames.shape[1:]
    away, carried = window.space("away", 2, *shape[:2], 2), window.space("carried", 2, *shape[:2], 6)
    weight = window.space("weight", 2, *shape[:2])
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
    sums, support = window.space("sums", 2, *shape[:2], 6), window.space("support", 3, *shape[:2])
    splat(away, carried, weight, out=(sums, support[:2]))
    support[2] = support[0] + support[1]
    paths = window.space("paths", 3, *shape[:2], 6)
    fill(sums[0], support[0], paths[0])
    fill(sums[1], support[1], paths[1])
    fill(np.add(sums[0], sums[1], out=sums[0]), support[2], paths[2])
    support[2] *= np.float32(0.5)
    blends = window.space("blends", 3, *shape)
    gaps, costs = window.space("gaps", *shape[:2], 3), window.space("costs", *shape[:2], 3)
    flows = sides[0].flow.vectors, sides[1].flow.vectors
    still = _standing(window, before)
    if passing:
        still *= ~_passed(paths[2], support[2])
    look(
        frames[before : before + 2], still, window.spline(before), window.spline(after), *flows, *sure, paths,
        np.float32(share), blends, gaps, costs,
    )  # fmt: skip
    costs = cv2.blur(costs, _COST_BOX, borderType=cv2.BORDER_REFLECT)
    evidence = window.space("evidence", 3, *shape[:2])
    fuse(costs, support, paths, blends, gaps, mean, evidence)
    known = Evidence(
        gap=evidence[0], doubt=evidence[1], unrest=evidence[2], copied=copied(frames[before], frames[after]),
        flicker=_flicker(window, before, share),
    )  # fmt: skip
    sd[...] = deviation(mean, known)[..., None]


def _flicker(window: _Window, before: int, share: float) -> float:
    """Sd of the brightness of a frame between two others, as far as the four frames around tell."""
    low, high = before - 1, before + 3
    if not window.curved or low < 0 or high > len(window.frames):
        return 0.0
    ways = (before, low), (before, before + 1), (before + 1, before + 2)
    first, middle, last = (window.cache.flow(*way).vectors for way in ways)
    variance = flickering(window.frames[low:high], (first, middle, last), window.times[low:high])
    return float(np.sqrt(variance * (1.0 + (1.0 - share) ** 2 + share**2)))


def _standing(window: _Window, before: int) -> Floats:
    """1 at ``(h, w)`` where a pixel stands still: the frames around agree there without motion.

    A logo or a subtitle over a moving scene is what needs this; its edges are dragged along by any smooth flow.
    """
    low, high = max(before - 1, 0), min(before + 3, len(window.frames))
    # Two frames agree by chance more often than four do: then most of the neighbours must stand still as well.
    agree = _agreement(window.frames[before : before + 2], 0, 6.5)
    if high - low == 4 and _even(window.times[low:high]):
        agree = np.maximum(agree, _agreement(window.frames[low:high], before - low, 3.5))
    return agree


def _passed(paths: Floats, support: Floats) -> NDArray[np.bool_]:
    """Where ``(h, w)`` something that moves otherwise than its surroundings arrives between two looks at what stands still."""
    moved = np.maximum(np.abs(paths[..., 2] - paths[..., 0]), np.abs(paths[..., 3] - paths[..., 1]))
    return np.asarray((moved > _PASSES) & (support > _HEAVY))


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


def _agreement(frames: Floats, base: int, most: float) -> Floats:
    """1 at ``(h, w)`` where the frames agree with number ``base``, and so they do at ``most`` of 3 x 3 pixels."""
    agree = np.empty(frames.shape[1:3], np.float32)
    agreeing(frames, base, np.float32(_STILL), agree)
    agree *= cv2.blur(agree, (3, 3), borderType=cv2.BORDER_REFLECT) * 9.0 >= most
    return agree
