"""The other streams of a source: which of them an output can hold, in which form, and their packets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

from videorestore.errors import MediaWriteError
from videorestore.media import probe
from videorestore.media.pipe import run_ffmpeg

COVER = 0x400
"""FFmpeg's mark of a stream that is one picture for the whole file."""

Action = Literal["copy", "convert", "attach", "leave"]

# What muxers accept on paper but players do not find in an AVI file.
_AVI_AUDIO = ("mp3", "mp2", "ac3", "aac", "pcm_s16le", "pcm_u8")
_AUDIO_FORM = {
    "mp4": "aac",
    "mov": "aac",
    "matroska": "flac",
    "webm": "libopus",
    "avi": "libmp3lame",
    "mpegts": "aac",
}
_TEXT_FORM = {"mp4": "mov_text", "mov": "mov_text", "matroska": "subrip", "webm": "webvtt"}
_TEXT = ("subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text", "ttml", "microdvd", "sami", "subviewer")
# Facts about the old file that would be wrong in the new one.
_STALE = frozenset(
    {
        "encoder",
        "duration",
        "major_brand",
        "minor_version",
        "compatible_brands",
        "rotate",
        "number_of_frames",
        "number_of_bytes",
        "bps",
        "vendor_id",
        "alpha_mode",
        "handler_name",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """One stream of the source that is not the restored video.

    Attributes
    ----------
    index : int
        Number in the source.
    type, codec : str
    action : Action
    form : str
        Encoder for "convert".
    reason : str
        Why it is converted or left out.
    """

    index: int
    type: str
    codec: str
    action: Action
    form: str = ""
    reason: str = ""

    def describe(self) -> str:
        """One line for the user."""
        return f"{self.type} stream {self.index} ({self.codec}): {self.reason}"


def plan_companions(source: Any, main: int, container: str, supported: set[str]) -> list[Companion]:
    """Decide for every other stream of a source.

    Parameters
    ----------
    source : av.container.InputContainer
    main : int
        Number of the restored video stream.
    container : str
        FFmpeg's name of the output format.
    supported : set of str
        Codecs that its muxer takes.
    """
    return [
        _plan(stream, container, supported)
        for stream in source.streams
        if stream.index != main and not _implied(source, stream)
    ]


def _implied(source: Any, stream: Any) -> bool:
    """Streams that are written anew from metadata: time codes, and the texts of QuickTime's chapters."""
    if stream.type != "data":
        return False
    chapters = "mov" in source.format.name and bool(source.chapters()) and stream.name == "bin_data"
    return chapters or "timecode" in stream.metadata


def _plan(stream: Any, container: str, supported: set[str]) -> Companion:
    context = stream.codec_context
    codec = context.codec.canonical_name if context is not None and context.codec else "unknown"
    base = {"index": stream.index, "type": stream.type, "codec": codec}
    if stream.type == "attachment":
        if container == "matroska":
            return Companion(**base, action="attach")
        return Companion(**base, action="leave", reason=f"{container} has no attachments; use .mkv")
    if context is None and stream.type in ("audio", "video", "subtitle"):
        return Companion(**base, action="leave", reason="left out, its codec is not known")
    if stream.type == "audio":
        fits = codec in (_AVI_AUDIO if container == "avi" else supported)
        if container == "avi" and codec == "aac" and not context.extradata:
            # Sound of a transport stream describes itself in every packet, which AVI does not take.
            fits = False
        if fits and not (container == "mov" and codec in ("opus", "vorbis", "flac")):
            return Companion(**base, action="copy")
        form = _AUDIO_FORM[container]
        return Companion(
            **base, action="convert", form=form, reason=f"{container} cannot hold it, encoded as {form}"
        )
    if stream.type == "subtitle":
        if codec in supported and container != "avi":
            return Companion(**base, action="copy")
        if codec in _TEXT and container in _TEXT_FORM:
            form = _TEXT_FORM[container]
            return Companion(
                **base, action="convert", form=form, reason=f"{container} cannot hold it, written as {form}"
            )
        return Companion(**base, action="leave", reason=f"left out, {container} cannot hold it; use .mkv")
    if stream.type == "video":
        cover = bool(stream.disposition & COVER)
        if cover and container == "matroska":
            return Companion(**base, action="attach")
        holds = container in ("mp4", "matroska") or (container in ("webm", "mov") and not cover)
        if codec in supported and holds:
            return Companion(**base, action="copy")
        return Companion(**base, action="leave", reason=f"left out, {container} cannot hold it; use .mkv")
    return Companion(**base, action="leave", reason=f"left out, {container} cannot hold it")


def attachment_of(path: str, stream: Any) -> tuple[str, str, bytes]:
    """Name, type and bytes of an attachment, or of a cover that becomes one."""

    tags = {key.lower(): value for key, value in stream.metadata.items()}
    if stream.type == "attachment":
        kind = stream.mimetype or tags.get("mimetype") or "application/octet-stream"
        return tags.get("filename", "attachment"), kind, bytes(stream.data)
    codec = stream.codec_context.name
    suffix = {"mjpeg": "jpg"}.get(codec, codec)
    with probe.open_input(path) as container:
        packet = next(p for p in container.demux(container.streams[stream.index]) if p.size)
        data = bytes(packet)
    kind = tags.get("mimetype", "image/jpeg" if suffix == "jpg" else f"image/{suffix}")
    return tags.get("filename", f"cover.{suffix}"), kind, data


def kept_metadata(metadata: dict[str, str]) -> dict[str, str]:
    """Metadata without the facts that belong to the old file."""
    return {
        key: value
        for key, value in metadata.items()
        if key.lower() not in _STALE and not key.upper().startswith("_STATISTICS") and value
    }


def convert(source_path: str, plan: Companion, temporary: str, origin: Fraction) -> str:
    """Encode one stream of the source again; gives the name of the temporary file.

    Sound before the origin of time was never heard: it only filled the decoder, and is not encoded again.
    """
    what = f"encode {plan.type} stream {plan.index} as {plan.form}"
    try:
        run_ffmpeg(_conversion(source_path, plan.index, plan, temporary, origin), what)
    except MediaWriteError:
        # Some builds of FFmpeg fail on some transport streams; PyAV reads them, and hands over a plain file.
        extract = temporary + ".nut"
        try:
            _extract(source_path, plan.index, extract)
            run_ffmpeg(_conversion(extract, 0, plan, temporary, origin), what)
        finally:
            if os.path.exists(extract):
                os.remove(extract)
    return temporary


def _conversion(path: str, index: int, plan: Companion, temporary: str, origin: Fraction) -> list[str]:
    arguments = ["-copyts", *probe.READING_WORDS, "-i", f"file:{os.path.abspath(path)}", "-map", f"0:{index}"]
    arguments += ["-map_metadata", "-1", "-map_chapters", "-1"]
    if plan.type == "audio":
        arguments += ["-af", f"atrim=start={float(origin):.6f}", "-c:a", plan.form]
        arguments += [] if plan.form == "flac" else ["-b:a", "192k"]
    else:
        arguments += ["-c:s", plan.form]
    container = "mp4" if plan.form == "mov_text" else "matroska"
    return [
        *arguments,
        "-avoid_negative_ts",
        "disabled",
        "-f",
        container,
        f"file:{os.path.abspath(temporary)}",
    ]


def _extract(path: str, index: int, target: str) -> None:
    """Copy one stream into a file of its own."""
    import av

    with (
        probe.open_input(path) as source,
        av.open(f"file:{os.path.abspath(target)}", "w", format="nut") as output,
    ):
        stream = source.streams[index]
        copy = output.add_stream_from_template(stream, opaque=True)
        for packet in source.demux(stream):
            if packet.size and packet.pts is not None:
                packet.stream = copy
                output.mux(packet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Part of the source's timeline that the output covers; seconds from the source's zero."""

    start: Fraction
    stop: Fraction


class PacketFeed:
    """Packets of chosen streams of one file, moved in time, cut to a span.

    Parameters
    ----------
    container : av.container.InputContainer
    targets : dict
        Output stream for each input stream number.
    origin : Fraction
        Time in the file that becomes zero.
    span : Span or None
    """

    def __init__(self, container: Any, targets: dict[int, Any], origin: Fraction, span: Span | None) -> None:
        self._container = container
        self._targets = targets
        self._origin = origin
        self._span = span
        self.counts: dict[int, int] = {stream.index: 0 for stream in targets.values()}
        self.broken: str | None = None
        self._held: list[Any] = []
        self._packets: Iterator[Any] | None = None
        self._lead: dict[int, Fraction] = {}
        self._floor: Fraction | None = None
        self._whole_packets = False

    def only_whole_packets(self) -> None:
        """Leave out sound that begins before the span: the container has no time before zero."""
        self._whole_packets = True

    def lead_in(self, *, keep: bool) -> dict[int, Fraction]:
        """Move streams that begin before zero to zero; gives by how much, by output stream.

        Parameters
        ----------
        keep : bool
            False drops what lies before zero instead.
        """
        # Sound out of Matroska, and Opus out of anything, brings its lead along: the muxer knows what to do.
        own = keep and "matroska" in self._container.format.name
        waiting = {
            i
            for i in self._targets
            if self._container.streams[i].type == "audio"
            and not own
            and not (keep and self._container.streams[i].codec_context.name == "opus")
        }
        self._packets = self._demuxed()
        for packet in self._packets:
            self._held.append(packet)
            index = packet.stream.index
            if index in waiting and packet.pts is not None:
                waiting.discard(index)
                begin = packet.pts * Fraction(packet.stream.time_base) - self._origin
                if begin < 0 and keep:
                    self._lead[index] = -begin
            if not waiting or len(self._held) > 2000:
                break
        self._floor = Fraction(0) if not keep else None
        return {self._targets[index].index: lead for index, lead in self._lead.items()}

    def _demuxed(self) -> Iterator[Any]:
        import av

        streams = [self._container.streams[index] for index in self._targets]
        if not streams:
            return
        packets = self._container.demux(*streams)
        while True:
            try:
                packet = next(packets)
            except StopIteration:
                return
            except (av.error.FFmpegError, ValueError) as error:
                self.broken = str(error).splitlines()[0]
                return
            if packet.size == 0 and packet.dts is None and packet.pts is None:
                continue
            yield packet

    def __iter__(self) -> Iterator[tuple[float, Any]]:
        """Pairs of (time in seconds, packet ready for the muxer)."""
        last: dict[int, int] = {}
        for packet in chain(self._held, self._packets or self._demuxed()):
            ready = self._moved(packet, last)
            if ready is not None:
                yield ready

    def _moved(self, packet: Any, last: dict[int, int]) -> tuple[float, Any] | None:
        stream = packet.stream
        target = self._targets[stream.index]
        tick = Fraction(stream.time_base)
        cover = stream.type == "video" and stream.disposition & COVER
        start = self._span.start if self._span is not None else Fraction(0)
        lead = self._lead.get(stream.index, Fraction(0))
        offset = 0 if cover else round((self._origin + start - lead) / tick)
        stamp = packet.pts if packet.pts is not None else packet.dts
        if stamp is None:
            stamp = last.get(stream.index, 0)
            packet.pts = stamp
        if self._floor is not None and stamp * tick - self._origin < self._floor:
            return None
        if self._span is not None and not cover:
            begin = stamp * tick - self._origin
            end = begin + (packet.duration or 0) * tick
            if begin >= self._span.stop or (end <= self._span.start and begin < self._span.start):
                return None
            if self._whole_packets and stream.type != "subtitle" and begin < self._span.start:
                return None
            if stream.type == "subtitle" and end > self._span.stop:
                packet.duration = max(1, int((self._span.stop - begin) / tick))
            if stream.type == "subtitle" and begin < self._span.start:
                late = round((self._span.start - begin) / tick)
                packet.pts = stamp + late
                packet.duration = max(1, (packet.duration or 0) - late)
        packet.pts = None if packet.pts is None else packet.pts - offset
        decoded = packet.dts - offset if packet.dts is not None else packet.pts
        floor = last.get(stream.index)
        if floor is not None and decoded <= floor:
            # Muxers refuse stamps that do not increase; a slip of one unit is not audible.
            decoded = floor + 1
            if packet.pts is not None and packet.pts < decoded:
                packet.pts = decoded
        last[stream.index] = decoded
        packet.dts = decoded
        packet.stream = target
        self.counts[target.index] += 1
        return float(decoded * tick), packet


def shifted_chapters(source: Any, origin: Fraction, span: Span | None) -> list[dict[str, Any]]:
    """Chapters of the source on the output's timeline."""
    chapters = []
    start = span.start if span is not None else Fraction(0)
    for chapter in source.chapters():
        tick = Fraction(chapter["time_base"] or Fraction(1, 1000))
        begin = chapter["start"] * tick - origin - start
        end = chapter["end"] * tick - origin - start
        if span is not None:
            if end <= 0 or begin >= span.stop - span.start:
                continue
            end = min(end, span.stop - span.start)
        begin = max(begin, Fraction(0))
        chapters.append(
            {
                "id": chapter["id"],
                "start": round(begin / tick),
                "end": round(end / tick),
                "time_base": tick,
                "metadata": dict(chapter["metadata"]),
            }
        )
    return chapters


def source_origin(source: Any, main: int) -> Fraction:
    """Zero of the source's timeline, as its reader counts it."""
    return probe.origin_of(source, source.streams[main])
