"""Whole clips in and out, and a source written back as it is."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from videorestore.clip import Clip, Frame
from videorestore.colour import to_rgb
from videorestore.media.encode import SinkOptions
from videorestore.media.outputs import OutputShape, check_output, kind_of
from videorestore.media.read import open_source
from videorestore.media.sink import open_sink
from videorestore.media.source import Source

_AHEAD = 4


def read(path: str | os.PathLike[str], *, stream: int | None = None, fps: Fraction | None = None) -> Clip:
    """A whole clip as RGB, RGBA or grey in memory.

    Parameters
    ----------
    path : path
        Anything that `open_source` takes.
    stream : int, optional
    fps : Fraction, optional

    Returns
    -------
    Clip
        uint8 for 8 bit, uint16 on the full 16-bit scale for more, float32 for float arrays.
    """
    with open_source(path, stream=stream, fps=fps) as source:
        pictures, times, durations = [], [], []
        for frame in source.frames():
            pictures.append(to_rgb(frame))
            times.append(frame.time)
            durations.append(frame.duration)
        return Clip(
            frames=np.stack(pictures), times=tuple(times), durations=tuple(durations), info=source.info
        )


def write(clip: Clip, path: str | os.PathLike[str], options: SinkOptions | None = None) -> tuple[str, ...]:
    """Write a clip; audio and the rest come from the file it was read from.

    Parameters
    ----------
    clip : Clip
    path : path
    options : SinkOptions, optional

    Returns
    -------
    tuple of str
        What could not be kept.
    """
    with open_source(clip) as source:
        info = source.info
        if clip.info.format.model == "yuv" and clip.frames.shape[3] >= 3:
            # Pixels are RGB now, but the file should look like the one they came from.
            info = replace(clip.info, fps=info.fps, vfr=info.vfr)
        shape = OutputShape(
            info=info, height=source.height, width=source.width, n_frames=len(clip), fps=info.fps
        )
        with open_sink(path, shape, options, streams_from=clip.info.path) as sink:
            for frame in source.frames():
                sink.write(_in_format(frame, shape))
        return sink.losses


def _in_format(frame: Frame, shape: OutputShape) -> Frame:
    from videorestore.colour import from_rgb

    pixel = shape.info.format
    if frame.format == pixel:
        return frame
    return replace(frame, planes=from_rgb(np.stack(frame.planes, axis=-1), pixel), format=pixel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What became of a source that was written back.

    Attributes
    ----------
    n_frames : int
    losses : tuple of str
        What of the source is damaged or could not be kept.
    notes : tuple of str
    """

    n_frames: int
    losses: tuple[str, ...]
    notes: tuple[str, ...]


def copy_through(
    source: Source | str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: SinkOptions | None = None,
) -> Copied:
    """Read and write with no step between; decoding and encoding overlap.

    Parameters
    ----------
    source : Source or path
    output : path
    options : SinkOptions, optional
    """
    if not isinstance(source, Source):
        with open_source(source) as opened:
            return copy_through(opened, output, options)
    info = source.info
    check_output(os.fspath(output), options or SinkOptions(), source.path)
    # A video streams in one pass; pictures need their number first, for names and headers.
    n_frames = 0 if kind_of(os.fspath(output)).container else len(source.index())
    shape = OutputShape(info=info, height=source.height, width=source.width, n_frames=n_frames, fps=info.fps)
    count = 0
    with open_sink(output, shape, options, streams_from=source.path) as sink:
        for frame in read_ahead(source.frames()):
            sink.write(frame)
            count += 1
    index = source.index()
    return Copied(
        n_frames=count,
        losses=(*index.losses, *sink.losses),
        notes=(*(m for m in index.messages if m not in index.losses), *sink.notes),
    )


def read_ahead(frames: Iterator[Frame], depth: int = _AHEAD) -> Iterator[Frame]:
    """The same frames, made by another thread a few ahead of the reader."""
    waiting: queue.Queue[Frame | BaseException | None] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(item: Frame | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def fill() -> None:
        try:
            for frame in frames:
                if not put(frame):
                    return
            put(None)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=fill, name="read-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()
