"""Frames in between by the command, against ffmpeg's minterpolate and a blend, in the same run.

x2: every second frame of a clip is dropped and ``upsample --factor 2`` makes it again. Runs: 1, 3, 5 or 10 frames in a row
are black, at several places of one file, and ``fill --missing`` makes them again; minterpolate gets the frames around a run.
Middle: the true middle frame from two frames only, of Middlebury's scenes and of the middle of every held-out part;
minterpolate gets each frame twice, so that it has neighbours, and its best output frame counts. PSNR is over RGB, the mean over frames; ``auto over better`` as in `bench_parts.denoising`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.clips import DATA, Pixels, parts, write
from bench_parts.command import Run, coverage, filtered, videorestore
from bench_parts.tables import shown, summed

RUNS = (1, 3, 5, 10)
PLACES = 4
"""Runs in a clip, where it is long enough."""
SIDE = 2
"""Frames on either side of a run that minterpolate is given."""
MCI = "minterpolate=fps={rate}:mi_mode=mci"
MODELS = ("curve", "motion")


def psnr(made: NDArray[Any], truth: Pixels) -> float:
    """Mean PSNR in dB of frames, rounded to 8 bit as a file would hold them."""
    kept = np.clip(np.rint(made.astype(np.float64)), 0, 255)
    errors = np.square(kept - truth).mean(axis=(1, 2, 3))
    return float(np.mean(10 * np.log10(255**2 / np.maximum(errors, 1e-3))))


def judged(
    runs: dict[str, Run], truth: Pixels, hidden: NDArray[np.intp], others: dict[str, float]
) -> dict[str, Any]:
    """A row: peers, ours with its defaults, by how much it is above the better model, coverage."""
    score = {name: psnr(run.frames[hidden], truth[hidden]) for name, run in runs.items()}
    return {
        **others,
        **score,
        "lead": score["auto"] - max(others.values()),
        "auto over better": score["auto"] - max(score[m] for m in MODELS),
        "covers": coverage(runs["auto"], truth, hidden),
    }  # fmt: skip


def commands(verb: str, source: Path, *options: str) -> dict[str, Run]:
    """Our command with its defaults, and with either model."""
    found = {"auto": videorestore(verb, source, *options, sd=True)}
    return found | {m: videorestore(verb, source, *options, "--model", m) for m in MODELS}


def twofold(truth: Pixels, folder: Path) -> dict[str, Any]:
    """Twice the frame rate of a clip whose odd frames are hidden."""
    truth = truth[: len(truth) - 1 + len(truth) % 2]
    source = folder / "half.mkv"
    write(truth[::2], source, rate="25")
    hidden = np.arange(3, len(truth) - 3, 2)
    mci = filtered(source, MCI.format(rate=50), truth.shape[1:3])
    blend = (truth[hidden - 1].astype(float) + truth[hidden + 1]) / 2
    others = {"mci": psnr(mci.frames[hidden], truth[hidden]), "blend": psnr(blend, truth[hidden])}
    runs = commands("upsample", source, "--factor", "2")
    own = {name: Run(frames=r.frames[: len(truth)], sd=None if r.sd is None else r.sd[: len(truth)], record=r.record, cpu=r.cpu) for name, r in runs.items()}  # fmt: skip
    return judged(own, truth, hidden, others) | {"CPU over mci": runs["auto"].cpu / mci.cpu}


def missing(truth: Pixels, run: int, folder: Path) -> dict[str, Any] | None:
    """Runs of black frames in a clip; None where it is too short for one."""
    count = min(PLACES, (len(truth) - 2 * SIDE) // (run + 2 * SIDE))
    if count < 1:
        return None
    firsts = np.linspace(SIDE, len(truth) - run - SIDE, count + 2).astype(int)[1:-1]
    hidden = np.concatenate([np.arange(first, first + run) for first in firsts])
    black = truth.copy()
    black[hidden] = 0
    source = folder / "black.mkv"
    write(black, source)
    made = []
    for first in firsts:
        known = [*range(first - SIDE, first), *range(first + run, first + run + SIDE)]
        write(truth[known], folder / "around.mkv", rate="1")
        around = filtered(folder / "around.mkv", MCI.format(rate=run + 1) + ":scd=none", truth.shape[1:3])
        offset = (SIDE - 1) * (run + 1) + 1
        made.append(around.frames[offset : offset + run])
    others = {"mci": psnr(np.concatenate(made), truth[hidden])}
    return judged(commands("fill", source, "--missing", ",".join(map(str, hidden))), truth, hidden, others)


def triples() -> Iterator[tuple[str, bool, Pixels]]:
    """Three successive frames: a name, whether a held-out part has them, the frames."""
    for scene in sorted((DATA / "interp_gt").glob("*/")):
        names = (str(scene / f"frame{name}.png") for name in ("10", "10i11", "11"))
        yield scene.name, False, np.stack([cv2.imread(name)[..., ::-1] for name in names])
    for part in parts(quick=False, clips=None):
        if part.held_out:
            truth = part.read()
            middle = len(truth) // 2
            yield part.name, True, truth[middle - 1 : middle + 2]


def between(frames: Pixels, folder: Path) -> dict[str, Any]:
    """The true middle frame of two."""
    first, true, last = np.ascontiguousarray(frames)
    write(np.stack([first, last]), folder / "two.mkv")
    write(np.stack([first, first, last, last]), folder / "four.mkv", rate="1")
    doubled = filtered(folder / "four.mkv", MCI.format(rate=2) + ":scd=none", true.shape[:2])
    made = videorestore("upsample", folder / "two.mkv", "--factor", "2")
    row = {
        "ours": psnr(made.frames[1:2], true[None]),
        "mci": max(psnr(frame[None], true[None]) for frame in doubled.frames),
        "blend": psnr((first.astype(float) + last)[None] / 2, true[None]),
    }
    return row | {"lead": row["ours"] - max(row["mci"], row["blend"])}


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure; a folder of ``clips`` stands for the development clips.

    Returns
    -------
    dict
        Tables "x2", "runs" and "middle", and the sums of the three.
    """
    tables: dict[str, list[dict[str, Any]]] = {"x2": [], "runs": [], "middle": []}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part in parts(quick, clips):
            truth = part.read()
            if len(truth) < 9:
                continue
            named = {"clip": part.name, "held out": "yes" if part.held_out else ""}
            tables["x2"].append({**named, "frames made": "every second", **twofold(truth, folder)})
            for run in (3,) if quick else RUNS:
                row = missing(truth, run, folder)
                if row:
                    tables["runs"].append({**named, "frames made": f"{run} in a row", **row})
            print(json.dumps([tables["x2"][-1], tables["runs"][-1:]]), file=sys.stderr, flush=True)
        for name, held_out, frames in triples() if clips is None else ():
            named = {"clip": name, "held out": "yes" if held_out else "", "frames made": "middle of two"}
            tables["middle"].append({**named, **between(frames, folder)})
    result: dict[str, Any] = {name: shown(rows) for name, rows in tables.items() if rows}
    result["sums"] = summed([row for rows in tables.values() for row in rows], "frames made")
    return result


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
