"""`--model auto`: what the trial on hidden frames picks, against both models on what the trial has not seen.

    python scripts/bench_parts/choosing.py [--quick]

upsample: every second frame of a clip is hidden; fill: every fourth. The models see the others only, and so does the
trial. inpaint: blocks that are missing in three frames. denoise: white noise of sd 15, rounded to 8 bit, of known level.
PSNR in dB: the mean over hidden frames; over the missing pixels; over the middle frames. Loss is by how much the pick is
worse than the better model. Natural clips are reduced to 240 pixels, and to 120 for inpaint and denoise.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts.inpainting import holes  # noqa: E402
from bench_parts.inpainting import psnr as psnr_inside  # noqa: E402
from bench_parts.interpolation import DATA, psnr, read, sources  # noqa: E402

from videorestore.make.engines import CurveEngine, Engine, MotionEngine  # noqa: E402
from videorestore.plan.choose import (  # noqa: E402
    CLOSER_LEAD,
    RISK_FRAMES,
    TRIAL_FRAMES,
    better,
    better_inside,
    risks_on,
    safer,
    score_hidden,
)
from videorestore.plan.scan import shrink  # noqa: E402
from videorestore.spatial.noise import Noise  # noqa: E402

Floats = NDArray[np.float32]

SD = 15.0
SMALL, SHORT = 120, 25  # side and frames of clips that are inpainted and denoised


def manifold() -> Iterator[tuple[str, Floats]]:
    """Clips on a curve, ``(n, h, w, 1)``."""
    from scipy.io import loadmat

    folder = DATA / "manifold"
    teapots = loadmat(folder / "teapots_gray_100.mat")["teapotImages"]
    yield "teapots", np.stack([row.reshape(50, 38).T * 255 for row in teapots])[..., None].astype(np.float32)
    for number in (1, 4, 5, 14):
        paths = [folder / "coil20" / f"obj{number}__{k}.png" for k in range(72)]
        yield (
            f"coil {number}",
            np.stack([cv2.imread(str(p), cv2.IMREAD_GRAYSCALE) for p in paths])[..., None].astype(np.float32),
        )
    faces = loadmat(folder / "frey_rawface.mat")["ff"]
    yield "frey", faces.T.reshape(-1, 28, 20)[:60, ..., None].astype(np.float32)
    # One beat of a heart, three times over.
    beat = read(folder / "mouse_cine8.gif", 8).astype(np.float32).mean(axis=3, keepdims=True)
    yield "mouse", np.concatenate([beat] * 3)


def _others(clips: Path | None) -> list[tuple[str, Path]]:
    """Clips that no margin was set on."""
    found = sorted((DATA / "inpaint").glob("*.mp4")) if clips is None else []
    return [(path.stem, path) for path in found]


def natural(clips: Path | None, count: int) -> Iterator[tuple[str, Floats]]:
    """Natural clips, small."""
    for name, path in [*sources(clips), *_others(clips)]:
        yield name, np.stack([shrink(f.astype(np.float32), 240) for f in read(path, count)])


def picked(frames: Floats, hidden: NDArray[Any], lead: float) -> dict[str, Any]:
    """What both models reach on hidden frames, and which one the trial on the others picks."""
    engines: dict[str, Engine] = {"curve": CurveEngine(plain=True), "motion": MotionEngine("default")}
    kept = np.setdiff1d(np.arange(len(frames)), hidden)
    first = max(0, len(kept) // 2 - TRIAL_FRAMES // 2)
    part = kept[first : first + TRIAL_FRAMES]
    trial = score_hidden(frames[part], part.astype(np.float64), engines, Noise(sd=0.0))
    pick = better(trial, lead)
    row: dict[str, Any] = {}
    for name, engine in engines.items():
        made = engine.interpolate(frames[kept], kept.astype(np.float64), hidden.astype(np.float64)).frames
        row[name] = float(np.mean([psnr(a, frames[k]) for a, k in zip(made, hidden)]))
    return {**row, "pick": pick, "loss": max(row.values()) - row[pick]}


def mended(frames: Floats) -> dict[str, Any]:
    """The same for blocks that are missing in three frames; the trial sees the damaged clip."""
    masks = holes("block 3", frames.shape)
    damaged = np.where(masks[..., None], np.float32(128), frames)
    engines: dict[str, Engine] = {"curve": CurveEngine(plain=True), "motion": MotionEngine("default")}
    part = damaged[:TRIAL_FRAMES]
    pick = better(score_hidden(part, np.arange(float(len(part))), engines, Noise(sd=0.0)), 0.0)
    pick = better_inside(part, engines) if pick == "curve" else pick
    row: dict[str, Any] = {}
    for name, engine in engines.items():
        made = engine.inpaint(damaged, masks, 0, len(frames))[0]
        row[name] = psnr_inside(made, frames, masks)
    return {**row, "pick": pick, "loss": max(row.values()) - row[pick]}


def denoised(frames: Floats) -> dict[str, Any]:
    """The same for noise."""
    rng = np.random.default_rng(0)
    noisy = np.clip(np.rint(frames + rng.normal(0, SD, frames.shape)), 0, 255).astype(np.float32)
    noise = Noise.white(SD)
    # The trial looks at a part of the picture only, as it does in large ones.
    h, w = (max(0, length - 96) // 2 for length in frames.shape[1:3])
    pick = safer(risks_on(noisy[:RISK_FRAMES, h : h + 96, w : w + 96], noise), noise)
    low, high = len(frames) // 2 - 2, len(frames) // 2 + 3
    row: dict[str, Any] = {}
    engines: dict[str, Engine] = {"curve": CurveEngine(), "motion": MotionEngine("default")}
    for name, engine in engines.items():
        made = engine.denoise(noisy, noise, 1.0, low, high)[0]
        row[name] = float(np.mean([psnr(a, b) for a, b in zip(made, frames[low:high])]))
    return {**row, "pick": pick, "loss": max(row.values()) - row[pick]}


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure; a folder of ``clips`` stands for the development clips."""
    result: dict[str, Any] = {}
    named = [*(manifold() if clips is None else ()), *natural(clips, 33 if quick else 61)]
    for job, every, lead in (("upsample", 2, CLOSER_LEAD), ("fill", 4, 0.0)):
        rows = []
        for name, frames in named:
            if len(frames) >= 17:
                hidden = np.arange(3, len(frames) - 3, every)
                rows.append({"clip": name, **picked(frames, hidden, lead)})
        result[job] = rows
        result[f"{job}, mean loss"] = _mean_loss(rows)
    for job, judged in (("inpaint", mended), ("denoise", denoised)):
        rows = []
        for name, frames in named:
            if len(frames) >= 17:
                small = np.stack([shrink(frame, SMALL) for frame in frames[:SHORT]])
                rows.append({"clip": name, **judged(small)})
        result[job] = rows
        result[f"{job}, mean loss"] = _mean_loss(rows)
    return result


def _mean_loss(rows: list[dict[str, Any]]) -> float:
    return float(np.mean([row["loss"] for row in rows])) if rows else 0.0


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
