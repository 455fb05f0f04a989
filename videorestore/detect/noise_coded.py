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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """All that was set by hand on clips of the development set with planted noise, coded at crf 20 to 28; `scripts/calibrate coded`
    fits what weighs most of it, `tilt_power` and `possible`, anew.

    Standard deviations are per channel on the 0..255 scale; what has no unit is a ratio of two of them.
    """

    rounding: float = 0.6
    """Differences below this are rounding (sd)."""
    most: float = 75.0
    """No noise is taken for stronger (sd)."""
    own_loss: float = 6.0
    """A strong codec's own errors, which add to the noise (sd, measured); half of it after a weak one."""

    light: float = 0.6
    """Variance of the highest frequencies over that of the high ones above which a codec was weak: white leaves 1."""
    same: float = 1.12
    """Median block over the 30 % quantile below which most blocks have the same noise,"""
    same_middle: float = 1.35
    """if the middle frequencies do not exceed the high ones by more than this."""
    same_quietest: float = 1.3
    """30 % quantile over the 5 % one below which even the quietest blocks have nearly as much."""
    felt: float = 3.0
    """Noise that is believed though blocks differ (sd)."""
    fresh: float = 1.7
    fresh_tail: float = 2.4
    """Median over the 30 % quantile, and 80 % over the median, of frames farther apart, below which blocks that are not
    frozen agree; texture has a longer tail."""
    moved: float = 1.6
    """Growth of the middle frequencies with the distance of frames above which there is motion in it."""
    thawing: float = 0.5
    """Part of the farther differences that the nearer ones have where not all is frozen."""
    taken: float = 1.6
    """Most that a codec takes of the high frequencies against the middle ones (noise 1.2 to 1.3, fast motion from 2.5 on),"""
    frozen: tuple[float, float, float] = (0.2, 0.8, 1.2)
    """and the line and limit of what frozen blocks hide besides."""
    wide: tuple[float, float] = (0.7, 1.3)
    """Interval of an sd that is inferred, as factors."""
    narrow: tuple[float, float, float] = (0.93, 1.07, 0.2)
    """The same where blocks agree, and what is added for rounding (sd)."""
    doubted: tuple[float, float] = (2.0, 0.95)
    """Where blocks differ: most noise, and the low end of its interval, in units of the quietest blocks."""
    white_loss: float = 1.05
    """What nearly white noise lost at the highest frequencies."""
    hidden: tuple[float, float] = (2.0, 3.0)
    """Noise before the codec is at most so many times what single frames show, and so much more (sd)."""
    width: tuple[float, float, float] = (3.0, 7.0, 0.05)
    """Half of the interval of what is assumed: of a weak codec (sd), what a strong one adds (sd), share of the level."""

    gained: tuple[float, float, float] = (1.05, 0.9, 0.6)
    """What the middle frequencies lost: always, for each unit of tilt, and at most for tilt."""
    thawed: float = 1.25
    """Highest frequencies of far over near frames from which some blocks are frozen."""
    tilt_power: float = 1.7
    """How the near differences fell with the tilt."""
    possible: tuple[float, float, float] = (1.2, 11.5, -0.55)
    """A codec of usual strength tilts noise below this much: share of the highest frequencies; sd at tilt 1, power."""
    motion: tuple[float, float, float] = (1.1, 1.15, 0.2)
    """Where middle frequencies grow with distance: bound by the highest, start and width of the change to it."""
    unseen: tuple[float, float] = (2.0, 4.0)
    """Noise of so many times the second (sd) is surely seen: below it, by the second, a codec counts as ever stronger."""
    full_tilt: float = 0.35
    """Tilt beyond 1 at which a codec counts as strong."""

    kept_share: float = 0.35
    """Part of the variance that clipping must leave in a block that is used."""
    enough: tuple[int, float] = (30, 0.2)
    """Blocks that suffice: number, share of all."""
    central: tuple[float, float] = (1.5, 90.0)
    """Distance from 0 and 255 at which noise is hardly clipped: sds, at most (levels)."""
    fine: tuple[float, float] = (0.5, 1.5)
    """Quietest high frequencies over middle ones from which they tell, and how many times as much there may be."""
    texture: tuple[float, float, float] = (3.7, 1.7, 6.0)
    """Factor of the quietest middle frequencies for what is frozen: falls with texture from, at most, and at most so much
    more (sd)."""

    clipped_from: float = 4.0
    """Weaker noise is not clipped (sd)."""
    never_noisy: tuple[float, int, float] = (0.25, 2, 0.15)
    """Blocks nearer to 0 or 255 than so many sds were never noisy: more than this number, and share of those within an sd."""
    zone: tuple[float, float, int] = (0.1, 0.7, 10)
    """Share of the variance that clipping leaves in blocks that can tell, and how many are needed."""
    clipped: float = 1.5
    """Variance there over that of clipped noise, below which it was."""


_T = Tuning()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What near and farther frames show: quantiles of the high frequencies, median of the middle ones.

    ``lightly``: the codec was weak. ``agree``: blocks have the same noise; ``partly``: but for some that are frozen.
    ``fresh``: those that are not frozen do, in farther frames.
    """

    near: Blocks
    far: Blocks
    high: dict[float, float]
    far_high: dict[float, float]
    middle: list[float]
    lightly: bool

    @classmethod
    def of(cls, near: Blocks, far: Blocks, high: dict[float, float], gain: float) -> _Seen:
        flat = joined(flattest(near))
        fine = quantile_variance(flat.highest, N_HIGHEST)
        lightly = fine > _T.light * quantile_variance(flat.high, N_HIGH)
        if lightly:
            # White or nearly so: then the flattest blocks, dark and bright ones, have less because it was clipped.
            near, far = (_central(b, high[0.5]) for b in (near, far))
            high = spreads(near, gain)
        return cls(
            near=near,
            far=far,
            high=high,
            far_high=spreads(far, gain),
            middle=[
                float(np.sqrt(quantile_variance(joined(flattest(b)).middle, N_MIDDLE, 0.5)) / gain)
                for b in (near, far)
            ],
            lightly=lightly,
        )

    @property
    def alike(self) -> bool:
        """Most blocks have the same noise at all frequencies, or even the quietest have nearly as much of it."""
        high = self.high
        most = high[0.5] < _T.same * high[0.3] and self.middle[0] < _T.same_middle * high[0.5]
        return most or high[0.3] < _T.same_quietest * high[0.05]

    @property
    def partly(self) -> bool:
        """The highest frequencies are still there: then hardly any block can be frozen."""
        return not self.alike and self.lightly and self.high[0.3] > _T.felt

    @property
    def agree(self) -> bool:
        return self.alike or self.partly

    @property
    def fresh(self) -> bool:
        high = self.far_high
        return high[0.5] < _T.fresh * high[0.3] and high[0.8] < _T.fresh_tail * high[0.5]

    def surely(self, gain: float) -> tuple[float, float, float]:
        """Noise that is surely there, and its interval."""
        high, far_high, middle = self.high, self.far_high, self.middle
        if not self.agree and self.fresh and far_high[0.3] > _T.felt:
            taken = middle[1] / far_high[0.5]
            sd = 0.0
            if middle[1] > _T.moved * middle[0] and high[0.3] > _T.thawing * far_high[0.3]:
                # Motion is in the far differences, and not all is frozen in the near ones.
                sd = min(middle[1], high[0.3] + high[0.5])
            elif taken <= _T.taken:
                # The more the codec took of the high frequencies, the more blocks are frozen and seem to have less.
                still, each, most = _T.frozen
                sd = middle[1] * float(np.clip(still + each * taken, 1.0, most))
            if sd > 0.0:
                return sd, _T.wide[0] * sd, _T.wide[1] * sd
            # No codec tilts noise so much: the picture changes faster than it was followed.
        sd = high[0.3] if self.agree else min(high[0.3], _T.doubted[0] * high[0.05])
        if self.partly:
            # Some frozen blocks in the near differences, some motion in the far ones.
            sd = float(np.sqrt(sd * max(far_high[0.3], sd)))
        if self.lightly and self.agree:
            # Texture that moves fast is least in the highest frequencies; the noise has lost little there.
            both = (self.near, self.far)
            highest = max(quantile_variance(joined(flattest(b)).highest, N_HIGHEST) for b in both)
            sd = min(sd, _T.white_loss * float(np.sqrt(highest)) / gain)
        below, above, rounding = _T.narrow
        low = below * sd - rounding if self.agree else _T.doubted[1] * high[0.05]
        return sd, low, above * sd + rounding


def coded_noise(clip: FloatArray, high: dict[float, float], c: int, near: Blocks, most: int) -> Noise:
    """Noise after a codec: whether there is any (``sd``), and what to assume of it (``assumed``).

    A weak codec leaves white noise: all blocks agree. A strong one freezes it in some blocks and takes its high
    frequencies everywhere; then the middle frequencies of frames farther apart show most of it, and the blocks
    that are fresh still agree with each other, while texture has a long tail.
    """
    gain = LUMA_GAIN if c == 3 else 1.0
    compared = compare(clip, 3, most)
    far = compared.get("luma", near)
    seen = _Seen.of(near, far, high, gain)
    sd, low, top = seen.surely(gain)
    single = _in_single_frames(clip, joined(flattest(near)), gain)
    if sd > single:
        sd, low, top = single, _T.wide[0] * single, _T.wide[1] * single
    sd = float(sd)
    # Of what single frames show in their quietest blocks there may be more, as some blocks are frozen or clipped.
    before, tilt = _before_the_codec(near, far, gain)
    before = min(before, _T.hidden[0] * single + _T.hidden[1])
    strength = _strength(before, tilt)
    assumed = float(np.hypot(before, (0.5 + 0.5 * strength) * _T.own_loss))
    if sd > assumed:
        assumed = float(np.sqrt(sd * assumed))
    levels = [compared[str(q)].level for q in range(c) if compared]
    weak, strong, share = _T.width
    return Noise(
        sd=sd,
        low=max(float(low), 0.0),
        high=float(top),
        offset=sd * sd,
        slope=0.0,
        per_channel=(sd,) * c,
        trustworthy=bool(seen.agree or seen.fresh),
        clipped=_coded_clipped(far, levels, max(sd, before), gain),
        codec=True,
        assumed=assumed,
        assumed_width=weak + strong * strength**2 + share * assumed,
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
        return float(np.clip(self.high / max(self.highest, 0.5 * _T.rounding), 1.0, 3.0))


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
        always, each, at_most = _T.gained
        sd = two.middle * (always + min(each * tilt, at_most))
        least = 0.5 * _T.rounding
        fresh, frozen = max(two.highest, least), max(one.highest, least)
        if frozen > _T.rounding:
            thawed = fresh / frozen if fresh > _T.thawed * frozen else 1.0
            sd = min(sd, one.high * one.tilt**_T.tilt_power * thawed)
        share, level, power = _T.possible
        sd = float(min(sd, max(share * fresh, level * max(tilt, 0.01) ** power), _T.most))
        if min(one.middle, fresh, sd) > _T.rounding:
            # Noise that thaws does so at all frequencies; motion grows at the middle ones only.
            moved = two.middle / one.middle * frozen / fresh
            bound, begin, over = _T.motion
            sd *= min(bound * fresh / sd, 1.0) ** float(np.clip((moved - begin) / over, 0.0, 1.0))
        if sd < 2 or abs(sd - last) < 0.02 * sd:
            break
    return sd, 1.0 + tilt


def _strength(before: float, tilt: float) -> float:
    """Of the codec, 0 to 1: by the tilt of the noise that is seen, and strong where none is."""
    unseen = float(np.clip(_T.unseen[0] - before / _T.unseen[1], 0.0, 1.0))
    return max(unseen, min((tilt - 1.0) / _T.full_tilt, 1.0))


def _unclipped(blocks: Blocks, sd: float) -> Blocks:
    """Blocks with the variance that noise had before it was clipped at 0 and 255; those that lost most are left out."""
    if sd <= 0:
        return blocks
    _, mean, variance = clipping_table(sd * sd, 0.0)
    share = np.interp(blocks.level, mean, variance / (sd * sd))
    keep = share > _T.kept_share
    if not _enough(keep):
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
    if fine > _T.fine[0] * middle:
        return _T.fine[1] * fine
    texture = usual / max(middle, 1e-6)
    begin, most, more = _T.texture
    return min(float(np.clip(begin - texture, 1.0, most)) * middle, middle + more)


def _central(blocks: Blocks, sd: float) -> Blocks:
    """Those away from 0 and 255, where noise is hardly clipped, unless they are few."""
    central = np.abs(blocks.level - 127.5) < 127.5 - min(_T.central[0] * sd, _T.central[1])
    return blocks.take(central) if _enough(central) else blocks


def _enough(chosen: NDArray[np.bool_]) -> bool:
    """Whether the chosen blocks suffice."""
    return bool(chosen.sum() >= max(_T.enough[0], _T.enough[1] * len(chosen)))


def _coded_clipped(luma: Blocks, levels: list[NDArray[np.float64]], sd: float, gain: float) -> bool:
    """The same question as :func:`_was_clipped`, after a codec: yes unless something speaks against it.

    The mean of clipped noise stays 0.4 sd away from 0 and 255, whatever a codec makes of the noise itself. Blocks
    nearer to them, in any channel (``levels``), were never noisy: bars, or blacks that were cut after the noise.
    """
    if sd < _T.clipped_from:
        return False
    within, number, part = _T.never_noisy
    for level in levels:
        margin = np.minimum(level, 255 - level)
        if (margin < within * sd).sum() > max(number, part * (margin < sd).sum()):
            return False
    _, mean, variance = clipping_table(sd * sd, 0.0)
    share = np.interp(luma.level, mean, variance / (sd * sd))
    zone = (share > _T.zone[0]) & (share < _T.zone[1])
    if zone.sum() < _T.zone[2]:
        return True
    ratio = luma.middle[zone] / (share[zone] * (sd * gain) ** 2)
    return bool(np.median(ratio) < _T.clipped)
