"""A first look at a stream: the decoder knows size, format and rotation better than the header."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from videorestore.clip import PixelFormat
from videorestore.colour import assumed_matrix
from videorestore.errors import MediaReadError
from videorestore.media import probe
from videorestore.media.decoder import Decoder, Log
from videorestore.media.pixels import Layout, conversion_for, layout_of, planes_of

Stamps = tuple[tuple[int | None, int | None], ...]
"""``(pts, dts)`` of frames."""


def first_frames(decoder: Decoder, path: str, *, frames: int, gif: bool) -> tuple[Any, Stamps, bool]:
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

    Returns
    -------
    first : av.VideoFrame
    stamps : Stamps
        Of the frames looked at.
    opaque : bool
        There is an alpha channel, but nothing in it.
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
    return first, tuple(stamps), opaque


def facts_of(first: Any, opaque: bool, turns: int, height: int) -> dict[str, Any]:
    """What the first frame says of the upright clip, by the names of `ClipInfo`."""
    coded = readable_layout(first.format).format
    pixel = _tagged(replace(coded, alpha=coded.alpha and not opaque), first)
    return {
        "format": _upright(pixel, turns, height),
        "primaries": probe.PRIMARIES.get(first.color_primaries, "unknown"),
        "transfer": probe.TRANSFERS.get(first.color_trc, "unknown"),
        "matrix_known": pixel.matrix != "unknown" or pixel.model != "yuv",
        "extra": {
            "range_known": first.color_range in probe.RANGES or first.format.name.startswith("yuvj"),
            "interlaced": bool(first.interlaced_frame),
            **probe.hdr_of(first),
        },
    }


def readable_layout(form: Any) -> Layout:
    """Layout of a pixel format, or of the one that it is converted to."""
    layout = layout_of(form.name) or layout_of(conversion(form))
    assert layout is not None
    return layout


def conversion(form: Any) -> str:
    """Name of the format that a picture without a layout is converted to."""
    bits = max((c.bits for c in form.components), default=8)
    alpha = any(c.is_alpha for c in form.components)
    return conversion_for(form.name, len(form.components), bits, rgb=bool(form.is_rgb), alpha=alpha)


def _upright(pixel: PixelFormat, turns: int, height: int) -> PixelFormat:
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
