"""Denoising: our presets and ffmpeg's filters on the same noisy frames, in the same run.

Noise is drawn once per clip and clipped to 8 bit. Every filter is searched until its best strength on that very
clip is bracketed, so that it stands as good as its user could ever make it; ours are blind. Parts are 10 frames of at
most 256x192, noise and codec are applied to the part. PSNR is over RGB and over all frames. CPU time is the process time of all threads per pixel and frame.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.scores import MEASURES, misplaced, psnr

Pixels = NDArray[np.uint8]

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "natural"
CLIPS: dict[str, tuple[str, int]] = {
    "bus": ("bus_qcif_raw.y4m", 20),
    "foreman": ("foreman_cif_vp9.webm", 10),
    "tennis": ("tennis_sif.mp4", 10),
    "car-turn": ("davis_car-turn.mp4", 20),
    "highway": ("highway.mpg", 100),
    "hall": ("hall_monitor", 0),
    "escalator": ("escalator.avi", 20),
    "car": ("superres_car_raw.avi", 10),
    "traffic": ("traffic_48x48_raw.avi", 5),
}
"""File and first frame of every clip."""

SIGMAS = (10, 20, 30, 50)
CRFS = (20, 28)


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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-hide_banner",
        "-loglevel",
        "error",
        "-threads",
        "1",
        *arguments,
    ]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"ffmpeg failed: {done.stderr.decode(errors='replace')[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def load(name: str, n: int, limit: tuple[int, int]) -> Pixels:
    """Central crop of at most ``limit`` (height, width) of ``n`` frames of a development clip."""
    file, first = CLIPS.get(name, (name, 0))
    source = DATA / file
    reading = ["-i", str(source)]
    if source.is_dir():
        names = sorted(source.glob("*.png"))
        listing = "".join(f"file '{p}'\n" for p in names)
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as handle:
            handle.write(listing)
            handle.flush()
            return _decode(["-f", "concat", "-safe", "0", "-i", handle.name], first, n, limit, names[0])
    return _decode(reading, first, n, limit, source)


def _decode(reading: list[str], first: int, n: int, limit: tuple[int, int], sample: Path) -> Pixels:
    probe = subprocess.run(
        [imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-i", str(sample)], capture_output=True, check=False
    ).stderr.decode(errors="replace")
    line = next(line for line in probe.splitlines() if "Video:" in line)
    words = line.replace(",", " ").split()
    size = next(w for w in words if w.count("x") == 1 and w.replace("x", "").isdigit())
    w, h = (int(v) for v in size.split("x"))
    select = f"select='between(n,{first},{first + n - 1})'"
    raw, _ = ffmpeg(
        [
            *reading,
            "-vf",
            select,
            "-fps_mode",
            "passthrough",
            "-sws_flags",
            "bicubic+full_chroma_int+accurate_rnd",
        ]
        + ["-pix_fmt", "rgb24", "-f", "rawvideo", "-"]
    )
    frames = np.frombuffer(raw, np.uint8).reshape(-1, h, w, 3)[:n]
    ch, cw = min(h, limit[0]), min(w, limit[1])
    top, left = (h - ch) // 2, (w - cw) // 2
    return np.ascontiguousarray(frames[:, top : top + ch, left : left + cw])


def add_noise(truth: Pixels, sigma: float, seed: int = 0) -> Pixels:
    """White Gaussian noise, rounded and clipped to 8 bit."""
    noise = np.random.default_rng(seed).standard_normal(truth.shape, dtype=np.float32)
    return np.clip(np.rint(truth + np.float32(sigma) * noise), 0, 255).astype(np.uint8)


def through_codec(noisy: Pixels, crf: int) -> tuple[bytes, Pixels]:
    """Native 4:2:0 samples and replicated-chroma RGB of the clip after x264."""
    n, h, w, _ = noisy.shape
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "clip.mkv")
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{w}x{h}", "-r", "25", "-i", "-"]
        even = ["-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2"]
        code = ["-c:v", "libx264", "-crf", str(crf), "-preset", "medium", "-pix_fmt", "yuv420p"]
        ffmpeg([*raw, *even, *code, path, "-y"], noisy.tobytes())
        planes, _ = ffmpeg(["-i", path, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"])
    return planes, to_rgb(planes, n, h // 2 * 2, w // 2 * 2)


def to_rgb(planes: bytes, n: int, h: int, w: int) -> Pixels:
    raw, _ = ffmpeg(
        [
            "-f",
            "rawvideo",
            "-pix_fmt",
            "yuv420p",
            "-s",
            f"{w}x{h}",
            "-i",
            "-",
            "-sws_flags",
            "bicubic+accurate_rnd",
        ]
        + ["-pix_fmt", "rgb24", "-f", "rawvideo", "-"],
        planes,
    )
    return np.frombuffer(raw, np.uint8).reshape(n, h, w, 3)


def working(planes: bytes, n: int, h: int, w: int) -> NDArray[np.float32]:
    """What the program's reader gives for 4:2:0 samples (BT.601, limited range)."""
    from videorestore import colour
    from videorestore.clip import Frame, PixelFormat

    kind = PixelFormat(model="yuv", subsampling=(1, 1), matrix="smpte170m", full_range=False)
    size = h * w
    raw = np.frombuffer(planes, np.uint8).reshape(n, size * 3 // 2)
    out = np.empty((n, h, w, 3), np.float32)
    for k in range(n):
        luma, chroma = raw[k, :size].reshape(h, w), raw[k, size:].reshape(2, h // 2, w // 2)
        frame = Frame(planes=(luma, *chroma), format=kind, index=k, time=Fraction(k), duration=Fraction(1))
        out[k] = colour.working(frame)
    return out


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
    """The best of each filter."""
    return {name: best_of(case, name, sigma) for name in names}


def cases(clips: Iterable[str], quick: bool) -> Iterable[tuple[Case, float]]:
    """Every noisy clip with its nominal sigma; a name that is not ours is a path."""
    n, limit = (6, (96, 128)) if quick else (10, (192, 256))
    for name in clips:
        truth = load(name, n, limit)
        title = Path(name).stem
        for sigma in (20,) if quick else SIGMAS:
            yield Case(name=f"{title} {sigma}", truth=truth, noisy=add_noise(truth, sigma)), sigma
        h, w = truth.shape[1:3]
        cut = np.ascontiguousarray(truth[:, : h // 2 * 2, : w // 2 * 2])
        for crf in (20,) if quick else CRFS:
            for sigma in (20,) if quick else SIGMAS:
                planes, rgb = through_codec(add_noise(truth, sigma), crf)
                yield Case(name=f"{title} {sigma} crf{crf}", truth=cut, noisy=rgb, planes=planes), sigma


def ours(case: Case) -> dict[str, Any]:
    """Our presets, blind: PSNR, CPU microseconds per pixel and frame, coverage of mean +- 1.96 sd."""
    from videorestore.detect.noise import estimate_noise
    from videorestore.motion.denoise import denoise

    n, h, w, _ = case.truth.shape
    frames = case.noisy.astype(np.float32) if case.planes is None else working(case.planes, n, h, w)
    noise = estimate_noise(frames)
    row: dict[str, Any] = {"sigma found": noise.level}
    for quality in ("fast", "default", "best"):
        before = time.process_time()
        mean, sd = denoise(frames, noise, quality=quality)
        seconds = time.process_time() - before
        row[quality] = psnr(np.clip(mean, 0, 255), case.truth)
        row[f"{quality} us"] = seconds / (n * h * w) * 1e6
        row[f"{quality} covers"] = float(np.mean(np.abs(mean - case.truth) < 1.96 * sd))
        if quality == "default":
            row |= {f"default {m}": MEASURES[m](np.clip(mean, 0, 255), case.truth) for m in ("ssim", "vmaf")}
    return row


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    quick : bool
        Two small clips, one sigma, three filters.
    clips : Path, optional
        A folder of clips instead of the development clips.

    Returns
    -------
    dict
        A row for each noisy clip; mean and least lead over the best filter; CPU time over nlmeans'.
    """
    names = ["bus", "traffic"] if quick else list(CLIPS)
    if clips is not None:
        names = [str(p) for p in sorted(Path(clips).iterdir()) if not p.name.startswith((".", "README"))]
    filters = ("hqdn3d", "nlmeans", "fftdnoiz") if quick else tuple(FILTERS)
    rows: list[dict[str, Any]] = []
    for case, sigma in cases(names, quick):
        if not rows:
            # Compiling is not denoising: once before the clock runs.
            ours(Case(name="", truth=case.truth[:2], noisy=case.noisy[:2]))
        found = peers(case, sigma, filters)
        best = max(found, key=lambda name: found[name]["psnr"])
        row = {"case": case.name, "noisy": psnr(case.noisy, case.truth), "best filter": best}
        row |= {name: value["psnr"] for name, value in found.items()} | ours(case)
        row |= {f"lead {q}": row[q] - found[best]["psnr"] for q in ("fast", "default", "best")}
        picture, _ = filtered(case, found[best]["setting"], FILTERS[best].native)
        if shift := misplaced(picture, case.truth):
            raise RuntimeError(
                f"{best} must not shift the clip, it does by {shift}: {found[best]['setting']}"
            )
        row |= {f"filter {m}": MEASURES[m](picture, case.truth) for m in ("ssim", "vmaf")}
        row["nlmeans us"] = found["nlmeans"]["cpu"]
        rows.append(row)
    summary: dict[str, Any] = {"rows": rows}
    for kind in ("white", "crf20", "crf28"):
        of_kind = [
            r for r in rows if r["case"].endswith(kind) or (kind == "white" and "crf" not in r["case"])
        ]
        for q in ("fast", "default", "best"):
            leads = [r[f"lead {q}"] for r in of_kind]
            if leads:
                summary[f"{kind}: mean lead of {q}"] = float(np.mean(leads))
                summary[f"{kind}: least lead of {q}"] = float(np.min(leads))
    for measure in ("ssim", "vmaf"):
        leads = [r[f"default {measure}"] - r[f"filter {measure}"] for r in rows]
        summary[f"mean lead of default in {measure}"] = float(np.mean(leads))
    for q in ("fast", "default", "best"):
        summary[f"CPU of {q} over nlmeans'"] = float(
            np.median([r[f"{q} us"] / r["nlmeans us"] for r in rows])
        )
    return summary


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
