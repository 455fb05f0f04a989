"""CPU seconds for a megapixel of one frame, on the machine of `run.speed.REFERENCE_S`; for estimates only.

Looking, searching, mending and the curve were measured on other machines.
"""

from __future__ import annotations

DECODING = 0.08
"""For a megabyte of a coded file: pixels hardly count."""

COPYING = 0.012
"""What a frame takes between its decoder and whoever works on it."""

LOOKING, SHRINKING = 0.05, 0.012
LOOKED_AT = 320 * 240
"""Before any work every frame is looked at, as a small picture of so many pixels, which is made of all of them."""

LOOKING_EACH, ENCODING_EACH = 0.007, 0.003
"""What a frame takes whatever its size: to be looked at, and to be encoded, joined and read back."""

STARTING = 1.5
"""Seconds for a run whatever its size, besides its plan: libraries and compiled code."""

COMPANY = 5
"""Frames on each side that a frame is denoised with: where a clip has fewer, that costs less."""

SURROUNDINGS = 0.35
"""Share of the cost of a frame that is only read for its neighbours' sake."""

DENOISING = {"fast": 0.25, "default": 0.89, "best": 1.07}
ON_CURVE = 1.2
SEARCHING, GLANCING = 0.83, 0.09
"""Seeking damage, for a megapixel of the picture as it is reduced for that; and where a glance shows nothing."""

MENDING, MENDING_SPOTS = 5.3, 1.4
"""Two passes over the boxes around holes, and the motion of whole frames: where holes are all over the picture, and where they
are spots."""

FITTING = 7.0
"""Seconds for the curve of a piece, whatever its size."""

INTERPOLATING = 0.33
ENCODING = 0.05
DELIVERING = 0.005
"""What a frame takes on its way to the encoder, without what it takes there."""


def company(frames: int) -> float:
    """Frames that one of so many is denoised with, itself among them, over those that it would have amid many."""
    beside = sum(2 * max(0, frames - k) for k in range(1, COMPANY + 1)) / max(1, frames)
    return (1 + beside) / (1 + 2 * COMPANY)
