"""A stack of frames: an array in memory, a file on disk, or the samples of a film, all cut alike.

The file is read and written, not mapped: pages of a mapped file count as memory of the process for as long as the
system likes, and a limit that the user set must hold.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from videorestore import colour
from videorestore.clip import FloatArray, Frame, Samples
from videorestore.errors import MediaWriteError
from videorestore.spatial.subsampled import widened


class Spool:
    """An array ``(n, height, width, channels)`` in a file that vanishes with the object.

    Frames are cut as ``spool[i]``, ``spool[a:b]``, ``spool[:, y0:y1]`` and ``spool[:, y0:y1, x0:x1]``, for reading
    and for writing, always with step 1. What is read is a copy, and float32 where the file holds floats.

    Parameters
    ----------
    folder : str
        Where the file lies.
    shape : tuple of int
    dtype : dtype
        In the file.
    """

    ndim = 4

    def __init__(self, folder: str, shape: tuple[int, int, int, int], dtype: Any = np.float32) -> None:
        self.shape = shape
        self.stored = np.dtype(dtype)
        self.dtype = np.dtype(np.float32) if self.stored.kind == "f" else self.stored
        self._first = 0
        self._row = shape[2] * shape[3] * self.stored.itemsize
        self._file = tempfile.TemporaryFile(dir=folder, prefix="spool-", buffering=0)  # noqa: SIM115

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Samples]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Samples:
        single, (frames, rows, columns) = _ranges(key, self.shape)
        _, height, width, channels = self.shape
        out = np.empty((len(frames), len(rows), len(columns), channels), self.dtype)
        strip = np.empty((len(rows), width, channels), self.stored)
        for k, i in enumerate(frames):
            self._file.seek(((self._first + i) * height + rows.start) * self._row)
            view = strip.data.cast("B")
            while view:
                count = self._file.readinto(view)  # type: ignore[attr-defined]
                if not count:
                    # Never written: a file ends where its last byte is.
                    view[:] = bytes(len(view))
                    break
                view = view[count:]
            out[k] = strip[:, columns.start : columns.stop]
        return out[0] if single else out

    def __setitem__(self, key: Any, values: Any) -> None:
        single, (frames, rows, columns) = _ranges(key, self.shape)
        _, height, width, channels = self.shape
        size = (len(frames), len(rows), len(columns), channels)
        given = np.asarray(values)
        source = np.broadcast_to(given[None] if single and given.ndim == 3 else given, size)
        whole = len(columns) == width
        try:
            for k, i in enumerate(frames):
                block = np.ascontiguousarray(source[k], self.stored)
                top = ((self._first + i) * height + rows.start) * self._row
                if whole:
                    self._put(top, block)
                    continue
                left = columns.start * channels * self.stored.itemsize
                for j in range(len(rows)):
                    self._put(top + j * self._row + left, block[j])
        except OSError as error:
            raise MediaWriteError(
                f"the disk must have room for frames on their way, got: {error.strerror}; "
                "free some space and run again."
            ) from error

    def _put(self, offset: int, values: Samples) -> None:
        self._file.seek(offset)
        view = values.data.cast("B")
        while view:
            view = view[self._file.write(view) :]

    def part(self, start: int, stop: int) -> Spool:
        """The frames ``start`` to ``stop`` of the same file."""
        other = copy.copy(self)
        other._first = self._first + start
        other.shape = (stop - start, *self.shape[1:])
        return other

    def close(self) -> None:
        """Give the room back."""
        self._file.close()


def _ranges(key: Any, shape: tuple[int, ...]) -> tuple[bool, list[range]]:
    """Ranges of frames, rows and columns, and whether the first was a single number."""
    parts = key if isinstance(key, tuple) else (key,)
    single = not isinstance(parts[0], slice)
    first = slice(int(parts[0]), int(parts[0]) + 1) if single else parts[0]
    full = (first, *parts[1:], *[slice(None)] * (3 - len(parts)))
    return single, [range(*part.indices(size)) for part, size in zip(full, shape)]


class Unfolded:
    """Working pixels of frames with native samples, a fraction of their size, made of what is asked for; for reading only.

    Parameters
    ----------
    frames : sequence of Frame
    gains : mapping from frame number to (gain, offset)
    """

    ndim = 4
    dtype = np.dtype(np.float32)

    def __init__(self, frames: Sequence[Frame], gains: Mapping[int, tuple[float, float]]) -> None:
        self._frames = frames
        self._gains = gains
        first = frames[0]
        self.shape = (len(frames), first.height, first.width, first.format.colours)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> FloatArray:
        single, (frames, rows, columns) = _ranges(key, self.shape)
        box = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
        part = None if (len(rows), len(columns)) == self.shape[1:3] else box
        if single:
            return self._picture(frames[0], part)
        out = np.empty((len(frames), len(rows), len(columns), self.shape[3]), np.float32)
        for picture, i in zip(out, frames):
            picture[:] = self._picture(i, part)
        return out

    @property
    def steady(self) -> bool:
        """Pixels are those of the samples, without a gain."""
        return not self._gains

    def frame(self, number: int) -> Frame:
        """The samples of a frame."""
        return self._frames[number]

    def _picture(self, number: int, part: tuple[slice, slice] | None) -> FloatArray:
        frame = self._frames[number]
        picture = colour.working(frame, part)
        if frame.index in self._gains:
            gain, offset = self._gains[frame.index]
            picture *= np.float32(gain)
            picture += np.float32(offset)
        return picture


class Widened:
    """A stack whose pixels come in blocks of 2 x 2, which are given as ``(n, height / 2, width / 2, c)``; for reading single frames."""

    ndim = 4
    dtype = np.dtype(np.float32)

    def __init__(self, blocks: FloatArray) -> None:
        self._blocks = blocks
        n, h, w, c = blocks.shape
        self.shape = (n, 2 * h, 2 * w, c)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, key: Any) -> FloatArray:
        parts = key if isinstance(key, tuple) else (key,)
        return widened(self._blocks[int(parts[0])])[parts[1:]]


class Patched:
    """Frames of a stack with some of them replaced by those of another one; for reading only.

    Parameters
    ----------
    base : Stack or None
        None stands for zeros.
    patch : Stack
    first : int
        Number of the first replaced frame.
    """

    ndim = 4
    dtype = np.dtype(np.float32)

    def __init__(self, base: Stack | None, patch: Stack, first: int) -> None:
        self._base = base
        self._patch = patch
        self._first = first
        count = first + len(patch) if base is None else len(base)
        self.shape: tuple[int, ...] = (count, *patch.shape[1:])

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, key: Any) -> FloatArray:
        parts = key if isinstance(key, tuple) else (key,)
        if isinstance(parts[0], slice):
            numbers = range(*parts[0].indices(len(self)))
            return np.stack([self[(i, *parts[1:])] for i in numbers])
        i = int(parts[0])
        inside = 0 <= i - self._first < len(self._patch)
        if not inside and self._base is None:
            return np.zeros_like(self._patch[(0, *parts[1:])], np.float32)
        picture = self._patch[(i - self._first, *parts[1:])] if inside else self._base[key]  # type: ignore[index]
        return np.asarray(picture, np.float32)


Stack = FloatArray | Spool | Unfolded | Widened | Patched
"""Frames ``(n, height, width, channels)`` wherever they lie."""


@dataclass(frozen=True, slots=True)
class Room:
    """Where frames on their way lie: in a folder, or in memory without one."""

    folder: str | None = None

    def stack(self, shape: tuple[int, int, int, int], dtype: Any = np.float32) -> FloatArray | Spool:
        """Room for frames; zeros. In memory they are float32, whatever would hold them."""
        return np.zeros(shape, np.float32) if self.folder is None else Spool(self.folder, shape, dtype)

    def sd_stack(self, shape: tuple[int, int, int, int]) -> FloatArray | Spool:
        """Room for their sd, of which three digits are enough."""
        return self.stack(shape, np.float16)


MEMORY = Room()


def cut(stack: FloatArray | Spool, start: int, stop: int) -> FloatArray | Spool:
    """The frames ``start`` to ``stop`` of a stack, where they are."""
    return stack.part(start, stop) if isinstance(stack, Spool) else stack[start:stop]


def patched(base: Stack | None, patch: Stack, first: int) -> FloatArray | Patched:
    """A stack with frames from ``first`` on replaced; an array is changed itself."""
    if not isinstance(base, np.ndarray) or not isinstance(patch, np.ndarray):
        return Patched(base, patch, first)
    base[first : first + len(patch)] = patch
    return base
