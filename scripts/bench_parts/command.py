"""Whole commands, as a user runs them: ours and FFmpeg's, with the CPU time of all their threads and children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command made.

    Attributes
    ----------
    frames : ndarray, shape (n, height, width, 3), 0..255
    sd : ndarray of float32 or None
    record : dict
        Ours; empty of others.
    cpu : float
        Seconds, user and system.
    """

    frames: NDArray[Any]
    sd: NDArray[np.float32] | None
    record: dict[str, Any]
    cpu: float


def timed(command: list[str], data: bytes | None = None) -> tuple[bytes, float]:
    """What a command prints, and its CPU seconds; RuntimeError with its last words where it fails."""
    # Files instead of pipes: the child is then waited for by itself, and its time is not mixed with a neighbour's.
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as made,
        tempfile.TemporaryFile() as said,
    ):
        given.write(data or b"")
        given.seek(0)
        # An installed package has its bytecode, which some environments do not let a source tree keep.
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        child = subprocess.Popen(
            command, stdin=given, stdout=made, stderr=said, env={**env, "PYTHONPATH": str(ROOT)}
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        made.seek(0)
        said.seek(0)
        if child.returncode not in (0, 5):
            raise RuntimeError(f"{command[0]} failed: {said.read().decode(errors='replace')[-500:]}")
        return made.read(), used.ru_utime + used.ru_stime


_COMPILED: set[tuple[str, str]] = set()
"""Verbs and models that ran before: the first run compiles kernels, which is no part of what is compared."""


def videorestore(verb: str, source: Path, *options: str, sd: bool = False) -> Run:
    """Our command on a file, with its defaults but for ``options``."""
    kind = verb, " ".join(word for word in options if word in ("fast", "best", "curve", "motion"))
    if kind not in _COMPILED:
        _COMPILED.add(kind)
        videorestore(verb, source, *options, sd=sd)
    with tempfile.TemporaryDirectory() as folder:
        made, spread = Path(folder) / "made.npy", Path(folder) / "sd.npy"
        command = [sys.executable, "-m", "videorestore", verb, str(source), "-o", str(made), *options]
        command += ["--json", "--progress", "none", *(["--sd", str(spread)] if sd else [])]
        said, cpu = timed(command)
        return Run(
            frames=np.load(made),
            sd=np.load(spread) if sd else None,
            record=json.loads(said),
            cpu=cpu,
        )


def filtered(source: Path, chain: str, shape: tuple[int, ...]) -> Run:
    """An FFmpeg filter on a file: decoded to RGB, as `Run.frames` of ``shape`` (height, width)."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(source), "-vf", chain]
    made, cpu = timed([*command, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
    return Run(frames=np.frombuffer(made, np.uint8).reshape(-1, *shape, 3), sd=None, record={}, cpu=cpu)


def coverage(run: Run, truth: NDArray[Any], where: NDArray[np.bool_] | None = None) -> float:
    """Share of true samples within 1.96 sd of what was made, everywhere or at some frames or pixels."""
    assert run.sd is not None
    # A sample that was stored as a whole number is up to half a level off by that alone.
    inside = np.abs(run.frames.astype(np.float32) - truth) <= np.maximum(1.96 * run.sd, 0.5)
    return float(inside.mean() if where is None else inside[where].mean())
