"""Making one piece: from a path and a range to a finished file, here or in another process."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from videorestore import colour, pulse
from videorestore.clip import FloatArray, Frame, Samples
from videorestore.errors import EncoderLostError
from videorestore.make.work import Made, Work, once
from videorestore.media import SinkOptions, open_source, write_segment
from videorestore.media.source import FrameIndex, Source
from videorestore.plan.scan import chosen
from videorestore.report.pictures import SIDE, eight_bit, shrink
from videorestore.run.store import TRIES, WorkFolder, no_room

PREVIEWS = 48
PREVIEWS_FRESH = 6
"""Frames kept for the page: how many of the clip, and how many more of a piece."""


PICTURES = "after", "before", "sd", "loupe_before", "loupe_after", "corner"
"""What may be kept of each, under its name and the number of the frame."""

LOUPE = 160
"""Side of the part of each of these that is kept in true pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """All that a worker must know; picklable, and without pixels.

    Attributes
    ----------
    path : str
        The input.
    output : str
        The work folder beside it holds the plan and takes the pieces.
    mask : str or None
        Where masks lie that have a file of their own.
    """

    path: str
    output: str
    sink: SinkOptions
    sd: bool = False
    masks: bool = False
    previews: bool = False
    stream: int | None = None
    fps: Fraction | None = None
    mask: str | None = None


def note_of(made: Made, index: int) -> dict[str, Any]:
    """What is kept of a frame when its pixels have gone: its entry in the record, and its exact time."""
    return {
        "fact": frame_fact(made, index),
        "time": str(made.frame.time),
        "duration": str(made.frame.duration),
        "doubtful": bool(made.doubtful),
        "damage": [
            {"frame": index, "kind": kind, "box": list(box), "probability": sure}
            for kind, box, sure in made.damage
        ],
    }


def frame_fact(made: Made, index: int) -> dict[str, Any]:
    """The entry of one frame in the record's ``frames``: small, plain, without pixels.

    ``sd`` is the root mean square of the sd map, so that it can be held against a root mean square error.
    """
    fact: dict[str, Any] = {"index": index, "time_s": round(float(made.frame.time), 6), "origin": made.origin}
    if made.source is not None:
        fact["source"] = int(made.source)
    if made.x is not None and np.isfinite(made.x):
        fact["x"] = round(float(made.x), 6)
    sd = (
        None
        if made.sd_map is None
        else float(np.sqrt(np.mean(np.square(once(made.sd_map)), dtype=np.float64)))
    )
    if sd is not None and np.isfinite(sd):
        fact["sd"] = round(sd, 3)
    if made.deflickered:
        fact["deflickered"] = True
    if made.doubtful:
        fact["doubtful"] = True
    if made.notes:
        fact["notes"] = list(made.notes)
    return fact


def sd_picture(made: Made) -> FloatArray:
    """The sd map of a frame, zero where it was kept."""
    if made.sd_map is not None:
        return np.asarray(made.sd_map, np.float32)
    return np.zeros((made.frame.height, made.frame.width, made.frame.format.colours), np.float32)


class ArrayFile:
    """A ``.npy`` file of float32 maps, written one after the other; it gets its name when it is whole."""

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.part")
        self._count = count
        self._stream: BinaryIO | None = None

    def append(self, picture: FloatArray) -> None:
        """Write the next map ``(height, width, channels)``."""
        try:
            if self._stream is None:
                self._stream = self._part.open("wb")
                header = {"descr": "<f4", "fortran_order": False, "shape": (self._count, *picture.shape)}
                np.lib.format.write_array_header_1_0(self._stream, header)
            self._stream.write(np.ascontiguousarray(picture, "<f4").data)
        except OSError as error:
            raise no_room(error) from error

    def finish(self) -> None:
        """Close the file and name it."""
        assert self._stream is not None
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            self._part.replace(self._path)
        except OSError as error:
            raise no_room(error) from error


@dataclass(slots=True)
class _Collector:
    """Takes down what passes by on its way into the segment."""

    first: int
    stride: int
    want_previews: bool
    sds: ArrayFile | None = None
    masks: dict[str, Samples] = field(default_factory=dict)
    fresh: int = 0
    facts: list[dict[str, Any]] = field(default_factory=list)
    previews: dict[str, Samples] = field(default_factory=dict)

    def _shown(self, index: int, made: Made) -> bool:
        """Frames at even steps, and the first ones of this piece that were made anew."""
        if index % self.stride == 0:
            return True
        fresh = made.origin in ("filled", "mended") or made.doubtful
        self.fresh += fresh
        return fresh and self.fresh <= PREVIEWS_FRESH

    def through(self, frames: Iterator[Made]) -> Iterator[Frame]:
        for made in frames:
            index = self.first + len(self.facts)
            self.facts.append(note_of(made, index))
            if self.sds is not None:
                self.sds.append(sd_picture(made))
            if made.mask is not None:
                self.masks[str(made.source)] = np.packbits(made.mask, axis=-1)
            if self.want_previews and self._shown(index, made):
                whole = eight_bit(colour.to_rgb(made.frame))
                corner = corner_of(made)
                self.previews[f"after_{index}"] = shrink(whole, SIDE)
                self.previews[f"loupe_after_{index}"] = crop(whole, corner)
                self.previews[f"corner_{index}"] = np.array(corner)
                if made.sd_map is not None:
                    self.previews[f"sd_{index}"] = shrink(made.sd_map.mean(axis=-1, dtype=np.float32), SIDE)
            yield made.frame


def corner_of(made: Made) -> tuple[int, int]:
    """Left and top of the part that is shown in true pixels: about a damage, else where the result is least sure."""
    import cv2

    height, width = made.frame.height, made.frame.width
    x, y = width // 2, height // 2
    if made.damage:
        left, top, w, h = max((box for _, box, _ in made.damage), key=lambda box: box[2] * box[3])
        x, y = left + w // 2, top + h // 2
    elif made.sd_map is not None and float(np.ptp(made.sd_map)) > 0:
        around = cv2.boxFilter(made.sd_map.mean(axis=-1, dtype=np.float32), -1, (LOUPE // 2, LOUPE // 2))
        y, x = (int(v) for v in np.unravel_index(int(np.argmax(around)), around.shape))
    return max(0, min(width - LOUPE, x - LOUPE // 2)), max(0, min(height - LOUPE, y - LOUPE // 2))


def crop(picture: Samples, corner: tuple[int, int]) -> Samples:
    """The part of a picture that is shown in true pixels."""
    x, y = corner
    return np.ascontiguousarray(picture[y : y + LOUPE, x : x + LOUPE])


def make_piece(assignment: Assignment, number: int) -> int:
    """Make one piece and store it whole. Returns the number of its frames."""
    work, index = _planned(assignment.output, WorkFolder(assignment.output).stamp())
    with open_source(assignment.path, stream=assignment.stream, fps=assignment.fps, index=index) as source:
        return store_piece(assignment, work, source, number)


@lru_cache(maxsize=1)
def _planned(output: str, stamp: int) -> tuple[Work, FrameIndex]:
    """The plan and the index of a run, read once for each worker and run."""
    return WorkFolder(output).load_plan()


def store_piece(assignment: Assignment, work: Work, source: Source, number: int) -> int:
    """Make one piece from an open source; anew where its encoder was lost, up to TRIES times."""
    for _ in range(1, TRIES):
        with contextlib.suppress(EncoderLostError):
            return _store_piece(assignment, work, source, number)
    return _store_piece(assignment, work, source, number)


def _store_piece(assignment: Assignment, work: Work, source: Source, number: int) -> int:
    piece = work.pieces[number]
    folder = WorkFolder(assignment.output)
    counts = work.output_counts()
    work = work.placed(str(folder.path), assignment.mask)
    sds = ArrayFile(folder.sd_path(piece.index), counts[piece.index]) if assignment.sd else None
    collector = _Collector(
        first=sum(counts[: piece.index]),
        stride=max(1, -(-work.shape.n_frames // PREVIEWS)),
        want_previews=assignment.previews,
        sds=sds,
    )
    frames = collector.through(work.make(source, piece))
    path = str(folder.segment(piece.index))
    with pulse.listening(folder.pulse(piece.index)):
        own = assignment.sink.own
        starts = own.starts if own is not None else frozenset[int]()
        numbers = work.sources(piece)
        # A new frame behind the last one of a stretch stands where the source goes on.
        following = [
            number if number is not None or not k else (numbers[k - 1] or 0) + 1
            for k, number in enumerate(numbers)
        ]
        keys = [k for k, number in enumerate(following) if number in starts]
        write_segment(
            frames,
            path,
            work.shape,
            assignment.sink,
            output=assignment.output,
            keys=keys,
            coding=work.coding_share(piece),
        )
    if sds is not None:
        sds.finish()
    if assignment.masks:
        folder.save_arrays(folder.masks_path(piece.index), collector.masks)
    if assignment.previews:
        _add_befores(collector, source)
        folder.save_arrays(folder.previews_path(piece.index), collector.previews)
    folder.save_facts(piece.index, collector.facts)
    return len(collector.facts)


def _add_befores(collector: _Collector, source: Source) -> None:
    """What the shown frames were like, by one pass over the source: a single frame is reached only from the key frame before it."""
    shown: dict[int, list[int]] = {}
    for note in collector.facts:
        fact = note["fact"]
        if f"after_{fact['index']}" in collector.previews and "source" in fact:
            shown.setdefault(fact["source"], []).append(fact["index"])
    for frame in chosen(source, sorted(shown)):
        whole = eight_bit(colour.to_rgb(frame))
        small = shrink(whole, SIDE)
        for index in shown[frame.index]:
            x, y = (int(v) for v in collector.previews[f"corner_{index}"])
            collector.previews[f"before_{index}"] = small
            collector.previews[f"loupe_before_{index}"] = crop(whole, (x, y))
