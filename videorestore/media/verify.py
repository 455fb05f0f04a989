"""A result is decoded back and counted before it gets its name."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

from videorestore.errors import MediaWriteError
from videorestore.media.mux import Muxed


def verify(part: str, muxed: Muxed, tick: Fraction) -> None:
    """Decode a written file and compare frames, times, duration and streams with what was meant.

    Parameters
    ----------
    part : str
    muxed : Muxed
    tick : Fraction
        Resolution of the container's times.
    """
    import av

    try:
        with av.open(f"file:{os.path.abspath(part)}", metadata_errors="replace") as container:
            _check_streams(container, muxed)
            video = container.streams.video[0]
            counts = dict.fromkeys(muxed.counts, 0)
            times, ends = _decode(container, video, counts)
    except (av.error.FFmpegError, OSError, ValueError, IndexError) as error:
        if isinstance(error, MediaWriteError):
            raise
        raise _unlike("decode", str(error).splitlines()[0]) from error
    if len(times) != len(muxed.times):
        raise _unlike(f"hold {len(muxed.times)} frames", f"{len(times)} decoded")
    slack = tick * Fraction(51, 100)
    for k, (found, meant) in enumerate(zip(times, muxed.times)):
        if abs(found - meant) > slack:
            raise _unlike(f"show frame {k} at {float(meant):.6f} s", f"it is at {float(found):.6f} s")
    if ends is not None and abs(ends - muxed.end) > max(2 * tick, _longest(muxed)):
        raise _unlike(f"end at {float(muxed.end):.6f} s", f"it ends at {float(ends):.6f} s")
    for index, count in muxed.counts.items():
        if counts.get(index) != count:
            raise _unlike(f"hold {count} packets of stream {index}", f"{counts.get(index)} are there")


def _longest(muxed: Muxed) -> Fraction:
    """Containers without durations guess the last frame's: by no more than the longest step."""
    gaps = [b - a for a, b in zip(muxed.times, muxed.times[1:])]
    return max([*gaps, muxed.end - muxed.times[-1]])


def _check_streams(container: Any, muxed: Muxed) -> None:
    found = sorted(stream.type for stream in container.streams)
    meant = sorted(muxed.types)
    # Chapters of MP4 files come back as a text stream of their own.
    extra = [t for t in found if t in ("data", "subtitle", "unknown")]
    for kind in meant:
        if kind in found:
            found.remove(kind)
        else:
            raise _unlike(f"hold {len(meant)} streams ({', '.join(meant)})", f"no {kind} for one of them")
    if [t for t in found if t not in extra]:
        raise _unlike(f"hold {len(meant)} streams", f"also {', '.join(found)}")


def _decode(container: Any, video: Any, counts: dict[int, int]) -> tuple[list[Fraction], Fraction | None]:
    video.thread_type = "AUTO"
    tick = Fraction(video.time_base)
    others = [container.streams[i] for i in counts if i < len(container.streams)]
    stamps: list[int] = []
    last = 0
    for packet in container.demux(video, *others):
        if packet.stream_index != video.index:
            counts[packet.stream_index] += packet.size > 0 or packet.pts is not None
            continue
        for frame in packet.decode():
            if frame.is_corrupt:
                raise _unlike("decode", f"frame {len(stamps)} is corrupt")
            if frame.pts is None:
                frame.pts = frame.dts
            stamps.append(frame.pts if frame.pts is not None else -1)
            last = frame.duration or 0
    end = (stamps[-1] + last) * tick if stamps and last else None
    return [stamp * tick for stamp in stamps], end


def _unlike(meant: str, found: str) -> MediaWriteError:
    return MediaWriteError(
        f"the written file must {meant}, {found}; it was removed, try another codec or container."
    )
