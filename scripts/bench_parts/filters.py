"""ffmpeg's denoising filters, each at the best strength for the very clip.

Every filter is searched until its best strength is bracketed, so that it stands as good as its user could ever make
it: on the first frames of the clip, and the winner is applied to all. CPU time is that of the whole command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from bench_parts.command import timed
from bench_parts.scores import psnr
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

SEARCHED = 12
"""Frames on which strengths are sought: enough for every filter's memory to fill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One noisy clip with its truth.

    Attributes
    ----------
    source : Path
        The noisy file.
    truth : ndarray of uint8, shape (n, h, w, 3)
    coded : bool
        The file is 4:2:0, and filters work on that.
    """

    name: str
    source: Path
    truth: Pixels
    coded: bool = False


def filtered(case: Case, chain: str, native: str, count: int | None = None) -> tuple[Pixels, float]:
    """What one ffmpeg filter makes of the first ``count`` frames of a file, and the CPU seconds of the command."""
    h, w = case.truth.shape[1:3]
    most = [] if count is None else ["-frames:v", str(count)]
    graph = f"[0]format={'yuv420p' if case.coded else native}[i];[i]{chain},format=rgb24[o]"
    given = ["-threads", "1", "-i", str(case.source), "-sws_flags", "bicubic+full_chroma_int+accurate_rnd"]
    run = ["-filter_complex_threads", "1", "-filter_complex", graph, "-map", "[o]", *most]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *given, *run]
    raw, cpu = timed([*command, "-fps_mode", "passthrough", "-f", "rawvideo", "-"])
    return np.frombuffer(raw, np.uint8).reshape(-1, h, w, 3), cpu


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

    ``frames``: what the search sees; less of a slow filter that looks at one frame or its next neighbours.
    """

    chain: Callable[..., str]
    start: Callable[[float], float]
    native: str
    variants: tuple[dict[str, Any], ...] = ()
    frames: int = SEARCHED


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


def best_of(case: Case, name: str, sigma: float, words: str = "{}") -> dict[str, Any]:
    """Search the strength until its best is bracketed, then try the variants; PSNR, CPU seconds, setting, picture.

    ``words`` are the filters around it, with ``{}`` at its place.
    """
    peer = FILTERS[name]
    count = min(peer.frames, len(case.truth))
    seen: dict[str, float] = {}

    def score(strength: float, **variant: Any) -> float:
        chain = words.format(peer.chain(strength, **variant))
        if chain not in seen:
            seen[chain] = psnr(filtered(case, chain, peer.native, count)[0], case.truth[:count])
        return seen[chain]

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
    chain = max(seen, key=lambda key: seen[key])
    made, cpu = filtered(case, chain, peer.native)
    return {"psnr": psnr(made, case.truth), "cpu": cpu, "setting": chain, "frames": made}


def peers(case: Case, sigma: float, names: Iterable[str] = tuple(FILTERS)) -> dict[str, dict[str, Any]]:
    """The best of each filter, two of them searched side by side."""
    with ThreadPoolExecutor(2) as pool:
        found = [(name, pool.submit(best_of, case, name, sigma)) for name in names]
        return {name: one.result() for name, one in found}
