"""One command against every single filter: clips with noise, missing frames and dust together.

    python scripts/bench_parts/restoring.py [--quick] [--slow]

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
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts.denoising import CLIPS, add_noise, load, psnr  # noqa: E402
from bench_parts.filters import FILTERS, Case, Pixels, best_of, block_matching, filtered  # noqa: E402

from videorestore.clip import Clip, ClipInfo, PixelFormat  # noqa: E402
from videorestore.media import SinkOptions, read, write  # noqa: E402

SIGMA = 15.0
FRAMES = 14
LIMIT = (112, 144)
MISSING = (3, 8, 9)
GOOD = [k for k in range(FRAMES) if k not in MISSING]
WAYS = ("black", "gaps", "frozen")
SPOTS = 4
"""Spots on a frame of the size of `LIMIT`."""


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


def bracketed(made: Callable[[float], Pixels], truth: Pixels, start: float, factor: float) -> Pixels:
    """The best picture over a strength, searched in both directions until it falls."""
    best, strength = made(start), start
    for step in (factor, 1 / factor):
        at = strength * step
        while psnr(there := made(at), truth) > psnr(best, truth) + 1e-3:
            best, strength, at = there, at, at * step
    return best


def _median(case: Case) -> Iterator[Pixels]:
    n = len(case.noisy)
    for radius in (1, 2, 3):
        near = [case.noisy[max(0, k - radius) : k + radius + 1] for k in range(n)]
        yield np.stack([np.rint(np.median(part, axis=0)).astype(np.uint8) for part in near])


def _opencv(case: Case) -> Iterator[Pixels]:
    frames = [np.ascontiguousarray(f) for f in case.noisy]

    def made(strength: float) -> Pixels:
        out = []
        for k in range(len(frames)):
            reach = min(2, k, len(frames) - 1 - k)
            near = frames[k - reach : k + reach + 1]
            out.append(
                cv2.fastNlMeansDenoisingColoredMulti(
                    near, reach, 2 * reach + 1, None, strength, strength, 5, 15
                )
            )
        return np.stack(out)

    yield bracketed(made, case.truth, 0.8 * SIGMA, 1.35)


def _bm3d(case: Case) -> Iterator[Pixels]:
    """PyPI's bm3d frame by frame; its strength is sought on two frames."""
    tried = {
        sd: psnr(block_matching(case.noisy[5:7], sd), case.truth[5:7])
        for sd in (SIGMA, 1.25 * SIGMA, 1.6 * SIGMA)
    }
    yield block_matching(case.noisy, max(tried, key=lambda sd: tried[sd]))


OTHERS: dict[str, Callable[[Case], Iterator[Pixels]]] = {
    "temporal median": _median,
    "OpenCV NLM multi": _opencv,
    "PyPI bm3d": _bm3d,
}
SLOW = {"PyPI bm3d"}
"""Peers that take most of the time, only asked with ``--slow``."""


def peers(case: Case, quick: bool, slow: bool) -> dict[str, tuple[float, float]]:
    """PSNR of every peer at its best, over all frames and over those that were never missing."""
    made: dict[str, Pixels] = {}
    for name in ("nlmeans", "hqdn3d") if quick else tuple(FILTERS):
        setting = best_of(case, name, SIGMA)["setting"]
        made[name] = filtered(case, setting, FILTERS[name].native)[0]
    for name in ("temporal median",) if quick else tuple(n for n in OTHERS if slow or n not in SLOW):
        try:
            made[name] = max(OTHERS[name](case), key=lambda frames: psnr(frames, case.truth))
        except ImportError:
            continue  # a peer that is not installed
    return {
        name: (psnr(frames, case.truth), psnr(frames[GOOD], case.truth[GOOD]))
        for name, frames in made.items()
    }


def main(quick: bool = False, clips: Path | None = None, slow: bool = False) -> dict[str, Any]:
    """Measure.

    Returns
    -------
    dict
        A row for each clip and way, the peers, and the mean lead over the best filter and over each of them.
    """
    names = ["foreman", "bus"] if quick else ["foreman", "bus", "tennis", "car-turn", "highway", "hall"]
    if clips is not None:
        names = [str(p) for p in sorted(clips.iterdir()) if not p.name.startswith((".", "README"))]
    rows, table = [], []
    for name in names:
        truth = load(name, FRAMES, LIMIT)
        if len(truth) < FRAMES:
            continue
        noisy = spoil(truth)
        case = Case(name=name, truth=truth, noisy=for_filters(noisy))
        found = peers(case, quick, slow)
        best, others = (max(found, key=lambda f: found[f][k]) for k in (0, 1))
        title = name if name in CLIPS else Path(name).stem
        table += [{"clip": title, "peer": p, "all": a, "never missing": b} for p, (a, b) in found.items()]
        for way in WAYS:
            made, record = restored(noisy, way)
            if len(made) != len(truth):
                raise RuntimeError(f"{title}, {way}: {len(truth)} frames must come out, got {len(made)}")
            every, good = psnr(made, truth), psnr(made[GOOD], truth[GOOD])
            rows.append(
                {
                    "clip": title,
                    "missing": way,
                    "damaged": round(psnr(case.noisy, truth), 2),
                    "best filter": best,
                    "its PSNR": round(found[best][0], 2),
                    "restore": round(every, 2),
                    "lead": round(every - found[best][0], 2),
                    "best, never missing": others,
                    "its PSNR there": round(found[others][1], 2),
                    "restore there": round(good, 2),
                    "lead there": round(good - found[others][1], 2),
                    "noise sd found": record.get("noise_sd"),
                }
            )
        print(json.dumps(rows[-3:]), file=sys.stderr, flush=True)
    ours = {r["clip"]: np.mean([q["restore"] for q in rows if q["clip"] == r["clip"]]) for r in rows}
    over = {
        f"mean lead over {peer}": round(
            float(np.mean([ours[t["clip"]] - t["all"] for t in table if t["peer"] == peer])), 2
        )
        for peer in dict.fromkeys(t["peer"] for t in table)
    }
    return {
        "rows": rows,
        "peers": table,
        "mean_lead": round(float(np.mean([r["lead"] for r in rows])), 2),
        "mean_lead_never_missing": round(float(np.mean([r["lead there"] for r in rows])), 2),
        "least_lead_never_missing": min(r["lead there"] for r in rows),
        **over,
    }


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv, slow="--slow" in sys.argv), indent=1))
