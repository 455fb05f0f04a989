"""Planted gaps counted: share right within one, and whether the probabilities mean what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.ordering import first_frames
from reproduce_parts.teapot import real_clips
from reproduce_parts.video_tools import DATA

NATURAL = (
    "bus_qcif_raw.y4m",
    "superres_car_raw.avi",
    "traffic_48x48_raw.avi",
    "foreman_cif_vp9.webm",
    "davis_car-turn.mp4",
    "highway.mpg",
    "escalator.avi",
    "tennis_sif.mp4",
    "intel_asl_book.mkv",
    "intel_car-detection.mp4",
    "intel_one-by-one-person.mp4",
    "bigbuckbunny_720p.mp4",
)
LONGEST = 10


def clips(quick: bool) -> dict[str, np.ndarray]:
    """At most 100 frames of each clip, at most 240 pixels wide or high, as the program looks at them."""
    import scenes

    from videorestore.plan.count import SIDE
    from videorestore.plan.scan import shrink

    found = {"pan": scenes.pan(60, step=0.8), "shockwave": scenes.shockwave(80)}
    if not quick:
        found |= {name: frames for name, (frames, _) in real_clips().items()}
        for name in NATURAL:
            if (DATA / "natural" / name).exists():
                found[name] = first_frames(DATA / "natural" / name, 100)
    return {name: np.stack([shrink(f, SIDE) for f in frames]) for name, frames in found.items()}


def trials(frames: np.ndarray, repeats: int, seed: int = 11) -> np.ndarray:
    """Rows of planted count, stated count, its probability, log probability of the planted one."""
    from videorestore.order.count import count_missing
    from videorestore.plan.count import stated

    rng = np.random.default_rng(seed)
    rows = []
    for gap in range(1, LONGEST + 1):
        for _ in range(repeats if len(frames) >= gap + 8 else 0):
            after = int(rng.integers(3, max(4, len(frames) - gap - 4)))
            given = np.delete(frames, np.arange(after + 1, after + 1 + gap), axis=0)
            chances = count_missing(given, after)
            count, _ = stated(chances)
            rows.append((gap, count, chances[count], np.log(chances[gap])))
    return np.array(rows)


def main(quick: bool = False) -> dict[str, Any]:
    """By clip, and stated probability against the share that was right."""
    table, everything = [], []
    for name, frames in clips(quick).items():
        rows = trials(frames, 1 if quick else 4)
        everything.append(rows)
        error = np.abs(rows[:, 1] - rows[:, 0])
        table.append(
            {
                "clip": name,
                "within one": float(np.mean(error <= 1)),
                "exact": float(np.mean(error == 0)),
                "stated": float(rows[:, 2].mean()),
                "bias": float(np.mean(rows[:, 1] - rows[:, 0])),
                "log score": float(rows[:, 3].mean()),
            }
        )
        print(table[-1], file=sys.stderr)
    rows = np.concatenate(everything)
    bins = []
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        here = rows[(rows[:, 2] >= low) & (rows[:, 2] < low + 0.2 + 1e-9)]
        if len(here):
            right = float(np.mean(here[:, 0] == here[:, 1]))
            bins.append({"stated": float(here[:, 2].mean()), "right": right, "gaps": len(here)})
    return {
        "by clip": table,
        "calibration": bins,
        "within one, mean over clips": float(np.mean([r["within one"] for r in table])),
    }


if __name__ == "__main__":
    print(main("--quick" in sys.argv))
