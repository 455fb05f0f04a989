"""The frames of a tape with its dropouts filled, field by field, before anything else is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from videorestore.clip import FloatArray, Frame, Samples
from videorestore.fields.dropouts import SIDE, Planes, Streak, Surroundings
from videorestore.fields.split import field_of, levels, samples
from videorestore.make.masks import Spot
from videorestore.make.work import Made, Origin, Shot
from videorestore.media.source import FrameIndex, Source

SURELY = 0.9
"""Probability from which on a streak is taken for a dropout and filled."""

HELD = 96
"""Mended frames that are kept at hand: a piece reads its frames several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """How the dropouts of a tape are found.

    Attributes
    ----------
    shots : tuple of (start, stop)
        Those that are interlaced.
    first : tuple of int
        Parity of the first field of a frame, for each of them.
    rate : float
        Dropouts in a megapixel.
    torn : int
        Lines at the bottom of each field that the switching of the heads tears; nothing is sought there.
    bottom : {"keep", "fill", "crop"}
        What becomes of these lines: they stay, mirror those above, or are cut off.
    least : float
        Probability that is asked for.
    jitter : float
        Columns by which single lines are shifted (sd), 0 where they are not; it stays.
    blends : int
        Fields after which the weights of blended fields come again, 0 where they are none; they stay.
    spared : tuple of (frame, (x, y, width, height))
        Places that a person wants to stay as they are.
    """

    shots: tuple[Shot, ...]
    first: tuple[int, ...]
    rate: float
    torn: int = 0
    bottom: Literal["keep", "fill", "crop"] = "keep"
    least: float = SURELY
    jitter: float = 0.0
    blends: int = 0
    spared: tuple[tuple[int, tuple[int, int, int, int]], ...] = ()

    @property
    def cut(self) -> int:
        """Lines of a frame that are cut off; so many that the others are whole pairs of fields, and of chroma lines."""
        return -(-2 * self.torn // 4) * 4 if self.bottom == "crop" else 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mended:
    """What was mended of a frame, and the sd ``(h, w)`` of what fills it."""

    spots: tuple[Spot, ...]
    sd: FloatArray


class TapeView(Source):
    """A source with its dropouts filled.

    Parameters
    ----------
    source : Source
    tape : Tape
    """

    def __init__(self, source: Source, tape: Tape) -> None:
        self._source = source
        self._tape = tape
        self.path, self.info = source.path, source.info
        self.height, self.width = source.height - tape.cut, source.width
        self._held: dict[int, Frame] = {}
        self.mended: dict[int, Mended] = {}

    def index(self) -> FrameIndex:
        """See `Source.index`."""
        return self._source.index()

    def facts(self) -> dict[str, Any]:
        """See `Source.facts`."""
        return self._source.facts()

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """See `Source.frames`."""
        stop = len(self.index()) if stop is None else stop
        while start < stop:
            if start not in self._held:
                known = next((n for n in range(start, stop) if n in self._held), stop)
                for frame in self._mend(start, min(known, start + HELD // 2)):
                    self._held[frame.index] = frame
                while len(self._held) > HELD:
                    gone = next(iter(self._held))
                    del self._held[gone]
                    self.mended.pop(gone, None)
            yield self._held[start]
            start += 1

    def _mend(self, start: int, stop: int) -> Iterator[Frame]:
        """Frames, mended in the shots that are interlaced."""
        before: Frame | None = None
        here: Frame | None = None
        for after in chain(self._source.frames(max(0, start - 1), stop + 1), (None,)):
            if here is not None and start <= here.index < stop:
                yield self._one(before, here, after)
            before, here = here, after

    def _one(self, before: Frame | None, here: Frame, after: Frame | None) -> Frame:
        shot = next((k for k, (a, b) in enumerate(self._tape.shots) if a <= here.index < b), None)
        if shot is None:
            return self._cropped(here)
        spots: list[Spot] = []
        spread = np.zeros(here.planes[0].shape, np.float32)
        planes = [np.array(p) for p in here.planes]
        start, stop = self._tape.shots[shot]
        # Nothing is compared across a cut.
        before, after = (before if here.index > start else None), (after if here.index < stop - 1 else None)
        if self._tape.bottom == "fill" and self._tape.torn:
            spots.append(_mirrored(planes, spread, self._tape.torn))
        for parity, around in surroundings((before, here, after), self._tape.first[shot]):
            found = [s for s in around.find() if self._wanted(s, here, parity)]
            if not found:
                continue
            filled, sds, reach = around.fill(found)
            for streak in reach:
                box = (streak.start, 2 * streak.line + parity, streak.stop - streak.start, 1)
                spots.append(("dropout", box, round(streak.probability(self._tape.rate), 3)))
            for plane, new, sd in zip(planes, filled, sds):
                lines = plane[parity::2]
                where = sd[: len(lines)] > 0
                lines[where] = samples(new[: len(lines)][where], here)
            lines = spread[parity::2]
            np.maximum(lines, sds[0][: len(lines)], out=lines)
        if not spots:
            return self._cropped(here)
        frame = self._cropped(replace(here, planes=tuple(planes)))
        self.mended[here.index] = Mended(spots=tuple(spots), sd=spread[: self.height])
        return frame

    def _cropped(self, frame: Frame) -> Frame:
        """A frame without the lines that are cut off."""
        if not self._tape.cut:
            return frame
        shapes = frame.format.plane_shapes(self.height, self.width)
        return replace(frame, planes=tuple(p[: shape[0]] for p, shape in zip(frame.planes, shapes)))

    def _wanted(self, streak: Streak, frame: Frame, parity: int) -> bool:
        """Whether a streak is sure enough, lies where one may be and where nobody objects."""
        tape, line = self._tape, 2 * streak.line + parity
        rejected = any(
            number == frame.index and y <= line < y + h and x < streak.stop and streak.start < x + w
            for number, (x, y, w, h) in tape.spared
        )
        low = streak.line >= -(-frame.height // 2) - tape.torn
        return not (rejected or low) and streak.probability(tape.rate) >= tape.least


def taped(source: Source, tape: Tape | None) -> Source:
    """A source as it is read where it is a tape; one that is read so already, as it is."""
    return source if tape is None or isinstance(source, TapeView) else TapeView(source, tape)


def said(source: Source, made: Made, number: int) -> Made:
    """A frame that was made of the frame ``number`` of a source, with what was filled of it."""
    done = source.mended.get(number) if isinstance(source, TapeView) else None
    if done is None:
        return made
    sd = done.sd[..., None] if made.sd_map is None else np.maximum(made.sd_map, done.sd[..., None])
    mask = done.sd > 0 if made.mask is None else made.mask | (done.sd > 0)
    origin: Origin = "mended" if made.origin == "kept" else made.origin
    return replace(made, origin=origin, sd_map=sd, damage=(*made.damage, *done.spots), mask=mask)


def surroundings(
    frames: tuple[Frame | None, Frame, Frame | None], first: int
) -> Iterator[tuple[int, Surroundings]]:
    """The fields of the frame in the middle: parity, and what is around; ``first`` is the parity of the earlier one.

    A field with none of the other parity on one side, at the end of a shot, is left out: what appears or goes there would be
    taken for a dropout.
    """
    fields = [
        None if frame is None else _planes(field_of(frame, parity))
        for frame in frames
        for parity in (first, 1 - first)
    ]
    for k, parity in ((2, first), (3, 1 - first)):
        if fields[k - 1] is not None and fields[k + 1] is not None:
            yield parity, Surroundings(fields[k - SIDE : k + SIDE + 1], parity)


def _mirrored(planes: list[Samples], spread: FloatArray, torn: int) -> Spot:
    """Fill the lowest lines of each field by mirroring those above them, and say which they are."""
    height, width = planes[0].shape
    for plane in planes:
        count = -(-torn * len(plane) // height)
        for parity in (0, 1):
            lines = plane[parity::2]
            lines[-count:] = lines[-2 * count : -count][::-1]
    spread[height - 2 * torn :] = max(1.0, float(np.std(planes[0][height - 2 * torn :])))
    return ("head switching", (0, height - 2 * torn, width, 2 * torn), 1.0)


def _planes(field: Frame) -> Planes:
    return tuple(levels(p, field) for p in field.planes[: field.format.colours])
