"""Folders and globs of images, and TIFF files with many pages, as sources."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from videorestore.clip import ClipInfo, Frame, PixelFormat, Samples, Status
from videorestore.colour import from_rgb
from videorestore.errors import MediaReadError
from videorestore.media.arrays import GOOD, array_format
from videorestore.media.sizes import image_size, tiff_pages, tiff_sizes
from videorestore.media.source import FrameIndex, Source, even_times
from videorestore.request.notation import frames_in_words

IMAGE_SUFFIXES = frozenset(
    {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".pbm", ".jp2"}
)

_NUMBER = re.compile(r"(\d+)")
_EXTRA_SAMPLES, _MULTIPLIED, _SEPARATE = 338, 1, 2  # a tag of TIFF and two of its values
_LARGEST_GAP = 10_000
"""More numbers than this between two files are a date or an identifier, not a gap."""


def natural_key(name: str) -> list[Any]:
    """Sort key under which ``frame10`` comes after ``frame9``."""
    return [(0, int(part), part) if part.isdigit() else (1, 0, part.lower()) for part in _NUMBER.split(name)]


def read_image(path: str) -> Samples:
    """One image as RGB, RGBA, grey or grey with alpha.

    Parameters
    ----------
    path : str

    Returns
    -------
    ndarray, shape (height, width, channels)
        uint8, uint16 or float32.
    """
    import cv2

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise MediaReadError(f"{path} must be readable, got: {error.strerror}; check the file.") from error
    data = np.frombuffer(content, np.uint8)
    try:
        flags = cv2.IMREAD_UNCHANGED
        picture = cv2.imdecode(data, flags) if image_size(content) else None
        if picture is not None and path.lower().endswith((".jpg", ".jpeg")):
            # The camera's orientation is applied only without IMREAD_UNCHANGED.
            flags = cv2.IMREAD_GRAYSCALE if picture.ndim == 2 else cv2.IMREAD_COLOR
            picture = cv2.imdecode(data, flags)
    except cv2.error as error:
        raise MediaReadError(f"{path} must be an image, got: {error.err}; check the file.") from error
    if picture is None:
        raise MediaReadError(f"{path} must be an image that can be decoded, found none; check the file.")
    return rgb_order(picture)


def rgb_order(picture: Samples) -> Samples:
    """OpenCV's order of channels turned into RGB(A); a third axis is added to grey."""
    if picture.ndim == 2:
        return picture[:, :, None]
    if picture.shape[2] == 3:
        return picture[:, :, ::-1]
    if picture.shape[2] == 4:
        return picture[:, :, [2, 1, 0, 3]]
    return picture


def _missing_planes(pixel: PixelFormat, height: int, width: int) -> tuple[Samples, ...]:
    middle = 0.5 if pixel.depth == 32 else 1 << (pixel.depth - 1)
    return tuple(np.full(shape, middle, pixel.dtype) for shape in pixel.plane_shapes(height, width))


def _other_size(first: tuple[int, ...], name: str, size: tuple[int, ...]) -> MediaReadError:
    return MediaReadError(
        f"all images must be {first[0]} x {first[1]} like the first, {name} is {size[0]} x {size[1]}; "
        "resize or remove it."
    )


class _StillSource(Source):
    """Frames that are reached by number, one image each."""

    _count: int
    _fps: Fraction
    _format: PixelFormat

    def _setup(self, first: Samples, name: str) -> None:
        if first.dtype not in (np.uint8, np.uint16, np.float32, np.float64) or first.shape[2] > 4:
            raise MediaReadError(
                f"{name} must hold 8 or 16 bit or float images of 1 to 4 channels, got {first.dtype} with "
                f"{first.shape[2]}; convert them."
            )
        self.height, self.width = int(first.shape[0]), int(first.shape[1])
        self._format = array_format(first.dtype, int(first.shape[2]))
        self.info = ClipInfo(format=self._format, fps=self._fps, path=self.path)

    def _planes(self, picture: Samples, name: str) -> tuple[Samples, ...]:
        """Planes of a picture in the format of the first one; another size is refused."""
        if picture.shape[:2] != (self.height, self.width):
            raise _other_size((self.width, self.height), name, picture.shape[1::-1])
        if picture.dtype == np.float64:
            picture = picture.astype(np.float32)
        return from_rgb(picture, self._format)

    @abstractmethod
    def _picture(self, number: int) -> tuple[Samples, ...] | None:
        """Planes of a frame, None where there is none."""

    @abstractmethod
    def _absence(self, number: int) -> Status:
        """Why there is none."""

    def index(self) -> FrameIndex:
        times, durations = even_times(self._count, self._fps)
        return FrameIndex(times=times, durations=durations, statuses=(GOOD,) * self._count)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        step = 1 / self._fps
        for k in range(start, self._count if stop is None else min(stop, self._count)):
            planes = self._picture(k)
            status: Status = "good"
            if planes is None:
                planes, status = _missing_planes(self._format, self.height, self.width), self._absence(k)
            yield Frame(
                planes=planes, format=self._format, index=k, time=k * step, duration=step, status=status
            )

    def facts(self) -> dict[str, Any]:
        return {
            "container": "images",
            "width": self.width,
            "height": self.height,
            "depth": self._format.depth,
            "alpha": self._format.alpha,
            "streams": [],
        }


class FolderSource(_StillSource):
    """Images in the natural order of their names; a gap in the last number is a missing frame.

    Parameters
    ----------
    files : list of str
    path : str
        What the user named: a folder, a pattern or one file.
    fps : Fraction
    """

    def __init__(self, files: list[str], *, path: str, fps: Fraction) -> None:
        files = [
            f for f in files if Path(f).suffix.lower() in IMAGE_SUFFIXES and not Path(f).name.startswith(".")
        ]
        files = [f for f in files if not Path(f).stem.endswith(".mask")]
        if not files:
            raise MediaReadError(
                f"{path} must hold images (PNG, JPEG, TIFF, ...), found none; check the name."
            )
        files.sort(key=lambda f: natural_key(os.path.basename(f)))
        self.path = path
        self._fps = fps
        self._files = _with_gaps(files)
        self._count = len(self._files)
        self._failed: dict[int, str] = {}
        self._checked = False
        self._setup(self._first(), path)

    @classmethod
    def from_folder(cls, path: str, *, fps: Fraction) -> FolderSource:
        """All images of a folder, not of the folders in it."""
        try:
            files = [entry.path for entry in os.scandir(path) if entry.is_file()]
        except OSError as error:
            raise MediaReadError(
                f"{path} must be a readable folder, got: {error.strerror}; check it."
            ) from error
        return cls(files, path=path, fps=fps)

    def name_of(self, number: int) -> str | None:
        """See `Source.name_of`; None too where the file is missing."""
        return self._files[number]

    def _first(self) -> Samples:
        reason: MediaReadError | None = None
        for file in self._files:
            if file is not None:
                try:
                    return read_image(file)
                except MediaReadError as error:
                    reason = reason or error
        assert reason is not None
        raise reason

    def _picture(self, number: int) -> tuple[Samples, ...] | None:
        file = self._files[number]
        if file is None:
            return None
        try:
            picture = read_image(file)
        except MediaReadError as error:
            self._failed[number] = str(error)
            return None
        return self._planes(picture, file)

    def _absence(self, number: int) -> Status:
        return "missing" if self._files[number] is None else "corrupt"

    def index(self) -> FrameIndex:
        """All statuses; every image is read once, since only decoding tells a broken one."""
        if not self._checked:
            for k in range(self._count):
                self._picture(k)
            self._checked = True
        losses = tuple(self._failed[k] for k in sorted(self._failed))
        absent = [k for k, file in enumerate(self._files) if file is None]
        messages = losses
        if absent:
            said = f"{len(absent)} of {self._count} numbers have no image: {frames_in_words(absent)}"
            messages = (*losses, said)
        bad = {k: self._absence(k) for k in (*absent, *self._failed)}
        statuses = tuple(bad.get(k, "good") for k in range(self._count))
        return replace(super().index(), statuses=statuses, messages=messages, losses=losses, lost=len(losses))

    def facts(self) -> dict[str, Any]:
        present = [f for f in self._files if f is not None]
        return super().facts() | {"images": len(present), "suffix": Path(present[0]).suffix.lower()}


def _with_gaps(files: list[str]) -> list[str | None]:
    """Put None for each number that the sequence skips; names without a common pattern have no gaps."""
    numbers = []
    stems = set()
    for file in files:
        parts = _NUMBER.split(Path(file).stem)
        if len(parts) < 3:
            return list(files)
        numbers.append(int(parts[-2]))
        stems.add(("".join(parts[:-2]), parts[-1]))
    steps = {b - a for a, b in zip(numbers, numbers[1:])}
    if len(stems) > 1 or not steps or min(steps) < 1 or max(steps) > _LARGEST_GAP:
        return list(files)
    stride = min(steps)
    if any(step % stride for step in steps):
        stride = 1
    full: list[str | None] = []
    for file, number, following in zip(files, numbers, [*numbers[1:], None]):
        full.append(file)
        if following is not None:
            full.extend([None] * ((following - number) // stride - 1))
    return full


class PagedSource(_StillSource):
    """The pages of a TIFF file.

    Parameters
    ----------
    path : str
    fps : Fraction
    """

    def __init__(self, path: str, *, fps: Fraction) -> None:
        import cv2

        self.path = path
        self._fps = fps
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            sizes = tiff_sizes(data)
        for k, size in enumerate(sizes):
            if size != sizes[0]:
                raise _other_size(sizes[0], f"page {k} of {path}", size)
        try:
            self._count = int(cv2.imcount(path, cv2.IMREAD_UNCHANGED))
        except cv2.error as error:
            raise MediaReadError(f"{path} must be a TIFF file, got: {error.err}; check the file.") from error
        if self._count < 1:
            raise MediaReadError(
                f"{path} must be a TIFF file with at least one page, found none; check the file."
            )
        self._straight: Samples | None = None
        first = self._page(0)
        if first is not None and first.shape[2] == 4 and first.dtype == np.uint8:
            self._straight = _with_plain_alpha(path)
            first = self._page(0)
        if first is None:
            raise MediaReadError(
                f"{path} must hold pages that can be decoded, the first cannot; check the file."
            )
        self._setup(first, path)

    def _page(self, number: int) -> Samples | None:
        import cv2

        flags = cv2.IMREAD_UNCHANGED
        try:
            if self._straight is not None:
                done, pages = cv2.imdecodemulti(self._straight, flags, range=(number, number + 1))
            else:
                done, pages = cv2.imreadmulti(str(self.path), start=number, count=1, flags=flags)
        except cv2.error:
            return None
        return rgb_order(pages[0]) if done and pages else None

    def _picture(self, number: int) -> tuple[Samples, ...] | None:
        picture = self._page(number)
        return None if picture is None else self._planes(picture, f"page {number} of {self.path}")

    def _absence(self, number: int) -> Status:
        return "corrupt"

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"container": "tiff", "pages": self._count}


def _with_plain_alpha(path: str) -> Samples:
    """The bytes of a TIFF file, its alpha marked as already multiplied in.

    OpenCV multiplies 8-bit colours with an alpha that is marked as separate, which cannot be undone; under the other
    mark it leaves the samples as they are.
    """
    data = bytearray(Path(path).read_bytes())
    with contextlib.suppress(struct.error):
        for entries in list(tiff_pages(data)):
            for tag, place, value in entries:
                if (tag, value) == (_EXTRA_SAMPLES, _SEPARATE):
                    data[place : place + 2] = _MULTIPLIED.to_bytes(
                        2, "little" if data[:2] == b"II" else "big"
                    )
    return np.frombuffer(data, np.uint8)
