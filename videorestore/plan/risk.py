"""Whether the curve is worth asking where noise is removed, without knowing the truth: by Stein's estimate and one probe."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from videorestore.clip import FloatArray
from videorestore.request import Quality
from videorestore.spatial.noise import LUMA, Noise
from videorestore.spatial.stein import PROBE, Divergence

FEWEST = 3
"""Different frames without which there is no curve at all."""

WORTH = 0.03
"""Share of the error along motion that the curve must take away: asking it doubles the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """What the curve has to say beside motion.

    Attributes
    ----------
    gain : float
        Share of motion's squared error that it takes away, as estimated.
    divergence : Divergence or None
        What its difference from motion has of the noise in each sample; None where it is not worth asking.
    """

    gain: float = 0.0
    divergence: Divergence | None = None

    @property
    def model(self) -> str:
        """Motion alone, or both."""
        return "motion" if self.divergence is None else "mixed"


def hears_motion_alone(noise: Noise) -> bool:
    """Whether the curve is not asked whatever the frames show.

    Noise after a codec, and smooth noise, is not independent; and a curve takes the noise for the same in all frames.
    """
    return noise.codec or bool(noise.shape or noise.course)


def different(frames: FloatArray) -> int:
    """How many of the frames differ from each other: a curve runs through no fewer than `FEWEST`."""
    return len({frame.tobytes() for frame in frames})


def say_of_curve(frames: FloatArray, noise: Noise, quality: Quality) -> Say:
    """What the curve has to say of a part of a shot.

    Parameters
    ----------
    frames : ndarray, shape (n, h, w, c)
        Noisy, on the 0..255 scale.
    noise : Noise
        As it will be removed, independent from sample to sample.
    """
    from videorestore.curve.denoise import pair_with
    from videorestore.curve.fit import fit_shot
    from videorestore.motion.denoise import stored_mean

    if different(frames) < FEWEST:
        return Say()
    if noise.monochrome and frames.shape[-1] == 3:
        # All channels carry the noise of the luma.
        frames = (frames @ LUMA)[..., None]
    step = np.float32(PROBE * noise.sd)
    probe = np.random.default_rng(0).standard_normal(frames.shape, dtype=np.float32)
    fit = fit_shot(frames, sigma=noise.sd)
    pairs = []
    for given in (frames, frames + step * probe):
        mean, sd = stored_mean(given, noise, quality=quality)
        pairs.append(pair_with(given, noise, fit, mean, sd))
    pair, moved = pairs
    probed = probe * ((moved.second - moved.first) - (pair.second - pair.first)) / step
    divergence = pair.learn(probed)
    claimed = float(np.mean(pair.first_left * pair.noise, dtype=np.float64))
    gain = pair.gain(pair.weight(divergence), probed) / max(claimed, 1e-9)
    return Say(gain=gain, divergence=divergence if gain > WORTH else None)
