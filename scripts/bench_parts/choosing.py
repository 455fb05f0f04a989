"""`--model auto`: what the trial on hidden frames picks, against both models on other frames of the same clip.

    python scripts/bench_parts/choosing.py [--quick]

Every second frame of a clip is hidden (as `upsample` would make it), or every fourth of all (as `fill` would). The models
see the others only, and so does the trial. PSNR in dB, the mean over hidden frames; loss is by how much the pick is worse
than the better model. Natural clips are reduced to 240 pixels.
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

from bench_parts.interpolation import DATA, psnr, read, sources  # noqa: E402

from videorestore.spatial.noise import Noise  # noqa: E402
from videorestore.tasks.choose import CLOSER_LEAD, TRIAL_FRAMES, better, score_hidden  # noqa: E402
from videorestore.tasks.engines import CurveEngine, Engine, MotionEngine  # noqa: E402
from videorestore.tasks.scan import shrink  # noqa: E402

Floats = NDArray[np.float32]


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


def natural(clips: Path | None, count: int) -> Iterator[tuple[str, Floats]]:
    """Natural clips, small."""
    for name, path in sources(clips):
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
        result[f"{job}, mean loss"] = float(np.mean([row["loss"] for row in rows])) if rows else 0.0
    return result


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
