"""How noisy a clip is: from differences of motion-compensated blocks, where the picture itself cancels.

Blocks are compared in the cosine domain. High frequencies carry little picture; blocks that are flat at low
frequencies are preferred, so that aliased texture does not count as noise. Noise that went through a lossy codec
is told by its smooth chroma or its missing high frequencies; :mod:`videorestore.detect.noise_coded` measures it.
"""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray

from videorestore.clip import FloatArray
from videorestore.detect.noise_blocks import (
    BLOCK,
    FLAT,
    N_HIGH,
    N_HIGHEST,
    N_MIDDLE,
    Blocks,
    compare,
    flattest,
    joined,
    quantile_variance,
    spreads,
)
from videorestore.detect.noise_coded import coded_noise
from videorestore.detect.noise_smooth import is_smooth, smooth_noise, with_chroma, with_levels
from videorestore.detect.quiet import quietest_sd
from videorestore.errors import InputError
from videorestore.spatial.noise import CODED_CHROMA, LUMA, LUMA_GAIN, Noise, clipping_table, is_monochrome
from videorestore.spatial.planes import LUMA_CHROMA, to_planes
from videorestore.spatial.quantiles import normal_cdf, slope_interval
from videorestore.spatial.subsampled import find_grid

__all__ = ["Noise", "estimate_noise"]

CHROMA_BLOCKS = 100
"""Blocks of chroma at half the resolution that tell its spectrum: the quietest of fewer are chance, or damage. Fields of tapes
have 200 and more."""


_RARE = 1e-3
"""Share of the samples below which what lies beyond 0..255 is from conversions of colour."""


def estimate_noise(frames: ArrayLike, *, most: int = 6) -> Noise:
    """Standard deviation of the noise, blind, and how it grows with brightness.

    Parameters
    ----------
    frames : array, shape (n, h, w, c)
        Consecutive working frames of one shot, 0..255. About ten suffice; repeated ones are passed over.
    most : int
        Frames that are compared with their neighbours.

    Returns
    -------
    Noise
        Of a clean clip ``clean`` is true and ``sd`` near 0.
    """
    clip = np.asarray(frames, dtype=np.float32)
    if clip.ndim != 4 or 0 in clip.shape:
        raise InputError(f"frames must have shape (n, h, w, c), got {clip.shape}; pass consecutive frames.")
    n, h, w, c = clip.shape
    if is_monochrome(clip):
        found = estimate_noise((clip @ LUMA)[..., None], most=most)
        return replace(found, per_channel=found.per_channel * 3, monochrome=True)
    if h < BLOCK or w < BLOCK or n < 2:
        return _from_one_frame(clip)
    blocks = compare(clip, 1, most)
    if "luma" not in blocks or len(blocks["luma"].level) < 4:
        return _from_one_frame(clip[:1])
    gain = LUMA_GAIN if c == 3 else 1.0
    flat = joined(flattest(blocks["luma"]))
    high = spreads(blocks["luma"], gain)
    if c == 3:
        chroma = to_planes(clip[n // 2], basis=LUMA_CHROMA)[1:]
        if find_grid(chroma, high[0.3]) is not None:
            coded = coded_noise(clip, high, c, blocks["luma"], most)
            return with_levels(with_chroma(coded, clip, most, CODED_CHROMA / 4), blocks["luma"])
        if is_smooth(blocks["luma"]):
            return smooth_noise(clip, most)
        sd_chroma = _from_differences(blocks, high[0.5])
        if sd_chroma > max(0.8, 0.2 * high[0.3]):
            noise = _white(clip, [blocks[str(q)] for q in range(3)], sd_chroma)
        else:
            noise = coded_noise(clip, high, c, blocks["luma"], most)
        # A tape whose luma is as rough as white noise has smooth and stronger noise in its chroma all the same.
        few = (h // (2 * BLOCK)) * (w // (2 * BLOCK)) < CHROMA_BLOCKS
        if few or noise.clean or _tilted(flattest(blocks["luma"])):
            return noise
        apart = with_chroma(noise, clip, most, np.full(BLOCK * BLOCK, 0.25)).chroma
        return replace(smooth_noise(clip, most), shape=()) if apart else noise
    tilted = quantile_variance(flat.highest, N_HIGHEST) < 0.5 * quantile_variance(flat.middle, N_MIDDLE)
    if tilted and high[0.3] > 0.3:
        return coded_noise(clip, high, c, blocks["luma"], most)
    white = _white(clip, [blocks["0"]], None)
    if high[0.3] <= 0.3 and _tilted(flattest(compare(clip, 3, most).get("luma", blocks["luma"]))):
        # Hardly anything is left between neighbours, and farther apart only what a codec leaves.
        coded = coded_noise(clip, high, c, blocks["luma"], most)
        return replace(white, codec=True, assumed=coded.assumed, assumed_width=coded.assumed_width)
    return white


def _tilted(parts: list[Blocks]) -> bool:
    """Whether the highest frequencies of the differences are weak, as a codec makes them; chance does not."""
    flat = joined(parts)
    middle = quantile_variance(flat.middle, N_MIDDLE, 0.5)
    return bool(quantile_variance(flat.highest, N_HIGHEST, 0.5) < 0.5 * middle)


def _from_differences(blocks: dict[str, Blocks], about: float) -> float:
    """Standard deviation per channel by red less blue, where neither of the two is clipped.

    Most chroma was stored at half the resolution or is smooth by nature: no texture is in its high frequencies.
    """
    margin = min(2.2 * about, 90.0)
    red, blue, chroma = blocks["0"].level, blocks["2"].level, blocks["chroma"]
    central = (np.minimum(red, blue) > margin) & (np.maximum(red, blue) < 255 - margin)
    if central.sum() >= 30:
        chroma = chroma.take(central)
    flat = chroma.take(chroma.structure <= np.quantile(chroma.structure, FLAT))
    return float(np.sqrt(quantile_variance(flat.high, N_HIGH) / 2))


def _unclipped_variance(level: float, variance: float) -> float:
    """Variance before clipping to 0..255 of noise that has this mean and variance after it."""
    if variance < 1e-3:
        return variance
    sd = np.sqrt(variance)
    for _ in range(8):
        _, mean, clipped = clipping_table(sd * sd, 0.0)
        ratio = float(np.interp(level, mean, clipped)) / (sd * sd)
        step = np.sqrt(variance / max(ratio, 0.05))
        if abs(step - sd) < 1e-3 * sd:
            break
        sd = step
    return float(sd * sd)


def _white(clip: FloatArray, channels: list[Blocks], sd_chroma: float | None) -> Noise:
    """Every channel by itself; a line of the variance against the brightness where it is there.

    Where the differences of the channels are quieter than the channels, texture or older noise is in the luma: its
    spread over the blocks tells, and then the differences have the last word.
    """
    levels, variances, per_channel, tails = [], [], [], []
    for blocks in channels:
        own_levels, own = [], []
        for part in flattest(blocks):
            variance = quantile_variance(part.high, N_HIGH)
            tails.append(
                quantile_variance(part.high, N_HIGH, 0.6)
                / max(quantile_variance(part.high, N_HIGH, 0.1), 1e-9)
            )
            level = float(part.level.mean())
            own_levels.append(level)
            own.append(_unclipped_variance(level, variance))
        own_levels_, own_ = np.array(own_levels), np.array(own)
        sd = np.sqrt(np.median(own_))
        good = (own_levels_ > 1.0 * sd) & (own_levels_ < 255 - 1.0 * sd)
        if good.sum() < min(3, len(own_)):
            good = np.abs(own_levels_ - 127.5) <= np.sort(np.abs(own_levels_ - 127.5))[min(2, len(own_) - 1)]
        per_channel.append(float(np.sqrt(np.median(own_[good]))))
        levels.append(own_levels_[good])
        variances.append(own_[good])
    x, v = np.concatenate(levels), np.concatenate(variances)
    # Blocks of one brightness differ in their noise by chance only; texture has a tail.
    textured = bool(np.median(tails) > 1.3)
    sloped = not textured and _line(x, v)[1] != 0
    if sd_chroma is not None:
        excess = float(np.median(v)) - sd_chroma**2
        moderate = not sloped and sd_chroma < 35 and 0.05 < excess / sd_chroma**2 < 0.4
        if excess > 0 and (excess < 1.3**2 or textured or moderate):
            share = sd_chroma**2 / (sd_chroma**2 + excess)
            v *= share
            per_channel = [p * float(np.sqrt(share)) for p in per_channel]
    centre = float(np.median(v))
    sd = float(np.sqrt(centre))
    offset, slope = (centre, 0.0) if textured else _line(x, v)
    # Scatter of the bins: it holds sampling error and what texture left behind.
    scatter = 1.4826 * float(np.median(np.abs(v - offset - slope * x))) / np.sqrt(len(v)) * 1.25
    half = 1.96 * scatter / max(2 * sd, 1e-6) + 0.03 * sd + 0.2
    clipped = _was_clipped(channels, offset, slope) and not _goes_beyond(clip[len(clip) // 2], sd)
    return Noise(
        sd=sd,
        low=max(sd - half, 0.0),
        high=sd + half,
        offset=offset,
        slope=slope,
        per_channel=tuple(per_channel),
        trustworthy=bool(len(x) >= 3 and scatter < 0.2 * centre + 0.5),
        clipped=clipped,
        codec=False,
    )


def _line(x: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[float, float]:
    """Offset and slope of the variance by the median of pairwise slopes; no slope unless it is clear."""
    centre = float(np.median(v))
    if len(x) < 6 or np.ptp(x) < 40:
        return centre, 0.0
    one, two = np.triu_indices(len(x), 1)
    apart = x[one] != x[two]
    slope = float(np.median((v[one] - v[two])[apart] / (x[one] - x[two])[apart]))
    offset = centre - slope * float(np.median(x))
    change = abs(slope) * float(np.ptp(x))
    rest = 1.4826 * float(np.median(np.abs(v - offset - slope * x)))
    if change < 0.3 * centre or change < 5 * rest:
        return centre, 0.0
    # Levels that are all alike have no interval, so that the slope is not clear.
    low, high = slope_interval(x, v, 0.99)
    return (offset, slope) if low * high > 0 else (centre, 0.0)


def _was_clipped(channels: list[Blocks], offset: float, slope: float) -> bool:
    """Whether the variance near 0 and 255 shrinks as that of clipped noise does."""
    signal, mean, variance = clipping_table(max(offset, 1e-6), slope)
    raw = np.maximum(offset + slope * np.clip(signal, 0, 255), 1e-6)
    ratios = []
    for blocks in channels:
        share = np.interp(blocks.level, mean, variance / raw)
        zone = (share > 0.1) & (share < 0.7)
        expected = np.interp(blocks.level[zone], mean, variance)
        ratios.append(blocks.high[zone] / expected)
    ratio = np.concatenate(ratios)
    if len(ratio) < 5:
        return True
    return bool(0.4 < np.median(ratio) < 1.6)


def _goes_beyond(frame: FloatArray, sd: float) -> bool:
    """Whether samples lie beyond 0..255 at least half as often as noise takes them there that nothing clips."""
    share = float(np.mean((frame < 0) | (frame > 255)))
    if 2 * share <= _RARE:
        return False
    # The noise is in the mean of a small box, too, with a ninth of its variance.
    signal = cv2.blur(frame, (3, 3)).reshape(frame.shape)[::4, ::4]
    apart = np.minimum(signal, 255 - signal) / (sd * np.sqrt(8 / 9))
    return bool(2 * share > normal_cdf(-apart).mean())


def _from_one_frame(clip: FloatArray) -> Noise:
    """A frame by itself: what its quietest blocks allow for, not to be trusted."""
    # Even pictures have none but for the rounding of the transform.
    sd = round(quietest_sd(clip), 3)
    per_channel = (sd,) * clip.shape[-1]
    return replace(Noise.white(sd), low=0.0, per_channel=per_channel, trustworthy=False)
