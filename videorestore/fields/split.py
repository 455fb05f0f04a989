"""Frames to fields and back, in native samples: every plane is split by its lines.

Chroma of interlaced 4:2:0 belongs to its field: line k of a chroma plane, like line k of luma, is the top field's where k
is even. Taken so, each field's chroma lies where that of a progressive frame of the same lines would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore.clip import FloatArray, Frame, Samples
from videorestore.media.source import FrameIndex, Source


def weave(top: Frame, bottom: Frame) -> Frame:
    """The even lines of one frame with the odd lines of another, bit for bit; times are the first one's."""
    if top is bottom:
        return top
    planes = []
    for even, odd in zip(top.planes, bottom.planes):
        plane = np.array(even)
        plane[1::2] = odd[1::2]
        planes.append(plane)
    return replace(top, planes=tuple(planes))


def field_of(frame: Frame, parity: int) -> Frame:
    """One field as a frame of half the height; a plane that has fewer lines of it than asked for repeats its last one."""
    height = -(-frame.height // 2)
    shapes = frame.format.plane_shapes(height, frame.width)
    planes = []
    for plane, shape in zip(frame.planes, shapes):
        lines = plane[parity::2]
        short = shape[0] - lines.shape[0]
        planes.append(
            np.pad(lines, ((0, short), (0, 0)), mode="edge") if short else np.ascontiguousarray(lines)
        )
    return replace(frame, planes=tuple(planes))


def joined(top: Frame, bottom: Frame, like: Frame) -> Frame:
    """Two fields, as `field_of` gives them, woven into a frame of the shape of ``like``; times are the top one's."""
    planes = []
    for even, odd, plane in zip(top.planes, bottom.planes, like.planes):
        woven = np.empty_like(plane, dtype=even.dtype)
        woven[0::2] = even[: woven[0::2].shape[0]]
        woven[1::2] = odd[: woven[1::2].shape[0]]
        planes.append(woven)
    return replace(top, planes=tuple(planes))


class FieldView(Source):
    """The fields of one parity of a source, as pictures of half its height.

    Parameters
    ----------
    source : Source
    parity : int
        0 for the top fields.
    """

    def __init__(self, source: Source, parity: int) -> None:
        self.whole = source
        self._parity = parity
        self.path = source.path
        self.info = source.info
        self.height, self.width = -(-source.height // 2), source.width

    def index(self) -> FrameIndex:
        """See `Source.index`."""
        return self.whole.index()

    def index_up_to(self, frames: int | None = None, seconds: Fraction | None = None) -> FrameIndex:
        """See `Source.index_up_to`."""
        return self.whole.index_up_to(frames, seconds)

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """See `Source.frames`."""
        return (field_of(frame, self._parity) for frame in self.whole.frames(start, stop))

    def facts(self) -> dict[str, Any]:
        """See `Source.facts`."""
        return {**self.whole.facts(), "height": self.height}


def levels(plane: Samples, frame: Frame) -> FloatArray:
    """Samples of a frame on the scale of 8 bits."""
    return np.asarray(plane, np.float32) * np.float32(255.0 / _top(frame))


def samples(values: FloatArray, frame: Frame) -> Samples:
    """Values on the scale of 8 bits as samples of a frame."""
    found = values * np.float32(_top(frame) / 255.0)
    if frame.format.depth != 32:
        found = np.clip(np.rint(found), 0, (1 << frame.format.depth) - 1)
    return found.astype(frame.planes[0].dtype)


def _top(frame: Frame) -> float:
    depth = frame.format.depth
    return 1.0 if depth == 32 else 255.0 * (1 << (depth - 8))
