"""``deinterlace``: whole progressive frames from fields, the film's own frames from pulldown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore.clip import ClipInfo, FloatArray, Frame
from videorestore.detect.fields import Verdict
from videorestore.fields.complete import REACH, Field, complete
from videorestore.fields.film import pictures
from videorestore.fields.split import weave
from videorestore.make.cost import COPYING, LOOKED_AT, LOOKING, STARTING
from videorestore.make.work import Made, Piece, Progress, Shot, Slot, silent
from videorestore.media.outputs import OutputShape
from videorestore.media.source import Source
from videorestore.media.streams import Span
from videorestore.plan.assemble import decoding_losses, facts_of, span_of
from videorestore.plan.layout import BASE, ENCODER, ENCODER_PIXEL
from videorestore.plan.pieces import cut_pieces
from videorestore.plan.scan import Scan, scan
from videorestore.plan.timeline import retimed
from videorestore.request.common import Quality
from videorestore.request.verbs import DeinterlaceOptions

ROUNDS: dict[Quality, int] = {"fast": 1, "default": 2, "best": 3}
"""How often motion is sought."""

COMPLETING = {"fast": 3.0, "default": 6.0, "best": 9.0}
"""CPU seconds for a megapixel of a completed frame."""

CORE = 24
"""Most frames that a piece makes whole."""

HALO = REACH + 1
"""Frames around a piece that are read: six fields, as far as three rounds reach."""

HELD, AT_HAND = 60, 1200
"""Bytes for each pixel of each frame of a piece, and for those fields that are at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """One frame of the output.

    Attributes
    ----------
    time, duration : Fraction
    top, bottom : int or None
        Source frames whose fields it has; None for a field that is to be made.
    """

    time: Fraction
    duration: Fraction
    top: int | None
    bottom: int | None

    @property
    def anchor(self) -> int:
        """The first source frame that it is made of."""
        return min(n for n in (self.top, self.bottom) if n is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deinterlacing:
    """Fields made whole, as pieces. See `videorestore.make.work.Work`.

    ``first`` is the parity of the first field of a frame, for each shot: 0 top, 1 bottom.
    """

    verb: str
    pieces: tuple[Piece, ...]
    shape: OutputShape
    outputs: tuple[Output, ...]
    shots: tuple[Shot, ...]
    first: tuple[int, ...]
    quality: Quality
    findings: dict[str, Any]
    losses: tuple[str, ...] = ()
    span: Span | None = None
    piece_bytes: int = 0

    def _first_output(self, number: int) -> int:
        return bisect_left(self.outputs, number, key=lambda output: output.anchor)

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        return [self._first_output(p.stop) - self._first_output(p.start) for p in self.pieces]

    def seconds(self) -> float:
        """Estimated CPU time in seconds."""
        pixels = self.shape.height * self.shape.width
        made = sum(o.top is None or o.bottom is None for o in self.outputs)
        frames = sum(p.stop - p.start for p in self.pieces)
        work = COMPLETING[self.quality] * made + COPYING * len(self.outputs)
        return STARTING + LOOKING * frames * min(pixels, LOOKED_AT) / 1e6 + work * pixels / 1e6

    def make(self, source: Source, piece: Piece, progress: Progress = silent) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        outputs = self.outputs[self._first_output(piece.start) : self._first_output(piece.stop)]
        frames = {f.index: f for f in source.frames(piece.read_start, piece.read_stop)}
        made = self._completed(piece, frames, outputs)
        for output in outputs:
            if output.top is not None and output.bottom is not None:
                frame = weave(frames[output.top], frames[output.bottom])
                yield Made(frame=_timed(frame, output), origin="kept", source=output.anchor)
                continue
            frame, sd = next(made)
            yield Made(frame=_timed(frame, output), origin="mended", source=output.anchor, sd_map=sd)

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
            planes = tuple(_levels(p, frames[number]) for p in frames[number].planes)
            fields += [Field(planes=planes, parity=lead), Field(planes=planes, parity=1 - lead)]
        begin = min(frames)
        places = [2 * (o.anchor - begin) + ((o.top is None) != bool(lead)) for o in wanted]
        every = complete(fields, range(places[0], places[-1] + 1), rounds=ROUNDS[self.quality])
        keep = set(places)
        for place, (planes, sds) in zip(range(places[0], places[-1] + 1), every):
            if place in keep:
                like = frames[begin + place // 2]
                yield _native(planes, like, fields[place].parity), _sd(sds, like)


def _timed(frame: Frame, output: Output) -> Frame:
    return frame.at(index=frame.index, time=output.time, duration=output.duration)


def _levels(plane: Any, frame: Frame) -> FloatArray:
    """Samples on the scale of 8 bits."""
    return np.asarray(plane, np.float32) * np.float32(255.0 / _top(frame))


def _top(frame: Frame) -> float:
    depth = frame.format.depth
    return 1.0 if depth == 32 else 255.0 * (1 << (depth - 8))


def _native(planes: tuple[FloatArray, ...], like: Frame, parity: int) -> Frame:
    """Completed planes in the samples of a frame, of which the lines of one field stay bit for bit."""
    found = []
    for plane, own in zip(planes, like.planes):
        samples = plane * np.float32(_top(like) / 255.0)
        if like.format.depth != 32:
            samples = np.clip(np.rint(samples), 0, (1 << like.format.depth) - 1)
        new = samples.astype(own.dtype)
        new[parity::2] = own[parity::2]
        found.append(new)
    return replace(like, planes=tuple(found))


def _sd(planes: tuple[FloatArray, ...], like: Frame) -> FloatArray:
    """The sd of luma, or of each colour, for every pixel ``(h, w, c)``."""
    if like.format.model == "yuv":
        return np.repeat(planes[0][..., None], 3, axis=2)
    return np.stack(planes[: like.format.colours], axis=2)


def verdicts(found: Scan, options: DeinterlaceOptions) -> tuple[tuple[Shot, Verdict], ...]:
    """What each shot is taken for."""
    if options.order == "auto":
        return found.fields.settled()
    asked = Verdict(kind="interlaced", order=options.order)
    return tuple((shot, asked) for shot in found.shots)


def outputs_of(found: Scan, judged: tuple[tuple[Shot, Verdict], ...], every: bool) -> tuple[Output, ...]:
    """Every frame of the output; ``every`` field of an interlaced shot, or the first of each frame."""
    outputs: list[Output] = []
    times, durations = found.index.times, found.index.durations
    for (start, stop), verdict in judged:
        if verdict.kind == "telecined" and verdict.phases:
            outputs += _film(found, verdict, start, stop)
            continue
        for n in range(start, stop):
            if verdict.kind != "interlaced":
                outputs.append(Output(time=times[n], duration=durations[n], top=n, bottom=n))
                continue
            lead = verdict.order != "bff"
            length = durations[n] / 2 if every else durations[n]
            for k in range(2 if every else 1):
                top = lead == (k == 0)
                outputs.append(
                    Output(
                        time=times[n] + k * length,
                        duration=length,
                        top=n if top else None,
                        bottom=None if top else n,
                    )
                )
    return tuple(outputs)


def _film(found: Scan, verdict: Verdict, start: int, stop: int) -> list[Output]:
    """The pictures of a telecined shot, evenly in time from its start on; the last stays until its end."""
    way = verdict.way
    films = pictures(way, verdict.phases, start)
    times, durations = found.index.times, found.index.durations
    end = times[stop - 1] + durations[stop - 1]
    if not films:
        return [Output(time=times[n], duration=durations[n], top=n, bottom=n) for n in range(start, stop)]
    per_picture = Fraction(way.period, len(set(way.tops) | set(way.bottoms)) if way.period > 1 else 1)
    step = per_picture * durations[start]
    places: list[Fraction] = []
    for picture in films:
        shown = times[min(picture.top, picture.bottom)]
        following = places[-1] + step if places else times[start]
        # The grid of the film holds, unless edits have brought it out of step with the sound.
        places.append(following if abs(shown - following) <= 2 * step or shown <= following else shown)
    edges = [*places, max(end, places[-1] + step / 2)]
    return [
        Output(time=a, duration=b - a, top=p.top, bottom=p.bottom)
        for p, a, b in zip(films, edges[:-1], edges[1:])
    ]


def _pieces(shots: tuple[Shot, ...], budget: int, height: int, width: int) -> tuple[tuple[Piece, ...], int]:
    """Pieces, and the bytes that one of them takes."""
    pixels = height * width
    fixed = BASE + ENCODER + (ENCODER_PIXEL + AT_HAND) * pixels
    core = int(max(4, min(CORE, (budget - fixed) // (HELD * pixels) - 2 * HALO)))
    pieces = cut_pieces(shots, core=core, halo=HALO)
    return pieces, fixed + HELD * pixels * max(p.read_stop - p.read_start for p in pieces)


def _notes(judged: tuple[tuple[Shot, Verdict], ...], every: bool) -> list[str]:
    """The plan in words."""
    frames: dict[str, int] = {}
    for (a, b), verdict in judged:
        frames[verdict.kind] = frames.get(verdict.kind, 0) + b - a
    words = {
        "interlaced": "a frame is made of every field"
        if every
        else "one frame is made of the two fields of each",
        "telecined": "the film's own frames are put together again",
        "progressive": "progressive, left as they are",
    }
    return [f"{count} {kind} frames: {words[kind]}" for kind, count in frames.items()]


def _progressive(info: ClipInfo) -> ClipInfo:
    return replace(info, extra={**info.extra, "interlaced": False})


def plan(
    source: Source, options: DeinterlaceOptions, budget: int, progress: Progress = silent
) -> Deinterlacing:
    """Plan ``deinterlace``: what each shot is, what is made of it."""
    found = scan(source, options.span, progress, brief=True)
    judged = verdicts(found, options)
    every = options.rate == "field"
    outputs = outputs_of(found, judged, every)
    if found.start > 0:
        origin = outputs[0].time
        outputs = tuple(replace(o, time=o.time - origin) for o in outputs)
    pieces, need = _pieces(found.shots, budget, source.height, source.width)
    slots = [
        Slot(time=o.time, duration=o.duration, place=o.time, after=o.anchor, source=None) for o in outputs
    ]
    info = retimed(_progressive(source.info), slots)
    return Deinterlacing(
        verb="deinterlace",
        pieces=pieces,
        shape=OutputShape(
            info=info, height=source.height, width=source.width, n_frames=len(outputs), fps=info.fps
        ),
        outputs=outputs,
        shots=found.shots,
        first=tuple(int(verdict.order == "bff") for _, verdict in judged),
        quality=options.quality,
        findings={
            **facts_of(found),
            "fields": found.fields.record(),
            "plan": _notes(judged, every),
        },
        losses=decoding_losses(found),
        span=span_of(found),
        piece_bytes=need,
    )
