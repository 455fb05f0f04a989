"""Denoising of natural video: Gaussian posterior means along motion and over groups of similar patches.

1. A pilot of every frame by itself (overlapped cosine blocks), motion between neighbours on it.
2. The posterior along the motion: neighbours, warped, are weighed by how well their pilots fit; what noise is left
   is known for every pixel and removed by cosine blocks again. This is the guide, and the result of ``fast``.
3. Motion again on the guide, then groups of similar patches with the guide's covariance (``default``); once more
   with that result as guide (``best``).

Every output frame is a function of the frames within `REACH` of it, so a window with such a halo gives the same
bits as the whole clip. Memory is about 150 bytes per pixel and frame of the window for colour, 60 for grey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeVar

import cv2
import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.motion._kernels_denoise import accumulate, add_tie, squared_difference
from videorestore.motion.flow import fast_flow
from videorestore.motion.warp import grid
from videorestore.spatial.dct import shrink_in_planes
from videorestore.spatial.noise import Noise
from videorestore.spatial.patches import Groups, restore_patches
from videorestore.spatial.planes import (
    LUMA_CHROMA,
    OPPONENT,
    from_planes,
    to_planes,
    variance_from_planes,
    variance_to_planes,
)

Quality = Literal["fast", "default", "best"]
Flows = NDArray[np.float32]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_SMALLEST = 16
_BOX = (7, 7)
_ALLOWANCE = np.float32(1.0)
"""Misfit of two pilots of the same picture, in units of the pilot's own variance."""
_SEVERITY = 8.0
"""Pilots are smooth and show only a part of what differs: their misfit counts so many times."""
_CODED = 0.9
"""Of the noise that a codec left, the part that is not yet quantised away is less than what is seen."""
_OPTIMISM = 1.9
"""The prior's covariance is itself an estimate: errors have so many times the posterior variance (measured)."""
_LEVEL_DOUBT = 0.6
"""Part of the squared width of the noise level's interval that adds to the variance (measured)."""
_REST_FACTOR, _REST_MARGIN = np.float32(1.15), np.float32(0.01)
"""A place counts as resting where its misfit is less than so many times that of the motion, and so much noise."""
_MOVING_TRUST = 0.3
"""How far patches take the mean along motion for data where all moves; 1 where all rests."""
_INDEPENDENT = 1.7
"""Mean squared difference of independent noise after warping, in units of its variance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preset:
    """``temporal``: frames on each side that are averaged; ``passes`` over groups of patches; ``step`` of the guide."""

    temporal: int
    step: int
    passes: int
    groups: Groups

    @property
    def reach(self) -> int:
        return self.temporal + self.passes * self.groups.reach


_PRESETS: dict[str, _Preset] = {
    "fast": _Preset(temporal=4, step=2, passes=0, groups=Groups()),
    "default": _Preset(temporal=5, step=2, passes=1, groups=Groups(size=48, own=12)),
    "best": _Preset(temporal=5, step=2, passes=2, groups=Groups(size=64, own=12, cover=2, reach=5)),
}

REACH = max(preset.reach for preset in _PRESETS.values())
"""Frames on each side of an output frame that are read at most, in any preset."""


def reach(quality: Quality) -> int:
    """Frames on each side of an output frame that are read in a preset."""
    return _preset(quality).reach


def _preset(quality: str) -> _Preset:
    if quality not in _PRESETS:
        raise InputError(f"quality must be fast, default or best, got {quality!r}; choose one of them.")
    return _PRESETS[quality]


def denoise(
    frames: ArrayLike,
    noise: Noise,
    *,
    quality: Quality = "default",
    strength: float = 1.0,
    start: int = 0,
    stop: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Posterior mean and standard deviation of the clean frames.

    Parameters
    ----------
    frames : array, shape (n, h, w, c)
        Consecutive frames of one shot on the 0..255 scale, c = 3 (RGB) or 1; they are not changed.
    noise : Noise
        As estimated, or `Noise.white`.
    quality : {"fast", "default", "best"}
    strength : float
        Factor on the noise's standard deviation; 1 is the posterior mean.
    start, stop : int
        Frames to restore. Others are only read, and only those within `REACH`.

    Returns
    -------
    mean, sd : ndarray, float32, shape (stop - start, h, w, c)
    """
    clip = np.asarray(frames, dtype=np.float32)
    preset = _preset(quality)
    if clip.ndim != 4 or 0 in clip.shape:
        raise InputError(f"frames must have shape (n, h, w, c), got {clip.shape}; pass consecutive frames.")
    stop = len(clip) if stop is None else stop
    if not 0 <= start <= stop <= len(clip):
        raise InputError(
            f"start and stop must lie in 0..{len(clip)}, got {start} and {stop}; pass frame numbers."
        )
    if not strength >= 0:
        raise InputError(f"strength must be 0 or more, got {strength}; 1 is the usual one.")
    wanted = clip[start:stop]
    assumed = noise.scaled(strength * (_CODED if noise.codec else 1.0))
    if assumed.sd <= 0 or start == stop:
        return wanted.copy(), np.zeros_like(wanted)
    first, last = max(0, start - preset.reach), min(len(clip), stop + preset.reach)
    mean, sd = _denoise(_padded(clip[first:last]), assumed, preset, start - first, stop - first)
    h, w = clip.shape[1:3]
    mean, sd = mean[:, :h, :w], sd[:, :h, :w]
    if noise.clipped:
        mean = noise.unclip(mean)
    return np.ascontiguousarray(mean), np.ascontiguousarray(sd)


def _padded(clip: FloatArray) -> FloatArray:
    """Small frames mirrored to a size that holds a patch and its surroundings."""
    h, w = clip.shape[1:3]
    down, right = max(0, _SMALLEST - h), max(0, _SMALLEST - w)
    if not (down or right):
        return clip
    return np.pad(clip, ((0, 0), (0, down), (0, right), (0, 0)), mode="symmetric")


def _denoise(
    clip: FloatArray, noise: Noise, preset: _Preset, start: int, stop: int
) -> tuple[FloatArray, FloatArray]:
    n, h, w, c = clip.shape
    basis = LUMA_CHROMA if noise.codec else OPPONENT
    planes = to_planes(clip, basis=basis)
    variance = np.empty_like(planes)
    for t in range(n):
        blurred = cv2.blur(clip[t], _BOX, borderType=cv2.BORDER_REFLECT).reshape(h, w, c)
        variance[t] = variance_to_planes(noise.variance(blurred), basis=basis)
    pilots = [shrink_in_planes(a, v) for a, v in zip(planes, variance)]
    pilot = np.stack([p[0] for p in pilots])
    doubt = np.stack([p[1].mean(axis=0) for p in pilots])
    scale = float(1 / (basis[0].sum() if c == 3 else 1.0))
    own = variance[start:stop]
    halo = preset.passes * preset.groups.reach
    low, high = max(0, start - halo), min(n, stop + halo)
    guide, left, planes, variance = _guide(
        planes, pilot, doubt, variance, scale, preset, low, high, noise.codec
    )
    del pilot
    result, spread = guide, left
    start, stop = start - low, stop - low
    for k in range(preset.passes):
        # The passes to come need the frames around; each pass gives up its outermost ones.
        halo = (preset.passes - 1 - k) * preset.groups.reach
        low, high = max(0, start - halo), min(len(planes), stop + halo)
        forward, backward = _motion(result[:, 0], scale)
        result, spread = restore_patches(
            planes, result, variance, forward, backward, start=low, stop=high, groups=preset.groups
        )
        planes, variance = planes[low:high], variance[low:high]
        start, stop = start - low, stop - low
    spread = spread[start:stop]
    if preset.passes:
        # Neighbouring frames share their data where they rest: their errors are not independent. Between none and
        # all of the gain is what was measured.
        spread = spread * np.sqrt(own / np.maximum(variance[start:stop], np.float32(1e-9)))
    mean = from_planes(result[start:stop], basis=basis)
    spread = variance_from_planes(spread, basis=basis)
    doubtful = np.float32(_LEVEL_DOUBT * (noise.high - noise.low) ** 2)
    return mean, np.sqrt(np.float32(_OPTIMISM) * spread + doubtful)


def _each(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Results in order; the work of one item is serial, so the number of threads changes no bit."""
    threads = numba.get_num_threads()
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def _motion(lumas: FloatArray, scale: float) -> tuple[Flows, Flows]:
    """Motion ``(n - 1, h, w, 2)`` from every frame to the next, and back, on planes ``(n, h, w)``."""
    n, h, w = lumas.shape
    bytes_ = np.clip(np.rint(lumas * np.float32(scale)), 0, 255).astype(np.uint8)
    pairs = [(k, k + 1) for k in range(n - 1)] + [(k + 1, k) for k in range(n - 1)]
    flows = _each(lambda pair: fast_flow(bytes_[pair[0]], bytes_[pair[1]]), pairs)
    both = np.array(flows, dtype=np.float32).reshape(2, n - 1, h, w, 2)
    return both[0], both[1]


def _guide(
    planes: FloatArray,
    pilot: FloatArray,
    doubt: FloatArray,
    variance: FloatArray,
    scale: float,
    preset: _Preset,
    low: int,
    high: int,
    codec: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The guide's mean and variance, and the data's for the patches, all ``(high - low, c, h, w)``."""
    forward, backward = _motion(pilot[:, 0], scale)
    noisy, smooth = (np.ascontiguousarray(np.moveaxis(p, 1, -1)) for p in (planes, pilot))
    level = variance.mean(axis=1)

    def along(t: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        mean, left, trust, own_share = _along_motion(
            noisy, smooth, level[t], _ALLOWANCE * doubt[t], forward, backward, t, preset.temporal, codec
        )
        mean = to_planes(mean, basis=None)
        # Patches take the frame's own noisy pixels where it moves, and the mean along motion where it rests:
        # there nothing was interpolated.
        data = planes[t] + trust * (mean - planes[t])
        kept = np.square(1 - trust) + 2 * trust * (1 - trust) * own_share + np.square(trust) * left
        return mean, variance[t] * left, data, variance[t] * kept

    parts = _each(along, range(low, high))
    done = [shrink_in_planes(mean, left, step=preset.step) for mean, left, _, _ in parts]
    return (
        np.stack([d[0] for d in done]),
        np.stack([d[1] for d in done]),
        np.stack([p[2] for p in parts]),
        np.stack([p[3] for p in parts]),
    )


def _along_motion(
    noisy: FloatArray,
    smooth: FloatArray,
    level: FloatArray,
    allowance: FloatArray,
    forward: Flows,
    backward: Flows,
    t: int,
    distance: int,
    codec: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weighted mean ``(h, w, c)`` of a frame and its neighbours, and three maps ``(h, w)``.

    These are the share of the variance that is left, how far patches may take the mean for data, and the share of
    the mean that the frame's own noise has.
    """
    n, h, w, _ = noisy.shape
    columns, rows = grid(h, w)
    total = noisy[t].copy()
    mass, squares = np.ones((h, w), np.float32), np.ones((h, w), np.float32)
    weight, misfit, tied, resting = (np.zeros((h, w), np.float32) for _ in range(4))
    for side in (1, -1):
        flow = np.zeros((h, w, 2), np.float32)
        x, y = columns, rows
        for k in range(1, distance + 1):
            s = t + side * k
            if not 0 <= s < n:
                break
            single = forward[s - 1] if side == 1 else backward[s]
            flow = flow + (single if k == 1 else _remap(single, x, y, cv2.INTER_LINEAR))
            x, y = columns + flow[..., 0], rows + flow[..., 1]
            squared_difference(_remap(smooth[s], x, y, cv2.INTER_LINEAR), smooth[t], misfit)
            moved = cv2.blur(misfit, _BOX, borderType=cv2.BORDER_REFLECT)
            squared_difference(smooth[s], smooth[t], misfit)
            still = cv2.blur(misfit, _BOX, borderType=cv2.BORDER_REFLECT)
            # Motion on noisy pictures is never quite 0: where rest explains as much, nothing is interpolated.
            rest = still <= _REST_FACTOR * moved + _REST_MARGIN * level
            fit = np.where(rest, still, moved)
            warped = _remap(noisy[s], np.where(rest, columns, x), np.where(rest, rows, y), cv2.INTER_CUBIC)
            accumulate(warped, fit, level, allowance, _SEVERITY, total, mass, squares, weight)
            resting += weight * rest
            if codec:
                # By the luma: chroma is smooth after a codec, its samples are no measure.
                np.square(warped[..., 0] - noisy[t, ..., 0], out=misfit)
                difference = cv2.blur(misfit, (9, 9), borderType=cv2.BORDER_REFLECT)
                add_tie(weight, difference, level, _INDEPENDENT, tied)
    left = np.asarray(squares / np.square(mass), dtype=np.float32)
    own_share = np.asarray(1 / mass, dtype=np.float32)
    others = np.maximum(mass - np.float32(1), np.float32(1e-6))
    trust = np.asarray(_MOVING_TRUST + (1 - _MOVING_TRUST) * np.square(resting / others), dtype=np.float32)
    if codec:
        common = tied / others
        own_share = np.asarray(own_share + common * (1 - own_share), dtype=np.float32)
        left = np.asarray(left + common * (np.float32(1) - left), dtype=np.float32)
    return total / mass[..., None], left, trust, own_share


def _remap(image: FloatArray, x: FloatArray, y: FloatArray, method: int) -> FloatArray:
    warped = cv2.remap(image, x, y, method, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(warped, dtype=np.float32).reshape(image.shape)
