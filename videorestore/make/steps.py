"""What is to be done with a clip, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from videorestore.make.masks import MaskSource
from videorestore.make.work import Slot
from videorestore.request import Quality
from videorestore.spatial.noise import Noise

STEADY = (1.0, 0.0)
"""Gain and offset of a frame that does not flicker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What is to be done with a clip.

    Attributes
    ----------
    slots : tuple of Slot
        Every frame of the output.
    missing : frozenset of int
        Source frames whose content is worthless and is made anew.
    untouched : frozenset of int
        Source frames whose content is worthless and stays: nothing is learnt from them.
    masks : MaskSource or None
        Where damaged pixels are.
    noises : tuple of (Noise or None)
        Of every shot; None leaves the noise in.
    strength : float
    keep_grain : float
        Share of what denoising takes away that is given back.
    quality : {"fast", "default", "best"}
    gains : mapping from frame number to (gain, offset), or None
        Correction of flicker, before everything else.
    brief : frozenset of int
        Frames of shots that are too short for a fit: what has content passes as it is.
    """

    slots: tuple[Slot, ...]
    missing: frozenset[int] = frozenset()
    untouched: frozenset[int] = frozenset()
    masks: MaskSource | None = None
    noises: tuple[Noise | None, ...] = ()
    strength: float = 1.0
    keep_grain: float = 0.0
    quality: Quality = "default"
    gains: Mapping[int, tuple[float, float]] | None = None
    brief: frozenset[int] = frozenset()

    @property
    def denoises(self) -> bool:
        """Whether noise is removed anywhere."""
        return any(noise is not None for noise in self.noises)

    @property
    def reads_once(self) -> bool:
        """Whether the pixels of the source are read once only: noise is removed or frames are made, and nothing else is done."""
        return self.masks is None and not (self.denoises and self.makes_any)

    @property
    def makes_any(self) -> bool:
        """Whether any frame is made anew."""
        return any(map(self.makes, self.slots))

    def light(self, number: int) -> tuple[float, float]:
        """Gain and offset that take the flicker out of a frame."""
        return (self.gains or {}).get(number, STEADY)

    def makes(self, slot: Slot) -> bool:
        """Whether the content of a frame of the output is made anew."""
        return slot.source is None or slot.source in self.missing
