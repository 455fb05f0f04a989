"""Animated GIF: one palette for the whole clip, found in a first pass, used in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from videorestore.clip import Frame, Samples
from videorestore.colour import to_rgb
from videorestore.errors import MediaWriteError
from videorestore.media.outputs import GIF_TICK, OutputShape
from videorestore.media.pipe import RawPipe
from videorestore.media.pixels import pipeable
from videorestore.media.segments import Segment, segment_frames
from videorestore.media.video import VideoSource

_COLOURS = 256


def write_gif(segments: Sequence[Segment], part: str, shape: OutputShape) -> list[str]:
    """Write ``part`` from lossless segments.

    Returns
    -------
    list of str
        Notes.
    """
    palette = part + ".palette.png"
    try:
        colours = None if shape.info.format.alpha else _all_colours(segments)
        if colours is not None:
            _write_palette(colours, palette)
        else:
            transparent = int(shape.info.format.alpha)
            chain = f"palettegen=stats_mode=full:reserve_transparent={transparent}"
            target = f"file:{os.path.abspath(palette)}"
            first = ["-vf", chain, "-frames:v", "1", "-update", "1", "-f", "image2", target]
            _feed(segments, shape, first, "find the palette")
        last = max(1, round(segments[-1].durations[-1] / GIF_TICK))
        second = [
            "-i",
            f"file:{os.path.abspath(palette)}",
            "-lavfi",
            "[0:v][1:v]paletteuse=dither=sierra2_4a",
        ]
        second += ["-fps_mode", "passthrough", "-loop", "0", "-final_delay", str(last)]
        second += ["-f", "gif", f"file:{os.path.abspath(part)}"]
        stamps = _feed(segments, shape, second, "encode the GIF")
    finally:
        Path(palette).unlink(missing_ok=True)
    _verify(part, stamps)
    if colours is not None:
        return ["a GIF holds times in hundredths of a second"]
    return ["a GIF holds 256 colours and times in hundredths of a second"]


def _all_colours(segments: Sequence[Segment]) -> Samples | None:
    """All colours of the clip ``(n, 3)`` where a GIF can hold each of them, else None."""
    found = np.empty(0, np.uint32)
    for frame in _frames(segments):
        picture = to_rgb(frame)
        if picture.dtype != np.uint8:
            return None
        wide = np.broadcast_to(picture, (*picture.shape[:2], 3)).astype(np.uint32)
        codes = wide[:, :, 0] << 16 | wide[:, :, 1] << 8 | wide[:, :, 2]
        found = np.union1d(found, codes)
        if found.size > _COLOURS:
            return None
    return np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1).astype(np.uint8)


def _write_palette(colours: Samples, path: str) -> None:
    import cv2

    table = np.resize(colours[-1:], (_COLOURS, 3))
    table[: len(colours)] = colours
    done, data = cv2.imencode(".png", np.ascontiguousarray(table[:, ::-1].reshape(16, 16, 3)))
    if not done:
        raise MediaWriteError("the palette must encode as PNG, it did not; choose another output.")
    with open(path, "wb") as file:
        file.write(data.tobytes())


def _stamps(segments: Sequence[Segment]) -> list[int]:
    stamps: list[int] = []
    origin = segments[0].times[0]
    for segment in segments:
        for time in segment.times:
            stamp = round((time - origin) / GIF_TICK)
            stamps.append(max(stamp, stamps[-1] + 1) if stamps else stamp)
    return stamps


def _frames(segments: Sequence[Segment]) -> Iterator[Frame]:
    for segment in segments:
        yield from segment_frames(segment)


def _feed(segments: Sequence[Segment], shape: OutputShape, arguments: list[str], what: str) -> list[int]:
    stamps = _stamps(segments)
    frames = _frames(segments)
    pipe: RawPipe | None = None
    try:
        for number, (frame, stamp) in enumerate(zip(frames, stamps)):
            if pipe is None:
                pipe = RawPipe(pipeable(frame.format), shape.height, shape.width, GIF_TICK, arguments, what)
            following = stamps[number + 1] if number + 1 < len(stamps) else stamp + 1
            pipe.write(frame, stamp, following - stamp)
        if pipe is None:
            raise MediaWriteError("there must be at least one frame to write, got none; check the range.")
        pipe.finish()
    except BaseException:
        if pipe is not None:
            pipe.abort()
        raise
    return stamps


def _verify(part: str, stamps: list[int]) -> None:
    with VideoSource(part) as source:
        index = source.index()
    found = [round(t / GIF_TICK) for t in index.times]
    if found != stamps:
        raise MediaWriteError(
            f"the GIF must hold {len(stamps)} frames at their times, it holds {len(found)}; try another output."
        )
