"""Fields of a Matroska or WebM header that the muxer does not let us set: they are put in afterwards, in place.

FFmpeg's muxer leaves room behind its table of contents. The facts and the track list move into that room, so that
the track list can grow at its end without moving anything that other parts of the file point to.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from fractions import Fraction

from videorestore.errors import MediaWriteError

_SEGMENT = 0x18538067
_SEEK_HEAD = 0x114D9B74
_SEEK = 0x4DBB
_SEEK_POSITION = 0x53AC
_TRACKS = 0x1654AE6B
_TRACK = 0xAE
_VIDEO = 0xE0
_VOID = 0xEC
_CRC = 0xBF
_TRACK_NUMBER = 0xD7
_DEFAULT_DURATION = 0x23E383
_CODEC_DELAY = 0x56AA
_DISPLAY_WIDTH = 0x54B0
_DISPLAY_HEIGHT = 0x54BA
_DISPLAY_UNIT = 0x54B2
_ASPECT_RATIO = 3
_HEADER = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackFacts:
    """What to write into one track.

    Attributes
    ----------
    aspect : Fraction or None
        Shape of the displayed picture, width over height.
    frame_duration : Fraction or None
        Seconds per frame of a constant rate.
    delay : Fraction or None
        Seconds of sound that the decoder gives out before time zero.
    """

    aspect: Fraction | None = None
    frame_duration: Fraction | None = None
    delay: Fraction | None = None


@dataclass(frozen=True, slots=True)
class _Element:
    name: int
    start: int
    body: int
    end: int


def amend(path: str, facts: dict[int, TrackFacts]) -> None:
    """Write facts into the tracks of a finished file.

    Parameters
    ----------
    path : str
    facts : dict
        Facts by track number, from 1.
    """
    with open(path, "r+b") as file:
        data = file.read(_HEADER)
        try:
            start, patched = _patched(data, facts)
        except (IndexError, ValueError, KeyError, StopIteration, OverflowError) as error:
            raise MediaWriteError(
                f"the header of {path} must have room for its facts ({error}); try .mp4."
            ) from error
        file.seek(start)
        file.write(patched)


def _patched(data: bytes, facts: dict[int, TrackFacts]) -> tuple[int, bytes]:
    segment = next(e for e in _children(data, 0, len(data)) if e.name == _SEGMENT)
    top = _children(data, segment.body, len(data), until=_TRACKS)
    head = next(e for e in top if e.name == _SEEK_HEAD)
    tracks = top[-1]
    void = next(e for e in top if e.name == _VOID and e.start >= head.end)
    between = data[void.end : tracks.start]
    old_size = tracks.end - tracks.start
    new_tracks = _rewritten_tracks(data, tracks, facts, 0)
    if len(new_tracks) < old_size:
        # Never shorter than before: positions in the table of contents may only become smaller numbers.
        new_tracks = _rewritten_tracks(data, tracks, facts, max(2, old_size - len(new_tracks)))
    grown = len(new_tracks) - old_size
    room = void.end - void.start - grown
    if room == 1 or room < 0:
        raise ValueError(f"{grown} bytes are needed, {void.end - void.start} are there")
    moved = {e.start - segment.body: -grown for e in top if e.start >= void.end}
    new_head = _rewritten_head(data, head, moved)
    if len(new_head) != head.end - head.start:
        raise ValueError("the table of contents changed its size")
    return head.start, new_head + data[head.end : void.start] + _void(room) + between + new_tracks


def _rewritten_tracks(data: bytes, tracks: _Element, facts: dict[int, TrackFacts], padding: int) -> bytes:
    body = b""
    for entry in _children(data, tracks.body, tracks.end):
        if entry.name == _TRACK:
            children = _children(data, entry.body, entry.end)
            number = next(_uint(data, e) for e in children if e.name == _TRACK_NUMBER)
            body += _rewritten_track(data, children, facts.get(number, TrackFacts()))
        elif entry.name != _CRC:
            body += data[entry.start : entry.end]
    body += _void(padding)
    # WebM files carry no checksums.
    has_crc = any(e.name == _CRC for e in _children(data, tracks.body, tracks.end))
    return _element(_TRACKS, _checked(body) if has_crc else body)


def _rewritten_track(data: bytes, children: list[_Element], facts: TrackFacts) -> bytes:
    body = b""
    for child in children:
        raw = data[child.start : child.end]
        if child.name == _VOID or (child.name == _DEFAULT_DURATION and facts.frame_duration):
            continue
        if child.name == _VIDEO and facts.aspect:
            shown = (_DISPLAY_WIDTH, _DISPLAY_HEIGHT, _DISPLAY_UNIT)
            inner = _children(data, child.body, child.end)
            kept = b"".join(data[e.start : e.end] for e in inner if e.name not in shown)
            kept += _number(_DISPLAY_WIDTH, facts.aspect.numerator)
            kept += _number(_DISPLAY_HEIGHT, facts.aspect.denominator)
            kept += _number(_DISPLAY_UNIT, _ASPECT_RATIO)
            raw = _element(_VIDEO, kept)
        body += raw
    if facts.frame_duration:
        body += _number(_DEFAULT_DURATION, round(facts.frame_duration * 10**9))
    if facts.delay:
        body += _number(_CODEC_DELAY, round(facts.delay * 10**9))
    return _element(_TRACK, body)


def _rewritten_head(data: bytes, head: _Element, moved: dict[int, int]) -> bytes:
    body = b""
    for entry in _children(data, head.body, head.end):
        if entry.name == _CRC:
            continue
        raw = data[entry.start : entry.end]
        if entry.name == _SEEK:
            place = next(e for e in _children(data, entry.body, entry.end) if e.name == _SEEK_POSITION)
            value = _uint(data, place)
            value += moved.get(value, 0)
            raw = data[entry.start : place.body] + value.to_bytes(place.end - place.body, "big")
        body += raw
    has_crc = any(e.name == _CRC for e in _children(data, head.body, head.end))
    return data[head.start : head.body] + (_checked(body) if has_crc else body)


def _checked(body: bytes) -> bytes:
    """Contents of a master element with the checksum that Matroska puts first."""
    return bytes([_CRC, 0x84]) + zlib.crc32(body).to_bytes(4, "little") + body


def _children(data: bytes, start: int, end: int, until: int | None = None) -> list[_Element]:
    found = []
    while start < end:
        name, name_size = _vint(data, start, keep_marker=True)
        size, size_size = _vint(data, start + name_size)
        body = start + name_size + size_size
        stop = end if size == (1 << (7 * size_size)) - 1 else body + size
        found.append(_Element(name, start, body, stop))
        if name in (until, _SEGMENT):
            break
        start = stop
    return found


def _vint(data: bytes, place: int, *, keep_marker: bool = False) -> tuple[int, int]:
    first = data[place]
    size = 9 - first.bit_length()
    if size > 8:
        raise ValueError("not a Matroska number")
    value = first if keep_marker else first & ((1 << (8 - size)) - 1)
    for byte in data[place + 1 : place + size]:
        value = value << 8 | byte
    return value, size


def _uint(data: bytes, element: _Element) -> int:
    return int.from_bytes(data[element.body : element.end], "big")


def _element(name: int, body: bytes) -> bytes:
    size = len(body)
    width = 1
    while size >= (1 << (7 * width)) - 1:
        width += 1
    return _name(name) + (size | 1 << (7 * width)).to_bytes(width, "big") + body


def _number(name: int, value: int) -> bytes:
    return _element(name, value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big"))


def _name(name: int) -> bytes:
    return name.to_bytes((name.bit_length() + 7) // 8, "big")


def _void(size: int) -> bytes:
    """Padding of exactly this many bytes."""
    if size == 0:
        return b""
    if size < 10:
        return bytes([_VOID, 0x80 | (size - 2)]) + bytes(size - 2)
    return bytes([_VOID]) + ((size - 9) | 1 << 56).to_bytes(8, "big") + bytes(size - 9)
