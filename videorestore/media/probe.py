"""What a video file says about itself: streams, colour tags, rotation, origin of time."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from videorestore.errors import InputError

# ITU-T H.273 code points with the names that FFmpeg's options take.
MATRICES = {
    0: "gbr",
    1: "bt709",
    4: "fcc",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    8: "ycgco",
    9: "bt2020nc",
    10: "bt2020c",
    11: "smpte2085",
    12: "chroma-derived-nc",
    13: "chroma-derived-c",
    14: "ictcp",
}
PRIMARIES = {
    1: "bt709",
    4: "bt470m",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    8: "film",
    9: "bt2020",
    10: "smpte428",
    11: "smpte431",
    12: "smpte432",
    22: "jedec-p22",
}
TRANSFERS = {
    1: "bt709",
    4: "bt470m",
    5: "bt470bg",
    6: "smpte170m",
    7: "smpte240m",
    8: "linear",
    9: "log100",
    10: "log316",
    11: "iec61966-2-4",
    12: "bt1361e",
    13: "iec61966-2-1",
    14: "bt2020-10",
    15: "bt2020-12",
    16: "smpte2084",
    17: "smpte428",
    18: "arib-std-b67",
}
RANGES = {1: "tv", 2: "pc"}

DEMUXERS = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpegtsraw,mpeg,mpegvideo,flv,live_flv,gif,apng,asf,asf_o,ogg,rm,mxf,"
    "mxf_opatom,gxf,nut,ivf,obu,av1,h261,h263,h264,hevc,vvc,evc,vc1,vc1test,m4v,cavsvideo,avs2,avs3,dirac,dnxhd,dv,"
    "yuv4mpegpipe,swf,mjpeg,mjpeg_2000,smjpeg,webp_pipe,gif_pipe,wtv,nsv,nuv,pva,ty,bink,smk,roq,flic,4xm,dxa,thp,vmd,"
    "wc3movie,film_cpk,idcin,ipmovie,rl2,rpl,siff,smush,viv,xmv,yop,ea,cine,cdxl,moflex,mods,ingenient,amv,tivo"
)
"""FFmpeg's readers of files that hold their pictures themselves. Playlists, scripts and lists of files are not among them."""

READING = {"format_whitelist": DEMUXERS, "protocol_whitelist": "file"}
"""How every input is opened: no other file is read through it, and nothing from a network."""

READING_WORDS = [word for name, value in READING.items() for word in (f"-{name}", value)]

_LISTS = re.compile(
    rb"\s*(#EXTM3U|ffconcat|<\?xml|<MPD|\[playlist\]|\[Reference\]|RTSPtext|v=0)", re.IGNORECASE
)


def open_input(path: str) -> Any:
    """Open a file for demuxing, and no other file with it."""
    import av

    # "file:" keeps names such as "-x.mp4" or "a:b.mp4" from being read as options or protocols.
    return av.open(f"file:{os.path.abspath(path)}", options=READING, **_lenient())


def _lenient() -> dict[str, str]:
    """What lets PyAV open a file whose titles are no UTF-8: from version 19 on it does so by itself, as surrogates."""
    import av

    return {} if int(av.__version__.split(".")[0]) >= 19 else {"metadata_errors": "replace"}


def readable(text: str) -> str:
    """A tag of a file as text that can be printed: bytes that are no UTF-8 become question marks."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def is_list(path: str) -> bool:
    """Whether a file is a list of other files: a playlist, a script."""
    try:
        with open(path, "rb") as stream:
            return _LISTS.match(stream.read(64)) is not None
    except OSError:
        return False


_LOCATIONS = r"(left|center|topleft|top|bottomleft|bottom)"


def choose_stream(container: Any, stream: int | None) -> Any:
    """The video stream to read: the stated one, else the best one (default flag, then size).

    Parameters
    ----------
    container : av.container.InputContainer
    stream : int or None
        Number of the stream in the file, as ffmpeg counts.
    """
    videos = list(container.streams.video)
    if stream is not None:
        for candidate in videos:
            if candidate.index == stream:
                return candidate
        known = ", ".join(str(s.index) for s in videos) or "none"
        raise InputError(
            f"stream must be a video stream of the file ({known}), got {stream}; choose one of these."
        )
    films = [s for s in videos if not s.disposition & 0x400]  # 0x400: attached picture, a cover
    candidates = films or videos
    if not candidates:
        return None

    def worth(candidate: Any) -> tuple[int, int, int]:
        context = candidate.codec_context
        size = context.width * context.height if context is not None else 0
        return int(candidate.disposition) & 1, size, -candidate.index

    return max(candidates, key=worth)


def _side_data(frame: Any) -> list[tuple[str, bytes]]:
    """What travels beside the picture of a frame, with the name of its kind."""
    # Before version 19 of PyAV the keys are the entries themselves.
    keys = list(frame.side_data.keys())
    entries = [key if hasattr(key, "type") else frame.side_data[key] for key in keys]
    return [(entry.type.name, bytes(entry)) for entry in entries]


def turns_of(frame: Any) -> tuple[int, bool]:
    """Quarter turns (counter-clockwise, to be applied after the mirroring) that bring a frame upright.

    Returns
    -------
    turns : int
        0 to 3, as ``numpy.rot90`` counts.
    mirrored : bool
        Flip left and right first.
    """
    for kind, data in _side_data(frame):
        if kind == "DISPLAYMATRIX":
            a, b, _, c, d = np.frombuffer(data, np.int32)[:5].astype(float) / 65536.0
            mirrored = a * d - b * c < 0
            if mirrored:
                a, b = -a, -b
            # The matrix maps (x, y) to (a x + c y, b x + d y) with y pointing down.
            angle = np.degrees(np.arctan2(-b, a)) if (a or b) else 0.0
            return round(angle / 90.0) % 4, bool(mirrored)
    return 0, False


def hdr_of(frame: Any) -> dict[str, str]:
    """Static HDR metadata of a frame in the notation of x264 and x265.

    Returns
    -------
    dict
        "mastering_display" as ``G(x,y)B(x,y)R(x,y)WP(x,y)L(max,min)``, "content_light" as ``max,average``.
    """
    found = {}
    for kind, data in _side_data(frame):
        if kind == "CONTENT_LIGHT_LEVEL" and len(data) >= 8:
            found["content_light"] = "{},{}".format(*struct.unpack("<2I", data[:8]))
        if kind == "MASTERING_DISPLAY_METADATA" and len(data) >= 88:
            numbers = struct.unpack("<22i", data[:88])
            ratios = [Fraction(a, b) if b else Fraction(0) for a, b in zip(numbers[:20:2], numbers[1:20:2])]
            if not (numbers[20] and numbers[21]):
                continue
            x = [round(r * 50000) for r in ratios[:8]]
            dark, bright = (round(r * 10000) for r in ratios[8:])
            red, green, blue, white = (f"({a},{b})" for a, b in zip(x[::2], x[1::2]))
            found["mastering_display"] = f"G{green}B{blue}R{red}WP{white}L({bright},{dark})"
    return found


def missing_bytes(path: str) -> int:
    """How many bytes a file should have beyond its end, by the sizes in its own header; 0 where none says so."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:4] == b"\x1a\x45\xdf\xa3":
            return max(0, _matroska_end(head) - size)
        if head[:4] == b"RIFF":
            stated = struct.unpack("<I", head[4:8])[0]
            return max(0, stated + 8 - size) if 0 < stated < 0xFFFFFFF0 else 0
        if head[4:8] != b"ftyp":
            return 0
        place = 0
        while place + 16 <= size:
            file.seek(place)
            length, kind = struct.unpack(">I4s", file.read(8))
            if length == 1:
                length = struct.unpack(">Q", file.read(8))[0]
            if length < 8 or not kind.isalnum():
                return 0
            place += length
        return max(0, place - size)


def _matroska_end(head: bytes) -> int:
    """End of the segment of a Matroska file; 0 where it is open."""
    place = 4
    for _ in range(2):
        first = head[place]
        width = 9 - first.bit_length()
        if first == 0 or place + width > len(head):
            return 0
        value = int.from_bytes(head[place : place + width], "big") & ((1 << 7 * width) - 1)
        if value == (1 << 7 * width) - 1:
            return 0
        place += width + value
        if head[place : place + 4] != b"\x18\x53\x80\x67":
            return place
        place += 4
    return 0


def origin_of(container: Any, stream: Any) -> Fraction:
    """The time in the file that counts as zero: the earliest start of any stream, never after the video's."""
    starts: list[Fraction] = []
    for s in container.streams:
        if s.type in ("video", "audio") and s.start_time is not None and s.time_base:
            starts.append(s.start_time * Fraction(s.time_base))
    own: Fraction = (
        stream.start_time * Fraction(stream.time_base) if stream.start_time is not None else Fraction(0)
    )
    earliest: Fraction = min([own, *starts])
    # Audio may begin before zero (the priming of its codec): that is no reason to move the picture.
    return min(own, max(earliest, Fraction(0)))


@lru_cache(maxsize=256)
def _ffmpeg_banner(path: str, size: int, modified: int) -> str:
    import imageio_ffmpeg

    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-nostdin",
        "-hide_banner",
        "-v",
        "verbose",
        *READING_WORDS,
        "-i",
        f"file:{path}",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr.decode("utf-8", "replace")


def chroma_location_of(path: str, size: int, modified: int, stream: int) -> str:
    """Where the chroma samples sit; PyAV does not tell, FFmpeg's description of the stream does."""
    for line in _ffmpeg_banner(path, size, modified).splitlines():
        if re.match(rf"\s*Stream #0:{stream}\b.*: Video:", line):
            found = re.search(rf", {_LOCATIONS}[,)]", line)
            return found.group(1) if found else "unspecified"
    return "unspecified"


def stream_facts(stream: Any) -> dict[str, Any]:
    """The facts of one stream of any type, fit for JSON."""
    facts: dict[str, Any] = {"index": stream.index, "type": stream.type}
    context = stream.codec_context
    if context is not None:
        facts["codec"] = context.codec.canonical_name if context.codec else context.name
    if stream.type == "video" and context is not None:
        facts |= {"width": context.width, "height": context.height, "pix_fmt": context.pix_fmt}
        facts["fps"] = str(stream.average_rate) if stream.average_rate else None
    elif stream.type == "audio" and context is not None:
        facts |= {"sample_rate": context.sample_rate, "channels": context.layout.nb_channels}
    language = stream.metadata.get("language")
    if language and language != "und":
        facts["language"] = readable(language)
    title = stream.metadata.get("title")
    if title:
        facts["title"] = readable(title)
    flags = [flag.name for flag in type(stream.disposition) if stream.disposition & flag and flag.name]
    if flags:
        facts["disposition"] = flags
    return facts
