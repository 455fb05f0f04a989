"""CPU time of whole commands at real sizes, ours and FFmpeg's, in the same minutes."""

from __future__ import annotations

import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import imageio_ffmpeg
from bench_parts.command import timed

DEVELOPMENT = Path(__file__).resolve().parents[3] / "shared" / "data" / "natural"
"""Clips for development, where they are; else FFmpeg's moving test picture takes their place."""

NOISE = 15
"""Strength of FFmpeg's noise filter, and of nlmeans against it."""

RATE = 25
"""Frames a second of all clips."""

CODED = ("-c:v", "libx264", "-crf", "16")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A clip that is measured."""

    clip: str
    width: int
    height: int
    frames: int
    denoised: bool
    """Else it is measured for new frames alone."""

    def make(self, path: Path) -> Path:
        """The clip, enlarged, with noise, by x264."""
        source = DEVELOPMENT / self.clip
        given = ["-i", str(source)] if source.exists() else ["-f", "lavfi", "-i", "testsrc2=rate=25"]
        chain = f"scale={self.width}:{self.height}:flags=bicubic"
        chain += f",noise=alls={NOISE}:allf=t" if self.denoised else ""
        chain += f",setpts=N/{RATE}/TB"
        command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *given, "-vf", chain, "-an"]
        command += ["-frames:v", str(self.frames), "-r", str(RATE), "-pix_fmt", "yuv420p", *CODED, str(path)]
        subprocess.run(command, check=True)
        return path


SIZES = (
    Size(clip="bigbuckbunny_720p.mp4", width=1920, height=1080, frames=24, denoised=True),
    Size(clip="foreman_cif_CI1_FT_B.264", width=352, height=288, frames=90, denoised=False),
)


def _ffmpeg(*words: str) -> tuple[str, ...]:
    return (
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-v",
        "error",
        "-y",
        "-i",
        "{clip}",
        *words,
        "-an",
        *CODED,
        "{out}",
    )


def _ours(verb: str, *words: str) -> tuple[str, ...]:
    ends = ("--crf", "16", "--progress", "none", "-q", "-y", "--fresh")
    return sys.executable, "-m", "videorestore", verb, "{clip}", "-o", "{out}", *words, *ends


DENOISING = {
    "FFmpeg, copied through x264": _ffmpeg(),
    "hqdn3d": _ffmpeg("-vf", "hqdn3d"),
    "nlmeans, p 7, r 11": _ffmpeg("-vf", f"nlmeans=s={NOISE}:p=7:r=11"),
    "ours, fast": _ours("denoise", "--quality", "fast"),
    "ours, default": _ours("denoise"),
}
MAKING = {
    "minterpolate": _ffmpeg("-vf", "minterpolate=fps={fps}:mi_mode=mci"),
    "ours, upsample --factor 2": _ours("upsample", "--factor", "2"),
}


def peers(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Microseconds of CPU time for a pixel of a frame of the source, and against the peer of each job."""
    rows = []
    for size in SIZES:
        clip = size.make(folder / "clip.mp4")
        for job, commands, against in (
            ("denoise", DENOISING, "nlmeans, p 7, r 11"),
            ("new frames", MAKING, "minterpolate"),
        ):
            if job == "denoise" and not size.denoised:
                continue
            pixels = size.width * size.height * size.frames / 1e6
            spent = {
                name: statistics.median(_spent(words, clip, folder) for _ in range(1 if quick else 3))
                / pixels
                for name, words in commands.items()
            }
            for name, seconds in spent.items():
                rows.append(
                    {
                        "job": f"{job}, {size.frames} frames of {size.width}x{size.height}",
                        "command": name,
                        "CPU us a pixel": f"{seconds:.2f}",
                        "ratio": f"{seconds / spent[against]:.2f}",
                    }
                )
    return rows


def _spent(words: tuple[str, ...], clip: Path, folder: Path) -> float:
    places = {"clip": clip, "out": folder / "made.mkv", "fps": 2 * RATE}
    command = [word.format(**places) for word in words]
    return timed(command)[1]
