"""Where damaged pixels are: from a picture, a folder, a video, or found by the program itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from videorestore import colour
from videorestore.clip import FloatArray, Frame, Mask
from videorestore.errors import InputError
from videorestore.media import open_source

if TYPE_CHECKING:
    from videorestore.detect.damage import Damage

SHORT, LONG = 6, 24
"""Reach of masks that the program found, and of masks that were given."""

_STILLS = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp"}


Spot = tuple[str, tuple[int, int, int, int]]
"""Kind of a damage and its box (x, y, width, height)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masked:
    """Masks ``(n, h, w)``, and what was found in each frame where the program looked itself."""

    masks: Mask
    spots: tuple[tuple[Spot, ...], ...] = ()


class MaskSource(Protocol):
    """Masks by frame number."""

    @property
    def reach(self) -> int:
        """Frames on each side that are worth reading: a spot lasts a moment, a logo for ever."""
        ...

    def touches(self, start: int, stop: int) -> bool:
        """Whether a pixel of these source frames may be masked."""
        ...

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """Masks of the frames with these numbers; ``frames`` are their pixels."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NanMasks:
    """Missing pixels are NaN in the array itself."""

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return LONG

    def touches(self, start: int, stop: int) -> bool:
        """Any frame may hold NaN."""
        return True

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """True where any channel is NaN."""
        return Masked(masks=np.asarray(np.isnan(frames).any(axis=-1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayMasks:
    """One mask for all frames, or one for each; ``bits`` are packed along the last axis."""

    bits: np.ndarray
    width: int

    @classmethod
    def of(cls, masks: Mask) -> ArrayMasks:
        """From ``(h, w)`` or ``(n, h, w)``."""
        masks = masks[None] if masks.ndim == 2 else masks
        return cls(bits=np.packbits(masks, axis=-1), width=masks.shape[-1])

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return LONG

    def touches(self, start: int, stop: int) -> bool:
        """Whether a mask of these frames has a white pixel."""
        part = self.bits if len(self.bits) == 1 else self.bits[start:stop]
        return bool(part.any())

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        which = [0 if len(self.bits) == 1 else i for i in numbers]
        return Masked(masks=np.unpackbits(self.bits[which], axis=-1, count=self.width).astype(bool))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMasks:
    """The program looks for dust, scratches and dropouts itself."""

    noise_sd: float

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return SHORT

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
        spots[damage.frame].append((damage.kind, (x, y, w, h)))
    return Masked(masks=masks, spots=tuple(tuple(s) for s in spots))


def load_masks(path: str, *, n_frames: int, height: int, width: int) -> ArrayMasks:
    """Read ``--mask``: an image serves all frames, a folder or a video has one for each frame.

    White is missing; a sample counts as white from half of the range on.
    """
    with open_source(path) as source:
        if (source.height, source.width) != (height, width):
            raise InputError(
                f"the mask must be {width} x {height} like the clip, got {source.width} x {source.height}; "
                "crop or resize the mask."
            )
        masks = np.stack([_white(frame) for frame in source.frames()])
    single = Path(path).suffix.lower() in _STILLS and len(masks) == 1
    if not single and len(masks) != n_frames:
        raise InputError(
            f"there must be one mask for each of the {n_frames} frames, got {len(masks)}; "
            "give one image for all frames or as many masks as frames."
        )
    if masks.all():
        raise InputError(
            "the mask must leave pixels to work from, everything is masked; white marks missing pixels."
        )
    return ArrayMasks.of(masks)


def _white(frame: Frame) -> Mask:
    if frame.format.alpha and frame.format.model != "grey":
        # A mask saved with transparency: what is transparent was not painted.
        painted = frame.planes[-1] > frame.planes[-1].max() / 2
        return np.asarray((colour.working(frame).mean(axis=-1) > 127.5) & painted)
    return np.asarray(colour.working(frame).mean(axis=-1) > 127.5)
