"""Segments and the other streams of the source become one file with exact times."""

from __future__ import annotations

import contextlib
import heapq
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import Any

from videorestore.clip import ClipInfo
from videorestore.errors import MediaWriteError
from videorestore.media import probe, streams
from videorestore.media.encode import container_codecs
from videorestore.media.matroska import TrackFacts, amend
from videorestore.media.outputs import OutputKind
from videorestore.media.segments import Segment, packet_stamps
from videorestore.media.target import Target, write_error
from videorestore.media.timing import rate_of

_FINEST = 1 << 30
_FALLBACK = 9_000_000


@dataclass(slots=True, kw_only=True)
class Muxed:
    """What was put into a file, to be checked against what comes out.

    Attributes
    ----------
    times : list of Fraction
    end : Fraction
        Time at which the last frame ends.
    counts : dict
        Packets of each other stream, by its number in the output.
    uncompressed : set of int
        Numbers of the streams whose packets are not counted.
    delays : dict
        Seconds before zero at which another stream begins, by its number in the output.
    types : list of str
        Types of all streams in order.
    notes, losses : list of str
    """

    times: list[Fraction]
    end: Fraction
    counts: dict[int, int] = field(default_factory=dict)
    uncompressed: set[int] = field(default_factory=set)
    delays: dict[int, Fraction] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """What else of the source goes into the output.

    Attributes
    ----------
    path : str or None
        The file that audio, subtitles, chapters, attachments and metadata come from.
    span : Span or None
        Part of that file which the output covers; None is all of it.
    metadata, streams : bool
        False leaves these out.
    """

    path: str | None
    span: streams.Span | None = None
    metadata: bool = True
    streams: bool = True


@dataclass(frozen=True, slots=True)
class _Order:
    """Decoding order of the frames of a segment: display rank of each packet."""

    ranks: tuple[int, ...]

    @property
    def delay(self) -> int:
        return max((k - rank for k, rank in enumerate(self.ranks)), default=0)


def _order_of(segment: Segment) -> _Order:
    stamps = packet_stamps(segment.path)
    if len(stamps) != len(segment.times):
        raise MediaWriteError(
            f"the segment {segment.path} must hold {len(segment.times)} frames, it holds {len(stamps)}; make it again."
        )
    by_time = sorted(range(len(stamps)), key=stamps.__getitem__)
    ranks = [0] * len(stamps)
    for rank, k in enumerate(by_time):
        ranks[k] = rank
    return _Order(tuple(ranks))


def time_base_for(times: Sequence[Fraction], container: str, fps: Fraction | None) -> Fraction:
    """A unit in which all times are whole numbers, as far as the container allows."""
    if container in ("matroska", "webm"):
        return Fraction(1, 1000)
    if container == "mpegts":
        return Fraction(1, 90_000)
    units = 1
    for time in times:
        units = lcm(units, time.denominator)
        if units > _FINEST:
            units = _FALLBACK
            break
    if container != "avi":
        return Fraction(1, units)
    # AVI counts frames: gaps are filled with empty ones, so the unit must not be finer than need be.
    if fps and all((t * fps).denominator == 1 for t in times):
        return 1 / fps
    return Fraction(1, min(units, 1000))


def mux(
    segments: Sequence[Segment],
    part: str,
    kind: OutputKind,
    info: ClipInfo,
    fps: Fraction | None,
    others: Others,
    *,
    alpha: bool,
) -> Muxed:
    """Write the file ``part``.

    Parameters
    ----------
    segments : sequence of Segment
        In the order of the output.
    part : str
    kind : OutputKind
    info : ClipInfo
    fps : Fraction or None
        Nominal rate.
    others : Others
    alpha : bool
        The video has an alpha channel beside it (VP9).
    """
    import av

    times = [t for segment in segments for t in segment.times]
    durations = [d for segment in segments for d in segment.durations]
    if any(b <= a for a, b in zip(times, times[1:])):
        raise MediaWriteError(
            "times must increase from segment to segment, found one that does not; sort them."
        )
    if kind.name == "avi" and times[0] > 0:
        # AVI has no time before its first picture; all others keep theirs.
        durations[0] += times[0]
        times[0] = Fraction(0)
        early = ["avi begins with a picture: the first frame is shown from 0 s on"]
    else:
        early = []
    muxed = Muxed(times=times, end=times[-1] + durations[-1], notes=early)
    orders = [_order_of(segment) for segment in segments]
    # The source may not have known its rate while it streamed; the times tell.
    rate, uneven = rate_of(times, durations, [fps] if fps else [], Fraction(1, 1000))
    pace = 1 / rate if rate and not uneven else None
    tick = time_base_for([*times, muxed.end], kind.name, fps)
    temporaries: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(_remove_all, temporaries)
        template = stack.enter_context(av.open(f"file:{os.path.abspath(segments[0].path)}"))
        video = template.streams.video[0]
        context = video.codec_context
        # Without this, MP4 rounds the time of a late first frame to milliseconds.
        exact = {"movie_timescale": str(tick.denominator)} if kind.name in ("mp4", "mov") and times[0] else {}
        target = stack.enter_context(Target(part, kind.name, exact))
        try:
            output = target.container
            main = output.add_stream_from_template(video, opaque=True)
            main.time_base = tick
            main.disposition = 1
            main.sample_aspect_ratio = info.sar
            tag = _codec_tag(context, kind.name)
            if tag:
                main.codec_context.codec_tag = tag
            if alpha:
                main.metadata["alpha_mode"] = "1"
            muxed.types.append("video")
            feeds = []
            if others.path is not None:
                source = _open_companion(others.path, stack)
                if source is not None:
                    feeds = _add_companions(
                        output, main, source, others, info, kind, muxed, part, temporaries, stack
                    )
            output.start_encoding()
            packets = _video_packets(segments, orders, times, durations, tick, main)
            for _, packet in heapq.merge(packets, *feeds, key=lambda pair: pair[0]):
                output.mux_one(packet)
            target.finish()
            if kind.name in ("matroska", "webm"):
                shape = Fraction(context.width, context.height)
                facts = {
                    1: TrackFacts(aspect=info.sar * shape if info.sar != 1 else None, frame_duration=pace)
                }
                facts |= {index + 1: TrackFacts(delay=delay) for index, delay in muxed.delays.items()}
                amend(part, facts)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise write_error(error) from error
        for feed in feeds:
            # Containers cut uncompressed sound into packets as they like.
            muxed.counts |= {k: n for k, n in feed.counts.items() if k not in muxed.uncompressed}
            if feed.broken:
                muxed.losses.append(
                    f"the other streams of the source could not be read to their end: {feed.broken}"
                )
    return muxed


def _remove_all(paths: list[str]) -> None:
    for path in paths:
        if os.path.exists(path):
            os.remove(path)


def _open_companion(path: str, stack: contextlib.ExitStack) -> Any:
    import av

    if not os.path.isfile(path):
        return None
    try:
        return stack.enter_context(probe.open_input(path))
    except (av.error.FFmpegError, OSError, ValueError):
        # Arrays, images: nothing to copy from.
        return None


def _codec_tag(context: Any, container: str) -> str | None:
    if container not in ("mp4", "mov"):
        return None
    if context.name == "hevc":
        return "hvc1"
    if context.name == "prores":
        return "ap4h" if "444" in (context.pix_fmt or "") else "apch"
    return None


def _add_companions(
    output: Any,
    main: Any,
    source: Any,
    others: Others,
    info: ClipInfo,
    kind: OutputKind,
    muxed: Muxed,
    part: str,
    temporaries: list[str],
    stack: contextlib.ExitStack,
) -> list[streams.PacketFeed]:
    """Add the other streams to the output; gives the feeds of their packets."""
    import av

    path, span = others.path or "", others.span

    number = int(info.extra.get("stream", -1))
    if number < 0 or number >= len(source.streams):
        best = probe.choose_stream(source, None)
        if best is None:
            return []
        number = best.index
    origin = streams.source_origin(source, number)
    if others.metadata:
        output.metadata.update(streams.kept_metadata(dict(source.metadata)))
        main.metadata.update(streams.kept_metadata(dict(source.streams[number].metadata)))
    if not others.streams:
        return []
    chapters = streams.shifted_chapters(source, origin, span)
    if chapters and kind.name in ("avi", "mpegts"):
        muxed.losses.append(f"{len(chapters)} chapters: left out, {kind.name} has none; use .mkv")
    elif chapters:
        output.set_chapters(chapters)
    copied: dict[int, Any] = {}
    feeds = []
    for plan in streams.plan_companions(
        source,
        number,
        kind.name,
        set(container_codecs(kind.name) if kind.name == "mpegts" else output.supported_codecs),
    ):
        template = source.streams[plan.index]
        try:
            if plan.action == "attach":
                output.add_attachment(*streams.attachment_of(path, template))
                muxed.types.append(plan.type)
                continue
            if plan.action == "copy":
                stream = output.add_stream_from_template(template, opaque=True)
                copied[plan.index] = stream
            elif plan.action == "convert":
                temporary = f"{part}.stream{plan.index}"
                temporaries.append(temporary)
                streams.convert(path, plan, temporary, origin)
                converted = stack.enter_context(av.open(f"file:{os.path.abspath(temporary)}"))
                stream = output.add_stream_from_template(converted.streams[0], opaque=True)
                feeds.append(streams.PacketFeed(converted, {0: stream}, origin, span))
                muxed.notes.append(plan.describe())
            else:
                muxed.losses.append(plan.describe())
                continue
        except (av.error.FFmpegError, ValueError, StopIteration, MediaWriteError) as error:
            muxed.losses.append(
                f"{plan.type} stream {plan.index} ({plan.codec}): left out, {str(error)[:200]}"
            )
            continue
        if others.metadata:
            stream.metadata.update(streams.kept_metadata(dict(template.metadata)))
        # A second video must not be taken for the restored one.
        stream.disposition = int(template.disposition) & (~1 if plan.type == "video" else ~0)
        muxed.types.append(plan.type)
        if plan.type == "audio" and plan.action == "copy" and plan.codec.startswith("pcm_"):
            muxed.uncompressed.add(stream.index)
    if copied:
        feeds.insert(0, streams.PacketFeed(source, copied, origin, span))
    if kind.name in ("matroska", "webm", "avi", "mpegts"):
        # These containers cannot store a time before zero; Matroska says by how much the sound leads instead.
        for feed in feeds:
            if span is None:
                muxed.delays |= feed.lead_in(keep=kind.name in ("matroska", "webm"))
            else:
                feed.only_whole_packets()
    return feeds


def _video_packets(
    segments: Sequence[Segment],
    orders: Sequence[_Order],
    times: list[Fraction],
    durations: list[Fraction],
    tick: Fraction,
    stream: Any,
) -> Iterator[tuple[float, Any]]:
    """Packets of all segments in the order of decoding with exact stamps.

    Frame ``k`` in the order of decoding is decoded at the time of frame ``k - delay`` in the order of display:
    this never comes after its own presentation, and it always increases.
    """
    import av

    stamps = [round(t / tick) for t in times]
    for k in range(1, len(stamps)):
        stamps[k] = max(stamps[k], stamps[k - 1] + 1)
    delay = max(order.delay for order in orders)
    step = max(1, stamps[1] - stamps[0]) if len(stamps) > 1 else 1
    first = 0
    number = 0
    for segment, order in zip(segments, orders):
        with av.open(f"file:{os.path.abspath(segment.path)}") as container:
            local = 0
            for packet in container.demux(container.streams.video[0]):
                if not packet.size or packet.pts is None:
                    continue
                place = first + order.ranks[local]
                end = round((times[place] + durations[place]) / tick)
                following = stamps[place + 1] if place + 1 < len(stamps) else end
                packet.stream = stream
                packet.time_base = tick
                packet.pts = stamps[place]
                packet.dts = (
                    stamps[number - delay] if number >= delay else stamps[0] - (delay - number) * step
                )
                packet.duration = max(1, following - stamps[place])
                yield float(packet.dts * tick), packet
                local += 1
                number += 1
            first += local
