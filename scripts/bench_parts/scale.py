"""Memory and time against length and size, and what two workers gain.

    python scripts/bench_parts/scale.py [--quick]

Synthetic clips (a texture that drifts, with noise) are written by ffmpeg and denoised by the command line in a
process of its own, whose peak memory the record reports.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import imageio_ffmpeg

ROOT = Path(__file__).resolve().parent.parent.parent


def make_clip(path: Path, width: int, height: int, frames: int) -> None:
    """A moving test picture with noise, encoded so that decoding costs what it costs in real files."""
    source = f"testsrc2=size={width}x{height}:rate=25,noise=alls=12:allf=t"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", "-f", "lavfi", "-i", source]
    command += ["-frames:v", str(frames), "-c:v", "libx264", "-crf", "18", "-pix_fmt", "yuv420p", str(path)]
    subprocess.run(command, check=True)


def run(clip: Path, *arguments: str) -> dict[str, Any]:
    """One run of the command line; wall clock, peak memory."""
    output = clip.with_suffix(".out.mkv")
    command = [
        sys.executable,
        "-m",
        "videorestore",
        *arguments[:1],
        str(clip),
        "-o",
        str(output),
        *arguments[1:],
    ]
    command += ["-y", "--json", "--progress", "none"]
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    elapsed = time.monotonic() - started
    if done.returncode not in (0, 5):
        raise RuntimeError(done.stderr.strip())
    record = json.loads(done.stdout)
    output.unlink(missing_ok=True)
    return {"seconds": round(elapsed, 2), "peak_mb": record["peak_memory_mb"]}


def slope(points: list[tuple[float, float]]) -> float:
    """Exponent of growth between the first and the last point."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    return round(math.log(y1 / y0) / math.log(x1 / x0), 3)


def main(quick: bool = False) -> dict[str, Any]:
    """Measure growth in frames, growth in size, and the gain of two workers."""
    lengths = (100, 400) if quick else (200, 400, 800, 1600, 3200)
    sizes = ((320, 240), (640, 360)) if quick else ((320, 240), (640, 360), (1280, 720), (1920, 1080))
    verb = ("denoise", "--model", "motion", "--quality", "fast", "--max-memory", "1500M")
    result: dict[str, Any] = {"frames": [], "sizes": [], "workers": []}
    with tempfile.TemporaryDirectory() as folder:
        for n in lengths:
            clip = Path(folder) / f"n{n}.mkv"
            make_clip(clip, 320, 240, n)
            result["frames"].append({"frames": n, **run(clip, *verb)})
        for width, height in sizes:
            clip = Path(folder) / f"s{width}.mkv"
            make_clip(clip, width, height, 48)
            result["sizes"].append({"width": width, "height": height, **run(clip, *verb)})
        clip = Path(folder) / "workers.mkv"
        make_clip(clip, 480, 360, 160)
        for jobs in (1, 2):
            result["workers"].append({"jobs": jobs, **run(clip, *verb, "--jobs", str(jobs))})
    rows = result["frames"]
    result["time_exponent_in_frames"] = slope([(r["frames"], r["seconds"]) for r in rows])
    result["memory_exponent_in_frames"] = slope([(r["frames"], r["peak_mb"]) for r in rows])
    result["gain_of_two_workers"] = round(
        result["workers"][0]["seconds"] / result["workers"][1]["seconds"], 2
    )
    return result


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv), indent=1))
