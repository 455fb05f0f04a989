"""One command against every single filter: clips with noise, missing frames and dust together.

Frames are missing in three ways: black, left out with a gap in the times, and frozen. Ours is ``videorestore
restore`` without any option, on a file. Every peer is searched for its best strength on that very clip, and gets the
blend of the neighbours in place of a missing frame, since it cannot fill. PSNR is over RGB and over all frames, and
once more over the frames that were never missing, where the same setting of a peer is scored.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts.clips import add_noise, parts  # noqa: E402
from bench_parts.clips import write as write_frames  # noqa: E402
from bench_parts.filters import FILTERS, Case, Pixels, best_of  # noqa: E402
from bench_parts.scores import psnr  # noqa: E402
from bench_parts.tables import shown, summed  # noqa: E402

from videorestore.clip import Clip, ClipInfo, PixelFormat  # noqa: E402
from videorestore.media import SinkOptions, read, write  # noqa: E402

SIGMA = 15.0
FRAMES = 40
LIMIT = (288, 352)
"""Largest height and width of a clip."""
MISSING = (9, 20, 21)
GOOD = [k for k in range(FRAMES) if k not in MISSING]
WAYS = ("black", "gaps", "frozen")
SPOTS = 6
"""Spots on every frame."""


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
    """What a peer gets: in place of a missing frame the blend of its neighbours."""
    given = noisy.astype(np.float32)
    for k in MISSING:
        before, after = max(g for g in GOOD if g < k), min(g for g in GOOD if g > k)
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


def medians(given: Pixels) -> Iterator[Pixels]:
    """Medians over three, five and seven frames."""
    for radius in (1, 2, 3):
        near = [given[max(0, k - radius) : k + radius + 1] for k in range(len(given))]
        yield np.stack([np.rint(np.median(part, axis=0)).astype(np.uint8) for part in near])


def peers(case: Case, given: Pixels, quick: bool) -> dict[str, Pixels]:
    """What every peer makes at its best."""
    made = {
        name: best_of(case, name, SIGMA)["frames"] for name in (("nlmeans", "hqdn3d") if quick else FILTERS)
    }
    made["temporal median"] = max(medians(given), key=lambda frames: psnr(frames, case.truth))
    return made


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure.

    Returns
    -------
    dict
        A row for each clip and way, and the mean lead over the best peer, over all frames and over those never missing.
    """
    rows: list[dict[str, Any]] = []
    for part in parts(quick, clips):
        truth = part.read(most=FRAMES, limit=LIMIT)
        if len(truth) < FRAMES:
            continue
        noisy = spoil(truth)
        given = for_filters(noisy)
        with tempfile.TemporaryDirectory() as folder:
            write_frames(given, Path(folder) / "given.mkv")
            case = Case(name=part.name, source=Path(folder) / "given.mkv", truth=truth)
            found = peers(case, given, quick)
        every = {name: psnr(frames, truth) for name, frames in found.items()}
        good = {name: psnr(frames[GOOD], truth[GOOD]) for name, frames in found.items()}
        for way in ("black",) if quick else WAYS:
            made, record = restored(noisy, way)
            if len(made) != len(truth):
                raise RuntimeError(f"{part.name}, {way}: {len(truth)} frames must come out, got {len(made)}")
            row: dict[str, Any] = {
                "clip": part.name,
                "held out": "yes" if part.held_out else "",
                "missing": way,
            }
            row |= {"damaged": psnr(given, truth), "best peer": max(every, key=lambda f: every[f])}
            row |= {"its PSNR": max(every.values()), "restore": psnr(made, truth)}
            row["lead"] = row["restore"] - row["its PSNR"]
            row["lead, never missing"] = psnr(made[GOOD], truth[GOOD]) - max(good.values())
            row["noise found"] = record.get("noise_sd")
            rows.append(row)
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    sums = summed(rows, "missing", extra={"mean lead, frames never missing": "lead, never missing"})
    return {"rows": shown(rows), "sums": sums}


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv), indent=1))
