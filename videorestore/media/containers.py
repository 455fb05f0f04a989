"""Everything that a result can be written as, a row each; a new container is a new row."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What a video file can hold, and how it keeps time.

    Attributes
    ----------
    name : str
        FFmpeg's name of its muxer.
    suffixes : tuple of str
        Ends of file names; the first is its own.
    encoders : tuple of str
        Encoders for it: of those that keep most of the samples the first.
    pictures_as_420 : bool
        Pictures, arrays and GIFs become 8-bit 4:2:0, as players of these files want it.
    colour_tags, chapters, attachments : bool
        Whether it stores them.
    codecs : tuple of str
        What it holds where its muxer does not tell.
    not_codecs : tuple of str
        What its muxer takes but readers give back wrong.
    audio : tuple of str
        Sound that players find in it; all that the muxer takes where empty.
    not_audio : tuple of str
        Sound that they do not.
    audio_headers : bool
        Sound must be described once in a header, not in every packet.
    named_channels : bool
        It takes several channels of raw sound only where it is known which they are; AVI does not say that.
    audio_form, text_form : str
        Encoders for sound and for subtitles that it cannot hold as they are; no text where empty.
    subtitles, second_video : bool
        Whether it holds them.
    in_band : bool
        Players take the description of pictures from between them, not only from the header.
    covers : str
        What becomes of a picture that stands for the whole file.
    unit : Fraction or None
        Its unit of time; None where the muxer takes any.
    counts_frames : bool
        It has no times, but frames at a steady rate from zero on.
    free_clock : bool
        Its clock begins anywhere.
    header_clock : str
        Option of the muxer with the unit in which the start is written.
    before_zero : str
        Whether streams that begin before the film are stored so, their lead is said in the header, or they are cut.
    codec_tags : tuple
        Codecs that players know by other marks than FFmpeg's: name, mark, mark of 4:4:4.
    """

    name: str
    suffixes: tuple[str, ...]
    encoders: tuple[str, ...]
    audio_form: str
    text_form: str = ""
    pictures_as_420: bool = False
    colour_tags: bool = True
    chapters: bool = True
    attachments: bool = False
    codecs: tuple[str, ...] = ()
    not_codecs: tuple[str, ...] = ()
    audio: tuple[str, ...] = ()
    not_audio: tuple[str, ...] = ()
    audio_headers: bool = False
    named_channels: bool = False
    subtitles: bool = True
    second_video: bool = True
    in_band: bool = False
    covers: Literal["copied", "attached", "left"] = "left"
    unit: Fraction | None = None
    counts_frames: bool = False
    free_clock: bool = False
    header_clock: str = ""
    before_zero: Literal["stored", "said", "cut"] = "stored"
    codec_tags: tuple[tuple[str, str, str], ...] = ()


_QUICKTIME_TAGS = (("hevc", "hvc1", "hvc1"), ("prores", "apch", "ap4h"))

CONTAINERS = (
    Container(
        name="mp4",
        suffixes=(".mp4", ".m4v"),
        encoders=("libx264", "libx265"),
        audio_form="aac",
        text_form="mov_text",
        named_channels=True,
        pictures_as_420=True,
        covers="copied",
        header_clock="movie_timescale",
        codec_tags=_QUICKTIME_TAGS,
    ),
    Container(
        name="mov",
        suffixes=(".mov",),
        encoders=("libx264", "libx265", "prores_ks"),
        audio_form="aac",
        not_audio=("opus", "vorbis", "flac"),
        text_form="mov_text",
        pictures_as_420=True,
        header_clock="movie_timescale",
        codec_tags=_QUICKTIME_TAGS,
    ),
    Container(
        name="matroska",
        suffixes=(".mkv",),
        encoders=("libx264", "libx265", "libvpx-vp9", "ffv1"),
        audio_form="flac",
        text_form="subrip",
        attachments=True,
        in_band=True,
        covers="attached",
        unit=Fraction(1, 1000),
        before_zero="said",
    ),
    Container(
        name="webm",
        suffixes=(".webm",),
        encoders=("libvpx-vp9",),
        audio_form="libopus",
        text_form="webvtt",
        unit=Fraction(1, 1000),
        before_zero="said",
    ),
    Container(
        name="avi",
        suffixes=(".avi",),
        # H.264 needs presentation times; what MPEG-4 cannot hold is kept without loss.
        encoders=("mpeg4", "ffv1"),
        not_codecs=("h264", "hevc", "av1"),
        audio=("mp3", "mp2", "ac3", "aac", "pcm_s16le", "pcm_u8"),
        audio_headers=True,
        audio_form="libmp3lame",
        colour_tags=False,
        chapters=False,
        subtitles=False,
        second_video=False,
        in_band=True,
        counts_frames=True,
        before_zero="cut",
    ),
    Container(
        name="mpegts",
        suffixes=(".ts",),
        encoders=("libx264",),
        codecs=(
            *("h264", "hevc", "mpeg2video", "mpeg1video"),
            *("aac", "ac3", "eac3", "mp2", "mp3", "dvb_subtitle"),
        ),
        audio_form="aac",
        chapters=False,
        second_video=False,
        unit=Fraction(1, 90_000),
        free_clock=True,
        before_zero="cut",
    ),
)

READ_ONLY = {
    ".vob": ".mkv",
    ".dv": ".mov",
    ".mpg": ".mkv",
    ".mpeg": ".mkv",
    ".wmv": ".mkv",
    ".flv": ".mp4",
    ".mts": ".ts",
}
"""Containers that are read but not written, because what they hold cannot be kept exactly; and what serves instead."""

STILLS = {".gif": "gif", ".tif": "tiff", ".tiff": "tiff", ".npy": "npy"}
"""Files of pictures."""

_BY_SUFFIX = {suffix: container for container in CONTAINERS for suffix in container.suffixes}

WRITTEN = (*_BY_SUFFIX, *STILLS)
"""Endings that a result may have."""


def container_of(suffix: str) -> Container | None:
    """The video container of a name's ending, lower case with the dot; None where it is none."""
    return _BY_SUFFIX.get(suffix)


@lru_cache(maxsize=16)
def codecs_of(container: Container) -> frozenset[str]:
    """Codecs that a container takes, as far as results can be read back from it."""
    import av

    if container.codecs:
        return frozenset(container.codecs)
    with av.open(os.devnull, "w", format=container.name) as output:
        return frozenset(output.supported_codecs) - {*container.not_codecs}
