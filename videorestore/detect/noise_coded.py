"""Noise that went through a lossy codec, by the luma.

Two questions. Is there surely noise (``sd`` and its interval, cautious)? And how much of it had the denoiser best
assume (``assumed``)? A codec's quantiser takes the finest frequencies first and the more of them the nearer the noise
is to its step; so the tilt of what is left tells how much was taken, from all frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray
from videorestore.detect.noise_blocks import (
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
from videorestore.detect.quiet import quietest_sd
from videorestore.spatial.noise import LUMA_GAIN, Noise, clipping_table

_OWN_LOSS = 6.0
"""Standard deviation of a strong codec's own errors, which add to the noise, per channel; half of it after a weak one
(measured at crf 20 to 28)."""
_LEAST_SEEN = 0.6
"""Differences below this are rounding."""
_MOST = 75.0


def coded_noise(clip: FloatArray, high: dict[float, float], c: int, near: Blocks, most: int) -> Noise:
    """Noise after a codec: whether there is any (``sd``), and what to assume of it (``assumed``).

    A weak codec leaves white noise: all blocks agree. A strong one freezes it in some blocks and takes its high
    frequencies everywhere; then the middle frequencies of frames farther apart show most of it, and the blocks
    that are fresh still agree with each other, while texture has a long tail.
    """
    gain = LUMA_GAIN if c == 3 else 1.0
    compared = compare(clip, 3, most)
    far = compared.get("luma", near)
    flat = joined(flattest(near))
    lightly = quantile_variance(flat.highest, N_HIGHEST) > 0.6 * quantile_variance(flat.high, N_HIGH)
    all_near, everywhere = near, far
    if lightly:
        # White or nearly so: then the flattest blocks, dark and bright ones, have less of it because it was clipped.
        near, far = (_central(b, high[0.5]) for b in (near, far))
        high = spreads(near, gain)
    far_high = spreads(far, gain)
    middle = [
        float(np.sqrt(quantile_variance(joined(flattest(b)).middle, N_MIDDLE, 0.5)) / gain)
        for b in (near, far)
    ]
    # Either most blocks have the same noise at all frequencies, or even the quietest have nearly as much of it, or
    # the highest frequencies are still there: then hardly any block can be frozen.
    agree = (high[0.5] < 1.12 * high[0.3] and middle[0] < 1.35 * high[0.5]) or high[0.3] < 1.3 * high[0.05]
    partly = not agree and lightly and high[0.3] > 3.0
    agree = agree or partly
    fresh = far_high[0.5] < 1.7 * far_high[0.3] and far_high[0.8] < 2.4 * far_high[0.5]
    if not agree and fresh and far_high[0.3] > 3.0:
        if middle[1] > 1.6 * middle[0] and high[0.3] > 0.5 * far_high[0.3]:
            # Motion is in the far differences, and not all is frozen in the near ones.
            sd = min(middle[1], high[0.3] + high[0.5])
        else:
            # The more the codec took of the high frequencies, the more blocks are frozen and seem to have less.
            taken = min(middle[1] / far_high[0.5], 1.6)
            sd = far_high[0.5] * taken * float(np.clip(0.2 + 0.8 * taken, 1.0, 1.2))
        low, top = 0.7 * sd, 1.3 * sd
    else:
        sd = high[0.3] if agree else min(high[0.3], 2 * high[0.05])
        if partly:
            # Some frozen blocks in the near differences, some motion in the far ones.
            sd = float(np.sqrt(sd * max(far_high[0.3], sd)))
        if lightly and agree:
            # Texture that moves fast is least in the highest frequencies; the noise has lost little there.
            highest = max(quantile_variance(joined(flattest(b)).highest, N_HIGHEST) for b in (near, far))
            sd = min(sd, 1.05 * float(np.sqrt(highest)) / gain)
        low, top = 0.93 * sd - 0.2 if agree else 0.95 * high[0.05], 1.07 * sd + 0.2
    most_of_it = _in_single_frames(clip, flat, gain)
    if sd > most_of_it:
        sd, low, top = most_of_it, 0.7 * most_of_it, 1.3 * most_of_it
    sd = float(sd)
    # Of what single frames show in their quietest blocks there may be more, as some blocks are frozen or clipped.
    before, tilt = _before_the_codec(all_near, everywhere, gain)
    before = min(before, 2 * most_of_it + 3.0)
    strength = _strength(before, tilt)
    assumed = float(np.hypot(before, (0.5 + 0.5 * strength) * _OWN_LOSS))
    if sd > assumed:
        assumed = float(np.sqrt(sd * assumed))
    return Noise(
        sd=sd,
        low=max(float(low), 0.0),
        high=float(top),
        offset=sd * sd,
        slope=0.0,
        per_channel=(sd,) * c,
        trustworthy=bool(agree or fresh),
        clipped=_coded_clipped(
            everywhere, [compared[str(q)].level for q in range(c) if compared], max(sd, before), gain
        ),
        codec=True,
        assumed=assumed,
        assumed_width=3.0 + 7.0 * strength**2 + 0.05 * assumed,
    )


@dataclass(frozen=True, slots=True)
class _Bands:
    """Standard deviation per channel of what differs, at middle, high and the highest frequencies."""

    middle: float
    high: float
    highest: float

    @classmethod
    def of(cls, blocks: Blocks, gain: float) -> _Bands:
        flat = joined(flattest(blocks))
        return cls(
            middle=float(np.sqrt(quantile_variance(flat.middle, N_MIDDLE, 0.4)) / gain),
            high=float(np.sqrt(quantile_variance(flat.high, N_HIGH)) / gain),
            highest=float(np.sqrt(quantile_variance(flat.highest, N_HIGHEST)) / gain),
        )

    @property
    def tilt(self) -> float:
        """1 for white noise; up to 2 for what a strong codec left of it."""
        return float(np.clip(self.high / max(self.highest, 0.5 * _LEAST_SEEN), 1.0, 3.0))


def _before_the_codec(near: Blocks, far: Blocks, gain: float) -> tuple[float, float]:
    """Standard deviation that the noise had, from differences of frames next to each other and farther apart; the tilt.

    The middle frequencies of the far ones hold most of it, but motion as well. Bounds keep that out: what the near
    ones have, raised by their tilt and by how much is frozen in them; what a codec of any usual strength could have
    tilted so much; and, where motion is seen to grow with the distance, what the highest frequencies have, because
    the picture has least there.
    """
    sd, tilt = 0.0, 0.0
    for _ in range(3):
        one, two = (_Bands.of(_unclipped(b, sd), gain) for b in (near, far))
        last, tilt = sd, two.tilt - 1.0
        sd = two.middle * (1.05 + min(0.9 * tilt, 0.6))
        least = 0.5 * _LEAST_SEEN
        fresh, frozen = max(two.highest, least), max(one.highest, least)
        if frozen > _LEAST_SEEN:
            thawed = fresh / frozen if fresh > 1.25 * frozen else 1.0
            sd = min(sd, one.high * one.tilt**1.7 * thawed)
        sd = float(min(sd, max(1.2 * fresh, 11.5 * max(tilt, 0.01) ** -0.55), _MOST))
        if min(one.middle, fresh, sd) > _LEAST_SEEN:
            # Noise that thaws does so at all frequencies; motion grows at the middle ones only.
            moved = two.middle / one.middle * frozen / fresh
            sd *= min(1.1 * fresh / sd, 1.0) ** float(np.clip((moved - 1.15) / 0.2, 0.0, 1.0))
        if sd < 2 or abs(sd - last) < 0.02 * sd:
            break
    return sd, 1.0 + tilt


def _strength(before: float, tilt: float) -> float:
    """Of the codec, 0 to 1: by the tilt of the noise that is seen, and strong where none is."""
    unseen = float(np.clip(2.0 - before / 4.0, 0.0, 1.0))
    return max(unseen, min((tilt - 1.0) / 0.35, 1.0))


def _unclipped(blocks: Blocks, sd: float) -> Blocks:
    """Blocks with the variance that noise had before it was clipped at 0 and 255; those that lost most are left out."""
    if sd <= 0:
        return blocks
    _, mean, variance = clipping_table(sd * sd, 0.0)
    share = np.interp(blocks.level, mean, variance / (sd * sd))
    keep = share > 0.35
    if keep.sum() < max(30, 0.2 * len(keep)):
        keep = share >= np.quantile(share, 0.6)
    return blocks.take(keep).raised(1 / np.maximum(share[keep], 0.15))


def _in_single_frames(clip: FloatArray, flat: Blocks, gain: float) -> float:
    """What frames by themselves allow for: a block holds at least its noise, however badly motion was followed.

    The quietest of the flat blocks say so at middle frequencies, which a codec keeps: some of them are frozen, so there
    may be more of it than they show, unless blocks differ much, which is texture, or it is too strong to freeze. Where
    the codec kept the high frequencies, these say it better, because the picture has less there.
    """
    middle, usual = (
        float(np.sqrt(quantile_variance(flat.still_middle, N_MIDDLE, share))) / gain for share in (0.1, 0.5)
    )
    fine = quietest_sd(clip)
    if fine > 0.5 * middle:
        return 1.5 * fine
    texture = usual / max(middle, 1e-6)
    return min(float(np.clip(3.7 - texture, 1.0, 1.7)) * middle, middle + 6.0)


def _central(blocks: Blocks, sd: float) -> Blocks:
    """Those away from 0 and 255, where noise is hardly clipped, unless they are few."""
    central = np.abs(blocks.level - 127.5) < 127.5 - min(1.5 * sd, 90.0)
    return blocks.take(central) if central.sum() >= max(30, 0.2 * len(central)) else blocks


def _coded_clipped(luma: Blocks, levels: list[NDArray[np.float64]], sd: float, gain: float) -> bool:
    """The same question as :func:`_was_clipped`, after a codec: yes unless something speaks against it.

    The mean of clipped noise stays 0.4 sd away from 0 and 255, whatever a codec makes of the noise itself. Blocks
    nearer to them, in any channel (``levels``), were never noisy: bars, or blacks that were cut after the noise.
    """
    if sd < 4:
        return False
    for level in levels:
        margin = np.minimum(level, 255 - level)
        if (margin < 0.25 * sd).sum() > max(2, 0.15 * (margin < sd).sum()):
            return False
    _, mean, variance = clipping_table(sd * sd, 0.0)
    share = np.interp(luma.level, mean, variance / (sd * sd))
    zone = (share > 0.1) & (share < 0.7)
    if zone.sum() < 10:
        return True
    ratio = luma.middle[zone] / (share[zone] * (sd * gain) ** 2)
    return bool(np.median(ratio) < 1.5)
