"""CPU seconds for a megapixel of one frame, as the benchmarks measured them; for estimates only."""

from __future__ import annotations

COPYING = 0.05
DENOISING = {"fast": 1.7, "default": 3.5, "best": 6.5}
MENDING = 1.5
INTERPOLATING = 3.0
