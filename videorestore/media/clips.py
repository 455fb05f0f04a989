"""Whole clips in and out."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np

from videorestore.clip import Clip, Frame
from videorestore.colour import from_rgb, to_rgb
from videorestore.media.encode import SinkOptions
from videorestore.media.outputs import OutputShape
from videorestore.media.read import open_source
from videorestore.media.sink import open_sink


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
        shape = OutputShape.of(source, len(clip), info)
        with open_sink(path, shape, options, streams_from=clip.info.path) as sink:
            for frame in source.frames():
                sink.write(_in_format(frame, shape))
        return sink.losses


def _in_format(frame: Frame, shape: OutputShape) -> Frame:
    pixel = shape.info.format
    if frame.format == pixel:
        return frame
    return replace(frame, planes=from_rgb(np.stack(frame.planes, axis=-1), pixel), format=pixel)
