"""Interlaced video made from progressive clips at field rate: the missing lines, against FFmpeg's four deinterlacers.

    scripts/bench fields [--quick] [--clips FOLDER]

Ours is the command ``videorestore deinterlace`` with its defaults, on a file. PSNR is over the missing lines of luma;
``rest`` is the mean difference between successive frames at places that rest in the truth, ours over bwdif's. ``noisy`` is
``restore`` on tapes with noise, PSNR over all lines, against the best deinterlacer with the best denoiser before or behind
it. The table of kinds says what is found when the same clips are stored in every way that there is, clean and with noise.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts.clips import Part, parts  # noqa: E402
from bench_parts.command import videorestore  # noqa: E402
from bench_parts.filters import Case, best_of  # noqa: E402

from videorestore.detect.combs import narrow_directions, narrowed  # noqa: E402
from videorestore.detect.fields import judge_shot  # noqa: E402
from videorestore.detect.ways import WAYS  # noqa: E402
from videorestore.media.pipe import ffmpeg  # noqa: E402

Pictures = NDArray[np.uint8]

FILTERS = {
    "bwdif": "bwdif=mode=send_field:parity=tff",
    "yadif": "yadif=mode=send_field:parity=tff",
    "w3fdif": "w3fdif=filter=complex:mode=field:parity=tff",
    "estdif": "estdif=mode=field:parity=tff",
}
FIELDS, LONG, SIDE = 24, 40, 480
"""Fields of a clip whose lines are made, pictures by which its kind is told, and the longest side of the part that is taken."""

NOISES, RIVALS = (10.0, 25.0), ("hqdn3d", "nlmeans", "fftdnoiz")
"""Noise of tapes, and the denoisers that are set beside a deinterlacer."""

ROUNDING = 0.29
"""Least sd of what is written as whole levels."""

EDGE = 2
"""Fields at both ends that do not count: filters lack a side there."""


def load(part: Part) -> Pictures:
    """Luma ``(n, h, w)`` from the middle of the frames of a part; heights are multiples of four."""
    pixels = part.read(most=LONG, limit=(SIDE, SIDE))
    height = pixels.shape[1] // 4 * 4
    return np.stack([cv2.cvtColor(p[:height], cv2.COLOR_RGB2GRAY) for p in pixels])


def interlaced(pictures: Pictures) -> Pictures:
    """Two pictures to a frame, top field first."""
    frames = pictures[0::2].copy()
    frames[:, 1::2] = pictures[1::2][:, 1::2]
    return frames


def run(arguments: list[str], data: bytes | None = None) -> tuple[bytes, float]:
    """What a command writes, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(arguments, input=data, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def raw(source: list[str], chain: str, shape: tuple[int, ...], data: bytes | None = None) -> Pictures:
    """Grey pictures ``(n, h, w)`` of an input through a chain of filters."""
    output, _ = run(
        [ffmpeg(), "-v", "error", *source, "-vf", chain, "-f", "rawvideo", "-pix_fmt", "gray", "-"], data
    )
    return np.frombuffer(output, np.uint8).reshape(-1, *shape)


def missing_psnr(made: Pictures, truth: Pictures) -> float:
    """PSNR over the lines that the fields do not have."""
    errors = [
        np.square(made[k][1 - k % 2 :: 2].astype(float) - truth[k][1 - k % 2 :: 2]).mean()
        for k in range(EDGE, len(truth) - EDGE)
    ]
    return float(10 * np.log10(255**2 / max(np.mean(errors), 1e-9)))


def restlessness(made: Pictures, truth: Pictures) -> float:
    """Mean difference between successive frames where the truth rests."""
    rest = np.abs(np.diff(truth[EDGE:-EDGE].astype(float), axis=0)) <= 1
    return (
        float(np.abs(np.diff(made[EDGE : len(truth) - EDGE].astype(float), axis=0))[rest].mean())
        if rest.any()
        else 0.0
    )


def tape(frames: Pictures, path: Path) -> list[str]:
    """Write interlaced frames to a file, flagged so, and give back how FFmpeg reads them raw."""
    size = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{frames.shape[2]}x{frames.shape[1]}", "-r", "25"]
    words = ["-vf", "setfield=tff", "-c:v", "ffv1", "-field_order", "tt", str(path)]
    run([ffmpeg(), "-v", "error", "-y", *size, "-i", "-", *words], frames.tobytes())
    return [*size, "-i", "-"]


def one_clip(part: Part, truth: Pictures, folder: Path) -> dict[str, Any]:
    """A row of the table: every filter and ours."""
    frames, source, output = interlaced(truth), folder / "in.mkv", folder / "out.mkv"
    shape, size = truth.shape[1:], tape(frames, source)
    made = {f: raw(size, f"setfield=tff,{chain}", shape, frames.tobytes()) for f, chain in FILTERS.items()}
    command = [sys.executable, "-m", "videorestore", "deinterlace", str(source), "-o", str(output), "-y"]
    _, seconds = run([*command, "--order", "tff", "--codec", "ffv1", "--progress", "none"])
    ours = raw(["-i", str(output)], "format=gray", shape)
    row: dict[str, Any] = {"clip": part.name, "held out": "yes" if part.held_out else ""}
    row |= {f: round(missing_psnr(p[: len(truth)], truth), 2) for f, p in made.items()}
    row["ours"] = round(missing_psnr(ours, truth), 2)
    row["gain"] = round(row["ours"] - max(row[f] for f in FILTERS), 2)
    still = restlessness(made["bwdif"][: len(truth)], truth)
    row["rest"] = round(restlessness(ours, truth) / still, 2) if still else "-"
    row["CPU s/MP"] = round(seconds / truth.size * 1e6, 2)
    return row


def kinds(name: str, pictures: Pictures, noise: float) -> dict[str, Any]:
    """How a clip is judged when it is stored in each of the `WAYS`: right, wrong or unknown."""
    rng = np.random.default_rng(0)
    counts = {"right": 0, "unknown": 0, "wrong": 0}
    for way in WAYS:
        frames: list[NDArray[np.float32]] = []
        for n in range(len(pictures)):
            turn, phase = divmod(n, way.period)
            top, bottom = way.tops[phase] + turn * way.step, way.bottoms[phase] + turn * way.step
            if max(top, bottom) >= len(pictures):
                break
            frame = pictures[top].astype(np.float32)
            frame[1::2] = pictures[bottom][1::2]
            frames.append(
                np.clip(np.rint(frame + rng.normal(0, noise, frame.shape)), 0, 255).astype(np.float32)
            )
        found = judge_shot(narrow_directions([narrowed(f) for f in frames]))
        same = (found.kind, found.order) == (way.kind, way.order)
        counts["unknown" if found.kind == "unknown" else "right" if same else "wrong"] += 1
    return {"clip": name, "noise": noise, **counts}


def noisy_clip(part: Part, truth: Pictures, sigma: float, folder: Path) -> dict[str, Any]:
    """A row of the table of noisy tapes: ``restore`` blind, and each denoiser at its best before and behind the best deinterlacer."""
    rng = np.random.default_rng(1)
    frames = interlaced(truth)
    noisy = np.clip(np.rint(frames + rng.normal(0, sigma, frames.shape)), 0, 255).astype(np.uint8)
    source = folder / "noisy.mkv"
    size = tape(noisy, source)
    alone = {f: raw(size, f"setfield=tff,{c}", truth.shape[1:], noisy.tobytes()) for f, c in FILTERS.items()}
    best = FILTERS[max(alone, key=lambda f: missing_psnr(alone[f][: len(truth)], truth))]
    case = Case(name=part.name, source=source, truth=np.repeat(truth[..., None], 3, axis=3))
    behind, before = f"setfield=tff,{best},{{}}", f"setfield=tff,separatefields,{{}},weave,{best}"
    rivals = {
        f"{name}, {place}": best_of(case, name, sigma, words)["psnr"]
        for name in RIVALS
        for place, words in (("before", before), ("behind", behind))
    }
    ours = videorestore("restore", source, "--mend", "off", sd=True)
    made = ours.frames.reshape(len(ours.frames), *truth.shape[1:], -1)[..., 0].astype(float)
    gone = np.arange(truth.shape[1])[None, :] % 2 != np.arange(len(truth))[:, None] % 2
    covered = np.abs(made - truth) <= 1.96 * np.maximum(ours.sd.reshape(made.shape), ROUNDING)
    error = float(np.square(made - truth).mean())
    rival = max(rivals, key=lambda name: rivals[name])
    row = {"clip": part.name, "held out": "yes" if part.held_out else "", "noise": sigma, "best other": rival}
    row |= {"its dB": round(rivals[rival], 2), "ours": round(10 * float(np.log10(255**2 / error)), 2)}
    row["gain"] = round(row["ours"] - row["its dB"], 2)
    row |= {"missing lines covered": round(float(covered[gone].mean()), 3)}
    row |= {"known lines covered": round(float(covered[~gone].mean()), 3)}
    return row


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """All tables, over the development clips or those of a folder that are long enough."""
    missing, noisy, told = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for part in parts(quick, clips):
            every = load(part) if len(part.files) == 1 else np.empty((0, 0, 0), np.uint8)
            truth = every[:FIELDS]
            if len(truth) < FIELDS or min(truth.shape[1:]) < 64:
                continue
            missing.append(one_clip(part, truth, Path(folder)))
            noisy += [noisy_clip(part, truth, sigma, Path(folder)) for sigma in NOISES]
            told += [kinds(part.name, every[:LONG], noise) for noise in (0.0, 15.0)]
    gains = [row["gain"] for row in missing]
    return {
        "mean gain": float(np.mean(gains)) if gains else "no clips",
        "lines": missing,
        "noisy": noisy,
        "kinds": told,
    }


if __name__ == "__main__":
    print(main(quick="--quick" in sys.argv))
