"""Native samples to RGB and back, exactly: matrices by name, range and depth.

Two ways to RGB exist. `to_rgb` is what a player shows (each chroma sample stands for the pixels it covers, values
rounded and clipped). `working` is what the engines compute on: chroma is interpolated so that the mean over the
pixels of each chroma sample is the sample itself. Taking that mean is how `native` goes back, so the two are
inverse to each other without a look at any other frame.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import FloatArray, Frame, Mask, PixelFormat, Samples
from videorestore.errors import InputError

_AROUND = 8
"""Pixels around a part of a frame that are read for its chroma: two samples of 4:1:1, and of both fields of 4:2:0."""

# Weights of red and blue in luma (ITU-T H.273, table 4).
_LUMA_WEIGHTS = {
    "bt709": (0.2126, 0.0722),
    "fcc": (0.30, 0.11),
    "bt470bg": (0.299, 0.114),
    "smpte170m": (0.299, 0.114),
    "smpte240m": (0.212, 0.087),
    "bt2020nc": (0.2627, 0.0593),
    "bt2020c": (0.2627, 0.0593),
}


def assumed_matrix(height: int) -> str:
    """The matrix that players assume where a file names none."""
    return "bt709" if height >= 720 else "smpte170m"


@lru_cache(maxsize=64)
def ycc_from_rgb(matrix: str) -> NDArray[np.float64]:
    """The matrix from R, G, B in 0..1 to luma in 0..1 and chroma in -0.5..0.5.

    Parameters
    ----------
    matrix : str
        FFmpeg's name of the colour matrix.

    Returns
    -------
    ndarray, shape (3, 3)
        Rows Y, Cb, Cr (Y, Cg, Co for "ycgco").
    """
    if matrix == "ycgco":
        return np.array([[0.25, 0.5, 0.25], [-0.25, 0.5, -0.25], [0.5, 0.0, -0.5]])
    red, blue = _LUMA_WEIGHTS.get(matrix, _LUMA_WEIGHTS["bt709"])
    luma = np.array([red, 1.0 - red - blue, blue])
    unit = np.eye(3)
    return np.stack([luma, (unit[2] - luma) / (2.0 * (1.0 - blue)), (unit[0] - luma) / (2.0 * (1.0 - red))])


def _scales(pixel: PixelFormat) -> tuple[float, float, float, float, float]:
    """Offset and span of luma, offset and span of chroma, and the largest code value."""
    if pixel.depth == 32:
        return 0.0, 1.0, 0.5, 1.0, 1.0
    top = float((1 << pixel.depth) - 1)
    half = float(1 << (pixel.depth - 1))
    if pixel.full_range:
        return 0.0, top, half, top, top
    unit = float(1 << (pixel.depth - 8))
    return 16.0 * unit, 219.0 * unit, half, 224.0 * unit, top


def _spread(plane: FloatArray, size: int, factor: int, axis: int, *, smooth: bool) -> FloatArray:
    """Chroma samples along one axis to pixels; the mean over each sample's pixels is the sample."""
    if factor == 1:
        return plane
    if not smooth:
        wide = np.repeat(plane, factor, axis)
        return wide[:size] if axis == 0 else wide[:, :size]
    padded = np.pad(plane, ((1, 1), (0, 0)) if axis == 0 else ((0, 0), (1, 1)), mode="edge")
    slope = padded[2:] - padded[:-2] if axis == 0 else padded[:, 2:] - padded[:, :-2]
    slope *= np.float32(0.5)
    if size % factor:
        # The last sample stands for fewer pixels than the others: only a constant keeps its mean.
        slope[(-1,) if axis == 0 else (slice(None), -1)] = 0.0
    parts = [plane + slope * np.float32((k - (factor - 1) / 2) / factor) for k in range(factor)]
    out: FloatArray = np.stack(parts, axis=1) if axis == 0 else _merged(parts)
    rows, columns = plane.shape
    return out.reshape(-1, columns)[:size] if axis == 0 else out.reshape(rows, -1)[:, :size]


def _merged(planes: list[FloatArray]) -> FloatArray:
    """Planes ``(height, width)`` as ``(height, width, n)``; NumPy takes several times as long."""
    import cv2

    return np.asarray(cv2.merge(planes)).reshape(*planes[0].shape, len(planes))


def _gather(full: FloatArray, factor: int, axis: int) -> FloatArray:
    """Means over the pixels of each chroma sample along one axis."""
    if factor == 1:
        return full
    full = np.moveaxis(full, axis, 0)
    size = full.shape[0]
    whole = size // factor * factor
    mean = full[0:whole:factor].copy()
    for k in range(1, factor):
        mean += full[k:whole:factor]
    mean /= np.float32(factor)
    if whole < size:
        mean = np.concatenate([mean, full[whole:].mean(axis=0, dtype=np.float32, keepdims=True)])
    return np.moveaxis(mean, 0, axis)


def _chroma(plane: Samples, pixel: PixelFormat, height: int, width: int, *, smooth: bool) -> FloatArray:
    sx, sy = pixel.subsampling
    rows = _spread(plane.astype(np.float32), height, 1 << sy, 0, smooth=smooth)
    return _spread(rows, width, 1 << sx, 1, smooth=smooth)


def _rgb(frame: Frame, top: float, *, smooth: bool) -> FloatArray:
    """RGB or grey on the scale 0..top, neither rounded nor clipped."""
    pixel, planes = frame.format, frame.planes
    offset, span, _, _, largest = _scales(pixel)
    if pixel.model == "grey":
        return ((planes[0].astype(np.float32) - np.float32(offset)) * np.float32(top / span))[:, :, None]
    out = np.empty((frame.height, frame.width, 3), np.float32)
    if pixel.model == "rgb":
        offset, span = (0.0, largest) if pixel.full_range else (offset, span)
        for k in range(3):
            out[:, :, k] = (planes[k].astype(np.float32) - np.float32(offset)) * np.float32(top / span)
        return out
    chroma = [_chroma(plane, pixel, frame.height, frame.width, smooth=smooth) for plane in planes[1:3]]
    stack = _merged([planes[0].astype(np.float32), *chroma])
    turn = rgb_from_samples(pixel, top)
    return _mixed(stack, turn[:, :3], turn[:, 3])


def rgb_from_samples(pixel: PixelFormat, top: float = 255.0) -> NDArray[np.float64]:
    """Weights ``(3, 4)`` of luma, the chroma samples and one in R, G and B on the scale 0..top."""
    offset, span, middle, chroma_span, _ = _scales(pixel)
    weights = np.linalg.inv(ycc_from_rgb(pixel.matrix)) * (top / np.array([span, chroma_span, chroma_span]))
    return np.column_stack([weights, -weights @ np.array([offset, middle, middle])])


def _mixed(stack: FloatArray, weights: NDArray[np.float64], shift: NDArray[np.float64]) -> FloatArray:
    """``weights @ pixel + shift`` for every pixel of ``(height, width, 3)``."""
    import cv2

    return np.asarray(cv2.transform(stack, np.column_stack([weights, shift])), np.float32)


def to_rgb(frame: Frame) -> Samples:
    """What a player shows.

    Parameters
    ----------
    frame : Frame

    Returns
    -------
    ndarray, shape (height, width, channels)
        RGB or grey with alpha last where there is one; uint8 for 8 bit, uint16 on the full 16-bit scale for
        9 to 16 bit, float32 in 0..1 for float samples.
    """
    pixel = frame.format
    largest = float((1 << pixel.depth) - 1) if pixel.depth < 32 else 1.0
    dtype = (
        np.dtype(np.float32) if pixel.depth == 32 else np.dtype(np.uint8 if pixel.depth == 8 else np.uint16)
    )
    top = {8: 255.0, 32: 1.0}.get(pixel.depth, 65535.0)
    if pixel.model != "yuv" and pixel.full_range and pixel.depth in (8, 16, 32):
        return np.stack(frame.planes, axis=-1)
    colour = _rgb(frame, top, smooth=False)
    if pixel.alpha:
        alpha = frame.planes[-1].astype(np.float32) * np.float32(top / largest)
        colour = np.concatenate([colour, alpha[:, :, None]], axis=2)
    return _quantise(colour, dtype, top)


def _quantise(values: FloatArray, dtype: np.dtype[np.generic], top: float) -> Samples:
    """Clip to 0..top and, for integers, round to nearest."""
    if dtype.kind == "f":
        return np.clip(values, 0.0, top).astype(dtype)
    return np.clip(np.rint(values), 0.0, top).astype(dtype)


def working(frame: Frame, part: tuple[slice, slice] | None = None) -> FloatArray:
    """What the engines compute on.

    Parameters
    ----------
    frame : Frame
    part : tuple of slice, optional
        Rows and columns that are wanted, from and to; no more is computed than they need.

    Returns
    -------
    ndarray of float32, shape (height, width, 3 or 1)
        RGB or grey on the 0..255 scale, not clipped, without alpha. NaN samples stay NaN.
    """
    if part is None:
        return _rgb(frame, 255.0, smooth=True)
    read = [
        slice(max(0, wanted.start - _AROUND) // _AROUND * _AROUND, min(length, wanted.stop + _AROUND))
        for wanted, length in zip(part, (frame.height, frame.width))
    ]
    shifts = [(0, 0), frame.format.subsampling, frame.format.subsampling, (0, 0)]
    planes = tuple(
        plane[_samples(read[0], down), _samples(read[1], across)]
        for plane, (across, down) in zip(frame.planes, shifts)
    )
    rows, columns = (slice(w.start - r.start, w.stop - r.start) for w, r in zip(part, read))
    return _rgb(replace(frame, planes=planes), 255.0, smooth=True)[rows, columns]


def _samples(pixels: slice, shift: int) -> slice:
    """Samples of a plane that has one for every ``1 << shift`` pixels."""
    return slice(pixels.start >> shift, -(-pixels.stop >> shift))


def native(pixels: FloatArray, like: Frame, *, keep: Mask | None = None) -> Frame:
    """Working pixels back in the format of a frame.

    Parameters
    ----------
    pixels : ndarray of float32, shape (height, width, 3 or 1)
        On the 0..255 scale.
    like : Frame
        Gives format, place in time, alpha and the samples that are kept.
    keep : ndarray of bool, shape (height, width), optional
        Where True, the samples of ``like`` stay as they are. A chroma sample is replaced only
        when none of the pixels that it covers is kept.

    Returns
    -------
    Frame
        Rounded to nearest and clipped to the range of the format; status "good".
    """
    pixel = like.format
    height, width = like.height, like.width
    if pixels.ndim != 3 or pixels.shape[:2] != (height, width) or pixels.shape[2] not in (1, pixel.colours):
        raise InputError(
            f"pixels must have shape ({height}, {width}, {pixel.colours}) like the frame, got {pixels.shape}; "
            "crop or convert them."
        )
    planes = planes_from_working(pixels, pixel)
    if keep is not None:
        planes = tuple(
            _keep_samples(new, old, keep, pixel, k) for k, (new, old) in enumerate(zip(planes, like.planes))
        )
    if pixel.alpha:
        planes = (*planes, like.planes[-1])
    return replace(like, planes=planes, status="good")


def _keep_samples(new: Samples, old: Samples, keep: Mask, pixel: PixelFormat, k: int) -> Samples:
    held: Any = keep
    if k > 0 and pixel.model == "yuv" and pixel.subsampling != (0, 0):
        sx, sy = pixel.subsampling
        step_y, step_x = 1 << sy, 1 << sx
        rows, columns = new.shape
        padded = np.zeros((rows * step_y, columns * step_x), np.bool_)
        padded[: keep.shape[0], : keep.shape[1]] = keep
        held = np.any(padded.reshape(rows, step_y, columns, step_x), axis=(1, 3))
    return np.where(held, old, new)


def planes_from_working(pixels: FloatArray, pixel: PixelFormat) -> tuple[Samples, ...]:
    """Colour planes (without alpha) of a format from float32 pixels ``(height, width, 1 or 3)`` on 0..255."""
    offset, span, middle, chroma_span, largest = _scales(pixel)
    if pixel.model == "grey":
        return (
            _quantise(pixels[:, :, 0] * np.float32(span / 255.0) + np.float32(offset), pixel.dtype, largest),
        )
    channels = [pixels[:, :, k if pixels.shape[2] == 3 else 0] for k in range(3)]
    if pixel.model == "rgb":
        return tuple(
            _quantise(c * np.float32(span / 255.0) + np.float32(offset), pixel.dtype, largest)
            for c in channels
        )
    scales = np.array([span, chroma_span, chroma_span])
    stack = np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)), np.float32)
    weights = ycc_from_rgb(pixel.matrix) / 255.0 * scales[:, None]
    mixed = _mixed(stack, weights, np.array([offset, middle, middle]))
    import cv2

    sx, sy = pixel.subsampling
    luma, *chroma = cv2.split(mixed)
    planes = [luma, *(_gather(_gather(plane, 1 << sy, 0), 1 << sx, 1) for plane in chroma)]
    return tuple(_quantise(plane, pixel.dtype, largest) for plane in planes)


def from_rgb(rgb: Samples, format: PixelFormat) -> tuple[Samples, ...]:
    """RGB or grey pixels into planes of a format.

    Parameters
    ----------
    rgb : ndarray, shape (height, width, channels)
        1 to 4 channels (2 and 4 with alpha); uint8, uint16 on the full 16-bit scale, or float in 0..1.
    format : PixelFormat
        Missing alpha is opaque; alpha that the format has no room for is dropped.

    Returns
    -------
    tuple of ndarray
    """
    if rgb.ndim != 3 or rgb.shape[2] not in (1, 2, 3, 4):
        raise InputError(
            f"pixels must have shape (height, width, 1 to 4 channels), got {rgb.shape}; reshape them."
        )
    has_alpha = rgb.shape[2] in (2, 4)
    colours = rgb.shape[2] - has_alpha
    top = 1.0 if rgb.dtype.kind == "f" else float(np.iinfo(rgb.dtype).max)
    same_scale = rgb.dtype == format.dtype and format.depth in (8, 16, 32)
    if same_scale and format.full_range and format.model != "yuv" and colours == format.colours:
        planes: tuple[Samples, ...] = tuple(np.ascontiguousarray(rgb[:, :, k]) for k in range(colours))
    else:
        pixels = rgb[:, :, :colours].astype(np.float32) * np.float32(255.0 / top)
        if format.model == "grey" and colours == 3:
            pixels = pixels @ ycc_from_rgb("bt709")[0].astype(np.float32)[:, None]
        planes = planes_from_working(pixels, format)
    if format.alpha:
        largest = 1.0 if format.depth == 32 else float((1 << format.depth) - 1)
        if has_alpha and same_scale:
            alpha: Samples = np.ascontiguousarray(rgb[:, :, -1])
        elif has_alpha:
            alpha = _quantise(
                rgb[:, :, -1].astype(np.float32) * np.float32(largest / top), format.dtype, largest
            )
        else:
            alpha = np.full(rgb.shape[:2], largest, format.dtype)
        planes = (*planes, alpha)
    return planes
