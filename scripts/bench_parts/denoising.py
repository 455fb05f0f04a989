"""Denoising: our presets and ffmpeg's filters on the same noisy frames, in the same run.

Noise is drawn once per clip and clipped to 8 bit. Every filter stands at its best strength for that very clip; ours
are blind. Parts are 10 frames of at most 256x192, noise and codec are applied to the part. PSNR is over RGB and over
all frames. CPU time is that of all threads per pixel and frame. PyPI's bm3d, where it is installed, makes one frame of
every clip at sigma 20.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.filters import FILTERS, Case, Pixels, block_matched, ffmpeg, filtered, peers
from bench_parts.interpolation import blocks
from bench_parts.scores import MEASURES, misplaced, psnr

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
KINDS = ("white", *(f"crf{crf}" for crf in CRFS))


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
    """Our presets, blind: PSNR, CPU microseconds per pixel and frame, coverage of mean +- 1.96 sd, rank of the sd."""
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
        error = np.abs(mean - case.truth)
        row[f"{quality} covers"] = float(np.mean(error < 1.96 * sd))
        row[f"{quality} ranks"] = rank(sd, error)
        if quality == "default":
            row |= {f"default {m}": MEASURES[m](np.clip(mean, 0, 255), case.truth) for m in ("ssim", "vmaf")}
    return row


def rank(sd: NDArray[np.float32], error: NDArray[np.float32]) -> float:
    """Spearman's correlation of sd and absolute error ``(n, h, w, c)``, both as means over 8x8 blocks."""
    from scipy.stats import spearmanr

    flat = [np.concatenate([blocks(frame) for frame in a.mean(axis=3)]) for a in (sd, error)]
    return float(spearmanr(*flat).statistic)


def honesty(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Coverage and rank of the sd, mean over the levels: of each kind and preset, clip by clip."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        for q in ("fast", "default", "best"):
            clips: dict[str, list[dict[str, Any]]] = {}
            for row in (r for r in rows if of_kind(r, kind)):
                name = row["case"].rsplit(maxsplit=1 if kind == "white" else 2)[0]
                clips.setdefault(name, []).append(row)
            if not clips:
                continue
            means = {
                name: [float(np.mean([r[f"{q} {m}"] for r in own])) for m in ("covers", "ranks")]
                for name, own in clips.items()
            }
            covers, ranks = zip(*means.values(), strict=True)
            found[f"{kind}: sd of {q}"] = (
                f"covers {min(covers):.3f} to {max(covers):.3f}, ranks {np.mean(ranks):.2f}; "
                + ", ".join(f"{name} {a:.3f} {b:.2f}" for name, (a, b) in means.items())
            )
    return found


def of_kind(row: dict[str, Any], kind: str) -> bool:
    """Whether a row is of white noise, or of noise after a codec of that name."""
    return row["case"].endswith(kind) or (kind == "white" and "crf" not in row["case"])


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
        A row for each noisy clip; mean and least lead over the best filter; coverage and rank of the sd; CPU time
        over nlmeans'.
    """
    names = ["bus", "traffic"] if quick else list(CLIPS)
    if clips is not None:
        names = [str(p) for p in sorted(Path(clips).iterdir()) if not p.name.startswith((".", "README"))]
    filters = ("hqdn3d", "nlmeans", "fftdnoiz") if quick else tuple(FILTERS)
    rows: list[dict[str, Any]] = []
    matched: list[dict[str, Any]] = []
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
        if sigma == 20 and case.planes is None and (other := block_matched(case, sigma)):
            matched.append(
                {"case": case.name, **other, "cpu over default's": other["cpu"] / row["default us"]}
            )
        rows.append(row)
    summary: dict[str, Any] = {"rows": rows}
    if matched:
        summary["PyPI bm3d, one frame"] = matched
    for kind in KINDS:
        own = [r for r in rows if of_kind(r, kind)]
        for q in ("fast", "default", "best"):
            leads = [r[f"lead {q}"] for r in own]
            if leads:
                summary[f"{kind}: mean lead of {q}"] = float(np.mean(leads))
                summary[f"{kind}: least lead of {q}"] = float(np.min(leads))
    summary |= honesty(rows)
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
