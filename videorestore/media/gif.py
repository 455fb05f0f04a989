"""Animated GIF: one palette for the whole clip, found in a first pass, used in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction

from videorestore.clip import Frame
from videorestore.errors import MediaWriteError
from videorestore.media.outputs import OutputShape
from videorestore.media.pipe import RawPipe
from videorestore.media.pixels import pipeable
from videorestore.media.segments import Segment
from videorestore.media.video import VideoSource

_TICK = Fraction(1, 100)


def write_gif(segments: Sequence[Segment], part: str, shape: OutputShape) -> list[str]:
    """Write ``part`` from lossless segments.

    Returns
    -------
    list of str
        Notes.
    """
    palette = part + ".palette.png"
    alpha = shape.info.format.alpha
    transparent = "1" if alpha else "0"
    try:
        chain = f"palettegen=stats_mode=full:reserve_transparent={transparent}"
        first = [
            "-vf",
            chain,
            "-frames:v",
            "1",
            "-update",
            "1",
            "-f",
            "image2",
            f"file:{os.path.abspath(palette)}",
        ]
        _feed(segments, shape, first, "find the palette")
        last = max(1, round(segments[-1].durations[-1] / _TICK))
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
        if os.path.exists(palette):
            os.remove(palette)
    _verify(part, stamps)
    return ["a GIF holds 256 colours and times in hundredths of a second"]


def _stamps(segments: Sequence[Segment]) -> list[int]:
    stamps: list[int] = []
    origin = segments[0].times[0]
    for segment in segments:
        for time in segment.times:
            stamp = round((time - origin) / _TICK)
            stamps.append(max(stamp, stamps[-1] + 1) if stamps else stamp)
    return stamps


def _frames(segments: Sequence[Segment]) -> Iterator[Frame]:
    for segment in segments:
        with VideoSource(segment.path) as source:
            yield from source.frames()


def _feed(segments: Sequence[Segment], shape: OutputShape, arguments: list[str], what: str) -> list[int]:
    stamps = _stamps(segments)
    frames = _frames(segments)
    pipe: RawPipe | None = None
    try:
        for number, (frame, stamp) in enumerate(zip(frames, stamps)):
            if pipe is None:
                pipe = RawPipe(pipeable(frame.format), shape.height, shape.width, _TICK, arguments, what)
            following = stamps[number + 1] if number + 1 < len(stamps) else stamp + 1
            pipe.write(frame, stamp, following - stamp)
        if pipe is None:
            raise MediaWriteError("there must be at least one frame to write, got none; check the range.")
        pipe.finish()
    except BaseException:
        if pipe is not None:
            pipe.kill()
        raise
    return stamps


def _verify(part: str, stamps: list[int]) -> None:
    with VideoSource(part) as source:
        index = source.index()
    found = [round(t / _TICK) for t in index.times]
    if found != stamps:
        raise MediaWriteError(
            f"the GIF must hold {len(stamps)} frames at their times, it holds {len(found)}; try another output."
        )
