"""ffmpeg's denoising filters and PyPI's bm3d, each at the best strength for the very clip.

Every filter is searched until its best strength is bracketed, so that it stands as good as its user could ever make
it. CPU time is that of all threads per pixel and frame.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import imageio_ffmpeg
import numpy as np
from bench_parts.scores import psnr
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One noisy clip with its truth.

    Attributes
    ----------
    truth, noisy : ndarray of uint8, shape (n, h, w, 3)
    planes : bytes or None
        The noisy clip's native 4:2:0 samples where it went through a codec; filters work on those.
    """

    name: str
    truth: Pixels
    noisy: Pixels
    planes: bytes | None = None

    @property
    def size(self) -> str:
        return f"{self.truth.shape[2]}x{self.truth.shape[1]}"

    def first(self, n: int) -> Case:
        """The first ``n`` frames of it."""
        each = self.truth.shape[1] * self.truth.shape[2] * 3 // 2
        planes = None if self.planes is None else self.planes[: n * each]
        return Case(name=self.name, truth=self.truth[:n], noisy=self.noisy[:n], planes=planes)


def ffmpeg(arguments: list[str], data: bytes | None = None) -> tuple[bytes, float]:
    """Output of ffmpeg and the CPU seconds it took."""
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-hide_banner",
        "-loglevel",
        "error",
        "-threads",
        "1",
        *arguments,
    ]
    # Files instead of pipes: the child is then waited for by itself, and its time is not mixed with its neighbour's.
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as made,
        tempfile.TemporaryFile() as said,
    ):
        given.write(data or b"")
        given.seek(0)
        child = subprocess.Popen(command, stdin=given, stdout=made, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        made.seek(0)
        said.seek(0)
        if child.returncode:
            raise RuntimeError(f"ffmpeg failed: {said.read().decode(errors='replace')[-500:]}")
        return made.read(), used.ru_utime + used.ru_stime


def filtered(case: Case, chain: str, native: str) -> tuple[Pixels, float]:
    """What one ffmpeg filter makes, and its CPU microseconds per pixel and frame."""
    n, h, w, _ = case.truth.shape
    if case.planes is not None:
        read, data, middle = "yuv420p", case.planes, "yuv420p"
    else:
        read, data, middle = "rgb24", case.noisy.tobytes(), native
    raw, seconds = ffmpeg(
        ["-f", "rawvideo", "-pix_fmt", read, "-s", case.size, "-r", "25", "-i", "-"]
        + ["-sws_flags", "bicubic+full_chroma_int+accurate_rnd", "-filter_threads", "1"]
        + [
            "-filter_complex_threads",
            "1",
            "-filter_complex",
            f"[0]format={middle}[i];[i]{chain},format=rgb24[o]",
        ]
        + ["-map", "[o]", "-fps_mode", "passthrough", "-f", "rawvideo", "-"],
        data,
    )
    out = np.frombuffer(raw, np.uint8).reshape(-1, h, w, 3)
    return out, seconds / (n * h * w) * 1e6


def _hqdn3d(s: float, ratio: float = 1.5) -> str:
    return f"hqdn3d={s:.4g}:{0.75 * s:.4g}:{ratio * s:.4g}:{0.75 * ratio * s:.4g}"


def _nlmeans(s: float, p: int = 7, r: int = 15) -> str:
    return f"nlmeans=s={min(max(s, 1), 30):.4g}:p={p}:r={r}"


def _atadenoise(s: float, frames: int = 9) -> str:
    a, b = min(0.02 * s, 0.3), min(0.04 * s, 5)
    return "atadenoise=" + ":".join(f"{k}a={a:.4g}:{k}b={b:.4g}" for k in range(3)) + f":s={frames}"


def _fftdnoiz(s: float, block: int = 32) -> str:
    return f"fftdnoiz=sigma={min(s, 100):.4g}:prev=1:next=1:overlap=0.8:block={block}"


def _bm3d(s: float, block: int = 8, step: int = 2) -> str:
    """Both passes, without groups: on a part of foreman groups of 8 were 20 times slower and no better."""
    common = f"sigma={s:.4g}:block={block}:bstep={step}:group=1:range=9"
    return f"split[a][b];[a]bm3d={common}:estim=basic[c];[b][c]bm3d={common}:estim=final:ref=1"


def _vague(s: float, method: int = 2) -> str:
    return f"vaguedenoiser=threshold={s:.4g}:method={method}:nsteps=5:percent=100"


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter with one strength to search and variants to try at that strength.

    ``frames``: of a slow filter that looks at one frame or its next neighbours, the search sees so many; its best
    setting is then applied to all.
    """

    chain: Callable[..., str]
    start: Callable[[float], float]
    native: str
    variants: tuple[dict[str, Any], ...] = ()
    frames: int | None = None


FILTERS: dict[str, Filter] = {
    "hqdn3d": Filter(_hqdn3d, lambda s: 0.6 * s, "yuv444p", ({"ratio": 0.75}, {"ratio": 3.0})),
    "nlmeans": Filter(_nlmeans, lambda s: 0.45 * s, "yuv444p", ({"p": 5}, {"r": 11}), frames=3),
    "atadenoise": Filter(_atadenoise, lambda s: 0.25 * s, "yuv444p", ({"frames": 5},)),
    # It looks at one frame before and one after. Its sigma is about three times that of the noise.
    "fftdnoiz": Filter(_fftdnoiz, lambda s: 3.0 * s, "yuv444p", ({"block": 16},), frames=4),
    # Its sigma is about five times that of the noise.
    "bm3d": Filter(_bm3d, lambda s: 5.0 * s, "yuv444p", ({"block": 16, "step": 4},), frames=3),
    "vaguedenoiser": Filter(_vague, lambda s: 1.0 * s, "yuv444p", ({"method": 1},)),
}


def best_of(case: Case, name: str, sigma: float) -> dict[str, Any]:
    """Search the strength until its best is bracketed, then try the variants; PSNR, CPU time and setting."""
    peer = FILTERS[name]
    seen: dict[str, tuple[float, float]] = {}
    searched = case if peer.frames is None else case.first(peer.frames)

    def measured(given: Case, chain: str) -> tuple[float, float]:
        made, cpu = filtered(given, chain, peer.native)
        return psnr(made, given.truth), cpu

    def score(strength: float, **variant: Any) -> float:
        chain = peer.chain(strength, **variant)
        if chain not in seen:
            seen[chain] = measured(searched, chain)
        return seen[chain][0]

    def climb(strength: float, factor: float, **variant: Any) -> float:
        here = score(strength, **variant)
        for direction in (factor, 1 / factor):
            while (there := score(strength * direction, **variant)) > here + 1e-3:
                strength, here = strength * direction, there
        return strength

    strength = climb(climb(peer.start(sigma), 1.5), 1.18)
    for variant in peer.variants:
        if score(strength, **variant) > score(strength):
            climb(strength, 1.25, **variant)
    chain = max(seen, key=lambda key: seen[key][0])
    if searched is not case:
        seen[chain] = measured(case, chain)
    return {"psnr": seen[chain][0], "cpu": seen[chain][1], "setting": chain}


def peers(case: Case, sigma: float, names: Iterable[str] = tuple(FILTERS)) -> dict[str, dict[str, Any]]:
    """The best of each filter, two of them searched side by side."""
    with ThreadPoolExecutor(2) as pool:
        found = [(name, pool.submit(best_of, case, name, sigma)) for name in names]
        return {name: one.result() for name, one in found}


def block_matching(frames: Pixels, sd: float) -> Pixels:
    """PyPI's bm3d, frame by frame; ImportError where it is not installed."""
    from bm3d import bm3d_rgb

    clean = [bm3d_rgb(f / 255.0, sd / 255.0) for f in frames]
    return np.clip(np.rint(255 * np.stack(clean)), 0, 255).astype(np.uint8)


def block_matched(case: Case, sigma: float) -> dict[str, float]:
    """PSNR of PyPI's bm3d on the middle frame, told the sigma, and its CPU time; nothing where it is not installed."""
    middle = slice(len(case.truth) // 2, len(case.truth) // 2 + 1)
    before = time.process_time()
    try:
        made = block_matching(case.noisy[middle], sigma)
    except ImportError:
        return {}
    seconds = time.process_time() - before
    return {"psnr": psnr(made, case.truth[middle]), "cpu": seconds / made[..., 0].size * 1e6}
