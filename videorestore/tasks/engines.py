"""The two models behind one face: the electroGP along fixed pixels, and the same posterior along motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Mask
from videorestore.spatial.noise import Noise
from videorestore.tasks.options import Quality
from videorestore.tasks.tiles import by_parts

Clock = NDArray[np.float64]

CONTESTED = 24
"""Most new frames for which the curve is weighed against motion, place by place: that takes seconds for each."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewFrames:
    """New frames ``(m, h, w, c)`` with their sd; latent positions of the new and of the given frames, on a curve."""

    frames: FloatArray
    sd: FloatArray
    x: FloatArray | None = None
    known_x: FloatArray | None = None


class Engine(Protocol):
    """What the pipeline asks of a model. Frames are ``(n, h, w, c)`` float32 on the 0..255 scale."""

    @property
    def denoise_reach(self) -> int: ...
    @property
    def inpaint_reach(self) -> int: ...

    def denoise(
        self, frames: FloatArray, noise: Noise, strength: float, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Posterior mean and sd of ``frames[start:stop]``, and x of all frames where there is one."""
        ...

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """``frames[start:stop]`` with the masked pixels regenerated, and their sd (0 where kept)."""
        ...

    def interpolate(self, frames: FloatArray, times: Clock, targets: Clock) -> NewFrames:
        """Frames at new times."""
        ...


@dataclass(frozen=True, slots=True)
class MotionEngine:
    """Along motion-compensated tracks."""

    quality: Quality = "default"

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
        self, frames: FloatArray, noise: Noise, strength: float, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """See `Engine.denoise`."""
        from videorestore.motion.denoise import denoise

        def part(pixels: FloatArray) -> tuple[FloatArray, FloatArray]:
            return denoise(pixels, noise, quality=self.quality, strength=strength, start=start, stop=stop)

        mean, sd = by_parts(part, frames, stop - start)
        return mean, sd, None

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """See `Engine.inpaint`."""
        from videorestore.motion.inpaint import inpaint

        return inpaint(frames, masks, start=start, stop=stop)

    def interpolate(self, frames: FloatArray, times: Clock, targets: Clock) -> NewFrames:
        """See `Engine.interpolate`."""
        from videorestore.motion.interpolate import interpolate

        made = interpolate(frames, times, targets, quality=self.quality)
        return NewFrames(frames=made.frames, sd=made.sd)


@dataclass(frozen=True, slots=True)
class CurveEngine:
    """One electroGP through the frames, pixels in place.

    ``plain`` leaves it at the posterior of the curve; otherwise motion between the frames around has a say too.
    """

    plain: bool = False

    @property
    def denoise_reach(self) -> int:
        """A curve learns from all frames that it is given."""
        return 0

    @property
    def inpaint_reach(self) -> int:
        """A curve learns from all frames that it is given."""
        return 0

    def denoise(
        self, frames: FloatArray, noise: Noise, strength: float, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """See `Engine.denoise`."""
        from videorestore.curve.denoise import denoise

        mean, sd, info = denoise(frames, sigma=noise.sd, strength=strength)
        return mean[start:stop], sd[start:stop], np.asarray(info.x, np.float32)

    def inpaint(
        self, frames: FloatArray, masks: Mask, start: int, stop: int
    ) -> tuple[FloatArray, FloatArray]:
        """See `Engine.inpaint`."""
        from videorestore.curve.inpaint import inpaint

        made, sd = inpaint(frames, masks)
        return made[start:stop], sd[start:stop]

    def interpolate(self, frames: FloatArray, times: Clock, targets: Clock) -> NewFrames:
        """See `Engine.interpolate`."""
        from videorestore.curve.fill import upsample
        from videorestore.curve.fit import fit_curve

        fit = fit_curve(frames, times=times)
        x = fit.place(targets)
        plain = self.plain or len(targets) > CONTESTED
        mean, sd = fit.predict(frames, x) if plain else upsample(frames, times, targets, fit=fit)
        known = np.interp(times, fit.times, fit.x)
        return NewFrames(
            frames=mean, sd=sd, x=np.asarray(x, np.float32), known_x=np.asarray(known, np.float32)
        )


def engine_for(model: str, quality: Quality) -> Engine:
    """The engine of a model by name."""
    return CurveEngine() if model == "curve" else MotionEngine(quality)
