"""What every reader offers: facts, an exact index, and frames of any range as a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from videorestore.clip import ClipInfo, Frame, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameIndex:
    """Every frame of a source by decoding it once: what is there, and when.

    Attributes
    ----------
    times, durations : tuple of Fraction
        Seconds, strictly increasing times.
    statuses : tuple of Status
        ``missing`` stands for a gap in the numbering of a folder.
    lost : int
        Packets that gave no frame at all.
    messages : tuple of str
        What the decoder complained of, one line each.
    """

    times: tuple[Fraction, ...]
    durations: tuple[Fraction, ...]
    statuses: tuple[Status, ...]
    lost: int = 0
    messages: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.times)


class Source(ABC):
    """An opened input. Use as a context manager; opening twice gives independent readers."""

    path: str | None
    info: ClipInfo
    height: int
    width: int

    @abstractmethod
    def index(self) -> FrameIndex:
        """All times and statuses; decodes the whole source the first time, then cached."""

    @abstractmethod
    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Frames ``start`` to ``stop`` (half-open) as a stream, without decoding everything before."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """The facts of the file for ``inspect``: container, streams, depth, colour, rotation."""

    def close(self) -> None:
        """Release files."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
