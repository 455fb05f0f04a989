"""One command against every single filter: clips with noise, black frames and dust together.

    python scripts/bench_parts/restoring.py [--quick]

Ours is ``videorestore restore`` without any option, on a file. Each filter is searched for its best strength on that
very clip. PSNR is over RGB and over all frames of the whole clip.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from bench_parts.denoising import FILTERS, Case, Pixels, add_noise, load, peers, psnr

from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.media import SinkOptions, read, write

ROOT = Path(__file__).resolve().parent.parent.parent
SIGMA = 15.0
BLACK = (5, 12, 13)
SPOTS = 12


def spoil(truth: Pixels, seed: int = 1) -> Pixels:
    """The clip with noise, three black frames, and bright and dark dust on every frame."""
    rng = np.random.default_rng(seed)
    n, h, w, _ = truth.shape
    dirty = truth.copy()
    rows, columns = np.mgrid[0:h, 0:w]
    for k in range(n):
        for _ in range(SPOTS):
            y, x = rng.integers(0, h), rng.integers(0, w)
            radius = rng.uniform(1.5, 4.5)
            dirty[k][(rows - y) ** 2 + (columns - x) ** 2 <= radius**2] = rng.choice([15, 240])
    noisy = add_noise(dirty, SIGMA, seed)
    noisy[list(BLACK)] = 0
    return noisy


def restored(noisy: Pixels) -> tuple[Pixels, dict[str, Any]]:
    """What the command line makes of a file with these frames."""
    times = tuple(Fraction(k, 25) for k in range(len(noisy)))
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.mkv", Path(folder) / "out.npy"
        durations = (Fraction(1, 25),) * len(noisy)
        write(
            Clip(frames=noisy, times=times, durations=durations, info=info), source, SinkOptions(codec="ffv1")
        )
        command = [sys.executable, "-m", "videorestore", "restore", str(source), "-o", str(output)]
        done = subprocess.run(
            [*command, "--json", "--progress", "none"], cwd=ROOT, capture_output=True, text=True
        )
        if done.returncode not in (0, 5):
            raise RuntimeError(done.stderr.strip())
        return np.asarray(read(output).frames), json.loads(done.stdout)


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure.

    Returns
    -------
    dict
        A row for each clip, and the mean lead over the best filter.
    """
    names = ("foreman", "bus") if quick else ("foreman", "bus", "tennis", "car-turn", "highway", "hall")
    rows = []
    for name in names:
        truth = load(name, 20, (240, 352))
        noisy = spoil(truth)
        case = Case(name=name, truth=truth, noisy=noisy)
        found = peers(case, SIGMA, ("nlmeans", "hqdn3d") if quick else tuple(FILTERS))
        best = max(found, key=lambda f: float(found[f]["psnr"]))
        score = float(found[best]["psnr"])
        ours, record = restored(noisy)
        rows.append(
            {
                "clip": name,
                "damaged": round(psnr(noisy, truth), 2),
                "best filter": best,
                "its PSNR": round(score, 2),
                "restore": round(psnr(ours, truth), 2),
                "lead": round(psnr(ours, truth) - score, 2),
                "noise sd found": record.get("noise_sd"),
            }
        )
    return {"rows": rows, "mean_lead": round(float(np.mean([r["lead"] for r in rows])), 2)}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    print(json.dumps(main("--quick" in sys.argv), indent=1))
