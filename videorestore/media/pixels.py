"""FFmpeg's pixel formats on one side, planes of samples on the other."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from videorestore.clip import Frame, PixelFormat, Samples

Model = Literal["yuv", "rgb", "grey"]
_PLANAR = re.compile(r"(yuvj|yuva|yuv|gbrap|gbrp|gray)(\d{3}p)?(9|10|12|14|16|f32)?(le|be)?$")
_SEMI_PLANAR = re.compile(r"(nv|p)(\d{2,3})(le|be)?$")
_SUBSAMPLING = {"444": (0, 0), "422": (1, 0), "420": (1, 1), "440": (0, 1), "411": (2, 0), "410": (2, 2)}

# Order of the channels of packed formats: name -> (channels, bits, position of R, G, B[, A]).
_PACKED: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "rgb24": (3, 8, (0, 1, 2)),
    "bgr24": (3, 8, (2, 1, 0)),
    "rgba": (4, 8, (0, 1, 2, 3)),
    "bgra": (4, 8, (2, 1, 0, 3)),
    "argb": (4, 8, (1, 2, 3, 0)),
    "abgr": (4, 8, (3, 2, 1, 0)),
    "rgb0": (4, 8, (0, 1, 2)),
    "bgr0": (4, 8, (2, 1, 0)),
    "0rgb": (4, 8, (1, 2, 3)),
    "0bgr": (4, 8, (3, 2, 1)),
    "rgb48": (3, 16, (0, 1, 2)),
    "bgr48": (3, 16, (2, 1, 0)),
    "rgba64": (4, 16, (0, 1, 2, 3)),
    "bgra64": (4, 16, (2, 1, 0, 3)),
    "ya8": (2, 8, (0, 1)),
    "ya16": (2, 16, (0, 1)),
}

# Formats that have a nearer one of ours than the general rule would take.
_NEAREST = {
    "yuyv422": "yuv422p",
    "uyvy422": "yuv422p",
    "yvyu422": "yuv422p",
    "uyyvyy411": "yuv411p",
    "y210le": "yuv422p10le",
    "y212le": "yuv422p12le",
    "xv30le": "yuv444p10le",
    "xv36le": "yuv444p12le",
    "x2rgb10le": "gbrp10le",
    "x2bgr10le": "gbrp10le",
    "pal8": "rgba",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one FFmpeg pixel format lies in memory.

    Attributes
    ----------
    format : PixelFormat
        Matrix and range are filled in by the reader.
    kind : {"planar", "semi", "packed"}
    order : tuple of int
        Planes (planar) or channels (packed, semi-planar chroma) in the order of ``format``.
    channels : int
        Samples per pixel of a packed format.
    shift : int
        Low bits that carry nothing (p010: 6).
    big_endian : bool
    """

    format: PixelFormat
    kind: str
    order: tuple[int, ...]
    channels: int = 1
    shift: int = 0
    big_endian: bool = False


def layout_of(name: str) -> Layout | None:
    """The layout of a pixel format by FFmpeg's name; None where it must be converted first."""
    base, big = (name[:-2], name.endswith("be")) if name.endswith(("le", "be")) else (name, False)
    if base in _PACKED:
        channels, bits, order = _PACKED[base]
        model: Model = "grey" if base.startswith("ya") else "rgb"
        alpha = len(order) == (2 if model == "grey" else 4)
        pixel = PixelFormat(
            model=model, depth=bits, alpha=alpha, matrix="gbr" if model == "rgb" else "unknown"
        )
        return Layout(format=pixel, kind="packed", order=order, channels=channels, big_endian=big)
    found = _PLANAR.match(name)
    if found:
        return _planar(*found.groups())
    found = _SEMI_PLANAR.match(name)
    return _semi_planar(*found.groups()) if found else None


def _planar(family: str, sub: str | None, depth: str | None, endian: str | None) -> Layout | None:
    bits = 8 if depth is None else 32 if depth == "f32" else int(depth)
    big = endian == "be"
    if family == "gray" and sub is None:
        pixel = PixelFormat(model="grey", depth=bits, matrix="unknown")
        return Layout(format=pixel, kind="planar", order=(0,), big_endian=big)
    if family.startswith("gbr") and sub is None:
        alpha = family == "gbrap"
        # FFmpeg stores G, B, R.
        order = (2, 0, 1, 3) if alpha else (2, 0, 1)
        pixel = PixelFormat(model="rgb", depth=bits, alpha=alpha)
        return Layout(format=pixel, kind="planar", order=order, big_endian=big)
    if family.startswith("yuv") and sub is not None and sub[:3] in _SUBSAMPLING and bits <= 16:
        alpha = family == "yuva"
        pixel = PixelFormat(
            model="yuv",
            depth=bits,
            subsampling=_SUBSAMPLING[sub[:3]],
            alpha=alpha,
            matrix="unknown",
            full_range=family == "yuvj",
        )
        return Layout(format=pixel, kind="planar", order=tuple(range(4 if alpha else 3)), big_endian=big)
    return None


def _semi_planar(family: str, number: str, endian: str | None) -> Layout | None:
    if family == "nv":
        known = {"12": (1, 1), "21": (1, 1), "16": (1, 0), "24": (0, 0), "42": (0, 0), "20": (1, 0)}
        bits, sub = (10 if number == "20" else 8), known.get(number)
        shift = 0
    else:
        # p010, p210, p410 keep their samples in the high bits of 16.
        known = {"0": (1, 1), "2": (1, 0), "4": (0, 0)}
        bits, sub = int(number[1:]), known.get(number[0])
        shift = 16 - bits
    if sub is None or len(number) != (2 if family == "nv" else 3) or bits not in (8, 10, 12, 16):
        return None
    order = (1, 0) if number in ("21", "42") and family == "nv" else (0, 1)
    pixel = PixelFormat(model="yuv", depth=bits, subsampling=sub, matrix="unknown", full_range=False)
    return Layout(format=pixel, kind="semi", order=order, shift=shift, big_endian=endian == "be")


def conversion_for(name: str, components: int, bits: int, *, rgb: bool, alpha: bool) -> str:
    """The format that a frame without a layout is converted to."""
    if name in _NEAREST:
        return _NEAREST[name]
    if rgb:
        return ("gbrap16le" if alpha else "gbrp16le") if bits > 8 else ("rgba" if alpha else "rgb24")
    if components <= 2:
        return "gray16le" if bits > 8 else "gray"
    return ("yuva444p" if alpha else "yuv444p") + ("16le" if bits > 8 else "")


def _rows(plane: Any, height: int, width: int, dtype: np.dtype[Any]) -> Samples:
    """A view ``(height, width)`` of the samples of one of PyAV's planes; the padding of a line is left out."""
    stride = plane.line_size
    if stride < 0:
        # Stored bottom up: the pointer is at the last line in memory, so the buffer interface cannot show it.
        start = plane.buffer_ptr + stride * (height - 1)
        raw = np.frombuffer((ctypes.c_uint8 * (-stride * height)).from_address(start), np.uint8)
        return raw.reshape(height, -stride)[::-1, : width * dtype.itemsize].copy().view(dtype)
    raw = np.frombuffer(plane, np.uint8)
    if raw.size < stride * (height - 1) + width * dtype.itemsize:
        raise ValueError("a plane of the decoder is shorter than its picture")
    raw = (
        raw[: stride * height]
        if raw.size >= stride * height
        else np.pad(raw, (0, stride * height - raw.size))
    )
    return raw.reshape(height, stride)[:, : width * dtype.itemsize].view(dtype)


def planes_of(frame: Any, layout: Layout) -> tuple[Samples, ...]:
    """The samples of a decoded frame as planes in the order of ``layout.format``.

    Parameters
    ----------
    frame : av.VideoFrame
    layout : Layout
        Of the frame's own pixel format.

    Returns
    -------
    tuple of ndarray
        Views into the decoder's memory wherever the layout allows it; they keep the frame alive.
    """
    pixel = layout.format
    stored = pixel.dtype.newbyteorder(">") if layout.big_endian else pixel.dtype
    height, width = frame.height, frame.width
    if layout.kind == "packed":
        packed = _rows(frame.planes[0], height, width * layout.channels, stored)
        pixels = packed.reshape(height, width, layout.channels)
        return tuple(np.ascontiguousarray(pixels[:, :, k], dtype=pixel.dtype) for k in layout.order)
    shapes = pixel.plane_shapes(height, width)
    if layout.kind == "semi":
        luma = _rows(frame.planes[0], height, width, stored)
        rows, columns = shapes[1]
        chroma = _rows(frame.planes[1], rows, columns * 2, stored).reshape(rows, columns, 2)
        planes = [luma, chroma[:, :, layout.order[0]], chroma[:, :, layout.order[1]]]
        return tuple(np.ascontiguousarray(p, dtype=pixel.dtype) >> layout.shift for p in planes)
    planes = [_rows(frame.planes[k], *shape, stored) for k, shape in zip(layout.order, shapes)]
    return tuple(p.astype(pixel.dtype) if layout.big_endian else p for p in planes)


def ffmpeg_name(pixel: PixelFormat) -> str:
    """FFmpeg's planar (or packed grey/alpha) name for a format; full-range 8-bit YUV stays ``yuv``, not ``yuvj``.

    Float samples have no name here; the caller reduces them to 16 bit first.
    """
    depth = "" if pixel.depth == 8 else f"{pixel.depth}le"
    if pixel.model == "grey":
        if pixel.alpha:
            return "ya8" if pixel.depth == 8 else "ya16le"
        return f"gray{depth}"
    if pixel.model == "rgb":
        return ("gbrap" if pixel.alpha else "gbrp") + depth
    names = {step: name for name, step in _SUBSAMPLING.items()}
    return f"yuv{'a' if pixel.alpha else ''}{names[pixel.subsampling]}p{depth}"


def pack(planes: tuple[Samples, ...], pixel: PixelFormat, out: Any) -> None:
    """Write planes into a buffer as FFmpeg's raw video expects them for `ffmpeg_name`.

    Parameters
    ----------
    planes : tuple of ndarray
    pixel : PixelFormat
    out : writable buffer of `packed_size` bytes
    """
    flat = np.frombuffer(out, pixel.dtype)
    if pixel.model == "grey" and pixel.alpha:
        pairs = flat.reshape(*planes[0].shape, 2)
        pairs[:, :, 0], pairs[:, :, 1] = planes[0], planes[1]
        return
    ordered = planes
    if pixel.model == "rgb":
        red, green, blue = planes[:3]
        ordered = (green, blue, red, *planes[3:])
    start = 0
    for plane in ordered:
        np.copyto(flat[start : start + plane.size].reshape(plane.shape), plane)
        start += plane.size


def packed_size(pixel: PixelFormat, height: int, width: int) -> int:
    """Bytes of one frame as raw video."""
    return sum(h * w for h, w in pixel.plane_shapes(height, width)) * pixel.dtype.itemsize


def pipeable(pixel: PixelFormat) -> PixelFormat:
    """The format itself where raw video has it, else the nearest one that holds all its samples."""
    sub, depth = pixel.subsampling, pixel.depth
    if depth == 32 or (pixel.alpha and depth == (14 if pixel.model == "yuv" else 9)):
        depth = 16
    if pixel.model == "grey" and pixel.alpha and depth != 8:
        depth = 16
    if pixel.model == "yuv" and (
        (sub == (0, 1) and (depth > 8 or pixel.alpha))
        or (sub[0] == 2 and (depth > 8 or pixel.alpha))
        or (sub == (1, 1) and pixel.alpha and depth == 12)
    ):
        sub = (0, 0)
    return replace(pixel, depth=depth, subsampling=sub)


def as_piped(frame: Frame, piped: PixelFormat) -> tuple[Samples, ...]:
    """Planes of a frame in the format that `pipeable` named."""
    pixel = frame.format
    planes = frame.planes
    if pixel.subsampling != piped.subsampling:
        sx, sy = pixel.subsampling
        planes = tuple(
            np.repeat(np.repeat(p, 1 << sy, axis=0), 1 << sx, axis=1)[: frame.height, : frame.width]
            if k in (1, 2)
            else p
            for k, p in enumerate(planes)
        )
    if pixel.depth == 32:
        return tuple(np.rint(np.clip(np.nan_to_num(p), 0.0, 1.0) * 65535.0).astype(np.uint16) for p in planes)
    if pixel.depth != piped.depth:
        if pixel.full_range:
            factor = ((1 << piped.depth) - 1) / ((1 << pixel.depth) - 1)
            return tuple(np.rint(p * factor).astype(piped.dtype) for p in planes)
        return tuple(p.astype(piped.dtype) << (piped.depth - pixel.depth) for p in planes)
    return planes
