"""Damaged pixels of a shot as masks, and what kind of damage they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.detect.lines import find_lines
from videorestore.detect.spikes import Seen, changes, find_spikes
from videorestore.detect.verdict import GAIN, motion_ranks, place_odds, recurrence_odds
from videorestore.errors import InputError

REACH = 6
"""Frames on either side that the verdict on a frame depends on."""

_NEAR = 4  # of them the spots of a frame depend on
_AGAIN = REACH - _NEAR  # frames within which a thing that moves is seen again

LEAST = 1.0
LINE = 6.0
"""Log odds that are asked for, and those of a line that stays."""

Kind = Literal["dust", "blotch", "scratch", "line", "dropout"]

_WHOLE = 0.4  # a larger share of a frame is no local damage
_DUST = 40  # pixels
_LARGE = 60  # pixels from which a spot may be a thing that moves
_SPECK = 5  # pixels; where damage is rare, a smaller spot may be anything
_FAR = 0.11  # of the longer side: how far things fly between two frames
_REPEATED = 2.0  # pixels by which the middle of a spot may differ in a frame that is shown twice
_RARE = 0.15  # share of the frames that are struck where damage is rare; two may always be


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged place.

    Attributes
    ----------
    frame : int
        Number in the frames that were passed.
    kind : {"dust", "blotch", "scratch", "line", "dropout"}
        A ``line`` is a scratch that stays over many frames.
    box : tuple of int
        x, y, width, height.
    odds : float
        Logarithm of the odds that it is damage.
    """

    frame: int
    kind: Kind
    box: tuple[int, int, int, int]
    odds: float = 0.0

    @property
    def probability(self) -> float:
        """That it is damage."""
        return float(1 / (1 + np.exp(-self.odds)))


def find_damage(
    frames: FloatArray,
    *,
    noise_sd: float = 0.0,
    start: int = 0,
    stop: int | None = None,
    least: float = LEAST,
    strict: bool = False,
) -> tuple[Mask, list[Damage]]:
    """Find dust, blotches, scratches, lines and dropouts.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels)
        One shot on the 0..255 scale. At least 3 frames, or nothing is found.
    noise_sd : float
        Standard deviation of the noise; thresholds rise with it.
    start, stop : int
        Only these frames are judged; they depend on up to `REACH` frames on either side.
    least : float
        Log odds from which on a place counts as damaged. Where damage is rare, more should be asked for.
    strict : bool
        Where damage is rare: whatever has its like close by within a few frames is taken for a thing that moves, and
        what stands out as much in frame after frame is the film's own.

    Returns
    -------
    masks : ndarray of bool, shape (stop - start, height, width)
    damage : list of Damage
        Connected places in order of frame, then from top to bottom.
    """
    if frames.ndim != 4:
        raise InputError(
            f"frames must have shape (n, height, width, channels), got {frames.shape}; add the missing axis."
        )
    stop = len(frames) if stop is None else stop
    if not 0 <= start <= stop <= len(frames):
        raise InputError(
            f"start and stop must lie in 0..{len(frames)} in this order, got {start}, {stop}; change them."
        )
    masks = np.zeros((stop - start, *frames.shape[1:3]), np.bool_)
    damage: list[Damage] = []
    spots = list(_weighed(frames, noise_sd, start, stop, least, strict))
    struck = {spot.place.frame for spot, _ in spots if spot.place.kind != "line"}
    common = strict and len(struck) > max(2, _RARE * (stop - start))
    for spot, acquitted in spots:
        if not acquitted and (spot.place.kind == "line" or not common):
            masks[spot.place.frame - start][spot.rows, spot.columns] = True
            damage.append(spot.place)
    return masks, damage


def weigh_spots(frames: FloatArray, *, noise_sd: float = 0.0) -> list[tuple[int, float]]:
    """Spots of a shot that may be damage: frame, and log likelihood of damage against a thing; see `verdict.film_odds`."""
    spots = _seen(frames, noise_sd, 0, len(frames), LEAST)
    return [(k, spot.support) for k in spots for spot in spots[k] if spot.place.kind != "line"]


@dataclass(frozen=True, slots=True, eq=False)
class _Spot:
    place: Damage
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    again: bool = False  # its like is seen near by within a few frames
    support: float = 0.0  # log likelihood of damage by that, and by its place
    alike: tuple[Seen, ...] = ()  # what differs in the same way in the next frames


def _seen(frames: FloatArray, noise_sd: float, start: int, stop: int, least: float) -> dict[int, list[_Spot]]:
    """The spots of each frame from ``start`` to ``stop`` that have these odds by themselves, with what else speaks."""
    low, high = max(0, start - _AGAIN), min(len(frames), stop + _AGAIN)
    steps, ranks = changes(frames), motion_ranks(frames)
    spots: dict[int, list[_Spot]] = {}
    seen: dict[int, list[Seen]] = {}
    for k in pulse.counted(range(low, high)):
        spots[k], seen[k] = _spots(frames, k, noise_sd, least, steps)

    def supported(spot: _Spot, k: int) -> _Spot:
        own = _own(spot, seen[k])
        alike = {
            j: [o for o in seen[j] if own is None or _same(own, o)]
            for j in range(max(low, k - _AGAIN), min(high, k + _AGAIN + 1))
            if j != k
        }
        again = len(spot.rows) < _SPECK or _seen_again(spot, [o for j in alike for o in alike[j]], 1.5, 4.0)
        support = recurrence_odds(again) + place_odds(ranks, spot.place.box)
        beside = [o for j in alike if abs(j - k) == 1 for o in alike[j]]
        return replace(spot, again=again, support=support, alike=tuple(beside))

    return {k: [supported(spot, k) for spot in spots[k]] for k in range(start, stop)}


def _weighed(
    frames: FloatArray, noise_sd: float, start: int, stop: int, least: float, strict: bool
) -> Iterator[tuple[_Spot, bool]]:
    """Every spot of the frames from ``start`` to ``stop`` that reaches the odds, and whether it is acquitted all the same.

    What is large and beside its like in the next frame is a thing; where damage is rare, so is all that is seen again.
    """
    found = _seen(frames, noise_sd, max(0, start - 1), min(len(frames), stop + 1), least - GAIN)
    far = _FAR * max(frames.shape[1:3])
    for k in range(start, stop):
        for spot in found[k]:
            if spot.place.kind == "line":
                yield spot, False
                continue
            odds = round(spot.place.odds + spot.support, 2)
            if odds < least:
                continue
            judged = replace(spot, place=replace(spot.place, odds=odds))
            if strict:
                yield judged, spot.again or _seen_again(spot, list(spot.alike), 1.5, far)
            else:
                next_to = [_as_seen(s) for j in (k - 1, k + 1) for s in found.get(j, ())]
                large = len(spot.rows) >= _LARGE and spot.place.kind not in ("scratch", "dropout")
                yield judged, large and _seen_again(spot, next_to, 0.4, 0.0)


def _as_seen(spot: _Spot) -> Seen:
    return Seen(spot.place.box, len(spot.rows), np.zeros(0, np.float32))


def _own(spot: _Spot, seen: list[Seen]) -> Seen | None:
    """What a spot was made of, the largest part of it."""
    x, y, width, height = spot.place.box
    inside = [
        s
        for s in seen
        if x <= s.box[0] + s.box[2] / 2 <= x + width and y <= s.box[1] + s.box[3] / 2 <= y + height
    ]
    return max(inside, key=lambda s: s.area, default=None)


def _same(one: Seen, two: Seen) -> bool:
    """Whether two things differ from what is behind them in the same way."""
    product = float((one.step * two.step).sum())
    return product > 0.5 * max(float((one.step**2).sum()), float((two.step**2).sum()))


def _spots(
    frames: FloatArray, k: int, noise_sd: float, least: float, steps: list[float]
) -> tuple[list[_Spot], list[Seen]]:
    """Spots of frame k, and all that stands out there."""
    first, last = max(0, k - _NEAR), min(len(frames), k + _NEAR + 1)
    near = frames[first:last]
    odds, seen = find_spikes(near, k - first, noise_sd, least, steps[first : last - 1])
    spikes = odds > least
    if spikes.mean() > _WHOLE:
        return [], seen
    lines = find_lines(near, k - first, noise_sd)
    spots = _places(spikes & ~lines, k, odds, None)
    return spots + _places(lines, k, np.full_like(odds, LINE), "line"), seen


def _seen_again(spot: _Spot, others: list[Seen], reach: float, slack: float) -> bool:
    """Is the like of it close by in a frame around? Damage strikes once, a thing that moves is seen again and again.

    ``others`` are looked for up to ``reach`` of their size plus ``slack`` pixels away.
    """
    x, y, width, height = spot.place.box
    area = len(spot.rows)
    for other in others:
        left, top, wide, high = other.box
        off = max(abs(x + width / 2 - left - wide / 2), abs(y + height / 2 - top - high / 2))
        if off <= _REPEATED and max(abs(width - wide), abs(height - high)) <= 2 * _REPEATED:
            continue  # the frame is repeated, and coded anew
        # A scratch is not the like of a blotch.
        alike = all(
            a < 2.5 * b + 2 and b < 2.5 * a + 2
            for a, b in ((width, wide), (height, high), (area, other.area))
        )
        beside = abs(x + width / 2 - left - wide / 2) < reach * max(width, wide) + slack
        level = abs(y + height / 2 - top - high / 2) < reach * max(height, high) + slack
        if alike and beside and level:
            return True
    return False


def _places(mask: Mask, frame: int, odds: FloatArray, kind: Kind | None) -> list[_Spot]:
    if not mask.any():
        return []
    joined = cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8))
    count, labels = cv2.connectedComponents(joined, connectivity=8)
    spots = []
    for label in range(1, count):
        rows, columns = np.nonzero((labels == label) & mask)
        x, y = int(columns.min()), int(rows.min())
        width, height = int(columns.max()) - x + 1, int(rows.max()) - y + 1
        named = kind or _kind(width, height, len(rows))
        sure = round(float(odds[rows, columns].max()), 2)
        place = Damage(frame=frame, kind=named, box=(x, y, width, height), odds=sure)
        spots.append(_Spot(place, rows, columns))
    return sorted(spots, key=lambda spot: (spot.place.box[1], spot.place.box[0]))


def _kind(width: int, height: int, area: int) -> Kind:
    if width >= 8 * height and width >= 16:
        return "dropout"
    if height >= 4 * width and height >= 12:
        return "scratch"
    if area >= 64 and area > 0.9 * width * height:
        return "dropout"
    return "dust" if area <= _DUST else "blotch"
