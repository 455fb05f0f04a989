"""The values that flow through everything: pixel formats, frames and clips."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from videorestore.errors import InputError

Samples = NDArray[Any]
"""A plane or an array of samples: uint8, uint16 or float32."""

FloatArray = NDArray[np.float32]
"""Working pixels: float32 on the 0..255 scale, not clipped."""

Mask = NDArray[np.bool_]
"""True where a pixel is missing."""

Status = Literal["good", "corrupt", "missing"]
"""``corrupt``: the decoder complained; ``missing``: a gap in the numbering, no picture at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelFormat:
    """How the samples of a frame are to be understood.

    Attributes
    ----------
    model : {"yuv", "rgb", "grey"}
    depth : int
        Bits per sample, 8 to 16; 32 means float32 in 0..1.
    subsampling : tuple of int
        log2 of the horizontal and vertical chroma step; (1, 1) is 4:2:0.
    alpha : bool
        The last plane is alpha, never subsampled.
    matrix : str
        FFmpeg's name of the luma/chroma matrix ("bt709", "smpte170m", "bt2020nc", ...); "gbr" for RGB.
    full_range : bool
    """

    model: Literal["yuv", "rgb", "grey"]
    depth: int = 8
    subsampling: tuple[int, int] = (0, 0)
    alpha: bool = False
    matrix: str = "gbr"
    full_range: bool = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the samples in memory."""
        if self.depth == 32:
            return np.dtype(np.float32)
        return np.dtype(np.uint8 if self.depth == 8 else np.uint16)

    @property
    def colours(self) -> int:
        """Number of colour planes, alpha not counted."""
        return 1 if self.model == "grey" else 3

    def plane_shapes(self, height: int, width: int) -> tuple[tuple[int, int], ...]:
        """Shape of every plane of a frame of this size; odd sizes round the chroma up."""
        sx, sy = self.subsampling
        chroma = (-(-height // (1 << sy)), -(-width // (1 << sx)))
        shapes = [(height, width)]
        if self.colours == 3:
            shapes += [chroma, chroma] if self.model == "yuv" else [(height, width)] * 2
        if self.alpha:
            shapes.append((height, width))
        return tuple(shapes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """One picture with its native samples and its time.

    Attributes
    ----------
    planes : tuple of ndarray
        Y, Cb, Cr or R, G, B or grey, then alpha; each ``(height, width)`` of its own plane.
        Read-only by agreement: nobody writes into a plane that he did not make.
    format : PixelFormat
    index : int
        Number of the frame in its source, from 0.
    time, duration : Fraction
        Seconds.
    status : Status
    """

    planes: tuple[Samples, ...]
    format: PixelFormat
    index: int
    time: Fraction
    duration: Fraction
    status: Status = "good"

    @property
    def height(self) -> int:
        return int(self.planes[0].shape[0])

    @property
    def width(self) -> int:
        return int(self.planes[0].shape[1])

    def at(self, *, index: int, time: Fraction, duration: Fraction) -> Frame:
        """The same picture at another place in time."""
        return replace(self, index=index, time=time, duration=duration)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipInfo:
    """Facts that travel with a clip and are kept on writing.

    Attributes
    ----------
    format : PixelFormat
        Native format of the source's samples.
    primaries, transfer : str
        FFmpeg's names; "unknown" where the file does not say.
    matrix_known : bool
        False where the file does not name its matrix and one was assumed by size.
    chroma_location : str
    sar : Fraction
        Sample aspect ratio.
    fps : Fraction or None
        Mean rate; None for stills and arrays without times.
    vfr : bool
        Times are not evenly spaced.
    path : str or None
        The file that audio, subtitles, chapters and metadata are copied from.
    """

    format: PixelFormat
    primaries: str = "unknown"
    transfer: str = "unknown"
    matrix_known: bool = True
    chroma_location: str = "unspecified"
    sar: Fraction = Fraction(1)
    fps: Fraction | None = None
    vfr: bool = False
    path: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Clip:
    """A whole clip in memory.

    Attributes
    ----------
    frames : ndarray, shape (n, height, width, channels)
        RGB, RGBA or grey; uint8, uint16 (full 16-bit scale) or float32 in 0..1. NaN in a float clip is missing.
    times : tuple of Fraction
        Presentation time of every frame in seconds.
    info : ClipInfo
    durations : tuple of Fraction
    """

    frames: Samples
    times: tuple[Fraction, ...]
    info: ClipInfo
    durations: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if self.frames.ndim != 4:
            raise InputError(
                f"frames must have shape (n, height, width, channels), got {self.frames.shape}; add the missing axis."
            )
        if len(self.times) != len(self.frames):
            raise InputError(
                f"there must be one time for each of the {len(self.frames)} frames, got {len(self.times)}; pass as many times."
            )

    def __len__(self) -> int:
        return int(self.frames.shape[0])

    def __repr__(self) -> str:
        n, height, width, channels = self.frames.shape
        rate = f", {float(self.info.fps):.5g} fps" if self.info.fps else ""
        varying = " on average" if self.info.vfr and rate else ""
        where = f", from {self.info.path}" if self.info.path else ""
        return f"Clip({n} frames of {width} x {height}, {channels} channels of {self.frames.dtype}{rate}{varying}{where})"
