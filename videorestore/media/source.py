"""What every reader offers: facts, an exact index, and frames of any range as a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from videorestore.clip import ClipInfo, Frame, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameIndex:
    """Every frame of a source by decoding it once: what is there, and when.

    Small and picklable: hand it to `open_source` in another process and nothing is decoded twice.

    Attributes
    ----------
    times, durations : tuple of Fraction
        Seconds, strictly increasing times.
    statuses : tuple of Status
        ``missing`` stands for a gap in the numbering of a folder.
    lost : int
        Packets that gave no frame at all.
    messages : tuple of str
        What the decoder complained of and what was assumed, one line each.
    losses : tuple of str
        Those of the messages that mean that part of the input is gone.
    marks : tuple of int
        Time stamp of every frame in the units of the file, as decoded; empty where frames are reached by number.
    keys : tuple of int
        Numbers of the frames at which decoding can start.
    checks : tuple of int
        Checksum of every frame, which proves that a seek gave the same picture.
    careful : bool
        The file is damaged: only one decoder thread gives the same pixels each time.
    policy : {"pts", "dts", "rate"}
        Where the times come from: presentation stamps, decoding stamps, counting.
    whole : bool
        False: the source goes on behind the last of these frames.
    """

    times: tuple[Fraction, ...]
    durations: tuple[Fraction, ...]
    statuses: tuple[Status, ...]
    lost: int = 0
    messages: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    marks: tuple[int, ...] = ()
    keys: tuple[int, ...] = ()
    checks: tuple[int, ...] = ()
    careful: bool = False
    policy: Literal["pts", "dts", "rate"] = "pts"
    whole: bool = True

    def __len__(self) -> int:
        return len(self.times)


class Source(ABC):
    """An opened input of at least one frame. Use as a context manager; opening twice gives independent readers."""

    path: str | None
    info: ClipInfo
    height: int
    width: int

    @property
    def share(self) -> float:
        """Of the frames of its file, those that it gives."""
        return 1.0

    @abstractmethod
    def index(self) -> FrameIndex:
        """All times and statuses; decodes the whole source the first time, then cached."""

    def index_up_to(self, frames: int | None = None, seconds: Fraction | None = None) -> FrameIndex:
        """An index that need not reach further than one frame behind so many frames, or so many seconds.

        What follows is then unknown to this source: an hour is not decoded for the sake of its first minute.
        """
        return self.index()

    @abstractmethod
    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Frames ``start`` to ``stop`` (half-open) as a stream, without decoding everything before."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The facts of the file for ``inspect``: container, streams, depth, colour, rotation."""

    def name_of(self, number: int) -> str | None:
        """File name of a frame that has a file of its own."""
        return None

    def close(self) -> None:  # noqa: B027 - most sources hold nothing open
        """Release files."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def even_times(n: int, fps: Fraction) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Times and durations of ``n`` frames at a constant rate."""
    step = 1 / fps
    return tuple(k * step for k in range(n)), (step,) * n
