"""Whole frames that are made of the fields of a source, as a source of their own, and a restoration of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import Frame
from videorestore.make.interlaced import HALO, Interlaced
from videorestore.make.pipeline import Restoring
from videorestore.make.tapes import taped
from videorestore.make.work import Made, Piece, Work
from videorestore.media.source import FrameIndex, Source

SEEN_TWICE = 1.5
"""Sd of denoised frames that were made of fields over what the denoiser claims, which takes noise for new in every line and frame:
that of a known line is in the made lines beside it too. With noise of sd 10 and 25 (four clips) 1.2 to 1.7 would be right."""

PORTION = 8
"""Source frames of which whole frames are made in one go, where they are worked on further."""


class WholeView(Source):
    """The whole frames that are made of the fields of a source, as a source of their own; frames count from 0.

    Parameters
    ----------
    source : Source
    work : Interlaced
    held : bool
        What was made stays at hand, in the samples of the source; otherwise only the last portion does.
    sds : bool
        The sd of what was made, too, that of the least sure colour.
    """

    def __init__(self, source: Source, work: Interlaced, *, held: bool, sds: bool = False) -> None:
        self._source = taped(source, work.tape)
        self._work = work
        self._held, self._sds = held, sds
        self.path = source.path
        self.info = work.shape.info
        self.height, self.width = self._source.height, source.width
        self.made: dict[int, Made] = {}

    def index(self) -> FrameIndex:
        """See `Source.index`."""
        outputs = self._work.outputs
        return FrameIndex(
            times=tuple(o.time for o in outputs),
            durations=tuple(o.duration for o in outputs),
            statuses=tuple("good" for _ in outputs),
        )

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """See `Source.frames`. Whoever asks for some waits for their making: it counts as a part of that."""
        stop = len(self._work.outputs) if stop is None else stop
        for number in range(start, stop):
            if number not in self.made:
                piece = self._piece(self._work.outputs[number].anchor)
                ready = min(stop, self._work.first_output(piece.stop))
                with pulse.part((number - start) / (stop - start), (ready - start) / (stop - start)):
                    portion = self._portion(piece)
                self.made = self.made | portion if self._held else portion
            yield self.made[number].frame

    def _piece(self, start: int) -> Piece:
        """The source frames from one on of which whole frames are made in one go."""
        low, high = next(shot for shot in self._work.shots if shot[0] <= start < shot[1])
        stop = min(high, start + PORTION)
        return Piece(
            index=0,
            start=start,
            stop=stop,
            read_start=max(low, start - HALO),
            read_stop=min(high, stop + HALO),
        )

    def _portion(self, piece: Piece) -> dict[int, Made]:
        """What is made of these source frames."""
        made = self._work.make(self._source, piece)
        every: dict[int, Made] = {}
        for k, one in enumerate(made, self._work.first_output(piece.start)):
            # The least sure colour, in half the bytes.
            sd = one.sd_map if self._sds else None
            sd = None if sd is None else sd.max(axis=2, keepdims=True).astype(np.float16)
            every[k] = replace(one, frame=replace(one.frame, index=k), sd_map=sd)
        return every

    def facts(self) -> dict[str, Any]:
        """See `Source.facts`."""
        return self._source.facts()


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Work):
    """A restoration of the whole frames that are made of fields. Pieces are numbered by those frames."""

    fields: Interlaced
    inner: Restoring

    def placed(self, scratch: str, mask_file: str | None) -> Whole:
        """See `Work.placed`."""
        fields = self.fields.placed(scratch, mask_file)
        return replace(self, fields=fields, inner=self.inner.placed(scratch, mask_file))

    @property
    def holds_shots(self) -> bool:
        """See `Work.holds_shots`."""
        return self.inner.holds_shots

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        return self.inner.output_counts()

    def piece_seconds(self) -> list[float]:
        """See `Work.piece_seconds`; to read a frame is to make it of its fields."""
        return self.inner.piece_seconds()

    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        view = WholeView(source, self.fields, held=True, sds=True)
        for made in self.inner.make(view, piece):
            before = None if made.source is None else view.made[made.source]
            if before is None:
                yield made
                continue
            sd = before.sd_map if made.sd_map is None else made.sd_map
            if made.sd_map is not None and before.sd_map is not None:
                sd = np.hypot(np.float32(SEEN_TWICE) * made.sd_map, before.sd_map)
            yield replace(
                made,
                sd_map=sd,
                origin=before.origin if made.origin == "kept" else made.origin,
                source=before.source,
                damage=(*before.damage, *made.damage),
                notes=tuple(dict.fromkeys((*before.notes, *made.notes))),
                doubtful=before.doubtful or made.doubtful,
            )
