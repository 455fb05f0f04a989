"""Stretches of the output in files of their own: encoded once, counted, joined later without encoding again."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import Frame
from videorestore.errors import EncoderLostError, InputError, MediaWriteError
from videorestore.media.arrays import ArraySource
from videorestore.media.containers import container_of
from videorestore.media.encode import Encoding, SinkOptions, plan_encoding
from videorestore.media.outputs import GIF_TICK, OutputKind, OutputShape, kind_of
from videorestore.media.pipe import RawPipe
from videorestore.media.reels import Reel
from videorestore.media.source import Source
from videorestore.media.stills import ArrayWriter
from videorestore.media.target import write_error
from videorestore.media.video import VideoSource

_SIDECAR = ".times"
_SHORTEST_COUNTED = Fraction(1, 1000)
"""Seconds a frame, where frames are counted instead of timed: FFmpeg's AVI muxer refuses shorter ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A finished stretch.

    Attributes
    ----------
    path : str
    times, durations : tuple of Fraction
        Of its frames in the output, exact; the file itself only numbers them.
    notes, losses : tuple of str
    """

    path: str
    times: tuple[Fraction, ...]
    durations: tuple[Fraction, ...]
    notes: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


def encoding_for(output: str, shape: OutputShape, options: SinkOptions) -> Encoding:
    """The encoding of the segments of an output: the final one for videos, lossless for all others."""
    kind = kind_of(output)
    _check_rate(kind, shape.fps)
    if kind.container is not None:
        return plan_encoding(kind.container, shape.info, shape.height, shape.width, shape.fps, options)
    matroska = container_of(".mkv")
    assert matroska is not None
    return plan_encoding(
        matroska, shape.info, shape.height, shape.width, shape.fps, SinkOptions(codec="ffv1")
    )


def _check_rate(kind: OutputKind, fps: Fraction | None) -> None:
    """Refuse more frames a second than the output can count: they would play slower."""
    step = GIF_TICK if kind.name == "gif" else None
    if kind.container is not None:
        step = _SHORTEST_COUNTED if kind.container.counts_frames else kind.container.unit
    if fps is not None and step and fps * step > 1:
        raise InputError(
            f"{kind.suffix} has at most {float(1 / step):g} frames a second, it would have {float(fps):g} and play slower; "
            "ask for a lower rate, or write another kind of file."
        )


class SegmentWriter:
    """Encodes frames into one segment, which gets its name when it is whole.

    Parameters
    ----------
    path : str
        Of the segment.
    output : str
        The output that it will be part of: its name decides the codec.
    shape : OutputShape
    options : SinkOptions
    part : str, optional
        Name until it is whole; ``path.part`` by default.
    keys : sequence of int
        Frames of the segment that begin a group of pictures.
    """

    def __init__(
        self,
        path: str,
        output: str,
        shape: OutputShape,
        options: SinkOptions,
        *,
        part: str | None = None,
        keys: Sequence[int] = (),
    ) -> None:
        self.path = path
        self._part = part or path + ".part"
        self._times: list[Fraction] = []
        self._durations: list[Fraction] = []
        self._writer: ArrayWriter | RawPipe
        self.encoding: Encoding | None = None
        if shape.info.format.depth == 32 and not kind_of(output).container:
            # No codec keeps every bit of a float.
            self._writer = ArrayWriter(self._part, shape)
            return
        self.encoding = encoding = encoding_for(output, shape, options)
        arguments = ["-map", "0:v:0", "-vf", encoding.filters, "-c:v", encoding.encoder, *encoding.arguments]
        if keys:
            arguments += ["-force_key_frames", "expr:" + "+".join(f"eq(n,{k})" for k in keys)]
        arguments += ["-fps_mode", "passthrough", "-f", "matroska", f"file:{os.path.abspath(self._part)}"]
        self._writer = RawPipe(
            encoding.piped,
            shape.height,
            shape.width,
            1 / encoding.rate,
            arguments,
            f"encode with {encoding.encoder}",
        )

    def write(self, frame: Frame) -> None:
        """Encode the next frame; times must increase."""
        if self._times and frame.time <= self._times[-1]:
            raise MediaWriteError(
                f"times must increase from frame to frame, got {frame.time} after {self._times[-1]}; sort the frames."
            )
        self._writer.write(frame)
        self._times.append(frame.time)
        self._durations.append(frame.duration)

    def close(self) -> Segment:
        """Finish, count the packets, give the file its name."""
        if not self._times:
            self.abort()
            raise MediaWriteError("there must be at least one frame to write, got none; check the range.")
        encoding = self.encoding
        segment = Segment(
            path=self.path,
            times=tuple(self._times),
            durations=tuple(self._durations),
            notes=encoding.notes if encoding else (),
            losses=encoding.losses if encoding else (),
        )
        try:
            self._writer.finish()
            if encoding is not None:
                self._count_packets()
            _write_sidecar(segment, self._part + _SIDECAR)
            os.replace(self._part, self.path)
        except OSError as error:
            self.abort()
            raise write_error(error) from error
        except BaseException:
            self.abort()
            raise
        return segment

    def _count_packets(self) -> None:
        found = len(Reel(self._part))
        if found != len(self._times):
            raise MediaWriteError(
                f"the encoder must give {len(self._times)} frames, it gave {found}; try another codec."
            )

    def abort(self) -> None:
        """End without a result and leave nothing behind."""
        self._writer.abort()
        for leftover in (self._part, self._part + _SIDECAR):
            Path(leftover).unlink(missing_ok=True)


def write_segment(
    frames: Iterable[Frame],
    path: str,
    shape: OutputShape,
    options: SinkOptions,
    *,
    output: str | None = None,
    keys: Sequence[int] = (),
    coding: float = 0.0,
) -> Segment:
    """Encode a stretch of the output into a file of its own.

    Parameters
    ----------
    frames : iterable of Frame
        In the order of display; their times are the output's.
    path : str
        Of the segment; it appears only when whole. A small file ``path.times`` with the exact times lies beside it.
    shape : OutputShape
        Of the whole output.
    options : SinkOptions
        Of the whole output.
    output : str, optional
        Name of the output, which decides the codec; ``path`` by default.
    keys : sequence of int
        Frames of the segment that begin a group of pictures.
    coding : float
        Share of the work at hand that the encoder does, most of it behind the last frame; for progress only.
    """
    # A name of its own: a worker that was killed may leave an encoder behind that still ends its file.
    part = f"{path}.{uuid.uuid4().hex[:8]}.part"
    writer = SegmentWriter(path, output or path, shape, options, part=part, keys=keys)
    try:
        for frame in pulse.within(0.0, 1.0 - coding, iter(frames)):
            writer.write(frame)
    except BaseException:
        writer.abort()
        raise
    with pulse.part(1.0 - coding, 1.0):
        return writer.close()


def try_encoding(output: str, shape: OutputShape, options: SinkOptions) -> None:
    """Encode one black frame as was asked, so that what an encoder refuses is known before any work."""
    if kind_of(output).container is None or not (options.codec or options.pix_fmt or options.encoder_args):
        return
    pixel = shape.info.format
    planes = tuple(np.zeros(size, pixel.dtype) for size in pixel.plane_shapes(shape.height, shape.width))
    black = Frame(planes=planes, format=pixel, index=0, time=Fraction(0), duration=Fraction(1, 25))
    with tempfile.TemporaryDirectory() as folder:
        try:
            write_segment([black], os.path.join(folder, "black"), shape, options, output=output)
        except EncoderLostError:
            raise
        except MediaWriteError as error:
            raise InputError(
                f"the encoder must take what is asked of it, got: {error} (--codec, --pix-fmt, --encoder-args)"
            ) from error


def segment_frames(segment: Segment) -> Iterator[Frame]:
    """The frames of a segment that was kept without loss, at their times in the output."""
    with open(segment.path, "rb") as file:
        is_array = file.read(6) == b"\x93NUMPY"
    source: Source
    if is_array:
        source = ArraySource.from_file(segment.path, fps=Fraction(25))
    else:
        source = VideoSource(segment.path)
    with source:
        for frame in source.frames():
            k = frame.index
            yield frame.at(index=k, time=segment.times[k], duration=segment.durations[k])


def load_segment(path: str) -> Segment:
    """A segment written before, by its name."""
    try:
        with open(path + _SIDECAR, encoding="ascii") as file:
            stored: dict[str, Any] = json.load(file)
        return Segment(
            path=path,
            times=tuple(Fraction(t) for t in stored["times"]),
            durations=tuple(Fraction(t) for t in stored["durations"]),
            notes=tuple(stored["notes"]),
            losses=tuple(stored["losses"]),
        )
    except (OSError, ValueError, KeyError) as error:
        raise MediaWriteError(
            f"the segment {path} must be whole, it is not ({error}); make it again."
        ) from error


def _write_sidecar(segment: Segment, part: str) -> None:
    stored = {
        "times": [str(t) for t in segment.times],
        "durations": [str(t) for t in segment.durations],
        "notes": segment.notes,
        "losses": segment.losses,
    }
    with open(part, "w", encoding="ascii") as file:
        json.dump(stored, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, segment.path + _SIDECAR)
