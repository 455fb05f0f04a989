"""How large the pictures of a file say they are, from a few bytes of it: before anything is decoded."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
from collections.abc import Callable, Iterator

Bytes = bytes | bytearray | mmap.mmap
Size = tuple[int, int]

_JPEG_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}
_SIZE_TAGS, _TILE_TAGS = (256, 257), (322, 323)
"""Width and height of a page of a TIFF file, and of the parts that it is decoded by."""
_TIFF_KINDS = {3: "H", 4: "I", 16: "Q"}


def stated_size(path: str | os.PathLike[str]) -> Size | None:
    """Width and height of the pictures of a video or an image, the largest of a TIFF; None where nothing says them."""
    with open(path, "rb") as stream:
        if not stream.read(1):
            return None
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            kind = _kind(data)
            if kind is not None:
                return _said(kind, data)
            if data[:6] in (b"GIF87a", b"GIF89a"):
                return _said(lambda data: _numbers("<HH", data, 6), data)
    return _video(os.fspath(path))


def image_size(data: Bytes) -> Size | None:
    """Width and height of an image that may be decoded; None of any other kind, and of one that cannot be whole."""
    kind = _kind(data)
    return None if kind is None else _said(kind, data)


def _said(kind: Callable[[Bytes], Size | None], data: Bytes) -> Size | None:
    try:
        return kind(data)
    except (struct.error, IndexError, ValueError):
        return None


def _kind(data: Bytes) -> Callable[[Bytes], Size | None] | None:
    """Who reads the size of an image, by its first bytes."""
    for magic, reader in _KINDS.items():
        if re.match(magic, data[:16], re.DOTALL):
            return reader
    return None


def _numbers(form: str, data: Bytes, at: int) -> Size:
    first, second = struct.unpack_from(form, data, at)
    return first, second


def _png(data: Bytes) -> Size | None:
    """None where a chunk would reach beyond the file: decoders make room for it before they look."""
    at = 8
    while at + 8 <= len(data):
        end = at + 12 + struct.unpack_from(">I", data, at)[0]
        if data[at + 4 : at + 8] == b"IEND":
            return _numbers(">II", data, 16)
        at = end
    return None


def _bmp(data: Bytes) -> Size:
    if struct.unpack_from("<I", data, 14)[0] == 12:
        return _numbers("<HH", data, 18)
    width, height = _numbers("<ii", data, 18)
    return abs(width), abs(height)


def _jpeg(data: Bytes) -> Size | None:
    at = data.find(b"\xff", 2)
    while at >= 0:
        marker = data[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = _numbers(">HH", data, at + 5)
            return width, height
        alone = marker in (0, 1) or 0xD0 <= marker <= 0xD8
        step = 1 if marker == 0xFF else 2 if alone else 2 + struct.unpack_from(">H", data, at + 2)[0]
        at = data.find(b"\xff", at + step)
    return None


def _webp(data: Bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = _numbers("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
    return width, height


def _netpbm(data: Bytes) -> Size:
    words = re.sub(rb"#[^\n]*", b" ", data[2:4096]).split(maxsplit=2)
    return int(words[0]), int(words[1])


def _jpeg2000(data: Bytes) -> Size | None:
    # The code stream says it, whatever its wrapping: marker, length, capabilities, then the size.
    at = data.find(b"\xff\x4f\xff\x51")
    return _numbers(">II", data, at + 8) if at >= 0 else None


def _tiff(data: Bytes) -> Size | None:
    sizes = tiff_sizes(data)
    return max(sizes, key=lambda size: size[0] * size[1]) if sizes else None


def tiff_sizes(data: Bytes) -> list[Size]:
    """Width and height of every page of a TIFF file, or of its tiles where these are larger, as far as it can be read."""
    sizes = []
    with contextlib.suppress(struct.error):
        for entries in tiff_pages(data):
            found = {tag: value for tag, _, value in entries}
            width, height = (max(found.get(a, 0), found.get(b, 0)) for a, b in zip(_SIZE_TAGS, _TILE_TAGS))
            if width and height:
                sizes.append((width, height))
    return sizes


def tiff_pages(data: Bytes) -> Iterator[list[tuple[int, int, int]]]:
    """The entries of every page of a TIFF or BigTIFF file: tag, place of its value, the value as one number."""
    order = "<" if data[:2] == b"II" else ">"
    big = struct.unpack_from(order + "H", data, 2)[0] == 43
    count, length, link = ("Q", 20, "Q") if big else ("H", 12, "I")
    room = struct.calcsize(order + link)
    place = struct.unpack_from(order + link, data, 8 if big else 4)[0]
    seen: set[int] = set()
    while place and place not in seen:
        seen.add(place)
        first = place + struct.calcsize(order + count)
        last = first + struct.unpack_from(order + count, data, place)[0] * length
        entries = []
        for at in range(first, last, length):
            tag, kind = struct.unpack_from(order + "HH", data, at)
            value = at + length - room
            entries.append(
                (tag, value, struct.unpack_from(order + _TIFF_KINDS.get(kind, link), data, value)[0])
            )
        yield entries
        place = struct.unpack_from(order + link, data, last)[0]


_KINDS: dict[bytes, Callable[[Bytes], Size | None]] = {
    rb"\x89PNG\r\n\x1a\n": _png,
    rb"\xff\xd8": _jpeg,
    rb"BM": _bmp,
    rb"II[*+]\0|MM\0[*+]": _tiff,
    rb"RIFF....WEBP": _webp,
    rb"P[1-6]\s": _netpbm,
    rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51": _jpeg2000,
}
"""Kinds of images that are decoded, by their first bytes. OpenCV would read others, too, whatever their name says."""


def _video(path: str) -> Size | None:
    import av

    from videorestore.media import probe

    try:
        with probe.open_input(path) as container:
            video = probe.choose_stream(container, None)
            context = None if video is None else video.codec_context
            return None if context is None else (context.width, context.height)
    except (av.error.FFmpegError, OSError, ValueError):
        return None
