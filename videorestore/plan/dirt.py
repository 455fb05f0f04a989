"""How dirty a film is, and the search for damage that follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.detect.damage import LEAST, Damage, find_damage, weigh_spots
from videorestore.detect.verdict import SURE
from videorestore.make.masks import SHORT, Masked, searched
from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.scan import Scan, read_some
from videorestore.spatial.noise import LUMA

SAMPLED_SHOTS = 3
SAMPLED_FRAMES = 9
SAMPLED_SIDE = 960
DIRTY = 0.25
LIKELY = 3.0
"""A film is dirty from so many spots per frame on that have at least these log odds, judged by stretches of its
longest shots; or where every frame has a spot that may be one. Of very large frames a central part is enough."""

LOWEST = -1.0
"""Log odds that are enough on the dirtiest film."""


THINGS = 0.6
"""Share of the spots that are seen again where they are things that move; chance alone gives 0.4 on a dirty film."""

CALM = 0.15
"""Dust falls anywhere: a smaller share of the spots than this in the calmer half of the picture speaks of motion."""

NUMBER = 3
"""Spots in a frame of a clean film from which on they are taken for dirt: that comes in numbers."""

TONES, APART = 24, 60.0
"""Tones of pictures that were drawn at most, and levels between the darkest and the brightest of them at least."""

EVEN = 0.35
BLACK, WHITE = 8.0, 247.0
"""Share of such pictures that is quite even, and the levels between which that counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedMasks:
    """Damage that is found: all that is likely on a dirty film, only what is sure on a clean one.

    Attributes
    ----------
    noise_sd : float
    rate : float
        Spots per frame that stretches of the film have shown.
    drawn : bool
        The pictures consist of a few tones, as a computer draws them: no film, no dust.
    least_odds : float or None
        Log odds that a person asks for, instead of those that fit the film.
    """

    noise_sd: float
    rate: float
    drawn: bool = False
    least_odds: float | None = None

    @property
    def dirty(self) -> bool:
        """Whether damage is no exception."""
        return self.rate >= DIRTY

    @property
    def least(self) -> float:
        """Log odds that are asked for: the dirtier the film, the likelier is any spot damage."""
        if self.least_odds is not None:
            return self.least_odds
        if not self.dirty:
            return SURE
        return float(max(LEAST - np.log(self.rate / DIRTY), LOWEST))

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return SHORT

    def touches(self, start: int, stop: int) -> bool:
        """Damage may be anywhere on a film."""
        return not self.drawn

    def search(self, frames: FloatArray) -> tuple[Mask, list[Damage]]:
        """Masks and places of the damage of a shot."""
        return self._sifted(*self._found(frames))

    def _found(self, frames: FloatArray) -> tuple[Mask, list[Damage]]:
        if self.drawn:
            return np.zeros(frames.shape[:3], np.bool_), []
        return find_damage(frames, noise_sd=self.noise_sd, least=self.least, strict=not self.dirty)

    def _sifted(self, masks: Mask, damage: list[Damage]) -> tuple[Mask, list[Damage]]:
        return (masks, damage) if self.dirty else _in_numbers(masks, damage)

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        return searched(self._found, frames, self._sifted)


def _in_numbers(masks: Mask, damage: list[Damage]) -> tuple[Mask, list[Damage]]:
    """What is left when spots that are alone in their frame count as things: a ball, a spark, a blinking light."""
    spots = Counter(place.frame for place in damage if place.kind in ("dust", "blotch"))
    kept = []
    for place in damage:
        if place.kind in ("dust", "blotch") and spots[place.frame] < NUMBER:
            x, y, width, height = place.box
            masks[place.frame, y : y + height, x : x + width] = False
        else:
            kept.append(place)
    return masks, kept


def dirt(source: Source, found: Scan, progress: Progress = silent) -> SearchedMasks:
    """The search that fits a clip, by what a few stretches of its longest shots show."""
    spots: list[tuple[Damage, bool]] = []
    frames = touched = calm = 0
    share = 1.0
    for numbers in _stretches(found):
        progress("is the film dirty", frames, SAMPLED_SHOTS * SAMPLED_FRAMES)
        pixels = read_some(source, numbers, side=SAMPLED_SIDE)
        share = pixels.shape[1] * pixels.shape[2] / (source.height * source.width)
        np.nan_to_num(pixels, copy=False, nan=128.0)
        if drawn(pixels):
            return SearchedMasks(noise_sd=found.sure_noise_sd, rate=0.0, drawn=True)
        weighed = weigh_spots(pixels, noise_sd=found.sure_noise_sd)
        spots += weighed
        once = [place for place, again in weighed if not again]
        touched += len({place.frame for place in once})
        still = calmer_half(pixels)
        calm += sum(bool(still[_middle(place, still.shape)]) for place in once)
        frames += len(numbers)
    rate = rate_of(spots, frames, touched, calm)
    return SearchedMasks(noise_sd=found.sure_noise_sd, rate=rate / share)


def calmer_half(frames: FloatArray) -> Mask:
    """The half of the picture ``(height, width)`` in which less changes from frame to frame, spots left aside."""
    smooth = np.stack([cv2.blur(frame.mean(axis=2), (9, 9)) for frame in frames])
    # A spot changes a pixel twice in the whole stretch: the median does not see it.
    change = cv2.blur(np.median(np.abs(np.diff(smooth, axis=0)), axis=0).astype(np.float32), (25, 25))
    return np.asarray(change <= np.median(change))


def _middle(place: Damage, shape: tuple[int, ...]) -> tuple[int, int]:
    x, y, width, height = place.box
    return min(y + height // 2, shape[0] - 1), min(x + width // 2, shape[1] - 1)


def rate_of(spots: list[tuple[Damage, bool]], frames: int, touched: int, calm: int) -> float:
    """Damaged places per frame, 0 where there may be none.

    Parameters
    ----------
    spots : list of (Damage, bool)
        With whether they are seen again.
    frames, touched : int
        Frames that were searched, and those of them with a spot that is seen once.
    calm : int
        Spots seen once in the calmer half of the picture.
    """
    once = [place for place, again in spots if not again]
    # One frame may be a mistake; and where most spots are things that move, as in snow, so may be the others.
    if touched < 2 or len(once) < (1 - THINGS) * len(spots) or calm < CALM * len(once):
        return 0.0
    # One of them may be a thing, too: of the few frames of a short clip three spots would be a dirty film.
    likely = max(sum(place.odds >= LIKELY for place in once) - 1, 0) / frames
    # In noise no spot is likely by itself, but a film that has them all over is dirty.
    everywhere = len(once) >= frames and 2 * touched >= frames
    return len(once) / frames if everywhere else likely


def drawn(frames: FloatArray) -> bool:
    """Whether every picture ``(n, height, width, channels)`` has few tones, far apart, or is mostly quite even."""
    tones = np.rint(frames @ LUMA if frames.shape[3] == 3 else frames[..., 0])
    if all(float(np.ptp(t)) > APART and len(np.unique(t)) <= TONES for t in tones):
        return True
    return all(_even_share(f, t) > EVEN for f, t in zip(frames, tones))


def _even_share(frame: FloatArray, tones: FloatArray) -> float:
    """Share of the pixels that equal their neighbours exactly, black and white aside: a camera always has some noise."""
    equal = (frame[:-1, :-1] == frame[1:, :-1]) & (frame[:-1, :-1] == frame[:-1, 1:])
    inner = ((tones > BLACK) & (tones < WHITE))[:-1, :-1]
    return float(equal.all(axis=2)[inner].mean()) if inner.mean() > 0.2 else 0.0


def _stretches(found: Scan) -> Iterator[list[int]]:
    """Good frames from the middle of the longest shots."""
    for a, b in sorted(found.shots, key=lambda shot: shot[0] - shot[1])[:SAMPLED_SHOTS]:
        good = [i for i in range(a, b) if i not in found.void]
        middle = max(0, (len(good) - SAMPLED_FRAMES) // 2)
        if len(good) >= 3:
            yield good[middle : middle + SAMPLED_FRAMES]
