"""A task as pieces: what is made of which frames, independent of who makes it, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

from videorestore.clip import FloatArray, Frame
from videorestore.media.outputs import OutputShape
from videorestore.media.source import Source
from videorestore.media.streams import Span

__all__ = ["Made", "Origin", "OutputShape", "Piece", "Progress", "Shot", "Slot", "Work", "silent"]

Origin = Literal["kept", "denoised", "mended", "filled", "interpolated"]

Shot = tuple[int, int]
"""First frame of a shot and the first frame behind it."""

Progress = Callable[[str, int, int], None]
"""Called as ``progress(phase, done, total)``; total 0 where it is not known."""


def silent(phase: str, done: int, total: int) -> None:
    """Progress that goes nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A stretch of the output that is made in one go.

    Attributes
    ----------
    index : int
        Number of the piece, from 0, in output order.
    start, stop : int
        Source frames whose outputs this piece makes, with what is inserted after each of them.
    read_start, read_stop : int
        Source frames that it may read: the core and its surroundings.
    """

    index: int
    start: int
    stop: int
    read_start: int
    read_stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One frame of the output.

    Attributes
    ----------
    time, duration : Fraction
        Seconds, in the output.
    place : Fraction
        Where its content stands on the source's own time axis.
    after : int
        Last source frame at or before ``place``.
    source : int or None
        The source frame whose content it takes, None for a new one.
    """

    time: Fraction
    duration: Fraction
    place: Fraction
    after: int
    source: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Made:
    """One frame of the output with its story.

    Attributes
    ----------
    frame : Frame
        ``index``, ``time`` and ``duration`` are the output's.
    origin : Origin
    source : int or None
        Number of the source frame, where there is one.
    x : float or None
        Latent coordinate.
    sd_map : ndarray or None, shape (height, width, channels)
        Posterior standard deviation on the 0..255 scale.
    deflickered : bool
        The brightness of the whole frame was brought back to its smooth course.
    damage : tuple of (kind, (x, y, width, height), probability)
        What was found on this frame and mended.
    notes : tuple of str
        What a reader of the record should know ("cut: the nearer frame is repeated").
    doubtful : bool
        The content is a guess that nothing supports; it is flagged, and the exit status is 5.
    """

    frame: Frame
    origin: Origin
    source: int | None = None
    x: float | None = None
    sd_map: FloatArray | None = None
    deflickered: bool = False
    damage: tuple[tuple[str, tuple[int, int, int, int], float], ...] = ()
    notes: tuple[str, ...] = ()
    doubtful: bool = False


class Work(Protocol):
    """A planned task. Picklable; it holds options and numbers, never open files.

    ``findings`` go into the record as they are (noise_sd, model, self_test, inserted, order, ...).
    ``losses`` are lines for stderr that make the exit status 5. ``span`` is the part of the source's time that
    the output covers, None where it is all of it. ``piece_bytes`` is the memory that one piece needs.
    """

    @property
    def verb(self) -> str: ...
    @property
    def pieces(self) -> tuple[Piece, ...]: ...
    @property
    def shape(self) -> OutputShape: ...
    @property
    def findings(self) -> dict[str, Any]: ...
    @property
    def losses(self) -> tuple[str, ...]: ...
    @property
    def span(self) -> Span | None: ...
    @property
    def piece_bytes(self) -> int: ...

    def make(self, source: Source, piece: Piece, progress: Progress = silent) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        ...

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        ...

    def seconds(self) -> float:
        """Estimated CPU time in seconds."""
        ...
