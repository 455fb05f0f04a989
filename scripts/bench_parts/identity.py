"""Throughput and memory of the identity path at 1080p, beside FFmpeg alone in the same run."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from videorestore.media.pipe import ffmpeg

_CHILD = """
import json, resource, sys
from videorestore.media import OutputShape, SinkOptions, open_sink, open_source
frames = 0
with open_source(sys.argv[1]) as source:
    with open_sink(sys.argv[2], OutputShape.of(source, 0), SinkOptions(codec="ffv1"), streams_from=sys.argv[1]) as sink:
        for frame in source.frames():
            sink.write(frame)
            frames += 1
own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"frames": frames, "own_kb": own, "encoder_kb": child}))
"""


def _run(command: list[str], folder: str) -> tuple[float, float, str]:
    """Wall seconds, CPU seconds and standard output of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, done.stdout


def _clip(folder: str, frames: int) -> str:
    """A 1080p H.264 clip with motion and grain, as a camera gives."""
    path = os.path.join(folder, f"in{frames}.mp4")
    source = f"testsrc2=s=1920x1080:r=25:d={frames / 25}"
    command = [ffmpeg(), "-v", "error", "-y", "-f", "lavfi", "-i", source, "-vf", "noise=alls=8:allf=t"]
    command += ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", path]
    subprocess.run(command, check=True)
    return path


def main(quick: bool) -> dict[str, Any]:
    """Measure; the ratio is the peer's time over ours, so that 1 means equally fast.

    Parameters
    ----------
    quick : bool
        Fewer frames and one repetition.
    """
    lengths = (50,) if quick else (100, 300)
    results: dict[str, Any] = {"size": "1920x1080", "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        for frames in lengths:
            path = _clip(folder, frames)
            peer: list[tuple[float, float]] = []
            ours: list[tuple[float, float]] = []
            memory: dict[str, int] = {}
            for _ in range(1 if quick else 2):
                wall, cpu, _ = _run(
                    [ffmpeg(), "-v", "error", "-y", "-i", path, "-c:v", "ffv1", "peer.mkv"], folder
                )
                peer.append((wall, cpu))
                wall, cpu, text = _run([sys.executable, "-c", _CHILD, path, "ours.mkv"], folder)
                ours.append((wall, cpu))
                memory = json.loads(text)
                os.remove(os.path.join(folder, "ours.mkv"))
            run = {
                "frames": frames,
                "ffmpeg_s": round(min(w for w, _ in peer), 2),
                "ours_s": round(min(w for w, _ in ours), 2),
                "ffmpeg_cpu_s": round(min(c for _, c in peer), 2),
                "ours_cpu_s": round(min(c for _, c in ours), 2),
                "own_memory_mb": round(memory["own_kb"] / 1024),
                "encoder_memory_mb": round(memory["encoder_kb"] / 1024),
            }
            run["ratio_wall"] = round(run["ffmpeg_s"] / run["ours_s"], 2)
            run["ratio_cpu"] = round(run["ffmpeg_cpu_s"] / run["ours_cpu_s"], 2)
            results["runs"].append(run)
    return results


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv), indent=1))
