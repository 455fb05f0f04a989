"""CPU seconds for a megapixel of one frame, as the benchmarks measured them; for estimates only."""

from __future__ import annotations

COPYING = 0.05
LOOKING = 0.31
LOOKED_AT = 320 * 240
"""Before any work every frame is looked at, as a small picture of so many pixels."""

STARTING = 8.0
"""Seconds for a run whatever its size: libraries, noise level, trial of the model."""

SURROUNDINGS = 0.35
"""Share of the cost of a frame that is only read for its neighbours' sake."""

DENOISING = {"fast": 1.2, "default": 2.8, "best": 7.5}
ON_CURVE = 3.0
MENDING = 2.5
"""Nearly all of it is the search for damage."""

INTERPOLATING = 3.0
