"""``--sd``: the sd maps of all pieces as one array or one video."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from videorestore import colour
from videorestore.clip import ClipInfo, Frame, PixelFormat
from videorestore.errors import MediaWriteError
from videorestore.make.work import OutputShape
from videorestore.media import SinkOptions, check_output
from videorestore.media.segments import encoding_for
from videorestore.place import part_folder, publish


def check_sd(path: str, shape: OutputShape, options: SinkOptions, input_path: str | None) -> None:
    """Refuse a name or an encoding of the maps before any work is done; without an input (a dry run) only these."""
    if input_path is not None:
        check_output(path, options, input_path)
    encoding_for(path, _as_video(shape), options)


def _as_video(shape: OutputShape) -> OutputShape:
    """The maps as a video of 8 bit."""
    form = PixelFormat(model="rgb" if shape.info.format.colours == 3 else "grey", depth=8)
    return replace(shape, info=ClipInfo(format=form, fps=shape.fps, sar=shape.info.sar))


def join_sd(
    parts: Sequence[Path],
    path: str,
    shape: OutputShape,
    options: SinkOptions,
    open_sink: Callable[..., Any],
) -> None:
    """Write the maps, piece by piece; an array is float32 on the 0..255 scale, a video is rounded to 8 bit."""
    if Path(path).suffix == ".npy":
        with part_folder(path) as folder:
            _as_array(parts, Path(folder) / "sd.npy", shape)
            publish(os.path.join(folder, "sd.npy"), path, overwrite=options.overwrite)
        return
    video = _as_video(shape)
    form = video.info.format
    step = 1 / shape.fps if shape.fps else Fraction(1, 25)
    with open_sink(path, video, options, streams_from=None) as sink:
        k = 0
        for part in parts:
            for sd in np.load(part, mmap_mode="r"):
                planes = colour.from_rgb(np.clip(np.rint(sd), 0, 255).astype(np.uint8), form)
                sink.write(Frame(planes=planes, format=form, index=k, time=k * step, duration=step))
                k += 1


def _as_array(parts: Sequence[Path], path: Path, shape: OutputShape) -> None:
    """The content of all parts behind one header; copied, not mapped, so that it takes no memory."""
    try:
        with path.open("xb") as target:
            for k, part in enumerate(parts):
                with part.open("rb") as source:
                    np.lib.format.read_magic(source)
                    size, _, _ = np.lib.format.read_array_header_1_0(source)
                    if k == 0:
                        header = {
                            "descr": "<f4",
                            "fortran_order": False,
                            "shape": (shape.n_frames, *size[1:]),
                        }
                        np.lib.format.write_array_header_1_0(target, header)
                    shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())
    except OSError as error:
        raise MediaWriteError(
            f"--sd must be writable, got: {error.strerror}; choose another place."
        ) from error
