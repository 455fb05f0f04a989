"""A task as pieces: what is made of which frames, independent of who makes it, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from videorestore.clip import FloatArray, Frame, Mask
from videorestore.make.cost import (
    COPYING,
    ENCODING,
    ENCODING_EACH,
    LOOKED_AT,
    LOOKING,
    LOOKING_EACH,
    SHRINKING,
)
from videorestore.media.outputs import OutputShape
from videorestore.media.source import Source
from videorestore.media.streams import Excerpt

__all__ = ["Made", "Origin", "OutputShape", "Piece", "Progress", "Shot", "Slot", "Work", "once", "silent"]

Origin = Literal["kept", "denoised", "mended", "filled", "interpolated"]

Shot = tuple[int, int]
"""First frame of a shot and the first frame behind it."""

Progress = Callable[[str, float, int], None]
"""Called as ``progress(phase, done, total)``; a part of one may be done, total is 0 where it is not known."""


def silent(phase: str, done: float, total: int) -> None:
    """Progress that goes nowhere."""


def once(sd: FloatArray) -> FloatArray:
    """An sd map that is one for all colours, as one colour; others as they are."""
    return sd[..., :1] if sd.strides[-1] == 0 else sd


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
    mask : ndarray of bool or None, shape (height, width)
        Pixels of the source frame that were mended.
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
    mask: Mask | None = None
    notes: tuple[str, ...] = ()
    doubtful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(ABC):
    """A planned task: all that is asked of it while it is made, here or on another machine.

    It holds options and numbers, never open files, so that it can be stored.

    Attributes
    ----------
    verb : str
    pieces : tuple of Piece
    shape : OutputShape
    findings : dict
        Go into the record as they are (noise_sd, model, self_test, inserted, order, ...).
    losses : tuple of str
        Lines for stderr that make the exit status 5.
    span : Excerpt or None
        The part of the source's time that the output covers, None where it is all of it.
    likely_bytes : tuple of int
        Memory that making each piece most likely takes; empty: ``piece_bytes`` for any.
    piece_bytes, piece_disk, likely_disk : int
        Memory and room on disk that one piece needs at most, and room on disk that it most likely takes; 0 where that is the same.
    decoding : float
        CPU seconds that it takes to decode a frame.
    """

    verb: str
    pieces: tuple[Piece, ...]
    shape: OutputShape
    findings: dict[str, Any]
    losses: tuple[str, ...] = ()
    span: Excerpt | None = None
    piece_bytes: int = 0
    likely_bytes: tuple[int, ...] = ()
    piece_disk: int = 0
    likely_disk: int = 0
    decoding: float = 0.0

    @abstractmethod
    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """The frames of one piece, in output order."""

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        return [p.stop - p.start for p in self.pieces]

    def sources(self, piece: Piece) -> list[int | None]:
        """The source frame of each frame that a piece gives; None for a new one."""
        return list(range(piece.start, piece.stop))

    @property
    def stays(self) -> tuple[range, ...]:
        """Stretches of frames of the source that may stay as they are, with nothing new in between."""
        return ()

    @property
    def cleans(self) -> bool:
        """Whether noise is removed from most frames."""
        return False

    def piece_seconds(self) -> list[float]:
        """Estimated CPU time of each piece in seconds; that of decoding and encoding where nothing else is done."""
        each = (COPYING + ENCODING) * self.shape.height * self.shape.width / 1e6 + ENCODING_EACH
        return [each * count for count in self.output_counts()]

    def coding_share(self, piece: Piece) -> float:
        """Share of the time of a piece that its encoder takes, most of it when all frames are made; for progress only."""
        return 0.0

    def looking_seconds(self) -> float:
        """Estimated CPU time of the first look at all of its frames."""
        pixels = self.shape.height * self.shape.width
        each = LOOKING_EACH + self.decoding + (LOOKING * min(pixels, LOOKED_AT) + SHRINKING * pixels) / 1e6
        return each * sum(p.stop - p.start for p in self.pieces)

    @property
    def holds_shots(self) -> bool:
        """Whether a piece holds much memory for long: it needs room more than speed."""
        return False

    @property
    def source_times(self) -> tuple[Fraction, ...] | None:
        """Times of the source's frames where the output may be the source itself, else None."""
        return None

    @property
    def mask_file(self) -> str | None:
        """The file or folder that masks are read from on the way, if there is one."""
        return None

    def placed(self, scratch: str, mask_file: str | None) -> Work:
        """The same work for a machine on which the folder for frames and the masks lie here."""
        return self
