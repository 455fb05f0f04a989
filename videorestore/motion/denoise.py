"""Denoising of natural video: Gaussian posterior means along motion and over groups of similar patches.

1. A pilot of every frame by itself (overlapped cosine blocks), motion between neighbours on it.
2. The posterior along the motion: neighbours, warped, are weighed by how well their pilots fit. Places that rest hear
   all frames at hand (:mod:`videorestore.motion.denoise_rest`). What noise is left is known for every pixel and
   removed by cosine blocks again. This is the guide, and the result of ``fast``.
3. Motion again on the guide, then groups of similar patches with the guide's covariance (``default``); once more
   with that result as guide (``best``).

What is asked for is a function of those frames and the ones within `REACH` of them; the more are asked for at once, the
more is known of what rests. Memory is about 150 bytes per pixel and frame of the window for colour, 60 for grey.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import ArrayLike

from videorestore import pulse
from videorestore.clip import FloatArray
from videorestore.compiled import in_threads
from videorestore.errors import InputError
from videorestore.motion._kernels_denoise import EDGE
from videorestore.motion.denoise_along import (
    CHROMA_ALLOWANCE,
    CHROMA_BOX,
    Along,
    Pictures,
    along_motion,
    edged,
    smoothed,
)
from videorestore.motion.denoise_error import error_variance, lost_to_codec, luma_share
from videorestore.motion.denoise_layout import Layout, channel_sd
from videorestore.motion.denoise_rest import with_rest
from videorestore.motion.flow import half_flow
from videorestore.spatial._kernels_planes import to_bytes
from videorestore.spatial.dct import share_in_mean, shrink_in_planes, with_low_band
from videorestore.spatial.noise import LUMA, Noise
from videorestore.spatial.patches import Groups, restore_patches
from videorestore.spatial.planes import plane_mean
from videorestore.spatial.subsampled import doubled, gather

Quality = Literal["fast", "default", "best"]

_FLOW_SHARE = 0.2
_SHARES = {True: (0.38, 0.52), False: (0.55, 1.0)}
"""Shares of the time: of what runs along motion, and of the pass over patches, the search for motion; and after which the former is
done and what it left is shrunk, with such a pass and without. For progress only, from the CPU time of 352x288 and 1080p."""
_CODED = 0.9
"""Of the noise that a codec left, the part that is not yet quantised away is less than what is seen."""


_CHANCE = 2.5
"""Misfit of smooth noise counts beyond so many times what is expected: a box holds one or two independent values of it, whose
mean square exceeds this in one of ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preset:
    """``temporal``: frames on each side that are averaged; ``step`` of the guide; ``groups`` of patches, if any."""

    temporal: int
    step: int
    groups: Groups | None

    @property
    def reach(self) -> int:
        return self.temporal + (self.groups.reach if self.groups else 0)


_PRESETS: dict[str, _Preset] = {
    "fast": _Preset(temporal=3, step=2, groups=None),
    "default": _Preset(temporal=5, step=2, groups=Groups(size=48, own=6, cover=2, reach=5)),
    # A second pass with the result as guide gained up to .1 dB where much moves, and lost up to .6 where nothing does.
    "best": _Preset(temporal=5, step=2, groups=Groups(size=64, own=4, cover=2, reach=7)),
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
    mean, sd = stored_mean(frames, noise, quality=quality, strength=strength, start=start, stop=stop)
    if strength > 0 and noise.clipped:
        for k, picture in enumerate(mean, start):
            picture[...] = noise.at(k).to_remove().unclip(picture)
    return mean, sd


def stored_mean(
    frames: ArrayLike,
    noise: Noise,
    *,
    quality: Quality = "default",
    strength: float = 1.0,
    start: int = 0,
    stop: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Like :func:`denoise`, but the mean of the samples as they are stored: clipping is not undone."""
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
    if noise.monochrome and clip.shape[-1] == 3:
        # All channels carry the noise of the luma: they move with it, and their differences stay.
        luma = (clip @ LUMA)[..., None]
        mean, sd = stored_mean(luma, noise, quality=quality, strength=strength, start=start, stop=stop)
        return wanted + (mean - luma[start:stop]), np.repeat(sd, 3, axis=-1)
    assumed = noise.to_remove().scaled(strength * (_CODED if noise.codec else 1.0))
    if assumed.sd <= 0 or start == stop:
        return wanted.copy(), np.zeros_like(wanted)
    first, last = max(0, start - preset.reach), min(len(clip), stop + preset.reach)
    assumed = assumed.of_frames(range(first, last))
    layout = Layout.of(clip[first:last], assumed)
    done = _denoise(layout, assumed, preset, start - first, stop - first)
    mean, sd = layout.image(done.mean, done.luma_error, done.chroma_error, done.chroma, done.lost)
    return np.ascontiguousarray(mean), np.ascontiguousarray(sd)


def is_subsampled(noise: Noise) -> bool:
    """Whether such noise is removed from luma and chroma at half the resolution, where the samples have that: see `denoise_samples`."""
    even = noise.slope == 0 and not noise.monochrome
    return even and (noise.codec or bool(noise.chroma))


def denoise_samples(
    luma: FloatArray,
    chroma: FloatArray,
    noise: Noise,
    *,
    quality: Quality,
    strength: float,
    start: int,
    stop: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What `denoise` does, on samples as files keep them.

    Parameters
    ----------
    luma, chroma : ndarray, shapes (n, h, w) and (n, 2, h / 2, w / 2)
        In the basis `LUMA_CHROMA` of channels on the 0..255 scale; sides of 16 at least, and even.
    noise : Noise
        One for which `is_subsampled`.

    Returns
    -------
    luma, chroma, sd : ndarray
        Of ``stop - start`` frames; the sd (m, h / 2, w / 2, 3) is that of the channels.
    """
    preset = _preset(quality)
    assumed = noise.to_remove().scaled(strength * (_CODED if noise.codec else 1.0))
    first, last = max(0, start - preset.reach), min(len(luma), stop + preset.reach)
    assumed = assumed.of_frames(range(first, last))
    layout = Layout.of_samples(luma[first:last], chroma[first:last], assumed)
    done = _denoise(layout, assumed, preset, start - first, stop - first)
    assert done.chroma is not None
    sd = channel_sd(done.luma_error, done.chroma_error, layout.basis, done.lost)
    for k in range(start, stop) if noise.clipped else ():
        own = done.mean[k - start, 0], done.chroma[k - start]
        noise.at(k).to_remove().unclip_planes(*own, layout.basis)
    return done.mean[:, 0], done.chroma, sd


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Done:
    """Planes ``(m, c, h, w)``, and the variances of their errors, ``(m, 1 or 2, h / 2, w / 2)``; ``lost`` is in every channel beside.

    ``chroma`` (m, 2, h / 2, w / 2) is apart where it has half the resolution.
    """

    mean: FloatArray
    luma_error: FloatArray
    chroma_error: FloatArray
    chroma: FloatArray | None
    lost: float


def _denoise(layout: Layout, noise: Noise, preset: _Preset, start: int, stop: int) -> _Done:
    n = len(layout.planes)
    # Groups of patches take their noise for white: smooth noise would stay.
    groups = None if noise.shape else preset.groups
    planes, variance = layout.planes, layout.variance
    own = variance[start:stop]
    halo = groups.reach if groups else 0
    low, high = max(0, start - halo), min(n, stop + halo)
    temporal, shrunk = _SHARES[groups is not None]
    with pulse.part(0.0, temporal):
        parts = _temporal(layout, preset, low, high, noise)
    level = gather(plane_mean(variance[low:high]))
    parts = with_rest(parts, planes[low:high], level, layout.growth[low:high], preset.temporal)
    guide, left = np.empty_like(planes[low:high]), np.empty_like(planes[low:high])
    step, shape = preset.step, layout.shape
    with pulse.part(temporal, shrunk):
        for t, part in enumerate(pulse.counted(parts)):
            # What noise is left in the mean along motion is removed.
            noise_left = variance[low + t] * doubled(part.left)
            into = guide[t], left[t]
            shrink_in_planes(part.mean, noise_left, step=step, first_step=2 * step, shape=shape, out=into)
    start, stop = start - low, stop - low
    result, own, left = guide[start:stop], gather(own), gather(left[start:stop])
    along = own[:, :1] * np.stack([p.left for p in parts[start:stop]])[:, None]
    chroma = None
    if layout.chroma_variance is not None:
        own_chroma = layout.chroma_variance[low:high][start:stop]
        chroma = _chroma(parts[start:stop], own_chroma, layout.chroma_shape, bool(noise.chroma))
    luma = left[:, :1]
    if groups:
        planes, variance = _data(parts, planes[low:high], variance[low:high])
        sought = shrunk + _FLOW_SHARE * (1.0 - shrunk)
        with pulse.part(shrunk, sought):
            flows = _motion(gather(guide[:, 0]), layout.scale)
        with pulse.part(sought, 1.0):
            result, remaining = restore_patches(
                planes, guide, variance, *flows, start=start, stop=stop, groups=groups
            )
        # Neighbouring frames share their data where they rest: their errors are not independent. Between none and
        # all of the gain is what was measured.
        shared = np.sqrt(own[:, :1] / np.maximum(gather(variance[start:stop, :1]), np.float32(1e-9)))
        luma = luma_share(gather(remaining), left, own) * shared
    error, colour_error = error_variance(luma, along, left[:, 1:] if chroma is None else chroma[1], noise)
    return _Done(
        mean=result,
        luma_error=error,
        chroma_error=colour_error,
        chroma=None if chroma is None else chroma[0],
        lost=lost_to_codec(noise),
    )


def _motion(lumas: FloatArray, scale: float) -> tuple[list[FloatArray], list[FloatArray]]:
    """Motion ``(h, w, 2)`` from every frame to the next, and back, on planes ``(n, h, w)`` of half the resolution."""
    bytes_ = np.empty(lumas.shape, np.uint8)
    for plane, out in zip(lumas, bytes_):
        to_bytes(plane, scale, out)
    n = len(lumas)
    pairs = [(k, k + 1) for k in range(n - 1)] + [(k + 1, k) for k in range(n - 1)]
    flows = in_threads(lambda pair: half_flow(bytes_[pair[0]], bytes_[pair[1]]), pairs, counted=True)
    return flows[: n - 1], flows[n - 1 :]


def _temporal(layout: Layout, preset: _Preset, low: int, high: int, noise: Noise) -> list[Along]:
    """The posteriors along motion of the frames ``low`` to ``high``."""
    pilots, doubts = [], []
    for planes, variance in zip(layout.planes, layout.variance):
        pilot, spread = shrink_in_planes(planes, variance, shape=layout.shape)
        pilots.append(edged(pilot))
        doubts.append(gather(plane_mean(spread)))
    with pulse.part(0.1, 0.1 + _FLOW_SHARE):
        lumas = gather(np.stack([pilot[0, EDGE:-EDGE, EDGE:-EDGE] for pilot in pilots]))
        found = _motion(lumas, layout.scale)
        forward, backward = ([cv2.split(f) for f in flows] for flows in found)
    chroma, chroma_variance = layout.chroma, layout.chroma_variance
    pictures = Pictures(
        noisy=np.stack([edged(planes) for planes in layout.planes]),
        pilot=np.stack(pilots),
        level=gather(plane_mean(layout.variance)),
        doubt=np.stack(doubts),
        forward=forward,
        backward=backward,
        growth=layout.growth,
        coded=noise.codec,
        chroma=None if chroma is None else np.stack([edged(planes) for planes in chroma]),
        smooth=None if chroma is None else np.stack([edged(smoothed(planes)) for planes in chroma]),
        chroma_level=None if chroma_variance is None else plane_mean(chroma_variance),
        chroma_allowance=_CHANCE * 2 * share_in_mean(layout.chroma_shape, CHROMA_BOX)
        if noise.chroma
        else CHROMA_ALLOWANCE,
    )
    with pulse.part(0.1 + _FLOW_SHARE, 1.0):
        return in_threads(
            lambda t: along_motion(pictures, t, preset.temporal), range(low, high), counted=True
        )


def _chroma(
    parts: list[Along], variance: FloatArray, shape: FloatArray, deep: bool
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance ``(n, 2, h / 2, w / 2)`` of the chroma at half the resolution.

    ``deep``: noise that is smooth over whole blocks is sought at a quarter of the resolution as well.
    """
    done = []
    for part, own in zip(parts, variance):
        assert part.chroma is not None and part.chroma_left is not None
        mean = part.chroma
        fine, spread = shrink_in_planes(mean, own * part.chroma_left, shape=shape)
        done.append((with_low_band(fine, mean, own * part.chroma_left, shape) if deep else fine, spread))
    return np.stack([d[0] for d in done]), np.stack([d[1] for d in done])


def _data(parts: list[Along], planes: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """What patches take for data, with its variance.

    The frame's own noisy pixels where it moves, and the mean along motion where it rests: there nothing was
    interpolated.
    """
    data, kept = np.empty_like(planes), np.empty_like(variance)
    for t, p in enumerate(parts):
        data[t] = planes[t] + doubled(p.trust) * (p.mean - planes[t])
        share = np.square(1 - p.trust) + 2 * p.trust * (1 - p.trust) * p.own + np.square(p.trust) * p.left
        kept[t] = variance[t] * doubled(share)
    return data, kept
