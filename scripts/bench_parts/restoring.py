"""One command against every single filter: clips with noise, missing frames and dust together.

    python scripts/bench_parts/restoring.py [--quick]

Frames are missing in three ways: black, left out with a gap in the times, and frozen. Ours is ``videorestore restore`` without any option, on a file. Each filter is searched for its best strength on that
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
MISSING = (5, 12, 13)
WAYS = ("black", "gaps", "frozen")
SPOTS = 12


def spoil(truth: Pixels, seed: int = 1) -> Pixels:
    """The clip with noise, and bright and dark dust on every frame."""
    rng = np.random.default_rng(seed)
    n, h, w, _ = truth.shape
    dirty = truth.copy()
    rows, columns = np.mgrid[0:h, 0:w]
    for k in range(n):
        for _ in range(SPOTS):
            y, x = rng.integers(0, h), rng.integers(0, w)
            radius = rng.uniform(1.5, 4.5)
            dirty[k][(rows - y) ** 2 + (columns - x) ** 2 <= radius**2] = rng.choice([15, 240])
    return add_noise(dirty, SIGMA, seed)


def for_filters(noisy: Pixels) -> Pixels:
    """What a filter gets: in place of a missing frame the blend of its neighbours, for most filters cannot fill."""
    given = noisy.astype(np.float32)
    good = [k for k in range(len(noisy)) if k not in MISSING]
    for k in MISSING:
        before, after = max(g for g in good if g < k), min(g for g in good if g > k)
        share = (k - before) / (after - before)
        given[k] = (1 - share) * given[before] + share * given[after]
    return np.asarray(np.rint(given), noisy.dtype)


def restored(noisy: Pixels, way: str) -> tuple[Pixels, dict[str, Any]]:
    """What the command line makes of a file whose missing frames are black, frozen, or absent from the times."""
    frames, kept = noisy.copy(), list(range(len(noisy)))
    if way == "black":
        frames[list(MISSING)] = 0
    elif way == "frozen":
        for k in MISSING:
            frames[k] = frames[k - 1]
    else:
        kept = [k for k in kept if k not in MISSING]
    times = tuple(Fraction(k, 25) for k in kept)
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder) / "in.mkv", Path(folder) / "out.npy"
        clip = Clip(frames=frames[kept], times=times, durations=(Fraction(1, 25),) * len(kept), info=info)
        write(clip, source, SinkOptions(codec="ffv1"))
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
    names = ["foreman", "bus"] if quick else ["foreman", "bus", "tennis", "car-turn", "highway", "hall"]
    if clips is not None:
        names = [str(p) for p in sorted(clips.iterdir()) if not p.name.startswith((".", "README"))]
    rows = []
    for name in names:
        truth = load(name, 20, (240, 352))
        noisy = spoil(truth)
        case = Case(name=name, truth=truth, noisy=for_filters(noisy))
        found = peers(case, SIGMA, ("nlmeans", "hqdn3d") if quick else tuple(FILTERS))
        best = max(found, key=lambda f: float(found[f]["psnr"]))
        score = float(found[best]["psnr"])
        for way in WAYS:
            ours, record = restored(noisy, way)
            reached = psnr(ours, truth) if len(ours) == len(truth) else float("nan")
            rows.append(
                {
                    "clip": Path(name).stem,
                    "missing": way,
                    "damaged": round(psnr(case.noisy, truth), 2),
                    "best filter": best,
                    "its PSNR": round(score, 2),
                    "restore": round(reached, 2),
                    "lead": round(reached - score, 2),
                    "noise sd found": record.get("noise_sd"),
                }
            )
    return {"rows": rows, "mean_lead": round(float(np.mean([r["lead"] for r in rows])), 2)}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    print(json.dumps(main("--quick" in sys.argv), indent=1))
