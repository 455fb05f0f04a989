"""Segments and the other streams of the source become one file with exact times."""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from videorestore.clip import ClipInfo
from videorestore.errors import MediaWriteError
from videorestore.media.companions import Companions, Muxed, Others
from videorestore.media.containers import Container
from videorestore.media.matroska import TrackFacts, amend
from videorestore.media.packets import PacketFeed, video_packets
from videorestore.media.reels import Reel, Run, Splice
from videorestore.media.segments import Segment
from videorestore.media.target import opened_target, write_error
from videorestore.media.timing import rate_of

_FINEST = 1 << 30
"""Units a second that muxers can count."""
_FALLBACK = 9_000_000
"""Units a second where no such number holds all times."""
_COARSE = 1000
"""Units a second of a container that fills every one of them with a frame."""


def time_base_for(times: Sequence[Fraction], container: Container, fps: Fraction | None) -> Fraction:
    """A unit in which all times are whole numbers, as far as the container allows."""
    if container.unit is not None:
        return container.unit
    units = 1
    for time in times:
        units = lcm(units, time.denominator)
        if units > _FINEST:
            units = _FALLBACK
            break
    if not container.counts_frames:
        return Fraction(1, units)
    # Gaps are filled with empty frames, so the unit must not be finer than need be.
    if fps and all((t * fps).denominator == 1 for t in times):
        return 1 / fps
    return Fraction(1, min(units, _COARSE))


def mux(
    segments: Sequence[Segment],
    part: str,
    container: Container,
    info: ClipInfo,
    fps: Fraction | None,
    others: Others,
    *,
    alpha: bool,
    splice: Splice | None = None,
) -> Muxed:
    """Write the file ``part``.

    Parameters
    ----------
    segments : sequence of Segment
        In the order of the output.
    part : str
    container : Container
    info : ClipInfo
    fps : Fraction or None
        Nominal rate.
    others : Others
    alpha : bool
        The video has an alpha channel beside it (VP9).
    splice : Splice, optional
        What stands for the pictures of the segments; they themselves by default.
    """
    import av

    muxed, durations = _meant(segments, container, fps)
    tick = muxed.tick
    splice = splice or Splice(runs=tuple(whole_run(segment) for segment in segments))
    late = bool(container.header_clock and muxed.times[0])
    # Without this, MP4 rounds the time of a late first frame to milliseconds.
    exact = {container.header_clock: str(tick.denominator)} if late else {}
    with contextlib.ExitStack() as stack:
        # Pictures of one file are described by that file.
        first = splice.runs[0].reel if len({run.reel for run in splice.runs}) == 1 else Reel(segments[0].path)
        template = first.film(stack.enter_context(first.open()))
        context = template.codec_context
        companions = Companions(others, container, muxed, part, stack)
        try:
            with opened_target(part, container.name, exact) as output:
                main = _add_film(output, template, container, info, alpha=alpha)
                main.time_base = tick
                if splice.header is not None:
                    main.codec_context.extradata = splice.header
                feeds = companions.add(output, main, int(info.extra.get("stream", -1)))
                output.start_encoding()
                packets = video_packets(splice, muxed.times, durations, tick, main)
                for _, packet in heapq.merge(packets, *feeds, key=lambda pair: pair[0]):
                    output.mux_one(packet)
            if container.before_zero == "said":
                shape = Fraction(context.width, context.height)
                aspect = info.sar * shape if info.sar != 1 else None
                # The source may not have known its rate while it streamed; the times tell.
                rate, uneven = rate_of(muxed.times, durations, [fps] if fps else [], Fraction(1, 1000))
                pace = 1 / rate if rate and not uneven else None
                facts = {1: TrackFacts(aspect=aspect, frame_duration=pace)}
                facts |= {index + 1: TrackFacts(delay=delay) for index, delay in muxed.delays.items()}
                amend(part, facts)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise write_error(error) from error
        _count(muxed, feeds)
    return muxed


def whole_run(segment: Segment) -> Run:
    """All pictures of a segment."""
    reel = Reel(segment.path)
    if len(reel) != len(segment.times):
        raise MediaWriteError(
            f"the segment {segment.path} must hold {len(segment.times)} frames, it holds {len(reel)}; make it again."
        )
    return Run(reel, 0, len(reel))


def _meant(
    segments: Sequence[Segment], container: Container, fps: Fraction | None
) -> tuple[Muxed, list[Fraction]]:
    """Times and durations of the frames as the container will show them."""
    times = [t for segment in segments for t in segment.times]
    durations = [d for segment in segments for d in segment.durations]
    if any(b <= a for a, b in zip(times, times[1:])):
        raise MediaWriteError(
            "times must increase from segment to segment, found one that does not; sort them."
        )
    notes = []
    if container.counts_frames and times[0] > 0:
        durations[0] += times[0]
        times[0] = Fraction(0)
        notes = [f"{container.name} begins with a picture: the first frame is shown from 0 s on"]
    end = times[-1] + durations[-1]
    tick = time_base_for([*times, end], container, fps)
    crowded = 0
    for k in range(1, len(times)):
        free = round(times[k - 1] / tick) + 1
        if round(times[k] / tick) < free:
            times[k] = free * tick
            crowded += 1
    if crowded:
        end = max(end, times[-1] + tick)
        notes.append(
            f"{crowded} frames are shown a moment later: {container.name} counts in steps of {tick} s"
        )
    return Muxed(times=times, end=end, tick=tick, types=["video"], notes=notes), durations


def _add_film(output: Any, template: Any, container: Container, info: ClipInfo, *, alpha: bool) -> Any:
    """The stream of the film in the output."""
    main = output.add_stream_from_template(template, opaque=True)
    main.disposition = 1
    main.sample_aspect_ratio = info.sar
    context = template.codec_context
    for codec, tag, full_chroma in container.codec_tags:
        if context.name == codec:
            main.codec_context.codec_tag = full_chroma if "444" in (context.pix_fmt or "") else tag
    if alpha:
        main.metadata["alpha_mode"] = "1"
    return main


def _count(muxed: Muxed, feeds: list[PacketFeed]) -> None:
    """Note what the other streams gave."""
    for feed in feeds:
        # Containers cut uncompressed sound into packets as they like.
        muxed.counts |= {k: n for k, n in feed.counts.items() if k not in muxed.uncompressed}
        if feed.broken:
            muxed.losses.append(
                f"the other streams of the source could not be read to their end: {feed.broken}"
            )
