"""A result is decoded back and counted before it gets its name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from videorestore import pulse
from videorestore.errors import MediaWriteError
from videorestore.media.companions import Muxed
from videorestore.media.containers import Container
from videorestore.media.probe import open_input

_SLACK = Fraction(1, 1000)
"""Nobody sees a millisecond; a result of hours is not thrown away for it."""


def verify(part: str, muxed: Muxed, kind: Container) -> list[str]:
    """Decode a written file and compare frames, times, duration and streams with what was meant.

    Parameters
    ----------
    part : str
    muxed : Muxed
    kind : Container

    Returns
    -------
    list of str
        What is wrong with the other streams; wrong frames are an error.
    """
    import av

    try:
        with open_input(part) as container:
            losses = _absent(container, muxed)
            video = container.streams.video[0]
            counts = dict.fromkeys(muxed.counts, 0)
            times, ends = _decode(container, video, counts, len(muxed.times))
            if kind.free_clock and times:
                # What counts is the time since its first picture.
                moved = muxed.times[0] - times[0]
                times, ends = [t + moved for t in times], None if ends is None else ends + moved
    except (av.error.FFmpegError, OSError, ValueError, IndexError) as error:
        if isinstance(error, MediaWriteError):
            raise
        raise _unlike("decode", str(error).splitlines()[0]) from error
    if len(times) != len(muxed.times):
        raise _unlike(f"hold {len(muxed.times)} frames", f"{len(times)} decoded")
    slack = max(muxed.tick * Fraction(51, 100), _SLACK)
    for k, (found, meant) in enumerate(zip(times, muxed.times)):
        if abs(found - meant) > slack:
            raise _unlike(f"show frame {k} at {float(meant):.6f} s", f"it is at {float(found):.6f} s")
    if ends is not None and abs(ends - muxed.end) > max(2 * muxed.tick, _longest(muxed)):
        raise _unlike(f"end at {float(muxed.end):.6f} s", f"it ends at {float(ends):.6f} s")
    for index, count in muxed.counts.items():
        if counts.get(index) != count:
            losses.append(f"stream {index}: {count} packets were written, {counts.get(index)} came back")
    return losses


def _absent(container: Any, muxed: Muxed) -> list[str]:
    """Streams that were meant to be in the file and are not."""
    found = [stream.type for stream in container.streams]
    if "video" not in found:
        raise _unlike("hold a video stream", "there is none")
    losses = []
    for kind in muxed.types:
        if kind in found:
            found.remove(kind)
        else:
            losses.append(f"a stream of type {kind} was written and did not come back")
    return losses


def _longest(muxed: Muxed) -> Fraction:
    """Containers without durations guess the last frame's: by no more than the longest step."""
    gaps = [b - a for a, b in zip(muxed.times, muxed.times[1:])]
    return max([*gaps, muxed.end - muxed.times[-1]])


def _decode(
    container: Any, video: Any, counts: dict[int, int], meant: int
) -> tuple[list[Fraction], Fraction | None]:
    video.thread_type = "AUTO"
    tick = Fraction(video.time_base)
    others = [container.streams[i] for i in counts if i < len(container.streams)]
    stamps: list[int] = []
    last = 0
    for packet in container.demux(video, *others):
        if packet.stream_index != video.index:
            if packet.size > 0 or packet.pts is not None:
                counts[packet.stream_index] += 1
            continue
        for frame in packet.decode():
            if frame.is_corrupt:
                raise _unlike("decode", f"frame {len(stamps)} is corrupt")
            if frame.pts is None:
                frame.pts = frame.dts
            stamps.append(frame.pts if frame.pts is not None else -1)
            pulse.at(min(1.0, len(stamps) / meant))
            last = frame.duration or 0
    end = (stamps[-1] + last) * tick if stamps and last else None
    return [stamp * tick for stamp in stamps], end


def _unlike(meant: str, found: str) -> MediaWriteError:
    return MediaWriteError(
        f"the written file must {meant}, {found}; it was removed, try another codec or container."
    )
