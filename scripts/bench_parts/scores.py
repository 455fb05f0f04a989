"""How near a result is to the truth: PSNR and SSIM as `videorestore compare` has them, VMAF as ffmpeg has it.

A result that is right but late by a frame, or moved by a pixel, scores like a bad one. `misplaced` finds that out, so
that no peer loses because the benchmark lined it up wrongly.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

from videorestore.report import score

LEAST_GAIN = 1.0
"""dB that a shifted result must be better by before it counts as misplaced."""


def psnr(result: NDArray[Any], truth: NDArray[Any]) -> float:
    """PSNR in dB over all values of two clips on the 0..255 scale."""
    return score.psnr(score.mse(result, truth))


def ssim(result: NDArray[Any], truth: NDArray[Any]) -> float:
    """Mean SSIM of the luma of all frames, shapes (n, height, width, channels)."""
    pairs = zip(result, truth, strict=True)
    return float(np.mean([score.ssim(score.luma(a), score.luma(b)) for a, b in pairs]))


def vmaf(result: NDArray[Any], truth: NDArray[Any]) -> float:
    """Mean VMAF (model v0.6.1) of a clip, 0 to about 100; shapes (n, height, width, 3).

    The model was trained on pictures of 1080 lines: on small clips only the order of two results means anything.
    """
    n, h, w, _ = truth.shape
    if result.shape != truth.shape:
        raise ValueError(f"both clips must have one shape, got {result.shape} and {truth.shape}")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, clip in (("result", result), ("truth", truth)):
            path = Path(folder) / f"{name}.rgb"
            path.write_bytes(np.clip(np.rint(clip), 0, 255).astype(np.uint8).tobytes())
            paths += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{w}x{h}", "-r", "25", "-i", path.name]
        chain = "[0]format=yuv444p[a];[1]format=yuv444p[b];[a][b]libvmaf=log_path=log.json:log_fmt=json"
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", *paths]
        done = subprocess.run(
            [*command, "-lavfi", chain, "-f", "null", "-"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"libvmaf failed: {done.stderr.strip()[-300:]}")
        log = json.loads((Path(folder) / "log.json").read_text())
    if len(log["frames"]) != n:
        raise RuntimeError(f"libvmaf must score {n} frames, it scored {len(log['frames'])}")
    return float(log["pooled_metrics"]["vmaf"]["mean"])


def misplaced(result: NDArray[Any], truth: NDArray[Any]) -> tuple[int, int, int] | None:
    """The shift (frames, rows, columns) of at most one by which a result fits the truth better; None where it fits.

    Parameters
    ----------
    result, truth : ndarray, shape (n, height, width, channels)
        At least 3 frames, 3 rows and 3 columns.
    """
    inner = truth[1:-1, 1:-1, 1:-1]

    def at(t: int, y: int, x: int) -> float:
        n, h, w = truth.shape[:3]
        return psnr(result[1 + t : n - 1 + t, 1 + y : h - 1 + y, 1 + x : w - 1 + x], inner)

    shifts = [(t, y, x) for t in (-1, 0, 1) for y in (-1, 0, 1) for x in (-1, 0, 1)]
    scores = {shift: at(*shift) for shift in shifts}
    best = max(shifts, key=lambda shift: scores[shift])
    return best if scores[best] > scores[0, 0, 0] + LEAST_GAIN else None


MEASURES = {"psnr": psnr, "ssim": ssim, "vmaf": vmaf}
