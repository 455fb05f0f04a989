"""CPU seconds for a megapixel of one frame, as the benchmarks measured them; for estimates only."""

from __future__ import annotations

COPYING = 0.05
LOOKING = 0.31
LOOKED_AT = 320 * 240
"""Before any work every frame is looked at, as a small picture of so many pixels."""

STARTING = 2.5
"""Seconds for a run whatever its size: libraries, noise level, trial of the model."""

SURROUNDINGS = 0.35
"""Share of the cost of a frame that is only read for its neighbours' sake."""

DENOISING = {"fast": 0.7, "default": 2.5, "best": 7.0}
ON_CURVE = 3.0
SEARCHING = 2.0
"""Seeking damage, for a megapixel of the picture as it is reduced for that."""

MENDING, MENDING_SPOTS = 7.0, 3.5
"""Two passes over the boxes around holes, and the motion of whole frames: where holes are all over the picture, and where they
are spots."""

INTERPOLATING = 0.6
ENCODING = 0.2
DELIVERING = 0.1
"""What a frame takes on its way to the encoder, which works beside; for progress only."""
