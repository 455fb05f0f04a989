"""One piece of interlaced video: its fields mended each for themselves, then made whole or woven back; whole frames restored."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Frame, Samples
from videorestore.fields.complete import complete
from videorestore.fields.reading import REACH, Field, own_lines
from videorestore.fields.split import FieldView, joined, levels, samples, weave
from videorestore.make.cost import COPYING, ENCODING
from videorestore.make.pipeline import Restoring
from videorestore.make.tapes import Tape, said, taped
from videorestore.make.work import Made, Origin, Piece, Shot, Work
from videorestore.media.source import Source
from videorestore.request.common import Quality

ROUNDS: dict[Quality, int] = {"fast": 1, "default": 2, "best": 3}
"""How often motion is sought."""

COMPLETING = {"fast": 2.1, "default": 4.2, "best": 6.3}
"""CPU seconds for a megapixel of a completed frame: 1.9 to 2.7 and 5.0 to 7.1 were seen for luma alone."""

HALO = REACH + 1
"""Frames around a piece that are read: six fields, as far as three rounds reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One frame of the output, with the source frames whose fields it has; None for a field that is to be made."""

    time: Fraction
    duration: Fraction
    top: int | None
    bottom: int | None

    @property
    def anchor(self) -> int:
        """The first source frame that it is made of."""
        return min(n for n in (self.top, self.bottom) if n is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interlaced(Work):
    """Fields made whole, as pieces.

    ``first`` is the parity of the first field of a frame, for each shot: 0 top, 1 bottom. ``inner`` restores the
    fields of each parity before anything else is made of them; None takes them as they are. A ``tape`` has dropouts. The sd is
    that without noise where the frames are to be ``calm``: they will be denoised.
    """

    outputs: tuple[Output, ...]
    shots: tuple[Shot, ...]
    first: tuple[int, ...]
    quality: Quality
    inner: Restoring | None = None
    tape: Tape | None = None
    calm: bool = False

    def placed(self, scratch: str, mask_file: str | None) -> Interlaced:
        """See `Work.placed`."""
        return self if self.inner is None else replace(self, inner=self.inner.placed(scratch, mask_file))

    def first_output(self, number: int) -> int:
        """Number of the first output that is made of a source frame or a later one."""
        return bisect_left(self.outputs, number, key=lambda output: output.anchor)

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        return [self.first_output(p.stop) - self.first_output(p.start) for p in self.pieces]

    def piece_seconds(self) -> list[float]:
        """See `Work.piece_seconds`."""
        before = [0.0] * len(self.pieces) if self.inner is None else self.inner.piece_seconds()
        return [2 * seconds + self._completing(piece) for seconds, piece in zip(before, self.pieces)]

    def _outputs(self, piece: Piece) -> tuple[Output, ...]:
        return self.outputs[self.first_output(piece.start) : self.first_output(piece.stop)]

    def _completing(self, piece: Piece) -> float:
        """CPU time after the fields of a piece are restored."""
        outputs = self._outputs(piece)
        made = sum(o.top is None or o.bottom is None for o in outputs)
        work = COMPLETING[self.quality] * made + (COPYING + ENCODING) * len(outputs)
        return work * self.shape.height * self.shape.width / 1e6

    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        outputs = self._outputs(piece)
        before = 0.0 if self.inner is None else 2 * self.inner.seconds_of(piece)
        fields = before / (before + self._completing(piece))
        with pulse.part(0.0, fields):
            mended = self._mended(source, piece)
        frames = {number: made.frame for number, made in mended.items()}
        made = self._completed(piece, frames, outputs)
        for k, output in enumerate(outputs):
            pulse.at(fields + (1.0 - fields) * k / len(outputs))
            if output.top is not None and output.bottom is not None:
                frame = weave(frames[output.top], frames[output.bottom])
                origins = (mended[output.top].origin, mended[output.bottom].origin)
                changed: Origin = next((o for o in origins if o != "kept"), "kept")
                yield Made(frame=_timed(frame, output), origin=changed, source=output.anchor)
                continue
            frame, sd = next(made)
            changed = "filled" if mended[output.anchor].origin == "filled" else "mended"
            own = int(output.top is None)
            of_fields = mended[output.anchor].sd_map
            sd = sd if of_fields is None else _with_fields(sd, of_fields, own)
            damage = tuple(d for d in mended[output.anchor].damage if d[1][1] % 2 == own)
            yield Made(
                frame=_timed(frame, output), origin=changed, source=output.anchor, sd_map=sd, damage=damage
            )

    def _mended(self, source: Source, piece: Piece) -> dict[int, Made]:
        """The frames that a piece reads, restored field by field where that is asked for."""
        source = taped(source, self.tape)
        if self.inner is None:
            read = source.frames(piece.read_start, piece.read_stop)
            return {f.index: said(source, Made(frame=f, origin="kept"), f.index) for f in read}
        shot = next((a, b) for a, b in self.shots if a <= piece.start < b)
        low, high = max(shot[0], piece.start - HALO), min(shot[1], piece.stop + HALO)
        wider = replace(
            piece,
            start=low,
            stop=high,
            read_start=max(shot[0], piece.read_start - HALO),
            read_stop=min(shot[1], piece.read_stop + HALO),
        )
        restored = restored_fields(self.inner, source, wider)
        return {number: said(source, made, number) for number, made in zip(range(low, high), restored)}

    def _completed(
        self, piece: Piece, frames: dict[int, Frame], outputs: tuple[Output, ...]
    ) -> Iterator[tuple[Frame, FloatArray]]:
        """Frames whose missing lines are made, in output order, with their sd ``(h, w, c)``."""
        wanted = [o for o in outputs if o.top is None or o.bottom is None]
        if not wanted:
            return
        shot = next(k for k, (a, b) in enumerate(self.shots) if a <= piece.start < b)
        lead = self.first[shot]
        fields = []
        for number in sorted(frames):
            planes = tuple(levels(p, frames[number]) for p in frames[number].planes)
            fields += [Field(planes=planes, parity=lead), Field(planes=planes, parity=1 - lead)]
        begin = min(frames)
        places = [2 * (o.anchor - begin) + ((o.top is None) != bool(lead)) for o in wanted]
        span = range(places[0], places[-1] + 1)
        every = complete(fields, span, rounds=ROUNDS[self.quality], calm=self.calm)
        keep = set(places)
        for place, (planes, sds) in zip(span, every):
            if place in keep:
                like = frames[begin + place // 2]
                yield _native(planes, like, fields[place].parity), _sd(sds, like)


def restored_fields(inner: Restoring, source: Source, piece: Piece) -> Iterator[Made]:
    """Frames of a piece whose fields were restored each for itself, and woven again."""

    def restored(parity: int) -> Iterator[Made]:
        steps = inner.steps
        if steps.masks is not None:
            steps = replace(steps, masks=steps.masks.of_field(parity, source.height))
        steps = replace(
            steps, noises=tuple(None if noise is None else noise.of_field(parity) for noise in steps.noises)
        )
        made = replace(inner, steps=steps).make(FieldView(source, parity), piece)
        return pulse.within(parity / 2, (parity + 1) / 2, made)

    likes = source.frames(piece.start, piece.stop)
    like = next(likes)
    for top, bottom in zip(restored(0), restored(1), strict=True):
        frame = joined(top.frame, bottom.frame, like)
        changed: Origin = bottom.origin if top.origin == "kept" else top.origin
        damage = tuple(
            (kind, (x, 2 * y + parity, w, 2 * h - 1), probability)
            for parity, made in enumerate((top, bottom))
            for kind, (x, y, w, h), probability in made.damage
        )
        yield replace(
            top,
            frame=frame,
            origin=changed,
            sd_map=_woven(top.sd_map, bottom.sd_map, like.height),
            damage=damage,
            mask=_woven(top.mask, bottom.mask, like.height),
            notes=tuple(dict.fromkeys((*top.notes, *bottom.notes))),
            doubtful=top.doubtful or bottom.doubtful,
        )


def _woven(top: Samples | None, bottom: Samples | None, height: int) -> Samples | None:
    """What is known of two fields, line by line; zeros where it is known of one alone."""
    known = [field for field in (top, bottom) if field is not None]
    if not known:
        return None
    like = max(known, key=lambda field: field.shape[-1])
    both = np.zeros((height, *like.shape[1:]), like.dtype)
    for parity, field in enumerate((top, bottom)):
        if field is not None:
            lines = both[parity::2]
            lines[...] = field[: len(lines)]
    return both


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldWise(Work):
    """A restoration of both fields of every frame, each for itself: what was interlaced stays so. A ``tape`` has dropouts."""

    inner: Restoring
    tape: Tape | None = None

    @property
    def source_times(self) -> tuple[Fraction, ...]:
        """See `Restoring.source_times`."""
        return self.inner.times

    @property
    def stays(self) -> tuple[range, ...]:
        """See `Work.stays`."""
        return self.inner.stays

    def sources(self, piece: Piece) -> list[int | None]:
        """See `Work.sources`."""
        return self.inner.sources(piece)

    @property
    def mask_file(self) -> str | None:
        """See `Restoring.mask_file`."""
        return self.inner.mask_file

    def placed(self, scratch: str, mask_file: str | None) -> FieldWise:
        """See `Work.placed`."""
        return replace(self, inner=self.inner.placed(scratch, mask_file))

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        return self.inner.output_counts()

    def piece_seconds(self) -> list[float]:
        """See `Work.piece_seconds`."""
        return [2 * seconds for seconds in self.inner.piece_seconds()]

    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        source = taped(source, self.tape)
        for number, made in enumerate(restored_fields(self.inner, source, piece), piece.start):
            yield said(source, made, number)


def _timed(frame: Frame, output: Output) -> Frame:
    return frame.at(index=frame.index, time=output.time, duration=output.duration)


def _native(planes: tuple[FloatArray, ...], like: Frame, parity: int) -> Frame:
    """Completed planes in the samples of a frame, of which the lines of one field stay bit for bit."""
    found = []
    for plane, own in zip(planes, like.planes):
        new = samples(plane, like)
        new[parity::2] = own[parity::2]
        found.append(new)
    return replace(like, planes=tuple(found))


def _with_fields(sd: FloatArray, of_fields: FloatArray, parity: int) -> FloatArray:
    """The sd of a completed frame ``(h, w, c)`` with that of the field it is made of, of which its missing lines are means."""
    total = np.broadcast_to(sd, np.broadcast_shapes(sd.shape, of_fields.shape)).copy()
    total[parity::2] = of_fields[parity::2]
    for channel in range(of_fields.shape[2]):
        around = np.square(own_lines(of_fields[..., channel], parity)[..., 1:3]).mean(axis=2)
        gone = total[1 - parity :: 2, :, channel : channel + 1 if of_fields.shape[2] > 1 else None]
        gone[...] = np.sqrt(np.square(gone) + around[..., None])
    return total


def _sd(planes: tuple[FloatArray, ...], like: Frame) -> FloatArray:
    """The sd of luma, or of each colour, for every pixel ``(h, w, c)``."""
    if like.format.model == "yuv":
        return np.repeat(planes[0][..., None], 3, axis=2)
    return np.stack(planes[: like.format.colours], axis=2)
