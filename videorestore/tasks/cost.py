"""CPU seconds for a megapixel of one frame, as `scripts/bench scale` measured them on one core; for estimates only."""

from __future__ import annotations

COPYING = 0.05
DENOISING = {"fast": 1.5, "default": 4.5, "best": 8.0}
MENDING = 1.5
INTERPOLATING = 3.0
