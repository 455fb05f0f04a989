"""The models behind one face: the electroGP along fixed pixels, the same posterior along motion, and both together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.make.samples import are_subsampled, samples_by_parts
from videorestore.make.spool import MEMORY, Room, Stack, Unfolded, cut
from videorestore.make.tiles import SIDE, by_parts
from videorestore.request import Quality
from videorestore.spatial.noise import Noise
from videorestore.spatial.stein import Divergence

Seconds = NDArray[np.float64]
"""Times of frames, one after the other."""

CLEANED, FEWEST = 12, 4
"""Frames on either side of new ones that are denoised with those between, and the fewest that can be."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewFrames:
    """New frames ``(m, h, w, c)`` with their sd, and their latent positions on a curve."""

    frames: FloatArray
    sd: FloatArray
    x: FloatArray | None = None


class Interpolator(Protocol):
    """What is learnt from the given frames once, for new frames that are asked for in several portions."""

    @property
    def known_x(self) -> FloatArray | None:
        """Latent positions of the given frames, on a curve."""
        ...

    def at(self, targets: Seconds) -> NewFrames:
        """Frames at new times; they do not depend on how the times are divided into portions."""
        ...


Denoised = tuple[Stack, Stack, FloatArray | None]


class Engine(Protocol):
    """What the pipeline asks of a model. Frames are ``(n, h, w, c)`` float32 on the 0..255 scale."""

    @property
    def denoise_reach(self) -> int: ...

    def denoise(
        self, frames: Stack, noise: Noise, strength: float, start: int, stop: int, room: Room = MEMORY
    ) -> Denoised:
        """Posterior mean and sd of ``frames[start:stop]``, and x of all frames where there is one."""
        ...

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """``frames[start:stop]`` with the masked pixels regenerated, and their sd (0 where kept)."""
        ...

    def interpolator(self, frames: Any, times: Seconds) -> Interpolator:
        """What makes frames at new times, from frames that may be a `Spool`."""
        ...


class MotionInterpolator:
    """Along motion. A new frame depends on few frames around it, and what is found in these is kept for the next."""

    known_x = None
    """There is no curve."""

    def __init__(self, frames: Any, times: Seconds, quality: Quality) -> None:
        from videorestore.motion.interpolate import Maker

        self.times = times
        self.quality = quality
        self._maker = Maker(frames, times, quality=quality)

    def at(self, targets: Seconds) -> NewFrames:
        """See `Interpolator.at`."""
        made = self._maker.at(targets)
        return NewFrames(frames=made.frames, sd=made.sd)


@dataclass(frozen=True, slots=True, eq=False)
class CurveInterpolator:
    """On a fitted curve through frames with noise of sd ``grain``, weighed against ``motion`` in every place where given."""

    frames: Any
    times: Seconds
    fit: Any
    grain: float
    motion: MotionInterpolator | None = None

    @property
    def known_x(self) -> FloatArray:
        """See `Interpolator.known_x`."""
        return np.asarray(np.interp(self.times, self.fit.times, self.fit.x), np.float32)

    def at(self, targets: Seconds) -> NewFrames:
        """See `Interpolator.at`."""
        from videorestore.curve.fill import opinion, weigh

        mean, variance = opinion(self.frames, self.fit, targets, noise_sd=self.grain)
        if self.motion is None:
            sd = np.broadcast_to(np.sqrt(variance), mean.shape)
        else:
            moved = self._moved(self.motion, targets)
            mean, sd = weigh(moved.frames, moved.sd, mean, variance)
        x = np.asarray(self.fit.place(targets), np.float32)
        return NewFrames(frames=mean, sd=sd, x=x)

    def _moved(self, motion: MotionInterpolator, targets: Seconds) -> NewFrames:
        """Along motion, between frames without their noise."""
        from videorestore.curve.denoise import denoise
        from videorestore.curve.fill import NOISY

        low = max(0, int(np.searchsorted(self.times, targets.min())) - CLEANED)
        high = min(len(self.times), int(np.searchsorted(self.times, targets.max())) + CLEANED)
        if self.grain <= NOISY or high - low < FEWEST:
            return motion.at(targets)
        window = np.array(self.frames[low:high], np.float32)
        clean, sd, _ = denoise(window, Noise.white(self.grain, clipped=False))
        made = MotionInterpolator(clean, self.times[low:high], motion.quality).at(targets)
        left = float(np.mean(np.square(sd)))
        return NewFrames(frames=made.frames, sd=np.sqrt(np.square(made.sd) + np.float32(left)))


def _curve_through(
    frames: Any, times: Seconds, grain: float, motion: MotionInterpolator | None = None
) -> CurveInterpolator:
    from videorestore.curve.fit import fit_shot

    return CurveInterpolator(frames, times, fit_shot(frames, times=times, sigma=grain or None), grain, motion)


@dataclass(frozen=True, slots=True)
class MotionEngine:
    """Along motion-compensated tracks; large frames are denoised in parts of a ``side``."""

    quality: Quality = "default"
    side: int = SIDE

    @property
    def denoise_reach(self) -> int:
        """Frames on each side that denoising reads."""
        from videorestore.motion.denoise import reach

        return reach(self.quality)

    @property
    def inpaint_reach(self) -> int:
        """Frames on each side that inpainting reads."""
        from videorestore.motion import inpaint

        return inpaint.REACH

    def denoise(
        self, frames: Stack, noise: Noise, strength: float, start: int, stop: int, room: Room = MEMORY
    ) -> Denoised:
        """See `Engine.denoise`."""
        from videorestore.motion.denoise import denoise, denoise_samples, is_subsampled

        if strength > 0 and start < stop and is_subsampled(noise) and are_subsampled(frames):
            assert isinstance(frames, Unfolded)
            clean = partial(
                denoise_samples, noise=noise, quality=self.quality, strength=strength, start=start, stop=stop
            )
            return *samples_by_parts(clean, frames, start, stop, self.side), None

        def part(pixels: FloatArray) -> tuple[FloatArray, FloatArray]:
            return denoise(pixels, noise, quality=self.quality, strength=strength, start=start, stop=stop)

        return *by_parts(part, frames, stop - start, self.side, room), None

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """See `Engine.inpaint`."""
        from videorestore.motion.inpaint import inpaint

        return inpaint(frames, masks, start=start, stop=stop)

    def interpolator(self, frames: Any, times: Seconds) -> MotionInterpolator:
        """See `Engine.interpolator`."""
        return MotionInterpolator(frames, times, self.quality)


@dataclass(frozen=True, slots=True)
class CurveEngine:
    """One electroGP through the frames, pixels in place; ``grain`` is the sd of noise that stays in them."""

    grain: float = 0.0

    @property
    def denoise_reach(self) -> int:
        """A curve learns from all frames that it is given."""
        return 0

    def denoise(
        self, frames: Stack, noise: Noise, strength: float, start: int, stop: int, room: Room = MEMORY
    ) -> Denoised:
        """See `Engine.denoise`."""
        return _on_curve(frames, noise, strength, start, stop, room)

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """See `Engine.inpaint`."""
        from videorestore.curve.inpaint import inpaint

        made, sd = inpaint(frames, masks)
        return made[start:stop], sd[start:stop]

    def interpolator(self, frames: Any, times: Seconds) -> CurveInterpolator:
        """See `Engine.interpolator`."""
        return _curve_through(frames, times, self.grain)


@dataclass(frozen=True, slots=True)
class JointEngine:
    """Both, weighed in every place. Noise: motion's result is half of the pilot on the curve.

    ``divergence`` is what a trial on the noise has found (:mod:`videorestore.plan.risk`); without it noise is removed along
    motion. ``core`` is the number of frames that are denoised along motion at once, ``grain`` the sd of noise that stays.
    """

    motion: MotionEngine
    core: int
    divergence: Divergence | None = None
    grain: float = 0.0

    @property
    def denoise_reach(self) -> int:
        """See `MotionEngine.denoise_reach`."""
        return self.motion.denoise_reach

    def denoise(
        self, frames: Stack, noise: Noise, strength: float, start: int, stop: int, room: Room = MEMORY
    ) -> Denoised:
        """See `Engine.denoise`."""
        from videorestore.curve.denoise import Beside

        if self.divergence is None:
            return self.motion.denoise(frames, noise, strength, start, stop, room)
        with pulse.part(0.0, 0.5):
            mean, sd = self._along_motion(frames, noise, strength, room)
        with pulse.part(0.5, 1.0):
            beside = Beside(mean=mean, sd=sd, divergence=self.divergence)
            return _on_curve(frames, noise, strength, start, stop, room, beside)

    def _along_motion(self, frames: Any, noise: Noise, strength: float, room: Room) -> tuple[Stack, Stack]:
        """Mean and sd of all frames along motion, some at a time."""
        from videorestore.motion.denoise import stored_mean

        n, reach = len(frames), self.motion.denoise_reach
        mean, sd = room.stack((n, *frames.shape[1:])), room.sd_stack((n, *frames.shape[1:]))
        count = -(-n // self.core)
        edges = [n * k // count for k in range(count + 1)]
        for a, b in pulse.counted(list(pairwise(edges))):
            low, high = max(0, a - reach), min(n, b + reach)
            made = partial(
                stored_mean,
                noise=noise,
                quality=self.motion.quality,
                strength=strength,
                start=a - low,
                stop=b - low,
            )
            m, s = by_parts(made, cut(frames, low, high), b - a, self.motion.side, room)
            for k in range(b - a):
                mean[a + k], sd[a + k] = m[k], s[k]
        return mean, sd

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """See `Engine.inpaint`."""
        from videorestore.curve.inpaint import FEWEST, opinion
        from videorestore.motion.inpaint import inpaint

        drawn = opinion(frames, masks) if len(frames) >= FEWEST and not masks.all() else None
        return inpaint(frames, masks, start=start, stop=stop, beside=drawn)

    def interpolator(self, frames: Any, times: Seconds) -> CurveInterpolator:
        """See `Engine.interpolator`."""
        return _curve_through(frames, times, self.grain, self.motion.interpolator(frames, times))


def _on_curve(
    frames: Stack, noise: Noise, strength: float, start: int, stop: int, room: Room, beside: Any = None
) -> Denoised:
    """The posterior on a curve, with another estimate beside it or alone."""
    from videorestore.curve.denoise import denoise

    shape = (len(frames), *frames.shape[1:])
    mean, sd = room.stack(shape), room.sd_stack(shape)
    fit = denoise(frames, noise.scaled(strength), beside=beside, out=mean, out_sd=sd)[2]
    for k in range(start, stop) if noise.clipped else ():
        mean[k] = noise.unclip(mean[k])
    return cut(mean, start, stop), cut(sd, start, stop), np.asarray(fit.x, np.float32)
