"""Arrays as sources: ``.npy`` files (mapped, not loaded), arrays in memory, clips."""

from __future__ import annotations

import mmap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from videorestore.clip import Clip, ClipInfo, Frame, PixelFormat, Samples, Status
from videorestore.errors import InputError, MediaReadError
from videorestore.media.source import FrameIndex, Source, even_times
from videorestore.media.timing import rate_of

GOOD: Status = "good"

_WILD = 1e4
"""Size of a float sample, where white is 1, beyond which it is no overshoot but rubbish (infinite values too)."""

_KEPT = 32 << 20
"""Bytes of a mapped file that are read before its pages are given back."""


def array_format(dtype: np.dtype[Any], channels: int) -> PixelFormat:
    """Format of the samples of an array ``(n, height, width, channels)``."""
    depth = {"u1": 8, "u2": 16}.get(dtype.str[1:], 32)
    model: Literal["grey", "rgb"] = "grey" if channels <= 2 else "rgb"
    return PixelFormat(
        model=model, depth=depth, alpha=channels in (2, 4), matrix="gbr" if model == "rgb" else "unknown"
    )


# What NumPy raises on a header that is not one; it reads it with Python's own tokenizer.
_BROKEN = (
    OSError,
    ValueError,
    EOFError,
    SyntaxError,
    TypeError,
    OverflowError,
    MemoryError,
    tokenize.TokenError,
)


class ArraySource(Source):
    """Frames of an array.

    Parameters
    ----------
    array : ndarray, shape (n, height, width[, channels])
        uint8, uint16 or float in 0..1; NaN marks missing samples. 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA)
        channels.
    fps : Fraction
        Rate, where no times are given.
    times, durations : sequences of Fraction, optional
    path : str, optional
    info : ClipInfo, optional
        Facts to pass on; its format is replaced by the array's.
    """

    def __init__(
        self,
        array: Samples,
        *,
        fps: Fraction = Fraction(25),
        times: Sequence[Fraction] | None = None,
        durations: Sequence[Fraction] | None = None,
        path: str | None = None,
        info: ClipInfo | None = None,
    ) -> None:
        name = path or "the array"
        axes = array.ndim
        if array.ndim == 3:
            array = array[:, :, :, None]
        if array.ndim != 4 or array.shape[3] not in (1, 2, 3, 4) or 0 in array.shape:
            raise InputError(
                f"{name} must have shape (n, height, width[, 1 to 4 channels]), got {array.shape}; reshape it."
            )
        if array.dtype.kind not in "uf" or (array.dtype.kind == "u" and array.dtype.itemsize > 2):
            raise InputError(f"{name} must be uint8, uint16 or float in 0..1, got {array.dtype}; convert it.")
        self.path = path
        self._array = array
        self._mapped: mmap.mmap | None = None
        self.height, self.width = int(array.shape[1]), int(array.shape[2])
        self._format = array_format(array.dtype, int(array.shape[3]))
        if times is None:
            self._times, self._durations = even_times(len(array), fps)
            rate: tuple[Fraction | None, bool] = fps, False
        else:
            self._times = tuple(times)
            self._durations = tuple(durations) if durations else _durations_of(self._times, fps)
            rate = rate_of(
                self._times, self._durations, [info.fps] if info and info.fps else [], Fraction(1, 1000)
            )
        if any(b <= a for a, b in zip(self._times, self._times[1:])):
            raise InputError(
                "times must increase from frame to frame, found one that does not; sort the frames."
            )
        info = info or ClipInfo(format=self._format, path=path, extra={"axes": axes})
        self.info = replace(info, format=self._format, fps=rate[0], vfr=rate[1], matrix_known=True)

    @classmethod
    def from_file(cls, path: str, *, fps: Fraction) -> ArraySource:
        """A ``.npy`` file; only the frames that are asked for are read."""
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except _BROKEN as error:
            raise MediaReadError(
                f"{path} must be an array saved by NumPy, got: {str(error).splitlines()[0]}; save it again."
            ) from error
        try:
            source = cls(array, fps=fps, path=path)
            source._mapped = getattr(array, "_mmap", None)
            return source
        except InputError as error:
            raise MediaReadError(str(error)) from error

    @classmethod
    def from_clip(cls, clip: Clip) -> ArraySource:
        """A clip in memory, with its times and facts."""
        fps = clip.info.fps or Fraction(25)
        return cls(clip.frames, fps=fps, times=clip.times, durations=clip.durations, info=clip.info)

    def index(self) -> FrameIndex:
        n = len(self._array)
        return FrameIndex(times=self._times, durations=self._durations, statuses=(GOOD,) * n)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        n = len(self._array)
        read = 0
        for k in range(start, n if stop is None else min(stop, n)):
            picture = np.asarray(self._array[k])
            if picture.dtype.kind == "f":
                # NaN is missing; fmax passes over it.
                largest = float(np.fmax.reduce(np.abs(picture), axis=None, initial=0.0))
                if largest > _WILD:
                    raise MediaReadError(
                        f"float samples must lie in 0..1, frame {k} holds {largest:g}; scale the array, or put NaN there."
                    )
                missing = np.isnan(picture)
                if missing.any():
                    # A damaged file may hold NaN that signal: every sum with one of them would warn.
                    picture = np.where(missing, picture.dtype.type(np.nan), picture)
            if picture.dtype != self._format.dtype:
                picture = picture.astype(self._format.dtype)
            planes = tuple(picture[:, :, c] for c in range(picture.shape[2]))
            yield Frame(
                planes=planes, format=self._format, index=k, time=self._times[k], duration=self._durations[k]
            )
            read += picture.nbytes
            if read > _KEPT:
                self._let_go()
                read = 0
        self._let_go()

    def _let_go(self) -> None:
        """Give back the pages of a mapped file: they count as memory of this process and can be read again."""
        if self._mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def facts(self) -> dict[str, Any]:
        return {
            "container": "npy" if self.path else "array",
            "width": self.width,
            "height": self.height,
            "depth": self._format.depth,
            "alpha": self._format.alpha,
            "dtype": str(self._array.dtype),
            "streams": [],
        }


def _durations_of(times: tuple[Fraction, ...], fps: Fraction) -> tuple[Fraction, ...]:
    gaps = [b - a for a, b in zip(times, times[1:])]
    return (*gaps, gaps[-1] if gaps else 1 / fps)
