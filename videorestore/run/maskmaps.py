"""``--write-mask``: where pixels were mended, as a mask for each source frame that ``inpaint --mask`` takes back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from videorestore.clip import ClipInfo, Frame, PixelFormat, Samples
from videorestore.make.work import OutputShape, Work
from videorestore.media import SinkOptions, check_output
from videorestore.media.segments import encoding_for

WHITE = 255
"""The sample of a pixel that was mended."""


def check_masks(path: str, shape: OutputShape, options: SinkOptions, input_path: str | None) -> None:
    """Refuse a name before any work is done; without an input (a dry run) only a format that cannot be written."""
    options = _lossless(path, options)
    if input_path is not None:
        check_output(path, options, input_path)
    encoding_for(path, _grey(shape, 0), options)


def join_masks(
    parts: Sequence[Path], path: str, work: Work, options: SinkOptions, open_sink: Callable[..., Any]
) -> None:
    """Write the masks of all pieces, black where nothing was mended; those of new frames are left out."""
    start, stop = work.pieces[0].start, work.pieces[-1].stop
    shape = _grey(work.shape, stop - start)
    form = shape.info.format
    step = 1 / shape.fps if shape.fps else Fraction(1, 25)
    found = _unpacked(parts, shape)
    number, mask = next(found, (stop, None))
    with open_sink(path, shape, _lossless(path, options), streams_from=None) as sink:
        for k in range(start, stop):
            plane = np.zeros((shape.height, shape.width), np.uint8)
            if number == k and mask is not None:
                plane[mask] = WHITE
                number, mask = next(found, (stop, None))
            time = (k - start) * step
            sink.write(Frame(planes=(plane,), format=form, index=k - start, time=time, duration=step))


def _unpacked(parts: Sequence[Path], shape: OutputShape) -> Iterator[tuple[int, Samples]]:
    """Numbers of source frames and their masks ``(h, w)``, in order."""
    for part in parts:
        with np.load(part) as packed:
            for name in sorted(packed.files, key=int):
                yield int(name), np.unpackbits(packed[name], axis=-1, count=shape.width).astype(np.bool_)


def _grey(shape: OutputShape, count: int) -> OutputShape:
    """The masks as a grey video of 8 bit."""
    info = ClipInfo(format=PixelFormat(model="grey", depth=8), fps=shape.fps, sar=shape.info.sar)
    return replace(shape, info=info, n_frames=count)


def _lossless(path: str, options: SinkOptions) -> SinkOptions:
    """Masks have sharp edges: where the container allows it nothing is lost."""
    codec = "ffv1" if Path(path).suffix.lower() in (".mkv", ".avi") else None
    return SinkOptions(codec=codec, overwrite=options.overwrite)
