"""The paper's experiments as a section of the benchmark, and what one curve over large frames costs.

What `scripts/reproduce` prints, part by part; then 200 frames of 640 x 480 in colour, denoised on a curve by the
command line: memory of all its processes, and the time of the search against that on frames a sixteenth as large.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.scale import make_clip, run

SCRIPTS = Path(__file__).resolve().parent.parent
PARTS = ("simulations", "teapot", "shockwave")


def reproduced(quick: bool) -> dict[str, Any]:
    """Run all parts of `scripts/reproduce`; their figures go into a folder that is thrown away."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            command = [sys.executable, str(SCRIPTS / "reproduce"), part, "--out", folder]
            done = subprocess.run([*command, *(["--quick"] if quick else [])], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{part}: {done.stderr.strip()[-500:]}")
            # Where the figures were drawn is of no use: that folder is gone.
            told = [line for line in done.stdout.strip().splitlines() if not line.startswith("drawn:")]
            results[part] = "\n".join(told)
    return results


def memory(quick: bool) -> list[dict[str, Any]]:
    """``denoise --model curve`` through the command line: the largest sum of memory of all its processes."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for width, height, count in ((160, 120, 50),) if quick else ((160, 120, 200), (640, 480, 200)):
            clip = make_clip(Path(folder) / f"{width}.mp4", width, height, count)
            made = run("denoise", clip, "--model", "curve", "--jobs", "1")
            rows.append(
                {
                    "frames": count,
                    "size": f"{width} x {height}",
                    "peak MB": made["peak_mb"],
                    "CPU s": made["cpu_s"],
                }
            )
    return rows


def search(quick: bool) -> list[dict[str, Any]]:
    """CPU time of a fit: the search once Gram matrices are built, and the passes over the pixels."""
    import scenes

    from videorestore.curve.fit import fit_shot

    count = 40 if quick else 200
    picture = scenes.texture(560, 900)
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for width, height in ((160, 120), (320, 240) if quick else (640, 480)):
            frames = np.memmap(Path(folder) / f"{width}", np.uint8, "w+", shape=(count, height, width, 3))
            for i in range(count):
                # A camera that moves by a fifth of a percent of the width each frame.
                shift = np.float32([[1, 0, -640 * i / 500], [0, 1, -40]])
                view = cv2.warpAffine(picture, shift, (640, 480), flags=cv2.INTER_LINEAR)
                view = cv2.resize(view, (width, height), interpolation=cv2.INTER_AREA)
                noisy = view + 10 * rng.standard_normal(view.shape)
                frames[i] = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
            spent, last = 0.0, 0.0

            def watch(stage: str, step: int, value: float) -> None:
                nonlocal spent, last
                now = time.process_time()
                # Between two steps of one search nothing else happens.
                spent += now - last if step > 1 else 0.0
                last = now

            began = time.process_time()
            fit = fit_shot(frames, sigma=10.0, callback=watch)
            whole = time.process_time() - began
            row: dict[str, Any] = {
                "frames": count,
                "size": f"{width} x {height}",
                "search CPU s": spent,
                "steps": int(fit.posterior.fit.n_iter),
                "passes CPU s": whole - spent,
            }
            first = rows[0] if rows else row
            row["search against the first row"] = spent / first["search CPU s"]
            row["the same per step"] = row["search against the first row"] * first["steps"] / row["steps"]
            rows.append(row)
    return rows


def main(quick: bool = False) -> dict[str, Any]:
    """The printed tables by part, and the costs of large frames."""
    costs = {"memory of a run": memory(quick), "time of a fit": search(quick)}
    return {**reproduced(quick), **costs}


if __name__ == "__main__":
    for name, shown in main("--quick" in sys.argv).items():
        print(f"\n## {name}\n\n{shown}")
