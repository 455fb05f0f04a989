"""Smooth noise, as tapes and analogue captures have it: its spectrum in luma and chroma, measured frequency by frequency.

White noise has the same variance at all frequencies. A tape has most of it at the low ones, and more and smoother noise
in the chroma. Texture that motion does not explain is stronger at low frequencies too, but in some blocks only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.detect.noise_blocks import (
    N_HIGH,
    N_MIDDLE,
    Blocks,
    flattest,
    joined,
    quantile_variance,
    spectrum,
)
from videorestore.spatial.noise import LUMA, LUMA_GAIN, Noise, clipping_table
from videorestore.spatial.planes import LUMA_CHROMA, to_planes
from videorestore.spatial.subsampled import gather


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Limits, set on eleven development clips: clean, with white noise of sd 5 and 25, and as from a tape."""

    tilt: float = 1.8
    """Middle over high frequencies (variance) from which noise is smooth: white has up to 1.5, tapes 3 and more."""
    same: float = 1.35
    """Most by which that ratio differs between quiet and usual blocks; texture differs more."""
    least: float = 2.5
    """Weaker smooth noise cannot be told from what motion leaves (sd of the luma at middle frequencies, 0..255)."""
    shown: float = 0.8
    """Part of it (sd) that the quietest single blocks must show: what is between frames only is motion or light."""
    interval: tuple[float, float] = (0.93, 1.07)
    """95 % interval of the sd, as factors: thousands of blocks agree to 4 %, and their quantile may hold some motion."""
    excess: float = 2.0
    """Variance of the chroma over what the luma's level explains from which it has a level of its own."""
    raised: float = 1.5
    """Variance at a brightness over the mean of all from which it counts as raised there."""
    surely: float = 3.0
    """Weaker noise after a codec does not tell how it depends on brightness (sd, 0..255)."""
    chroma_least: float = 2.0
    """Weaker chroma noise is left to the luma's level (sd at half the resolution, 0..255)."""


_T = Tuning()


def is_smooth(blocks: Blocks) -> bool:
    """Whether the noise of luma blocks lies at low frequencies, in quiet and in usual blocks alike."""
    flat = joined(flattest(blocks))
    ratios = [
        quantile_variance(flat.middle, N_MIDDLE, q) / max(quantile_variance(flat.high, N_HIGH, q), 1e-6)
        for q in (0.1, 0.3, 0.6)
    ]
    middle = quantile_variance(flat.middle, N_MIDDLE)
    shown = quantile_variance(blocks.still_middle, N_MIDDLE, 0.05)
    return bool(
        min(ratios) >= _T.tilt
        and max(ratios) <= _T.same * min(ratios)
        and middle >= _T.least**2
        and shown >= _T.shown**2 * middle
    )


def smooth_noise(clip: FloatArray, most: int) -> Noise:
    """Noise of colour frames ``(n, h, w, 3)`` by its spectrum; frames too small for blocks of chroma have none of its own."""
    luma = clip @ LUMA
    own, chroma = spectrum(luma, luma, most), _chroma(clip, most)
    sd = float(np.sqrt(own.mean())) / LUMA_GAIN
    low, high = (factor * sd for factor in _T.interval)
    return Noise(
        sd=sd,
        low=low,
        high=high,
        offset=sd * sd,
        per_channel=(sd, sd, sd),
        shape=tuple((own / own.mean()).tolist()),
        chroma=tuple(chroma.tolist()) if chroma.any() else (),
    )


def with_chroma(noise: Noise, clip: FloatArray, most: int, usual: NDArray[np.float64]) -> Noise:
    """The same noise, with a spectrum of the chroma's own where that is clearly stronger than the luma's level explains.

    ``usual`` (64,) is what a denoiser assumes at half the resolution, over the squared level.
    """
    own = _chroma(clip, most)
    assumed = usual * noise.level**2
    if own.mean() < max(_T.excess * assumed.mean(), _T.chroma_least**2):
        return noise
    return replace(noise, chroma=tuple(np.maximum(own, assumed).tolist()))


def with_levels(noise: Noise, blocks: Blocks) -> Noise:
    """The same noise, with what it has more of at some brightness, by the middle frequencies: a codec takes the finest first.

    Only what all blocks of a brightness have alike is noise. It is never taken for weaker than usual: a codec freezes it. Where
    clipping explains the difference there is none.
    """
    parts = flattest(blocks)
    if not noise.trustworthy or noise.low < _T.surely or len(parts) < 3:
        return noise
    own = np.array([quantile_variance(part.middle, N_MIDDLE) for part in parts])
    brightness = np.array([float(part.level.mean()) for part in parts])
    if noise.clipped:
        _, mean, left = clipping_table(noise.level**2, 0.0)
        own /= np.maximum(np.interp(brightness, mean, left) / noise.level**2, 0.1)
    few, many = (np.array([quantile_variance(p.middle, N_MIDDLE, q) for p in parts]) for q in (0.1, 0.6))
    alike = many <= _T.same * _T.same * few
    raised = np.where(alike, np.maximum(own / max(own.mean(), 1e-9), 1.0), 1.0)
    # Noise changes smoothly with brightness: the middle one of three neighbours counts.
    middles = np.clip(np.arange(len(parts)), 1, len(parts) - 2)
    factors = np.median([raised[middles - 1], raised[middles], raised[middles + 1]], axis=0)
    if factors.max() < _T.raised:
        return noise
    return replace(noise, levels=tuple(zip(brightness.tolist(), factors.tolist())), clipped=False)


def _chroma(clip: FloatArray, most: int) -> NDArray[np.float64]:
    """Mean spectrum ``(64,)`` of the two chroma planes of colour frames at half the resolution."""
    h, w = clip.shape[1:3]
    even = clip[:, : h // 2 * 2, : w // 2 * 2]
    half = np.stack([gather(to_planes(frame, basis=LUMA_CHROMA)) for frame in even])
    guide = half[:, 0] * np.float32(LUMA_GAIN)
    one, two = (spectrum(np.ascontiguousarray(half[:, k]), guide, most) for k in (1, 2))
    return (one + two) / 2
