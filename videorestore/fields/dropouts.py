"""Dropouts of a tape: the head reads nothing for some millionths of a second, and a piece of one line of one field is white or dark.

A streak is told from a thing by everything that is next to it: the lines above and below, the fields just before and after,
whose lines lie between those of its own, and the fields of the same lines before and after those, in place and along motion.
What goes beyond all of that, one way, over many columns of a single line, was not before the camera. It is filled by the best
linear prediction from the same neighbours, whose errors are those at the known pixels around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.fields._kernels import streaks
from videorestore.motion.flow import fast_flow
from videorestore.motion.warp import warp

Floats = NDArray[np.float32]
Planes = tuple[Floats, ...]

SIDE = 2
"""Fields on each side of one that are asked."""

LEAST, MOST = 15.0, 60.0
"""Levels beyond all neighbours from which on a pixel speaks for a streak, and at most how loud, both on the 0..255 scale."""

SHORTEST = 8
"""Columns of a streak, at least: shorter ones may be glints."""

EVEN, SCALE, USUAL = 300.0, 100.0, 2.0
"""Sum of levels along a streak at which it is as likely a thing where a megapixel of fields has ``USUAL`` dropouts, and the
levels that change the odds by e. By what was planted in, and found by mistake on, eight clips, clean and with noise of sd 10
and 25: of 900 fields two had a false streak of more than 300, none of more than 500."""

CLEAN = 0.1
"""Dropouts in a megapixel of fields that no tape is below, before it is looked at."""

FALL, DRIFT, ALIKE = 6, 16, 0.6
"""Lines and columns by which a thin thing may move between two fields that are compared, and the share of its contrast with the
lines above and below that it has there at least: bars that fall, and the strokes of letters that roll."""

CHUNK, AROUND, ROWS = 16, 12, 3
"""Columns of a streak that are filled with the same weights, columns on both sides and rows above and below which tell them."""

TAIL = 16
"""Columns by which a streak may reach beyond those that were found: it fades."""

RIDGE = 0.03
"""Share of the mean variance that is added to those of all neighbours: their errors are known from a few hundred pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streak:
    """A dropout: columns ``start`` to ``stop`` of a ``line`` of a field.

    ``sign`` is 1 where it is bright; ``sum`` is by how many levels it goes beyond its neighbours, all columns together.
    """

    line: int
    start: int
    stop: int
    sign: int
    sum: float

    def log_odds(self, rate: float) -> float:
        """That it is a dropout, on a tape with so many in a megapixel."""
        return (self.sum - EVEN) / SCALE + float(np.log(max(rate, CLEAN) / USUAL))

    def probability(self, rate: float) -> float:
        """See `log_odds`."""
        return float(1 / (1 + np.exp(-self.log_odds(rate))))


class Surroundings:
    """One field with two on each side.

    Parameters
    ----------
    fields : sequence of five tuples of (m, w) float32, or None
        Planes of fields in the order of time, on the 0..255 scale, parities in turn; the first plane has what is looked at.
        Those beyond an end of the shot are None.
    parity : int
        Of the one in the middle: 0 where it has the upper lines.
    """

    def __init__(self, fields: Sequence[Planes | None], parity: int) -> None:
        own = fields[SIDE]
        assert own is not None
        self.own = own
        self.others = {j - SIDE: f for j, f in enumerate(fields) if f is not None and j != SIDE}
        self.parity = parity

    @cached_property
    def ways(self) -> dict[int, tuple[Floats | None, ...]]:
        """How the fields of the same lines are read, -2 and 2: in place, by the field's own motion and by that between them."""
        seen = {j: _bytes(planes[0]) for j, planes in self.others.items() if j % 2 == 0}
        found: dict[int, tuple[Floats | None, ...]] = {}
        for j in seen:
            found[j] = (None, fast_flow(_bytes(self.own[0]), seen[j]))
            if -j in seen:
                found[j] += (np.asarray(np.float32(0.5) * fast_flow(seen[-j], seen[j])),)
        return found

    def readings(self, plane: int) -> list[tuple[bool, Floats]]:
        """A plane of the fields around, read in every way; and whether its lines are those of the field."""
        found = []
        for j, planes in self.others.items():
            other = planes[plane]
            # The way to a field beyond which the shot ends is not known: it is read in place.
            for way in self.ways.get(j if j % 2 == 0 else 2 * j, (None,)):
                part = None if way is None else _scaled(way, other.shape, abs(j) / 2)
                found.append((j % 2 == 0, other if part is None else warp(other, part, method="linear")))
        return found

    def shifts(self) -> tuple[int, int]:
        """Lines of a field of the other parity above and below a line of this one, less its number."""
        return (-1, 0) if self.parity == 0 else (0, 1)

    @cached_property
    def shown(self) -> tuple[Floats, Floats]:
        """The lowest and the highest luma ``(m, w)`` that the fields around show at a place and next to it."""
        lows, highs = [], []
        above = self.shifts()[0]
        for same, seen in self.readings(0):
            # The next pixels too; of the other parity the lines above and below.
            box = np.ones((3 if same else 2, 3), np.uint8)
            anchor = (-1, -1) if same else (1, -above)
            lows.append(cv2.erode(seen, box, anchor=anchor))
            highs.append(cv2.dilate(seen, box, anchor=anchor))
        return np.minimum.reduce(lows), np.maximum.reduce(highs)

    def beyond(self) -> Floats:
        """By how much the luma leaves the range of all that is around ``(m, w)``; negative where it is darker."""
        own, (low, high) = self.own[0], self.shown
        row = np.ones((1, 3), np.uint8)
        for line in (_moved(own, -1), _moved(own, 1)):
            low, high = np.minimum(low, cv2.erode(line, row)), np.maximum(high, cv2.dilate(line, row))
        return _outside(own, low, high)

    def strange(self) -> Floats:
        """Mean ``(m,)`` over each line of how far it is from what the fields of the same lines show, each pixel by the nearest."""
        own = self.own[0]
        off = [np.abs(own - seen) for same, seen in self.readings(0) if same]
        return np.asarray(np.minimum.reduce(off).mean(axis=1))

    def find(self, least: float = EVEN - 2 * SCALE) -> list[Streak]:
        """What may be a dropout, with a sum of at least so many levels."""
        found = np.empty((4096, 5))
        count = streaks(self.beyond(), LEAST, MOST, least, SHORTEST, found)
        every = [
            Streak(line=int(y), start=int(a), stop=int(b), sign=int(s), sum=float(total))
            for y, a, b, s, total in found[:count]
        ]
        return [streak for streak in every if not self._seen_again(streak)]

    def _seen_again(self, streak: Streak) -> bool:
        """Whether a field around has its like near by: a dropout strikes once."""
        row, columns = streak.line, slice(streak.start, streak.stop)
        own = float(_thin(self.own[0][max(0, row - 1) : row + 2], streak.sign)[min(row, 1), columns].mean())
        rows = slice(max(0, row - FALL - 1), row + FALL + 2)
        near = slice(max(0, streak.start - DRIFT), streak.stop + DRIFT)
        for planes in self.others.values():
            thin = _thin(planes[0][rows, near], streak.sign)[1:-1]
            length = streak.stop - streak.start
            sums = np.pad(np.cumsum(thin, axis=1), ((0, 0), (1, 0)))
            if own > 0 and float((sums[:, length:] - sums[:, :-length]).max()) >= ALIKE * own * length:
                return True
        return False

    def fill(self, found: Sequence[Streak]) -> tuple[Planes, Planes, list[Streak]]:
        """The planes of the field with dropouts filled, their sd, 0 where nothing was, and the streaks as far as they reach."""
        filled = tuple(p.copy() for p in self.own)
        sds = tuple(np.zeros_like(p) for p in filled)
        reach: list[Streak] = []
        height, width = filled[0].shape
        for plane, (own, spread) in enumerate(zip(filled, sds)):
            down, across = (-(-a // b) for a, b in zip((height, width), own.shape))
            gone = np.zeros(own.shape, np.bool_)
            wide = [replace(s, start=max(0, s.start - TAIL), stop=min(width, s.stop + TAIL)) for s in found]
            for s in wide:
                gone[s.line // down, s.start // across : -(-s.stop // across)] = True
            guesses = _guesses(self.own[plane], self.readings(plane), self.shifts())
            for k, (s, w) in enumerate(zip(found, wide)):
                row, start, stop = s.line // down, w.start // across, -(-w.stop // across)
                mean, sd = _predicted(self.own[plane], guesses, gone, row, start, stop)
                if plane == 0:
                    reach.append(_reach(s, w, self.own[0][row], mean, sd))
                first, last = reach[k].start // across, -(-reach[k].stop // across)
                own[row, first:last] = mean[first - start : last - start]
                spread[row, first:last] = sd[first - start : last - start]
        return filled, sds, reach


def _bytes(plane: Floats) -> NDArray[np.uint8]:
    return np.clip(np.rint(plane), 0, 255).astype(np.uint8)


def _outside(own: Floats, low: Floats, high: Floats) -> Floats:
    return np.asarray(np.maximum(own - high, 0) + np.minimum(own - low, 0), np.float32)


def _thin(lines: Floats, sign: int) -> Floats:
    """By how much each pixel of some lines goes beyond both the one above and the one below, up to `MOST`."""
    signed = np.float32(sign) * lines
    beside = np.maximum(_moved(signed, -1), _moved(signed, 1))
    return np.asarray(np.clip(signed - beside, 0, MOST), np.float32)


def _moved(plane: Floats, by: int) -> Floats:
    """Line y + ``by`` at the place of line y; at the border the one on the other side."""
    rows = np.arange(len(plane)) + by
    rows = np.where((rows < 0) | (rows >= len(plane)), rows - 2 * by, rows)
    return np.ascontiguousarray(plane[np.clip(rows, 0, len(plane) - 1)])


def _scaled(way: Floats, shape: tuple[int, ...], part: float) -> Floats:
    """A part of a way through luma, for a plane of another shape."""
    if way.shape[:2] == shape:
        return np.asarray(np.float32(part) * way)
    factor = np.array([shape[1] / way.shape[1], shape[0] / way.shape[0]], np.float32) * np.float32(part)
    return np.asarray(cv2.resize(way, shape[::-1], interpolation=cv2.INTER_AREA) * factor)


def _guesses(own: Floats, readings: Sequence[tuple[bool, Floats]], shifts: tuple[int, int]) -> Floats:
    """What every neighbour says of a field ``(g, m, w)``; the last is the mean of the lines above and below."""
    half = np.float32(0.5)
    guesses = [
        seen if same else half * (_moved(seen, shifts[0]) + _moved(seen, shifts[1]))
        for same, seen in readings
    ]
    return np.stack([*guesses, half * (_moved(own, -1) + _moved(own, 1))])


def _predicted(
    own: Floats, guesses: Floats, gone: NDArray[np.bool_], row: int, start: int, stop: int
) -> tuple[Floats, Floats]:
    """The best linear mean of the guesses for columns of a row, and its sd, by their errors at known pixels around."""
    mean, sd = np.empty((2, stop - start), np.float32)
    rows = slice(max(0, row - ROWS), row + ROWS + 1)
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        near = rows, slice(max(0, first - AROUND), last + AROUND)
        known = ~gone[near]
        # The mean of two lines is no witness where one of them is gone.
        above, below = (np.roll(gone, by, axis=0)[near] for by in (-1, 1))
        clean = known & ~above & ~below
        known = clean if clean.sum() >= len(guesses) else known
        errors = guesses[(slice(None), *near)][:, known] - own[near][known]
        spread = errors @ errors.T / max(1, errors.shape[1])
        spread[np.diag_indices_from(spread)] += RIDGE * np.trace(spread) / len(spread) + 1e-3
        weights = np.linalg.solve(spread, np.ones(len(spread), np.float32))
        total = float(weights.sum())
        mean[first - start : last - start] = weights @ guesses[:, row, first:last] / total
        sd[first - start : last - start] = np.sqrt(1 / max(total, 1e-6))
    return mean, sd


def _reach(found: Streak, wide: Streak, line: Floats, mean: Floats, sd: Floats) -> Streak:
    """A streak with the columns beside it that still differ the same way, by more than twice the error of what fills them."""
    off = found.sign * (line[wide.start : wide.stop] - mean) > 2 * sd
    start, stop = found.start, found.stop
    while start > wide.start and off[start - 1 - wide.start]:
        start -= 1
    while stop < wide.stop and off[stop - wide.start]:
        stop += 1
    return replace(found, start=start, stop=stop)
