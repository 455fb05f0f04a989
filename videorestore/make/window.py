"""The frames that a piece reads: in memory, or on disk where they are many and the engine can do with that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import FloatArray, Frame, Mask
from videorestore.make.masks import Spot
from videorestore.make.spool import MEMORY, Patched, Room, Spool, Stack, Unfolded, cut, patched
from videorestore.make.work import Piece, Slot
from videorestore.media.source import Source
from videorestore.spatial.noise import Noise

SPOOL_FROM = 96 << 20
"""Bytes of float32 frames from which they are kept on disk."""


PORTION = 192 << 20
"""Bytes of new frames and their sd that are made at once."""


class HeldNatives(dict[int, Frame]):
    """Source frames of a piece with their native samples by number, all of them in memory."""

    def nearest(self, number: int) -> Frame:
        """The frame with this number, or the last one before it."""
        return self[number] if number in self else self[max(i for i in self if i <= number)]


class StreamedNatives:
    """The same, decoded a second time, one after the other: asked for in rising order, only one is held."""

    def __init__(self, source: Source, piece: Piece) -> None:
        self._source = source
        self._piece = piece
        self._stream: Iterator[Frame] = iter(())
        self._last: Frame | None = None
        self._coming: Frame | None = None

    def nearest(self, number: int) -> Frame:
        """See `HeldNatives.nearest`."""
        if self._last is None or self._last.index > number:
            self._stream = iter(self._source.frames(self._piece.start, self._piece.stop))
            self._last, self._coming = next(self._stream), next(self._stream, None)
        while self._coming is not None and self._coming.index <= number:
            self._last, self._coming = self._coming, next(self._stream, None)
        return self._last


@dataclass(slots=True, kw_only=True, eq=False)
class Window:
    """The good frames of a piece; ``numbers`` are their places in the source.

    ``pixels`` and ``sd`` have the shape ``(n, h, w, c)`` and lie in ``room``; ``noise`` is what is to be removed.
    """

    numbers: list[int]
    natives: HeldNatives | StreamedNatives
    pixels: Stack
    room: Room = MEMORY
    masks: Mask | None = None
    spots: tuple[tuple[Spot, ...], ...] = ()
    sd: FloatArray | Patched | None = None
    x: FloatArray | None = None
    noise: Noise | None = None
    samples: dict[int, Frame] = field(default_factory=dict)
    """Frames that were done on their samples, by their place."""

    def position(self, number: int) -> int:
        """Where the first good frame at or after ``number`` stands."""
        return int(np.searchsorted(self.numbers, number))

    def put(self, pixels: Stack, sd: Stack, first: int) -> None:
        """Replace the frames from ``first`` on; of what is known of their error the larger counts."""
        if isinstance(pixels, Unfolded):
            self.samples = {first + k: pixels.frame(k) for k in range(len(pixels))}
        if self.sd is not None:
            assert isinstance(sd, (np.ndarray, Spool))
            for k in range(len(sd)):
                sd[k] = np.maximum(sd[k], self.sd[first + k])
        self.pixels = patched(self.pixels, pixels, first)
        self.sd = patched(self.sd, sd, first)


def wants_disk(height: int, width: int, frames: int) -> bool:
    """Whether so many frames are better kept on disk, where that can be."""
    return 12 * height * width * frames > SPOOL_FROM


def spool_bytes(height: int, width: int, frames: int, written: int, *, beside: bool = False) -> int:
    """Room on disk that a piece takes while it is made, in three colours.

    The pixels of ``frames``, result and sd of those that are ``written``, and another result with its sd ``beside``.
    """
    return (12 * frames + (42 if beside else 18) * written) * height * width


def read_window(
    source: Source,
    piece: Piece,
    *,
    skip: frozenset[int],
    gains: Mapping[int, tuple[float, float]] | None = None,
    room: Room = MEMORY,
    folded: bool = False,
    exact: bool = False,
) -> Window:
    """Working pixels of the frames of a piece.

    Parameters
    ----------
    skip : frozenset of int
        Frames to leave out.
    gains : mapping from frame number to (gain, offset), optional
    room : Room
        Where they are kept.
    folded : bool
        They are read once, part by part: the samples are kept, in memory, and pixels made when they are asked for.
    exact : bool
        Frames on disk are float32 whatever would hold them.
    """
    numbers: list[int] = []
    held = HeldNatives()
    pixels: Any = None
    for frame in source.frames(piece.read_start, piece.read_stop):
        pulse.at((frame.index - piece.read_start) / (piece.read_stop - piece.read_start))
        if folded or (room == MEMORY and piece.start <= frame.index < piece.stop):
            held[frame.index] = frame
        if frame.index in skip:
            continue
        numbers.append(frame.index)
        if folded:
            continue
        picture = Unfolded([frame], gains or {})[0]
        if pixels is None:
            count = sum(i not in skip for i in range(piece.read_start, piece.read_stop))
            stored = np.float32 if gains or exact else stored_type(frame)
            pixels = room.stack((count, *picture.shape), stored)
        pixels[len(numbers) - 1] = picture
    if folded and numbers:
        pixels = Unfolded([held[i] for i in numbers], gains or {})
    elif pixels is None:
        pixels = np.empty((0, source.height, source.width, 1), np.float32)
    natives = held if folded or room == MEMORY else StreamedNatives(source, piece)
    window = pixels if folded else cut(pixels, 0, len(numbers))
    return Window(numbers=numbers, natives=natives, pixels=window, room=room)


def stored_type(frame: Frame) -> Any:
    """The type that holds the working pixels of such frames exactly."""
    form = frame.format
    return np.uint8 if form.depth == 8 and form.model != "yuv" and form.full_range else np.float32


def portions(
    slots: list[Slot], clock: FloatArray, shape: tuple[int, ...], room: int = PORTION
) -> Iterator[list[Slot]]:
    """New frames that are made together, within ``room`` bytes: those of whole gaps where these are not too long.

    Parameters
    ----------
    slots : list of Slot
        In order of their places.
    clock : ndarray
        Times of the given frames.
    shape : tuple of int
        Of the given frames ``(n, h, w, c)``.
    """
    most = max(1, room // (8 * shape[1] * shape[2] * shape[3]))
    portion: list[Slot] = []
    for _, group in groupby(slots, key=lambda s: int(np.searchsorted(clock, float(s.place)))):
        gap = list(group)
        if portion and len(portion) + len(gap) > most:
            yield portion
            portion = []
        for k in range(0, len(gap), most):
            if portion and len(portion) + len(gap[k : k + most]) > most:
                yield portion
                portion = []
            portion += gap[k : k + most]
    if portion:
        yield portion
