"""Share of clean values within 1.96 sd of what the curve tasks make, under planted noise.

Clips that lie on a curve: rendered ones, and the real teapots and COIL objects where ../shared/data is present.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reproduce_parts.teapot import real_clips

NOISE = (10.0, 25.0)
MISSING = [10, 25, 26, 27, 36]


def clips(quick: bool) -> dict[str, np.ndarray]:
    """About fifty small frames of each clip."""
    import scenes

    found = {"shockwave": scenes.shockwave(60, 64)}
    if quick:
        return found
    found["rendered teapot"] = scenes.teapot(200)[:60]
    for name, (frames, _) in real_clips().items():
        scale = min(1.0, 64 / max(frames.shape[1:3]))
        size = (round(frames.shape[2] * scale), round(frames.shape[1] * scale))
        small = [
            cv2.resize(f, size, interpolation=cv2.INTER_AREA).reshape(size[1], size[0], -1)
            for f in frames[:48]
        ]
        found[name] = np.stack(small).astype(np.float32)
    return found


def holes(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Masks of twenty frames: a block, half of the pixels at random, and one half."""
    height, width = shape[1:3]
    masks = np.zeros((20, height, width), bool)
    masks[6, height // 4 : height // 2, width // 4 : width // 2] = True
    masks[10, :, width // 2 :] = True
    masks[13] = rng.random((height, width)) < 0.5
    return masks


def row(clean: np.ndarray, sd: float, seed: int = 3) -> dict[str, float]:
    """Coverage of every task on one clip at one noise level."""
    from videorestore.curve.denoise import denoise
    from videorestore.curve.inpaint import inpaint
    from videorestore.detect.noise import estimate_noise
    from videorestore.make.engines import JointEngine, MotionEngine

    rng = np.random.default_rng(seed)
    noisy = (clean + sd * rng.standard_normal(clean.shape)).astype(np.float32)
    masks = holes(clean.shape, rng)

    def share(mean: np.ndarray, deviation: np.ndarray, truth: np.ndarray) -> float:
        return float(np.mean(np.abs(mean - truth) <= 1.96 * deviation))

    smooth, smooth_sd, _ = denoise(noisy, estimate_noise(noisy))
    engine = JointEngine(MotionEngine(), 48, grain=sd)
    seen = np.setdiff1d(np.arange(len(noisy)), MISSING)
    filled = engine.interpolator(noisy[seen], seen.astype(float)).at(np.array(MISSING, float))
    between = np.arange(5, 40, 8)
    new = engine.interpolator(noisy[:42:2], np.arange(0, 42, 2.0)).at(between.astype(float))
    mended, mended_sd = inpaint(noisy[:20], masks)
    return {
        "denoise": share(smooth, smooth_sd, clean),
        "fill": share(filled.frames, filled.sd, clean[MISSING]),
        "upsample": share(new.frames, new.sd, clean[between]),
        "inpaint": share(mended[masks], mended_sd[masks], clean[:20][masks]),
    }


def main(quick: bool = False) -> dict[str, Any]:
    """Coverage by clip and noise level, and the means."""
    rows: list[dict[str, Any]] = []
    for name, clean in clips(quick).items():
        for sd in NOISE:
            rows.append({"clip": name, "noise": sd, **row(clean, sd)})
            print(rows[-1], file=sys.stderr)
    means = {
        task: float(np.mean([r[task] for r in rows])) for task in ("denoise", "fill", "upsample", "inpaint")
    }
    return {"covered by 95 %": rows, "mean": means}


if __name__ == "__main__":
    print(main("--quick" in sys.argv)["mean"])
