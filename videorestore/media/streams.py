"""The other streams of a source: which of them an output can hold, in which form, and their packets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from videorestore.errors import MediaWriteError
from videorestore.media import probe
from videorestore.media.containers import Container
from videorestore.media.pipe import run_ffmpeg

COVER = 0x400
"""FFmpeg's mark of a stream that is one picture for the whole file."""

Action = Literal["copy", "convert", "attach", "leave"]

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
        return f"{self.type} stream {self.index} ({self.codec})" + (f": {self.reason}" if self.reason else "")


def plan_companions(source: Any, main: int, container: Container, supported: set[str]) -> list[Companion]:
    """Decide for every other stream of a source.

    Parameters
    ----------
    source : av.container.InputContainer
    main : int
        Number of the restored video stream.
    container : Container
    supported : set of str
        Codecs that its muxer takes.
    """
    return [
        _plan(stream, container, supported)
        for stream in source.streams
        if stream.index != main and not _implied(source, stream)
    ]


def stream_names(path: str) -> dict[int, str]:
    """What the streams beside the film are called, by their number."""
    with probe.open_input(path) as source:
        film = probe.choose_stream(source, None)
        return {
            s.index: Companion(index=s.index, type=s.type, codec=_codec(s), action="copy").describe()
            for s in source.streams
            if film is None or s.index != film.index
        }


def _codec(stream: Any) -> str:
    context = stream.codec_context
    return str(context.codec.canonical_name) if context is not None and context.codec else "unknown"


def _implied(source: Any, stream: Any) -> bool:
    """Streams that are written anew from metadata: time codes, and the texts of QuickTime's chapters."""
    if stream.type != "data":
        return False
    chapters = "mov" in source.format.name and bool(source.chapters()) and stream.name == "bin_data"
    return chapters or "timecode" in stream.metadata


def _plan(stream: Any, container: Container, supported: set[str]) -> Companion:
    context = stream.codec_context
    codec = _codec(stream)
    name = container.name
    whole: Action | None = None
    form = ""
    unfit = f"left out, {name} cannot hold it; use .mkv"
    if stream.type == "attachment":
        whole = "attach" if container.attachments else None
        unfit = f"{name} has no attachments; use .mkv"
    elif context is None and stream.type in ("audio", "video", "subtitle"):
        unfit = "left out, its codec is not known"
    elif stream.type == "audio":
        whole = "copy" if _sounds(codec, context, container, supported) else None
        form = container.audio_form
    elif stream.type == "subtitle":
        whole = "copy" if container.subtitles and codec in supported else None
        form = container.text_form if codec in _TEXT else ""
    elif stream.type == "video" and stream.disposition & COVER and container.covers != "copied":
        whole = "attach" if container.covers == "attached" else None
    elif stream.type == "video":
        whole = "copy" if container.second_video and codec in supported else None
    else:
        unfit = f"left out, {name} cannot hold it"
    base = {"index": stream.index, "type": stream.type, "codec": codec}
    if whole is not None:
        return Companion(**base, action=whole)
    if form:
        verb = "encoded" if stream.type == "audio" else "written"
        reason = f"{name} cannot hold it, {verb} as {form}"
        return Companion(**base, action="convert", form=form, reason=reason)
    return Companion(**base, action="leave", reason=unfit)


def _sounds(codec: str, context: Any, container: Container, supported: set[str]) -> bool:
    """Whether players find this sound in the container as it is."""
    if container.audio_headers and codec == "aac" and not context.extradata:
        # Sound of a transport stream describes itself in every packet.
        return False
    channels = context.layout.channels if container.named_channels and codec.startswith("pcm_") else ()
    if len(channels) > 1 and any(channel.name == "NONE" for channel in channels):
        return False
    return codec in (container.audio or supported) and codec not in container.not_audio


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


def convert(source_path: str, plan: Companion, temporary: str, origin: Fraction) -> None:
    """Encode one stream of the source again into a temporary file.

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
            Path(extract).unlink(missing_ok=True)


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
class Excerpt:
    """Part of the source's timeline that the output covers; seconds from the source's zero."""

    start: Fraction
    stop: Fraction


def shifted_chapters(source: Any, origin: Fraction, span: Excerpt | None) -> list[dict[str, Any]]:
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
