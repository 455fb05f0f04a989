"""Damaged pixels of a shot as masks, and what kind of damage they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import cv2
import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Mask
from videorestore.detect.lines import find_lines
from videorestore.detect.sight import Sight
from videorestore.detect.spikes import NEAR, Places, Seen, enlarged, find_spikes
from videorestore.detect.verdict import GAIN, motion_ranks, place_odds, recurrence_odds
from videorestore.errors import InputError

REACH = 6
"""Frames on either side that the verdict on a frame depends on."""

_AGAIN = REACH - NEAR  # frames within which a thing that moves is seen again

LEAST = 1.0
LINE = 6.0
"""Log odds that are asked for, and those of a line that stays."""

GLANCE = 2.0
"""Log odds by which a first glance may fall short of a careful look: of 25 frames with dust planted in five clean clips it saw all
with odds of 4.5 and more, where 3.9 are asked for, and nothing in the 175 others above 1.9."""

Kind = Literal["dust", "blotch", "scratch", "line", "dropout"]

_WHOLE = 0.4  # a larger share of a frame is no local damage
_DUST = 40  # pixels
_LARGE = 60  # pixels from which a spot may be a thing that moves
_SPECK = 5  # pixels; where damage is rare, a smaller spot may be anything
_FAR = 0.11  # of the longer side: how far things fly between two frames
_REPEATED = 2.0  # pixels by which the middle of a spot may differ in a frame that is shown twice
_UNEVEN = 0.25  # of the size of a thing: how far its steps from frame to frame may differ
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
    frames: Any,
    *,
    noise_sd: float = 0.0,
    least: float = LEAST,
    strict: bool = False,
    factor: int | None = None,
) -> tuple[Mask, list[Damage]]:
    """Find dust, blotches, scratches, lines and dropouts.

    Parameters
    ----------
    frames : ndarray, shape (n, height, width, channels), or the like on disk
        One shot on the 0..255 scale. At least 3 frames, or nothing is found. The verdict on one depends on up to `REACH`
        frames on either side.
    noise_sd : float
        Standard deviation of the noise; thresholds rise with it.
    least : float
        Log odds from which on a place counts as damaged. Where damage is rare, more should be asked for.
    strict : bool
        Where damage is rare: whatever has its like close by within a few frames is taken for a thing that moves, what
        stands out as much in frame after frame is the film's own, and lines that stay are bars before the camera.
    factor : int, optional
        By which the frames are reduced for the search; see `sight.reduction`.

    Returns
    -------
    masks : ndarray of bool, shape (n, height, width)
    damage : list of Damage
        Connected places in order of frame, then from top to bottom.
    """
    if frames.ndim != 4:
        raise InputError(
            f"frames must have shape (n, height, width, channels), got {frames.shape}; add the missing axis."
        )
    masks = np.zeros(frames.shape[:3], np.bool_)
    damage: list[Damage] = []
    wanted: Sequence[int] = range(len(frames))
    if strict:
        with pulse.part(0.0, 0.5):
            wanted = _suspicious(Sight(frames, noise_sd, factor, glance=True), wanted, least - GAIN)
    if not wanted:
        return masks, damage
    with pulse.part(0.5 if strict else 0.0, 1.0):
        spots = list(_weighed(Sight(frames, noise_sd, factor), wanted, least, strict))
    struck = {spot.place.frame for spot, _ in spots}
    common = strict and len(struck) > max(2, _RARE * len(frames))
    for spot, acquitted in spots:
        if not acquitted and not common:
            rows, columns = spot.large
            masks[spot.place.frame][rows, columns] = True
            damage.append(replace(spot.place, box=_box(rows, columns)))
    return masks, damage


def weigh_spots(
    frames: FloatArray, *, noise_sd: float = 0.0, factor: int | None = None
) -> tuple[list[tuple[int, float]], int]:
    """Spots of a shot that may be damage: frame, and log likelihood of damage against a thing; see `verdict.film_odds`.

    Frames at the ends, around which a thing could not be seen again, do not count where there are enough. Also gives
    the number of those that do.
    """
    ends = _AGAIN if len(frames) > 6 * _AGAIN else 0
    inner = range(ends, len(frames) - ends)
    with pulse.part(0.0, 0.5):
        wanted = _suspicious(Sight(frames, noise_sd, factor, glance=True), inner, LEAST)
    if not wanted:
        return [], len(inner)
    with pulse.part(0.5, 1.0):
        found = _seen(Sight(frames, noise_sd, factor), wanted, LEAST)
    spots = [(k, spot.support) for k in found for spot in found[k] if spot.place.kind != "line"]
    return spots, len(inner)


def _suspicious(sight: Sight, numbers: Sequence[int], least: float) -> list[int]:
    """The frames in which a first glance sees something that may have these odds."""
    suspects = []
    for k in pulse.counted(numbers):
        if np.isfinite(find_spikes(sight, k, least - GLANCE).odds).any():
            suspects.append(k)
        sight.forget(k + 1 - NEAR)
    return suspects


@dataclass(frozen=True, slots=True, eq=False)
class _Spot:
    place: Damage
    rows: Places
    columns: Places
    large: tuple[Places, Places]  # its pixels in the whole frame
    again: bool = False  # its like is seen near by within a few frames
    support: float = 0.0  # log likelihood of damage by that, and by its place
    alike: tuple[Seen, ...] = ()  # what differs in the same way in the next frames


def _seen(
    sight: Sight, numbers: Sequence[int], least: float, *, lines: bool = True
) -> dict[int, list[_Spot]]:
    """The spots of each of some frames that have these odds by themselves, with what else speaks."""
    ranks = motion_ranks(sight.frames)
    spots: dict[int, list[_Spot]] = {}
    seen: dict[int, list[Seen]] = {}
    steps: dict[int, FloatArray] = {}

    def look(k: int) -> None:
        if k not in spots:
            spots[k], seen[k] = _spots(sight, k, least, lines)
            steps[k] = np.array([s.step for s in seen[k]])

    def like(own: Seen | None, j: int) -> list[Seen]:
        look(j)
        return [o for o, same in zip(seen[j], _same(own, steps[j])) if same]

    def supported(spot: _Spot, k: int) -> _Spot:
        own = _own(spot, seen[k])
        alike = {
            j: like(own, j)
            for j in range(max(0, k - _AGAIN), min(len(sight.frames), k + _AGAIN + 1))
            if j != k
        }
        again = len(spot.rows) < _SPECK or _seen_again(spot, [o for j in alike for o in alike[j]], 1.5, 4.0)
        again = again or _on_course(spot, *(spots.get(k + j, []) for j in (-2, -1, 1, 2)))
        support = recurrence_odds(again) + place_odds(ranks, spot.place.box)
        beside = [o for j in alike if abs(j - k) == 1 for o in alike[j]]
        return replace(spot, again=again, support=support, alike=tuple(beside))

    found: dict[int, list[_Spot]] = {}
    for k in pulse.counted(numbers):
        look(k)
        found[k] = [supported(spot, k) for spot in spots[k]]
        sight.forget(k + 1 - NEAR - _AGAIN)
    return found


def _weighed(
    sight: Sight, numbers: Sequence[int], least: float, strict: bool
) -> Iterator[tuple[_Spot, bool]]:
    """Every spot of some frames that reaches the odds, and whether it is acquitted all the same.

    What is large and beside its like in the next frame is a thing; where damage is rare, so is all that is seen again.
    """
    found = _seen(sight, numbers, least - GAIN, lines=not strict)
    far = _FAR * max(sight.frames.shape[1:3])
    for k in found:
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


def _same(one: Seen | None, steps: FloatArray) -> Mask:
    """Which of some ``steps`` (n, channels) differ from what is behind them in the same way as a thing; all, if there is none."""
    if one is None or not len(steps):
        return np.ones(len(steps), np.bool_)
    largest = np.maximum((one.step**2).sum(), (steps**2).sum(axis=1))
    return np.asarray(steps @ one.step > 0.5 * largest)


def _spots(sight: Sight, k: int, least: float, with_lines: bool) -> tuple[list[_Spot], list[Seen]]:
    """Spots of frame k, and all that stands out there."""
    spikes = find_spikes(sight, k, least)
    marked = spikes.odds > least
    if marked.mean() > _WHOLE:
        return [], spikes.seen
    streaks = _parts(find_lines(sight.whole, k, sight.whole_noise_sd)) if with_lines else ()
    lines = [
        _spot(k, part[0] // sight.factor, part[1] // sight.factor, part, LINE, "line") for part in streaks
    ]
    for line in lines:
        marked[line.rows, line.columns] = False
    spots = [
        _spot(k, *part, enlarged(sight, k, spikes, *part), float(spikes.odds[part].max()))
        for part in _parts(marked)
    ]
    return spots + lines, spikes.seen


def _spot(
    k: int, rows: Places, columns: Places, large: tuple[Places, Places], odds: float, kind: Kind | None = None
) -> _Spot:
    x, y, width, height = _box(rows, columns)
    named = kind or _kind(width, height, len(rows))
    place = Damage(frame=k, kind=named, box=(x, y, width, height), odds=round(odds, 2))
    return _Spot(place, rows, columns, large)


def _seen_again(spot: _Spot, others: list[Seen], reach: float, slack: float) -> bool:
    """Is the like of it close by in a frame around? Damage strikes once, a thing that moves is seen again and again.

    ``others`` are looked for up to ``reach`` of their size plus ``slack`` pixels away.
    """
    x, y, width, height = spot.place.box
    area = len(spot.rows)
    for other in others:
        left, top, wide, high = other.box
        beside = abs(x + width / 2 - left - wide / 2)
        level = abs(y + height / 2 - top - high / 2)
        if beside >= reach * max(width, wide) + slack or level >= reach * max(height, high) + slack:
            continue
        if max(beside, level) <= _REPEATED and max(abs(width - wide), abs(height - high)) <= 2 * _REPEATED:
            continue  # the frame is repeated, and coded anew
        if _alike((width, height, area), (wide, high, other.area)):
            return True
    return False


def _on_course(spot: _Spot, *around: list[_Spot]) -> bool:
    """Is it seen three times at even steps, however far: in the two frames before, in the two after, or in one of either?"""
    own = (*spot.place.box[2:], len(spot.rows))
    before, last, after, beyond = (
        [_middle(s) for s in frame if _alike(own, (*s.place.box[2:], len(s.rows)))] for frame in around
    )
    (x, y), slack = _middle(spot), _REPEATED + _UNEVEN * min(spot.place.box[2:])
    for first, second, times in ((last, before, 2), (after, beyond, 2), (last, after, -1)):
        for one in first:
            u, v = x + times * (one[0] - x), y + times * (one[1] - y)
            if any(abs(other[0] - u) <= slack and abs(other[1] - v) <= slack for other in second):
                return True
    return False


def _middle(spot: _Spot) -> tuple[float, float]:
    x, y, width, height = spot.place.box
    return x + width / 2, y + height / 2


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Of about the same width, height and area: a scratch is not the like of a blotch."""
    return all(a < 2.5 * b + 2 and b < 2.5 * a + 2 for a, b in zip(one, other))


def _parts(mask: Mask) -> Iterator[tuple[Places, Places]]:
    """Rows and columns of the pixels of every part of a mask, from top to bottom; parts touch nearly."""
    if not mask.any():
        return
    joined = cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8))
    _, labels, boxes, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    for label, (x, y, width, height) in sorted(
        enumerate(boxes[1:, :4].tolist(), 1), key=lambda b: b[1][1::-1]
    ):
        part = slice(y, y + height), slice(x, x + width)
        rows, columns = np.nonzero((labels[part] == label) & mask[part])
        yield rows + y, columns + x


def _box(rows: Places, columns: Places) -> tuple[int, int, int, int]:
    """x, y, width and height of pixels."""
    x, y = int(columns.min()), int(rows.min())
    return x, y, int(columns.max()) - x + 1, int(rows.max()) - y + 1


def _kind(width: int, height: int, area: int) -> Kind:
    if width >= 8 * height and width >= 16:
        return "dropout"
    if height >= 4 * width and height >= 12:
        return "scratch"
    if area >= 64 and area > 0.9 * width * height:
        return "dropout"
    return "dust" if area <= _DUST else "blotch"
