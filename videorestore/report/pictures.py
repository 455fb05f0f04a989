"""Small encoded pictures for the page: frames, differences, sd maps."""

from __future__ import annotations

import base64
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.report.score import luma, on_255

Picture = NDArray[np.uint8]
"""RGB, ``(height, width, 3)``."""

Map = NDArray[np.float32]
"""One value a pixel, ``(height, width)``."""

SIDE = 960
MAP_SIDE = 480
THUMBNAIL = 24


def shrink(picture: NDArray[Any], side: int) -> NDArray[Any]:
    """The picture with its longer side at most ``side``; never enlarged."""
    height, width = picture.shape[:2]
    scale = side / max(height, width)
    if scale >= 1:
        return picture
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    return np.asarray(small).reshape(size[1], size[0], *picture.shape[2:])


def as_rgb(picture: NDArray[Any]) -> Picture:
    """8-bit RGB of a grey, RGB or RGBA picture in 8 bits."""
    if picture.ndim == 2:
        picture = picture[..., None]
    if picture.shape[-1] < 3:
        picture = np.repeat(picture[..., :1], 3, axis=-1)
    return np.ascontiguousarray(picture[..., :3], dtype=np.uint8)


def eight_bit(picture: NDArray[Any]) -> Picture:
    """8-bit RGB of a picture as `videorestore.colour.to_rgb` gives it; missing pixels are black."""
    return as_rgb(np.rint(np.clip(np.nan_to_num(on_255(picture)), 0, 255)).astype(np.uint8))


def encode(picture: Picture, *, side: int = SIDE, quality: int = 87) -> str:
    """A picture as a data URI.

    Parameters
    ----------
    picture : ndarray, shape (height, width, 3)
    side : int
        Longest side.
    quality : int
        Of the JPEG, 1 to 100.
    """
    small = shrink(picture, side)
    # Small frames are shown enlarged, where coarse chroma would be seen.
    fine = max(small.shape[:2]) <= 480
    flags = [cv2.IMWRITE_JPEG_QUALITY, min(100, quality + 6) if fine else quality]
    if fine:
        flags += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444]
    _, data = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), flags)
    return "data:image/jpeg;base64," + base64.b64encode(data.tobytes()).decode("ascii")


def encode_exactly(picture: Picture) -> str:
    """A small picture as a data URI, without loss."""
    _, data = cv2.imencode(
        ".png", cv2.cvtColor(as_rgb(picture), cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 9]
    )
    return "data:image/png;base64," + base64.b64encode(data.tobytes()).decode("ascii")


def difference(before: Picture, after: Picture) -> Map:
    """What was taken away, in luma, small enough to keep until all are known."""
    return np.asarray(shrink(luma(before) - luma(after), MAP_SIDE), np.float16).astype(np.float32)


def draw_difference(values: Map, reach: float) -> Picture:
    """A signed map as grey: mid-grey is no difference, black and white are ``reach``."""
    grey = np.clip(127.5 + values * (127.5 / max(reach, 1e-6)), 0, 255).astype(np.uint8)
    return as_rgb(grey)


def draw_sd(values: Map, top: float) -> Picture:
    """An sd map in colours, dark where it is 0 and bright at ``top``."""
    level = np.clip(np.nan_to_num(values) * (255 / max(top, 1e-6)), 0, 255).astype(np.uint8)
    return as_rgb(cv2.cvtColor(cv2.applyColorMap(level, cv2.COLORMAP_INFERNO), cv2.COLOR_BGR2RGB))


def thumbnail(picture: Picture) -> Map:
    """A tiny grey version for the picture of the curve, ``(THUMBNAIL, THUMBNAIL)``."""
    return np.asarray(
        cv2.resize(luma(picture), (THUMBNAIL, THUMBNAIL), interpolation=cv2.INTER_AREA), np.float32
    )


def round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten, for a scale that people can read."""
    if not value > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.999))
