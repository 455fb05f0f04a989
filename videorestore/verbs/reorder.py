"""``reorder``: shuffled frames put into order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore.clip import Frame
from videorestore.errors import InputError
from videorestore.make.work import Made, Piece, Progress, Work, silent
from videorestore.media.outputs import OutputShape
from videorestore.media.pixels import packed_size
from videorestore.media.source import Source
from videorestore.order.reorder import reorder
from videorestore.plan.assemble import decoding_losses
from videorestore.plan.layout import copying_layout
from videorestore.plan.look import small_picture
from videorestore.plan.scan import index_for, resolve_span
from videorestore.request.verbs import ReorderOptions

SIDE = 160
"""Longest side of the pictures that the order is learnt from."""

MOST_FRAMES = 6000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reordering(Work):
    """The frames of a clip in another order, as pieces of the output.

    ``order[k]`` is the source frame at place k; ``x`` its latent coordinate.
    """

    order: tuple[int, ...]
    x: tuple[float, ...]
    times: tuple[Fraction, ...]
    durations: tuple[Fraction, ...]

    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """Frames ``start`` to ``stop`` of the output, by one pass through the source."""
        wanted = set(self.order[piece.start : piece.stop])
        held: dict[int, Frame] = {}
        for frame in source.frames(min(wanted), max(wanted) + 1):
            if frame.index in wanted:
                held[frame.index] = frame
        for k in range(piece.start, piece.stop):
            number = self.order[k]
            frame = held.pop(number).at(index=k, time=self.times[k], duration=self.durations[k])
            yield Made(frame=frame, origin="kept", source=number, x=self.x[k])


def plan(source: Source, options: ReorderOptions, budget: int, progress: Progress = silent) -> Reordering:
    """Plan ``reorder``: learn the order from small pictures of all frames."""
    progress("counting frames", 0, 0)
    index = index_for(source, options.span)
    start, stop = resolve_span(options.span, index)
    n = stop - start
    if not 3 <= n <= MOST_FRAMES:
        raise InputError(
            f"reorder takes 3 to {MOST_FRAMES} frames, got {n}; use --range to take a part of the clip."
        )
    if options.first is not None and not start <= options.first < stop:
        raise InputError(
            f"--first must name a frame of the clip ({start} to {stop - 1}), got {options.first}; count from 0."
        )
    pictures = []
    for k, frame in enumerate(source.frames(start, stop)):
        progress("reading frames", k, n)
        pictures.append(small_picture(frame, SIDE))
    progress("finding the order", 0, 0)
    first = None if options.first is None else options.first - start
    found = reorder(np.nan_to_num(np.stack(pictures), nan=128.0), first=first)
    order = tuple(int(i) + start for i in found.order)
    refused = [int(i) + start for i in found.refused]
    times, durations = index.times[start : start + len(order)], index.durations[start : start + len(order)]
    times = tuple(t - times[0] for t in times) if start else times
    held = packed_size(source.info.format, source.height, source.width)
    layout = copying_layout(held, source.height * source.width, budget=budget)
    edges = list(range(0, len(order), layout.core)) + [len(order)]
    pieces = tuple(
        Piece(index=k, start=a, stop=b, read_start=start, read_stop=stop)
        for k, (a, b) in enumerate(zip(edges[:-1], edges[1:]))
    )
    findings: dict[str, Any] = {
        "ordered_by": "shortest smooth path through the distances between frames",
        "order": list(order),
        "closed": bool(found.closed),
    }
    if refused:
        findings["refused"] = [_name(source, i) for i in refused]
    notes = []
    if source.info.extra.get("interlaced"):
        notes.append(
            "fields: the file is flagged as interlaced; frames are put in order as they are: run videorestore deinterlace on "
            "the result, not before"
        )
    if options.first is not None and order[0] != options.first:
        at = order.index(options.first)
        notes.append(
            f"frame {options.first} stands at place {at}, not first: it is no end of the order, which is turned round but never cut"
        )
    if notes:
        findings["plan"] = notes
    foreign = (f"frame {_name(source, i)} belongs to no place and was left out" for i in refused)
    return Reordering(
        verb="reorder",
        pieces=pieces,
        shape=OutputShape.of(source, len(order)),
        order=order,
        x=tuple(float(v) for v in found.x),
        times=times,
        durations=durations,
        findings=findings,
        losses=(*decoding_losses(index), *foreign),
        piece_bytes=layout.piece_bytes(min(layout.core, len(order))),
    )


def _name(source: Source, number: int) -> int | str:
    """File name of a frame of a folder, number of a frame of a video."""
    name = source.name_of(number)
    return number if name is None else os.path.basename(name)
