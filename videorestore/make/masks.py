"""Where damaged pixels are: from a picture, a folder, a video, or found by the program itself."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from videorestore import colour
from videorestore.clip import FloatArray, Frame, Mask
from videorestore.errors import InputError
from videorestore.make.cost import MENDING, MENDING_SPOTS, SEARCHING
from videorestore.media import open_source
from videorestore.media.images import IMAGE_SUFFIXES
from videorestore.media.source import FrameIndex, Source

if TYPE_CHECKING:
    from videorestore.detect.damage import Damage

SHORT, LONG = 6, 24
"""Reach of masks that the program found, and of masks that were given."""

Spot = tuple[str, tuple[int, int, int, int], float]
"""Kind of a damage, its box (x, y, width, height), and the probability that it is one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masked:
    """Masks ``(n, h, w)``, and what was found in each frame where the program looked itself."""

    masks: Mask
    spots: tuple[tuple[Spot, ...], ...] = ()


class MaskSource(ABC):
    """Masks by frame number."""

    @property
    def reach(self) -> int:
        """Frames on each side that are worth reading: a spot lasts a moment, a logo for ever."""
        return LONG

    @property
    def file(self) -> str | None:
        """The file or folder that masks are read from, if there is one."""
        return None

    def moved(self, file: str) -> MaskSource:
        """The same masks where that file lies elsewhere."""
        return self

    @property
    def heard(self) -> bool:
        """Whether the frames beside some hole show what is in it: else nothing but motion can tell of it."""
        return True

    def of_field(self, parity: int, height: int) -> MaskSource:
        """The same masks for the fields of one parity of frames of this height; a search goes through the fields as they are."""
        return self

    def seconds(self, pixels: int) -> tuple[float, float]:
        """CPU time a frame of so many pixels, about: until its masks are known, and until it is mended."""
        return 0.0, MENDING * pixels / 1e6

    @abstractmethod
    def touches(self, start: int, stop: int) -> bool:
        """Whether a pixel of these source frames may be masked."""

    @abstractmethod
    def read(self, numbers: Sequence[int], frames: Any) -> Masked:
        """Masks of the frames with these numbers; ``frames`` are their pixels, an array or a stack on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NanMasks(MaskSource):
    """Missing pixels are NaN in the array itself."""

    def touches(self, start: int, stop: int) -> bool:
        """Any frame may hold NaN."""
        return True

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """True where any channel is NaN."""
        return Masked(masks=np.asarray(np.isnan(frames).any(axis=-1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayMasks(MaskSource):
    """One mask for all frames, or one for each; ``bits`` are packed along the last axis."""

    bits: np.ndarray
    width: int

    @classmethod
    def of(cls, masks: Mask) -> ArrayMasks:
        """From ``(h, w)`` or ``(n, h, w)``."""
        masks = masks[None] if masks.ndim == 2 else masks
        return cls(bits=np.packbits(masks, axis=-1), width=masks.shape[-1])

    @property
    def heard(self) -> bool:
        """See `MaskSource.heard`."""
        return any(_heard([*self._unpacked(slice(k, k + 3))]) for k in range(len(self.bits) - 2))

    def of_field(self, parity: int, height: int) -> FieldMasks:
        """See `MaskSource.of_field`."""
        return FieldMasks(whole=self, parity=parity, height=height)

    def touches(self, start: int, stop: int) -> bool:
        """Whether a mask of these frames has a white pixel."""
        part = self.bits if len(self.bits) == 1 else self.bits[start:stop]
        return bool(part.any())

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        return Masked(masks=self._unpacked([0 if len(self.bits) == 1 else i for i in numbers]))

    def _unpacked(self, which: slice | list[int]) -> Mask:
        return np.unpackbits(self.bits[which], axis=-1, count=self.width).astype(bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMasks(MaskSource):
    """One mask for each frame in a folder or a video; only those of the frames at hand are ever in memory.

    Attributes
    ----------
    path : str
    first : int
        Number of the frame that the first mask belongs to.
    marked : bytes
        For each mask 1 where it has a white pixel, else 0.
    index : FrameIndex
        Of the masks, so that they are found without counting them again.
    heard : bool
        See `MaskSource.heard`.
    """

    path: str
    first: int
    marked: bytes
    index: FrameIndex
    heard: bool = True

    @property
    def file(self) -> str:
        """See `MaskSource.file`."""
        return self.path

    def moved(self, file: str) -> FileMasks:
        """See `MaskSource.moved`."""
        return replace(self, path=file)

    def of_field(self, parity: int, height: int) -> FieldMasks:
        """See `MaskSource.of_field`."""
        return FieldMasks(whole=self, parity=parity, height=height)

    def touches(self, start: int, stop: int) -> bool:
        """Whether a mask of these frames has a white pixel."""
        return 1 in self.marked[max(0, start - self.first) : max(0, stop - self.first)]

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        places = {number - self.first: k for k, number in enumerate(numbers)}
        masks = np.zeros(frames.shape[:3], bool)
        low, high = max(0, min(places)), min(max(places) + 1, len(self.marked))
        with open_source(self.path, index=self.index) as source:
            for frame in source.frames(low, high):
                if frame.index in places and self.marked[frame.index]:
                    masks[places[frame.index]] = _white(frame)
        return Masked(masks=masks)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldMasks(MaskSource):
    """Masks of whole frames, for the fields of one parity; ``height`` is that of a frame."""

    whole: MaskSource
    parity: int
    height: int

    def touches(self, start: int, stop: int) -> bool:
        """See `MaskSource.touches`."""
        return self.whole.touches(start, stop)

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        count, lines, width = frames.shape[:3]
        like = np.broadcast_to(np.float32(0), (count, self.height, width, 1))
        masks = np.zeros((count, lines, width), np.bool_)
        own = self.whole.read(numbers, like).masks[:, self.parity :: 2]
        masks[:, : own.shape[1]] = own
        return Masked(masks=masks)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMasks(MaskSource):
    """The program looks for dust, scratches and dropouts itself."""

    noise_sd: float

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return SHORT

    def seconds(self, pixels: int) -> tuple[float, float]:
        """See `MaskSource.seconds`: holes are spots."""
        from videorestore.detect.sight import reduction

        return SEARCHING * pixels / reduction(1, pixels) ** 2 / 1e6, MENDING_SPOTS * pixels / 1e6

    def touches(self, start: int, stop: int) -> bool:
        """Damage may be anywhere."""
        return True

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        from videorestore.detect.damage import find_damage

        return masked(*find_damage(frames, noise_sd=self.noise_sd))


def masked(masks: Mask, found: Sequence[Damage]) -> Masked:
    """Masks (n, h, w) of found damage, and its places frame by frame."""
    spots: list[list[Spot]] = [[] for _ in masks]
    for damage in found:
        x, y, w, h = (int(v) for v in damage.box)
        spots[damage.frame].append((damage.kind, (x, y, w, h), round(damage.probability, 3)))
    return Masked(masks=masks, spots=tuple(tuple(s) for s in spots))


def check_size(masks: Source, height: int, width: int) -> None:
    """Refuse masks of another size than the clip's."""
    if (masks.height, masks.width) != (height, width):
        raise InputError(
            f"the mask must be {width} x {height} like the clip, got {masks.width} x {masks.height}; "
            "crop or resize the mask."
        )


def load_masks(
    path: str, *, span: tuple[int, int], n_frames: int | None, height: int, width: int
) -> ArrayMasks | FileMasks:
    """Look through ``--mask``: an image serves all frames, a folder or a video has one for each frame.

    White is missing; a sample counts as white from half of the range on.

    Parameters
    ----------
    span : (start, stop)
        Frames that are worked on: there may be masks for just these.
    n_frames : int or None
        Frames of the clip; None where nobody has counted them.
    """
    with open_source(path) as source:
        check_size(source, height, width)
        marked = bytearray()
        brightest = 0.0
        whole = True
        heard = False
        last: list[Mask] = []
        for frame in source.frames():
            mask = _white(frame)
            if not mask.any():
                brightest = max(brightest, float(colour.working(frame).mean(axis=-1).max()))
            last = [*last[-2:], mask]
            heard = heard or _heard(last)
            marked.append(int(mask.any()))
            whole = whole and bool(mask.all())
        index = source.index()
    count = len(marked)
    if whole:
        raise InputError(
            "the mask must leave pixels to work from, everything is masked; white marks missing pixels."
        )
    if not any(marked) and brightest >= 1:
        raise InputError(
            f"the mask must mark missing pixels in white, the brightest in it has {brightest:.0f} of 255; "
            "make white what is marked."
        )
    if count == 1 and Path(path).suffix.lower() in IMAGE_SUFFIXES:
        return ArrayMasks.of(last[0])
    start, stop = span
    fits_clip = count >= stop if n_frames is None else count == n_frames
    if not fits_clip and count != stop - start:
        wanted = n_frames or stop - start
        raise InputError(
            f"there must be one mask for each of the {wanted} frames, got {count}; "
            "give one image for all frames or as many masks as frames."
        )
    first = 0 if fits_clip else start
    return FileMasks(path=os.path.abspath(path), first=first, marked=bytes(marked), index=index, heard=heard)


def _heard(masks: Sequence[Mask]) -> bool:
    """Whether the first and the last of three masks leave a part of the one between in sight, see `MaskSource.heard`."""
    from videorestore.motion.inpaint_scene import told

    return len(masks) == 3 and told(masks[1], masks[0], masks[2])


def _white(frame: Frame) -> Mask:
    if frame.format.alpha and frame.format.model != "grey":
        # A mask saved with transparency: what is transparent was not painted.
        painted = frame.planes[-1] > frame.planes[-1].max() / 2
        return np.asarray((colour.working(frame).mean(axis=-1) > 127.5) & painted)
    return np.asarray(colour.working(frame).mean(axis=-1) > 127.5)
