"""How dirty a film is, and the search for damage that follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from videorestore.clip import FloatArray, Mask
from videorestore.detect.damage import LEAST, Damage, count_spots, find_damage
from videorestore.detect.verdict import SURE
from videorestore.media.source import Source
from videorestore.spatial.noise import LUMA
from videorestore.tasks.masks import SHORT, Masked, searched
from videorestore.tasks.scan import Scan, read_some
from videorestore.tasks.work import Progress, silent

SAMPLED_SHOTS = 3
SAMPLED_FRAMES = 9
SAMPLED_SIDE = 960
DIRTY = 0.25
LIKELY = 3.0
"""A film is dirty from so many spots per frame on that have at least these log odds, judged by stretches of its
longest shots; of very large frames a central part is enough."""

LOWEST = -1.0
"""Log odds that are enough on the dirtiest film."""


TONES, APART = 24, 60.0
"""Tones of pictures that were drawn at most, and levels between the darkest and the brightest of them at least."""


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
    """

    noise_sd: float
    rate: float
    drawn: bool = False

    @property
    def dirty(self) -> bool:
        """Whether damage is no exception."""
        return self.rate >= DIRTY

    @property
    def least(self) -> float:
        """Log odds that are asked for: the dirtier the film, the likelier is any spot damage."""
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
        if self.drawn:
            return np.zeros(frames.shape[:3], np.bool_), []
        return find_damage(frames, noise_sd=self.noise_sd, least=self.least, strict=not self.dirty)

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        return searched(self.search, frames)


def dirt(source: Source, found: Scan, progress: Progress = silent) -> SearchedMasks:
    """The search that fits a clip, by what a few stretches of its longest shots show."""
    once = again = touched = frames = 0
    share = 1.0
    for numbers in _stretches(found):
        progress("is the film dirty", frames, SAMPLED_SHOTS * SAMPLED_FRAMES)
        pixels = read_some(source, numbers, side=SAMPLED_SIDE)
        share = pixels.shape[1] * pixels.shape[2] / (source.height * source.width)
        np.nan_to_num(pixels, copy=False, nan=128.0)
        if drawn(pixels):
            return SearchedMasks(noise_sd=found.sure_noise_sd, rate=0.0, drawn=True)
        spots, things = count_spots(pixels, noise_sd=found.sure_noise_sd, least=LIKELY)
        once, again, touched = once + len(spots), again + len(things), touched + len(set(spots))
        frames += len(numbers)
    # One frame may be a mistake; and where most spots are things that move, as in snow, so may be the others.
    sure = touched > 1 and once > again
    return SearchedMasks(noise_sd=found.sure_noise_sd, rate=once / (frames * share) if sure else 0.0)


def drawn(frames: FloatArray) -> bool:
    """Whether every picture ``(n, height, width, channels)`` has few tones, far apart."""
    tones = np.rint(frames @ LUMA if frames.shape[3] == 3 else frames[..., 0])
    return all(float(np.ptp(t)) > APART and len(np.unique(t)) <= TONES for t in tones)


def _stretches(found: Scan) -> Iterator[list[int]]:
    """Good frames from the middle of the longest shots."""
    for a, b in sorted(found.shots, key=lambda shot: shot[0] - shot[1])[:SAMPLED_SHOTS]:
        good = [i for i in range(a, b) if i not in found.void]
        middle = max(0, (len(good) - SAMPLED_FRAMES) // 2)
        if len(good) >= 3:
            yield good[middle : middle + SAMPLED_FRAMES]
