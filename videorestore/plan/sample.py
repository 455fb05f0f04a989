"""Some stretches of a long video, looked at as if they were all of it: enough to foretell what a run will take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from videorestore.clip import Frame
from videorestore.media.pixels import packed_size
from videorestore.media.source import FrameIndex, Source
from videorestore.media.video import VideoSource
from videorestore.plan.scan import expected_frames
from videorestore.request import Common
from videorestore.request.verbs import DenoiseOptions, RestoreOptions, UpsampleOptions

STRETCHES, LENGTH = 5, 56
"""Places that are looked at, and frames of each: those of a usual piece with some around, so that the memory is told too."""

LONG = 2
"""Times as many frames a clip must have."""

ROOM = 1 / 4
"""Share of the memory for a piece that they may take; of larger frames fewer are looked at, but not less than a quarter."""


class Sample(Source):
    """Stretches of a video, one behind the other at an even rate.

    Parameters
    ----------
    source : Source
    frames : sequence of Frame
        Numbered through.
    total : int
        Frames of the source, as far as its header tells.
    """

    def __init__(self, source: Source, frames: Sequence[Frame], total: int) -> None:
        self.path, self.info = source.path, source.info
        self.height, self.width = source.height, source.width
        self.total = total
        self._source, self._frames = source, frames

    @property
    def share(self) -> float:
        """See `Source.share`."""
        return len(self._frames) / self.total

    def index(self) -> FrameIndex:
        """See `Source.index`."""
        times, durations, statuses = zip(*((f.time, f.duration, f.status) for f in self._frames))
        return FrameIndex(times=times, durations=durations, statuses=statuses)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """See `Source.frames`."""
        return iter(self._frames[start:stop])

    def facts(self) -> dict[str, Any]:
        """See `Source.facts`."""
        return {**self._source.facts(), "header_duration_s": float(sum(f.duration for f in self._frames))}


def sampled(source: Source, options: Common, budget: int) -> Sample | None:
    """Stretches that stand for all of a source, where it is long and nobody names single frames; else None.

    Kinds of fields need longer shots than these. ``budget``: bytes for one piece.
    """
    verbs = DenoiseOptions, RestoreOptions, UpsampleOptions
    if not isinstance(source, VideoSource) or not isinstance(options, verbs) or options.span is not None:
        return None
    if isinstance(options, RestoreOptions) and (options.accept or options.reject):
        return None
    total = expected_frames(source)
    frame_bytes = packed_size(source.info.format, source.height, source.width)
    length = min(LENGTH, max(LENGTH // 4, int(ROOM * budget / (STRETCHES * frame_bytes))))
    if total < LONG * STRETCHES * LENGTH or source.info.extra["interlaced"]:
        return None
    frames = source.glimpses(STRETCHES, length)
    return Sample(source, frames, total) if 2 * len(frames) >= STRETCHES * length else None
