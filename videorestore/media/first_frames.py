"""A first look at a stream: the decoder knows size, format and rotation better than the header."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from videorestore.clip import PixelFormat
from videorestore.colour import assumed_matrix
from videorestore.errors import MediaReadError
from videorestore.media import probe
from videorestore.media.decoder import Decoder, Log
from videorestore.media.pixels import Layout, conversion_for, layout_of, planes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """What the first frames of a stream show.

    Attributes
    ----------
    width, height : int
        As coded, before any rotation.
    name : str
        FFmpeg's pixel format.
    format : PixelFormat
        As coded; matrix "unknown" where the stream does not say.
    stamps : tuple
        ``(pts, dts)`` of the frames looked at.
    turns : tuple of (int, bool)
        Quarter turns and mirroring that bring the picture upright.
    range_known : bool
    primaries, transfer : str
    interlaced : bool
    opaque : bool
        There is an alpha channel, but nothing in it.
    hdr : dict
        Static HDR metadata.
    """

    width: int
    height: int
    name: str
    format: PixelFormat
    stamps: tuple[tuple[int | None, int | None], ...]
    turns: tuple[int, bool]
    range_known: bool
    primaries: str
    transfer: str
    interlaced: bool
    opaque: bool
    hdr: dict[str, str]


def first_frames(decoder: Decoder, path: str, *, frames: int, gif: bool) -> First:
    """Decode the first frames.

    Parameters
    ----------
    decoder : Decoder
    path : str
        For messages.
    frames : int
        How many stamps are wanted.
    gif : bool
        Frames come with alpha whether or not the picture uses it: look at all of them.
    """
    log = Log()
    first: Any = None
    stamps: list[tuple[int | None, int | None]] = []
    for item in decoder.pictures(log, careful=True, strict=False):
        first = first or item.picture
        stamps.append((item.pts, item.dts))
        if len(stamps) >= frames:
            break
    if first is None:
        why = f" ({log.losses[0]})" if log.losses else ""
        raise MediaReadError(
            f"{path} must hold at least one frame that can be decoded, found none{why}; check the file."
        )
    layout = readable_layout(first.format)
    opaque = False
    if gif and layout.format.alpha:
        pictures = decoder.pictures(log, careful=True, strict=False)
        opaque = all(bool((planes_of(i.picture, layout)[-1] == 255).all()) for i in pictures)
    return First(
        width=first.width,
        height=first.height,
        name=first.format.name,
        format=_tagged(replace(layout.format, alpha=layout.format.alpha and not opaque), first),
        stamps=tuple(stamps),
        turns=probe.turns_of(first),
        range_known=first.color_range in probe.RANGES or first.format.name.startswith("yuvj"),
        primaries=probe.PRIMARIES.get(first.color_primaries, "unknown"),
        transfer=probe.TRANSFERS.get(first.color_trc, "unknown"),
        interlaced=bool(first.interlaced_frame),
        opaque=opaque,
        hdr=probe.hdr_of(first),
    )


def readable_layout(form: Any) -> Layout:
    """Layout of a pixel format, or of the one that it is converted to."""
    layout = layout_of(form.name) or layout_of(conversion(form)[0])
    assert layout is not None
    return layout


def conversion(form: Any) -> tuple[str, bool]:
    """Name of the format that a picture without a layout is converted to, and whether nothing is lost."""
    bits = max((c.bits for c in form.components), default=8)
    alpha = any(c.is_alpha for c in form.components)
    return conversion_for(form.name, len(form.components), bits, rgb=bool(form.is_rgb), alpha=alpha)


def upright(pixel: PixelFormat, turns: int, height: int) -> PixelFormat:
    """Format of the upright picture, with a matrix assumed where none is known."""
    if pixel.model == "yuv" and pixel.matrix == "unknown":
        pixel = replace(pixel, matrix=assumed_matrix(height))
    sx, sy = pixel.subsampling
    return replace(pixel, subsampling=(sy, sx)) if turns % 2 else pixel


def _tagged(pixel: PixelFormat, picture: Any) -> PixelFormat:
    """The layout's format with the matrix and range that the picture carries."""
    if pixel.model == "rgb":
        return pixel
    tagged = probe.RANGES.get(picture.color_range)
    full = pixel.full_range if tagged is None else tagged == "pc"
    matrix = probe.MATRICES.get(picture.colorspace, "unknown") if pixel.model == "yuv" else "unknown"
    return replace(pixel, full_range=full, matrix="unknown" if matrix == "gbr" else matrix)
