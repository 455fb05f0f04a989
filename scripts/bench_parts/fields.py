"""Interlaced video made from progressive clips at field rate: the missing lines, against FFmpeg's four deinterlacers.

    scripts/dev bench fields [--quick] [--clips FOLDER]

Ours is the command ``videorestore deinterlace`` with its defaults, on a file. PSNR is over the missing lines of luma;
``rest`` is the mean difference between successive frames at places that rest in the truth, ours over bwdif's. The table of
kinds says what is found when the same clips are stored in every way that there is, clean and with noise.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from videorestore.detect.combs import narrow_directions, narrowed  # noqa: E402
from videorestore.detect.fields import judge_shot  # noqa: E402
from videorestore.detect.ways import WAYS  # noqa: E402
from videorestore.media.pipe import ffmpeg  # noqa: E402

Pictures = NDArray[np.uint8]

CLIPS = ROOT.parent / "shared" / "data" / "natural"
FILTERS = {
    "bwdif": "bwdif=mode=send_field:parity=tff",
    "yadif": "yadif=mode=send_field:parity=tff",
    "w3fdif": "w3fdif=filter=complex:mode=field:parity=tff",
    "estdif": "estdif=mode=field:parity=tff",
}
FIELDS, SIDE = 24, 480
"""Fields of a clip, and the longest side of the part that is taken from the middle of it."""

EDGE = 2
"""Fields at both ends that do not count: filters lack a side there."""


def load(path: Path, count: int) -> Pictures | None:
    """Luma ``(count, h, w)`` from the middle of the first frames of a clip; None where there are not enough."""
    size = f"crop='min(iw,{SIDE})':'floor(min(ih,{SIDE})/4)*4'"
    command = [
        ffmpeg(),
        "-v",
        "error",
        "-i",
        str(path),
        "-vf",
        f"{size},format=gray",
        "-fps_mode",
        "passthrough",
    ]
    done = subprocess.run(
        [*command, "-frames:v", str(count), "-f", "yuv4mpegpipe", "-"], capture_output=True, check=False
    )
    header, _, rest = done.stdout.partition(b"\n")
    words = {w[:1]: w[1:] for w in header.decode("ascii", "replace").split()[1:]}
    if "W" not in words:
        return None
    width, height = int(words["W"]), int(words["H"])
    size_ = width * height + len(b"FRAME\n")
    frames = [
        np.frombuffer(rest[k + 6 : k + size_], np.uint8) for k in range(0, len(rest) - size_ + 1, size_)
    ]
    return np.stack(frames).reshape(-1, height, width) if len(frames) == count else None


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


def one_clip(name: str, truth: Pictures, folder: Path) -> dict[str, Any]:
    """A row of the table: every filter and ours."""
    frames = interlaced(truth)
    shape = truth.shape[1:]
    size = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{shape[1]}x{shape[0]}", "-r", "25", "-i", "-"]
    made = {f: raw(size, f"setfield=tff,{chain}", shape, frames.tobytes()) for f, chain in FILTERS.items()}
    source, output = folder / "in.mkv", folder / "out.mkv"
    run(
        [ffmpeg(), "-v", "error", "-y", *size, "-vf", "setfield=tff", "-c:v", "ffv1", str(source)],
        frames.tobytes(),
    )
    command = [sys.executable, "-m", "videorestore", "deinterlace", str(source), "-o", str(output), "-y"]
    _, seconds = run([*command, "--order", "tff", "--codec", "ffv1", "--progress", "none"])
    ours = raw(["-i", str(output)], "format=gray", shape)
    row: dict[str, Any] = {"clip": name}
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


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Both tables over all clips of a folder that are long enough."""
    paths = sorted(p for p in (clips or CLIPS).glob("*") if p.is_file())
    missing, told = [], []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            truth = load(path, FIELDS)
            if truth is None or min(truth.shape[1:]) < 64:
                continue
            if not quick or len(missing) < 2:
                missing.append(one_clip(path.stem, truth, Path(folder)))
            longer = load(path, 40)
            told += [kinds(path.stem, truth if longer is None else longer, noise) for noise in (0.0, 15.0)]
    gains = [row["gain"] for row in missing]
    return {
        "mean gain": float(np.mean(gains)) if gains else "no clips",
        "lines": missing,
        "kinds": told,
    }


if __name__ == "__main__":
    print(main(quick="--quick" in sys.argv))
