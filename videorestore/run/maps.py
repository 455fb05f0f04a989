"""What pieces keep beside their frames, as one array or one video.

``--sd`` is the sd of every pixel; ``--write-mask`` is where pixels were mended, a mask for each source frame that
``inpaint --mask`` takes back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from videorestore import colour
from videorestore.clip import ClipInfo, Frame, PixelFormat, Samples
from videorestore.errors import MediaWriteError
from videorestore.make.work import OutputShape, Work
from videorestore.media import SinkOptions, check_output, open_sink
from videorestore.media.segments import encoding_for
from videorestore.place import part_folder, publish

WHITE = 255
"""The sample of a pixel that was mended."""


@dataclass(frozen=True, slots=True)
class Maps:
    """Maps of a clip under a name: a video of 8 bit, where they are no array."""

    path: str
    shape: OutputShape
    options: SinkOptions

    def check(self, input_path: str | None) -> None:
        """Refuse a name or an encoding before any work is done; without an input (a dry run) only an encoding."""
        if input_path is not None:
            check_output(self.path, self.options, input_path)
        encoding_for(self.path, self.shape, self.options)

    def write(self, pictures: Iterable[Samples]) -> None:
        """Write maps ``(height, width, channels)`` as frames, evenly in time."""
        form, step = self.shape.info.format, 1 / (self.shape.fps or Fraction(25))
        with open_sink(self.path, self.shape, self.options) as sink:
            for k, picture in enumerate(pictures):
                planes = colour.from_rgb(picture, form)
                sink.write(Frame(planes=planes, format=form, index=k, time=k * step, duration=step))


def _eight_bit(shape: OutputShape, count: int, colours: int) -> OutputShape:
    form = PixelFormat(model="rgb" if colours == 3 else "grey", depth=8)
    return replace(shape, info=ClipInfo(format=form, fps=shape.fps, sar=shape.info.sar), n_frames=count)


def sd_maps(path: str, shape: OutputShape, options: SinkOptions) -> Maps:
    """The sd of every frame of an output."""
    return Maps(path, _eight_bit(shape, shape.n_frames, shape.info.format.colours), options)


def mask_maps(path: str, shape: OutputShape, options: SinkOptions, count: int = 0) -> Maps:
    """Masks of so many source frames. They have sharp edges: where the container allows it nothing is lost."""
    codec = "ffv1" if Path(path).suffix.lower() in (".mkv", ".avi") else None
    return Maps(path, _eight_bit(shape, count, 1), SinkOptions(codec=codec, overwrite=options.overwrite))


def join_sd(parts: Sequence[Path], path: str, shape: OutputShape, options: SinkOptions) -> None:
    """Write the sd maps of all pieces; an array is float32 on the 0..255 scale, a video is rounded to 8 bit."""
    if Path(path).suffix == ".npy":
        with part_folder(path) as folder:
            _as_array(parts, Path(folder) / "sd.npy", shape)
            publish(os.path.join(folder, "sd.npy"), path, overwrite=options.overwrite)
        return
    every = (sd for part in parts for sd in np.load(part, mmap_mode="r"))
    sd_maps(path, shape, options).write(np.clip(np.rint(sd), 0, 255).astype(np.uint8) for sd in every)


def _as_array(parts: Sequence[Path], path: Path, shape: OutputShape) -> None:
    """The content of all parts behind one header; copied, not mapped, so that it takes no memory."""
    try:
        with path.open("xb") as target:
            for k, part in enumerate(parts):
                with part.open("rb") as source:
                    np.lib.format.read_magic(source)
                    size, _, _ = np.lib.format.read_array_header_1_0(source)
                    if k == 0:
                        whole = (shape.n_frames, *size[1:])
                        header = {"descr": "<f4", "fortran_order": False, "shape": whole}
                        np.lib.format.write_array_header_1_0(target, header)
                    shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())
    except OSError as error:
        raise MediaWriteError(
            f"--sd must be writable, got: {error.strerror}; choose another place."
        ) from error


def join_masks(parts: Sequence[Path], path: str, work: Work, options: SinkOptions) -> None:
    """Write the masks of all pieces, black where nothing was mended; those of new frames are left out."""
    shape, numbers = work.shape, range(work.pieces[0].start, work.pieces[-1].stop)
    mask_maps(path, shape, options, len(numbers)).write(_masks(parts, numbers, shape.height, shape.width))


def _masks(parts: Sequence[Path], numbers: range, height: int, width: int) -> Iterator[Samples]:
    """A mask ``(height, width, 1)`` for each of these source frames, white where something was mended."""
    marked = _marked(parts, width)
    number, mask = next(marked, (-1, None))
    for k in numbers:
        plane = np.zeros((height, width, 1), np.uint8)
        if number == k:
            plane[mask] = WHITE
            number, mask = next(marked, (-1, None))
        yield plane


def _marked(parts: Sequence[Path], width: int) -> Iterator[tuple[int, Samples]]:
    """Numbers of source frames and their masks ``(height, width)``, in order."""
    for part in parts:
        with np.load(part) as packed:
            for name in sorted(packed.files, key=int):
                yield int(name), np.unpackbits(packed[name], axis=-1, count=width).astype(np.bool_)
