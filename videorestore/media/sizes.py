"""How large the pictures of a file say they are, from a few bytes of it: before anything is decoded."""

from __future__ import annotations

import os
import struct
from pathlib import Path

_HEAD = 32
_JPEG_HEAD = 1 << 17
"""Bytes from the start of an image among which its size stands; in a JPEG the camera's notes come first."""

_JPEG_FRAMES = {0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF}


def stated_size(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Width and height of the pictures of a video or an image; None where nothing says them."""
    with open(path, "rb") as stream:
        head = stream.read(_HEAD)
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", head[16:24])
        if head[:6] in (b"GIF87a", b"GIF89a"):
            return struct.unpack("<HH", head[6:10])
        if head.startswith(b"BM"):
            width, height = struct.unpack("<ii", head[18:26])
            return abs(width), abs(height)
        if head.startswith(b"\xff\xd8"):
            with open(path, "rb") as stream:
                return _jpeg(stream.read(_JPEG_HEAD))
        if head[:4] in (b"II*\0", b"MM\0*"):
            return _tiff(Path(path), "<" if head[:2] == b"II" else ">")
        return _video(os.fspath(path))
    except (struct.error, IndexError):
        return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    at = 2
    while head[at] == 0xFF:
        marker = head[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + struct.unpack(">H", head[at + 2 : at + 4])[0]
    return None


def _tiff(path: Path, order: str) -> tuple[int, int] | None:
    """Of the first page."""
    with path.open("rb") as stream:
        stream.seek(4)
        stream.seek(struct.unpack(order + "I", stream.read(4))[0])
        count = struct.unpack(order + "H", stream.read(2))[0]
        found = {}
        for _ in range(count):
            entry = stream.read(12)
            tag, kind = struct.unpack(order + "HH", entry[:4])
            if tag in (256, 257):
                found[tag] = struct.unpack(
                    order + ("H" if kind == 3 else "I"), entry[8 : 10 if kind == 3 else 12]
                )[0]
    return (found[256], found[257]) if len(found) == 2 else None


def _video(path: str) -> tuple[int, int] | None:
    import av

    from videorestore.media import probe

    try:
        with probe.open_input(path) as container:
            video = probe.choose_stream(container, None)
            context = None if video is None else video.codec_context
            return None if context is None else (context.width, context.height)
    except (av.error.FFmpegError, OSError, ValueError):
        return None
