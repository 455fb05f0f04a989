"""The paper's experiments as a section of the benchmark, and what one curve over large frames costs.

What `scripts/reproduce` prints, part by part (PEERS names a Python with GPy and umap-learn, where this one has not); then 200 frames of 640 x 480 in colour, denoised on a curve by the
command line: memory of all its processes, and the time of the search against that on frames a sixteenth as large.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.scale import make_clip, run

SCRIPTS = Path(__file__).resolve().parent.parent
REPRODUCED = ("simulations", "surfaces", "coverage", "teapot", "shockwave")

SEEDED = REPRODUCED[:3]


def reproduced(part: str, quick: bool) -> Any:
    """Run a part of `scripts/reproduce`; its figures go into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(SCRIPTS / "reproduce"), part, "--out", folder]
        # Seeds on which nothing was chosen.
        command += ["--first-seed", "100"] if part in SEEDED else []
        command += ["--no-figures"] if part == "simulations" else []
        done = subprocess.run([*command, *(["--quick"] if quick else [])], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{part}: {done.stderr.strip()[-500:]}")
        if part == "simulations":
            return json.loads((Path(folder) / "simulations.json").read_text())["curves"]
    # Where the figures were drawn is of no use: that folder is gone.
    return "\n".join(line for line in done.stdout.strip().splitlines() if not line.startswith("drawn:"))


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


PARTS: dict[str, Callable[[bool], Any]] = {
    **{part: partial(reproduced, part) for part in REPRODUCED},
    "memory of a run": memory,
    "time of a fit": search,
}


def main(quick: bool = False, only: Sequence[str] = ()) -> dict[str, Any]:
    """The printed tables by part, and the costs of large frames; all parts, or some of them by name."""
    return {name: part(quick) for name, part in PARTS.items() if not only or name in only}


if __name__ == "__main__":
    for name, shown in main("--quick" in sys.argv).items():
        print(f"\n## {name}\n\n{shown}")
