"""One door to every kind of input."""

from __future__ import annotations

import glob
import os
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore.clip import Clip, Samples
from videorestore.errors import InputError, MediaReadError
from videorestore.media.arrays import ArraySource
from videorestore.media.images import IMAGE_SUFFIXES, FolderSource, PagedSource
from videorestore.media.source import FrameIndex, Source
from videorestore.media.video import VideoSource

DEFAULT_FPS = Fraction(25)
"""Rate of folders, TIFF files and arrays, which store no times."""


def open_source(
    source: str | os.PathLike[str] | Samples | Clip,
    *,
    stream: int | None = None,
    fps: Fraction | int | str | None = None,
    index: FrameIndex | None = None,
) -> Source:
    """Open an input for reading.

    Parameters
    ----------
    source : path, ndarray or Clip
        A video file, an animated GIF, a folder or glob of images, a multi-page TIFF, a ``.npy`` file
        ``(n, height, width[, channels])``, or such an array in memory (uint8, uint16, float in 0..1; NaN is missing).
    stream : int, optional
        Number of the video stream in the file, as ffmpeg counts; the best one by default.
    fps : optional
        Rate of inputs that store no times; 25 by default.
    index : FrameIndex, optional
        The index of the same video file and stream, found before: nothing is then decoded twice.
    """
    rate = Fraction(fps) if fps is not None else None
    if isinstance(source, Clip):
        return ArraySource.from_clip(source)
    if isinstance(source, np.ndarray):
        return ArraySource(source, fps=rate or DEFAULT_FPS)
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"the source must be a path, a Clip or an array, got {type(source).__name__}; pass one of these."
        )
    return _open_path(os.fspath(source), stream, rate, index)


def _open_path(path: str, stream: int | None, rate: Fraction | None, index: FrameIndex | None) -> Source:
    suffix = os.path.splitext(path)[1].lower()
    keywords: dict[str, Any] = {"fps": rate or DEFAULT_FPS}
    if os.path.isdir(path):
        return FolderSource.from_folder(path, **keywords)
    if not os.path.exists(path):
        found = sorted(glob.glob(path)) if glob.has_magic(path) else []
        if not found:
            raise MediaReadError(f"{path} must exist, found nothing there; check the name.")
        return FolderSource(found, path=path, **keywords)
    if not os.path.isfile(path):
        raise MediaReadError(f"{path} must be a file or a folder, found neither; give a file.")
    if os.path.getsize(path) == 0:
        raise MediaReadError(f"{path} must hold a video, found an empty file; check where it comes from.")
    if suffix == ".npy":
        return ArraySource.from_file(path, **keywords)
    if suffix in (".tif", ".tiff"):
        return PagedSource(path, **keywords)
    if suffix in IMAGE_SUFFIXES:
        return FolderSource([path], path=path, **keywords)
    return VideoSource(path, stream=stream, index=index, fps=rate)
