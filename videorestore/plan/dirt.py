"""How dirty a film is, and the search for damage that follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.detect.damage import LEAST, Damage, find_damage, weigh_spots
from videorestore.detect.drawn import drawn
from videorestore.detect.sight import reduction
from videorestore.detect.verdict import SURE, film_odds
from videorestore.make.cost import GLANCING, MENDING_SPOTS, SEARCHING
from videorestore.make.masks import SHORT, Masked, MaskSource, masked
from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.scan import Scan, read_some

SAMPLED_SHOTS = 3
SAMPLED_FRAMES = 15
SAMPLED_SIDE = 960
"""A film is judged by stretches of its longest shots; of very large frames a central part is enough."""

USUAL = 0.25
LOWEST = 0.0
"""Spots per frame at which `damage.LEAST` is asked for, and log odds that are enough on the dirtiest film."""

CERTAIN = 2.2
"""Log odds from which on a film is taken for dirty, and, all in all, of what is just mended on a clean one: nine to one. Five
old films have 3.8 to 12, the clip without dirt that is known to come nearest 1.3."""

NUMBER = 3
"""Spots in a frame of a clean film from which on they are taken for dirt: that comes in numbers."""

LONG = 0.1
"""Share of the height or width from which on a scratch or dropout counts by itself: they run along film and lines."""

ALONG = 16
"""Times its width that such a scratch is high: what leans more, or is wider, may be a wiper, a rope, a pole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedMasks(MaskSource):
    """Damage that is found: all that is likely on a dirty film, only what is sure on a clean one.

    Attributes
    ----------
    noise_sd : float
    rate : float
        Spots per frame that stretches of the film have shown.
    things : float
        Spots per frame of a clean film that are none.
    drawn : bool
        The pictures consist of a few tones, as a computer draws them: no film, no dust.
    least_odds : float or None
        Log odds, all in all, that a person asks for, instead of those that fit the film.
    """

    noise_sd: float
    rate: float
    things: float = 0.0
    drawn: bool = False
    least_odds: float | None = None

    @property
    def dirty(self) -> bool:
        """Whether damage is no exception."""
        return self.rate > 0

    @property
    def fitting(self) -> float:
        """Log odds that fit the film: the dirtier it is, the likelier is any spot damage; the more things stand out, the less."""
        if not self.dirty:
            return float(SURE + np.log1p(self.things))
        return float(max(LEAST - np.log(self.rate / USUAL), LOWEST))

    @property
    def before(self) -> float:
        """What the film says of spots as such: log odds that belong to those of each of them."""
        return (0.0 if self.dirty else CERTAIN) - self.fitting

    @property
    def least(self) -> float:
        """Log odds of a spot by itself that are asked for."""
        return self.fitting if self.least_odds is None else self.least_odds - self.before

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return SHORT

    def seconds(self, pixels: int) -> tuple[float, float]:
        """See `MaskSource.seconds`: on a clean film hardly a frame is mended."""
        effort = 0.0 if self.drawn else SEARCHING if self.dirty else GLANCING
        return effort * pixels / reduction(
            1, pixels
        ) ** 2 / 1e6, MENDING_SPOTS * pixels / 1e6 if self.dirty else 0.0

    def touches(self, start: int, stop: int) -> bool:
        """Damage may be anywhere on a film."""
        return not self.drawn

    def search(self, frames: Any) -> tuple[Mask, list[Damage]]:
        """Masks and places of the damage of a shot, an array or a stack of frames."""
        if self.drawn:
            return np.zeros(frames.shape[:3], np.bool_), []
        masks, damage = find_damage(frames, noise_sd=self.noise_sd, least=self.least, strict=not self.dirty)
        if not self.dirty:
            masks, damage = _in_numbers(masks, damage)
        return masks, [replace(place, odds=place.odds + self.before) for place in damage]

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        return masked(*self.search(frames))


def _in_numbers(masks: Mask, damage: list[Damage]) -> tuple[Mask, list[Damage]]:
    """What is left when spots that are alone in their frame count as things: a ball, a spark, a blinking light, a twig."""

    def small(place: Damage) -> bool:
        _, _, width, height = place.box
        short = width < LONG * masks.shape[2] and height < LONG * masks.shape[1]
        leaning = place.kind == "scratch" and height < ALONG * width
        return bool(short or leaning or place.kind in ("dust", "blotch"))

    spots = Counter(place.frame for place in damage if small(place))
    kept = []
    for place in damage:
        if small(place) and spots[place.frame] < NUMBER:
            x, y, width, height = place.box
            masks[place.frame, y : y + height, x : x + width] = False
        else:
            kept.append(place)
    return masks, kept


def dirt(source: Source, found: Scan, progress: Progress = silent) -> SearchedMasks:
    """The search that fits a clip, by what a few stretches of its longest shots show."""
    spots: list[tuple[int, float]] = []
    frames = 0
    share = 1.0
    factor = reduction(source.height, source.width)
    stretches = _stretches(found)
    total = sum(map(len, stretches))
    for k, numbers in enumerate(stretches):
        begun = sum(map(len, stretches[:k]))

        def tell(share: float, begun: int = begun, count: int = len(numbers)) -> None:
            progress("is the film dirty", begun + share * count, total)

        tell(0.0)
        pixels = read_some(source, numbers, side=SAMPLED_SIDE)
        share = pixels.shape[1] * pixels.shape[2] / (source.height * source.width)
        np.nan_to_num(pixels, copy=False, nan=128.0)
        if drawn(pixels):
            return SearchedMasks(noise_sd=found.sure_noise_sd, rate=0.0, drawn=True)
        with pulse.listening(tell):
            weighed, judged = weigh_spots(pixels, noise_sd=found.sure_noise_sd, factor=factor)
        spots += [(frames + number, odds) for number, odds in weighed]
        frames += judged
    odds, damaged = film_odds(spots)
    number = len(spots) / max(frames * share, 1e-9)
    if odds > CERTAIN:
        return SearchedMasks(noise_sd=found.sure_noise_sd, rate=damaged * number)
    return SearchedMasks(noise_sd=found.sure_noise_sd, rate=0.0, things=number)


def _stretches(found: Scan) -> list[list[int]]:
    """Good frames from the middle of the longest shots."""
    stretches = []
    for a, b in sorted(found.shots, key=lambda shot: shot[0] - shot[1])[:SAMPLED_SHOTS]:
        good = [i for i in range(a, b) if i not in found.void]
        middle = max(0, (len(good) - SAMPLED_FRAMES) // 2)
        if len(good) >= 3:
            stretches.append(good[middle : middle + SAMPLED_FRAMES])
    return stretches
