"""Frames in between: ours, straight motion, and ffmpeg's minterpolate, framerate and blend, in the same run.

    python scripts/bench_parts/interpolation.py [--quick]

x2: every second frame of a clip is dropped and made again. Middlebury: the true middle frame from two frames only;
minterpolate gets each frame twice, so that it has neighbours, and its best output frame counts. Runs: 1, 3, 5 or 10
frames in a row are missing; the first, the middle and the last of them are scored. PSNR is over RGB, the mean over
frames. Coverage is the share of true samples within
1.96 sd, rank the rank correlation of sd and absolute error over blocks of 8 x 8. CPU time in the tables is that of all
threads. "commands" are whole runs from file to file, decoding and encoding included, of ``upsample --factor 2 --jobs 1``
and of minterpolate at its defaults, on clips of 60 frames or more: CPU seconds, user and system, the least of three runs.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from videorestore.motion.flow import FlowCache  # noqa: E402
from videorestore.motion.interpolate import Interpolated, interpolate  # noqa: E402

Pixels = NDArray[np.uint8]

DATA = ROOT.parent / "shared" / "data"
NATURAL = (
    "bus_qcif_raw.y4m",
    "foreman_cif_vp9.webm",
    "tennis_sif.mp4",
    "davis_car-turn.mp4",
    "highway.mpg",
    "hall_monitor",
    "escalator.avi",
    "superres_car_raw.avi",
    "traffic_48x48_raw.avi",
)
RUNS = (1, 3, 5, 10)
COMMANDS = ("foreman_cif_vp9", "tennis_sif", "davis_car-turn")
LONG, LARGE = 60, 80_000  # frames and pixels of clips on which start-up and small frames do not count
TIMES = 3  # runs of either command, in turn, of which the least counts: a busy machine only adds
MCI = "minterpolate=fps={rate}:mi_mode=mci"


def read(path: Path, count: int) -> Pixels:
    """The first frames ``(n, h, w, 3)`` of a video or of a folder of images."""
    if path.is_dir():
        return np.stack([cv2.imread(str(p))[..., ::-1] for p in sorted(path.glob("*.png"))[:count]])
    frames = []
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            frames.append(frame.to_ndarray(format="rgb24"))
            if len(frames) == count:
                break
    return np.stack(frames)


def filtered(frames: Pixels, chain: str) -> tuple[Pixels, float]:
    """What an ffmpeg filter makes of frames at 1 frame per second, and its CPU seconds."""
    h, w = frames.shape[1:3]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-threads", "1", "-f", "rawvideo"]
    command += ["-pix_fmt", "rgb24", "-s", f"{w}x{h}", "-r", "1", "-i", "-", "-vf", chain]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = subprocess.run(command, input=frames.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return np.frombuffer(made, np.uint8).reshape(-1, h, w, 3), cpu


def psnr(result: NDArray[Any], truth: Pixels) -> float:
    """PSNR in dB of a frame, rounded to 8 bit as a file would hold it."""
    kept = np.clip(np.rint(result.astype(np.float64)), 0, 255)
    error = np.mean(np.square(kept - truth))
    return float(10 * np.log10(255**2 / max(error, 1e-3)))


def blocks(values: NDArray[Any], size: int = 8) -> NDArray[Any]:
    """Means over blocks of a map ``(h, w)``, in one row."""
    h, w = (length // size * size for length in values.shape)
    return values[:h, :w].reshape(h // size, size, w // size, size).mean(axis=(1, 3)).ravel()


def honesty(made: Interpolated, truth: list[Pixels]) -> tuple[float, float]:
    """Coverage of mean +- 1.96 sd, and rank correlation of sd and error over blocks."""
    covered, ranks = [], []
    for frame, sd, true in zip(made.frames, made.sd, truth, strict=True):
        error = np.abs(np.clip(frame, 0, 255) - true)
        covered.append(float((error <= 1.96 * sd).mean()))
        ranks.append(float(spearmanr(blocks(sd.mean(axis=2)), blocks(error.mean(axis=2)))[0]))
    return float(np.mean(covered)), float(np.nanmean(ranks))


def straight(frames: NDArray[np.float32], times: NDArray[Any], targets: NDArray[Any]) -> list[NDArray[Any]]:
    """Ours with two frames only, so that all motion is straight."""
    made = []
    for target in targets:
        low = int(np.searchsorted(times, target)) - 1
        part = slice(low, low + 2)
        made.append(interpolate(frames[part], times[part], np.array([target])).frames[0])
    return made


def twofold(truth: Pixels) -> dict[str, Any]:
    """Twice the frame rate of a clip whose odd frames are hidden."""
    kept = truth[::2]
    hidden = np.arange(3, len(truth) - 3, 2)
    frames, times = kept.astype(np.float32), np.arange(len(kept)) * 2.0
    interpolate(frames[:2], times[:2], np.array([1.0]))  # compile
    start = time.process_time()
    made = interpolate(frames, times, hidden.astype(np.float64), cache=FlowCache(frames))
    cpu = time.process_time() - start
    true = [truth[k] for k in hidden]
    mci, mci_cpu = filtered(kept, MCI.format(rate=2))
    rated, _ = filtered(kept, "framerate=fps=2")
    covered, rank = honesty(made, true)
    lines = straight(frames, times, hidden.astype(np.float64))

    def mean(results: Any) -> float:
        return float(np.mean([psnr(a, b) for a, b in zip(results, true, strict=True)]))

    return {
        "ours": mean(made.frames),
        "straight": mean(lines),
        "mci": mean([mci[k] for k in hidden]),
        "framerate": mean([rated[k] for k in hidden]),
        "blend": mean([(truth[k - 1].astype(float) + truth[k + 1]) / 2 for k in hidden]),
        "coverage": covered,
        "rank": rank,
        "cpu_ms": 1e3 * cpu / len(hidden),
        "mci_cpu_ms": 1e3 * mci_cpu / (len(kept) - 1),
    }


def missing(truth: Pixels, run: int, cases: int) -> dict[str, Any] | None:
    """Runs of missing frames in a clip, at several places."""
    side = 2
    places = np.unique(np.linspace(side, len(truth) - run - side, cases).astype(int))
    if len(truth) < run + 2 * side + 2:
        return None
    scores: dict[str, list[float]] = {name: [] for name in ("ours", "straight", "mci", "coverage", "rank")}
    for first in places:
        known = np.array([*range(first - side, first), *range(first + run, first + run + side)])
        hidden = np.unique([first, first + run // 2, first + run - 1])
        true = [truth[k] for k in hidden]
        frames, times = truth[known].astype(np.float32), known.astype(np.float64)
        made = interpolate(frames, times, hidden.astype(np.float64))
        mci, _ = filtered(truth[known], MCI.format(rate=run + 1) + ":scd=none")
        offset = (side - 1) * (run + 1) + 1
        covered, rank = honesty(made, true)
        scores["ours"] += [psnr(a, b) for a, b in zip(made.frames, true, strict=True)]
        lines = straight(frames, times, hidden.astype(np.float64))
        scores["straight"] += [psnr(a, b) for a, b in zip(lines, true, strict=True)]
        scores["mci"] += [psnr(mci[offset + k - first], truth[k]) for k in hidden]
        scores["coverage"].append(covered)
        scores["rank"].append(rank)
    return {name: float(np.mean(values)) for name, values in scores.items()}


def middlebury(folder: Path) -> dict[str, Any]:
    """The true middle frame of two."""
    first, last, true = (
        np.ascontiguousarray(cv2.imread(str(folder / f"frame{name}.png"))[..., ::-1])
        for name in ("10", "11", "10i11")
    )
    made = interpolate(np.stack([first, last]).astype(np.float32), np.array([0.0, 1.0]), np.array([0.5]))
    outputs, _ = filtered(np.stack([first, first, last, last]), MCI.format(rate=2) + ":scd=none")
    covered, rank = honesty(made, [true])
    return {
        "ours": psnr(made.frames[0], true),
        "mci": max(psnr(frame, true) for frame in outputs),
        "blend": psnr((first.astype(float) + last) / 2, true),
        "coverage": covered,
        "rank": rank,
    }


def cpu_of(command: list[str]) -> float:
    """CPU seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    alone = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "NUMBA")}
    subprocess.run(
        command, env={**os.environ, **alone, "PYTHONPATH": str(ROOT)}, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(path: Path) -> dict[str, Any] | None:
    """Twice the rate of a file by the command and by minterpolate: CPU seconds; None for short or small clips."""
    if path.is_dir():
        return None
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        rate, size = stream.average_rate or stream.base_rate, stream.width * stream.height
        frames = sum(1 for _ in container.decode(video=0))
    if frames < LONG or size < LARGE or rate is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/made.mkv"
        own = [sys.executable, "-m", "videorestore", "upsample", str(path), "-o", made, "-y", "--factor", "2"]
        own += ["--jobs", "1"]
        cpu_of([*own, "--range", f"0:{LONG}"])  # compile
        ffmpeg = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-threads", "1", "-i", str(path)]
        ffmpeg += ["-vf", MCI.format(rate=2 * rate), "-threads", "1", "-c:v", "libx264", made]
        ours, mci = (min(times) for times in zip(*((cpu_of(own), cpu_of(ffmpeg)) for _ in range(TIMES))))
    return {"cpu s": ours, "mci cpu s": mci, "ratio": ours / mci}


def sources(clips: Path | None) -> Iterator[tuple[str, Path]]:
    """Names and paths of the clips: those of a folder, or the development clips."""
    if clips is None:
        yield from ((Path(name).stem, DATA / "natural" / name) for name in NATURAL)
        return
    for path in sorted(clips.iterdir()):
        if path.is_dir() or path.suffix in (".y4m", ".mp4", ".mkv", ".avi", ".webm", ".mpg", ".mov"):
            yield path.stem, path


def summed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with two decimals, and the row of their means below."""
    names = [name for name in rows[0] if name != "clip"]
    rows = [*rows, {"clip": "mean", **{n: float(np.mean([row[n] for row in rows])) for n in names}}]
    return [{k: v if isinstance(v, str) else f"{v:.2f}" for k, v in row.items()} for row in rows]


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    quick : bool
        Fewer frames and places.
    clips : Path, optional
        A folder of clips instead of the development clips.

    Returns
    -------
    dict
        Tables "x2", "commands", "middlebury" and "run N", and leads over the peers in dB.
    """
    count = 17 if quick else 61
    x2: list[dict[str, Any]] = []
    gaps: dict[int, list[dict[str, Any]]] = {run: [] for run in RUNS}
    runs: list[dict[str, Any]] = []
    for name, path in sources(clips):
        truth = read(path, count)
        if len(truth) < 9:
            continue
        x2.append({"clip": name, **twofold(truth)})
        spent = commands(path) if clips is not None or name in COMMANDS else None
        if spent:
            runs.append({"clip": name, **spent})
        for run in RUNS:
            scores = missing(truth, run, 2 if quick else 5)
            if scores:
                gaps[run].append({"clip": name, **scores})
    result: dict[str, Any] = {}
    if x2:
        result["x2"] = summed(x2)
        result["x2 lead over minterpolate"] = float(np.mean([row["ours"] - row["mci"] for row in x2]))
        result["x2 least lead over minterpolate"] = min(row["ours"] - row["mci"] for row in x2)
        result["x2 lead over blend"] = float(np.mean([row["ours"] - row["blend"] for row in x2]))
    if runs:
        result["commands"] = summed(runs)
        result["CPU of the command over minterpolate's"] = float(np.mean([row["ratio"] for row in runs]))
    pairs = sorted((DATA / "interp_gt").glob("*/")) if clips is None else []
    if pairs:
        rows = [{"clip": folder.name, **middlebury(folder)} for folder in pairs]
        result["middlebury"] = summed(rows)
        result["middlebury lead over minterpolate"] = float(np.mean([r["ours"] - r["mci"] for r in rows]))
    for run, rows in gaps.items():
        if rows:
            result[f"run {run}"] = summed(rows)
            result[f"run {run} lead over minterpolate"] = float(np.mean([r["ours"] - r["mci"] for r in rows]))
            result[f"run {run} least lead over straight motion"] = min(
                r["ours"] - r["straight"] for r in rows
            )
    return result


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
