"""Missing pixels by the command, against OpenCV's Telea and Navier-Stokes, ffmpeg's delogo, and medians over time.

Cases: half of the pixels, blocks missing in one and in three frames, scratches, rows (dropouts), a fixed logo. Ours is
``videorestore inpaint --mask VIDEO`` on the file. PSNR is over RGB and the missing pixels only. Two medians are tried, over the
whole clip and over two frames on either side; where a pixel is never seen they take Telea's. ``auto over better`` and
``covers`` as in `bench_parts.denoising`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import cv2
import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_parts.clips import Pixels, parts, write
from bench_parts.command import coverage
from bench_parts.interpolation import MODELS, commands
from bench_parts.tables import shown, summed

Mask = NDArray[np.bool_]

CASES = ("half", "block 1", "block 3", "scratches", "rows", "logo")
QUICK = ("block 3", "scratches")
FRAMES = 30
"""Frames of a clip: the peers look at few, and damage of one frame needs no more."""


def holes(case: str, shape: tuple[int, ...], seed: int = 0) -> Mask:
    """Masks ``(n, h, w)`` of one case, the same for the same shape and seed."""
    n, height, width = shape[:3]
    rng = np.random.default_rng(seed)
    mask = np.zeros((n, height, width), bool)
    side = max(8, min(height, width) // 8)
    if case == "half":
        return rng.random(mask.shape) < 0.5
    if case == "logo":
        top, left = 3 * height // 20, width // 10
        mask[:, top : top + max(8, height // 8), left : left + max(12, width // 6)] = True
        return mask
    if case == "scratches":
        for k in range(n):
            for _ in range(4):
                x, tilt, wide = rng.uniform(0, width), rng.uniform(-0.1, 0.1), int(rng.integers(2, 5))
                for y in range(height):
                    at = int(x + tilt * y)
                    mask[k, y, max(at, 0) : max(at + wide, 0)] = True
        return mask
    length = 3 if case == "block 3" else 1
    for k in range(length, n - length, 5 if length == 3 else 2):
        for _ in range(3):
            if case == "rows":
                y, x = int(rng.integers(0, height - 4)), int(rng.integers(0, width // 2))
                mask[k, y : y + int(rng.integers(2, 5)), x : x + width // 2] = True
            else:
                y, x = int(rng.integers(0, height - side)), int(rng.integers(0, width - side))
                mask[k : k + length, y : y + side, x : x + side] = True
    return mask


def spatial(frames: Pixels, masks: Mask, method: int) -> Pixels:
    """OpenCV's inpainting of every frame."""
    return np.stack([cv2.inpaint(f, m.astype(np.uint8), 3, method) for f, m in zip(frames, masks)])


def median(frames: Pixels, masks: Mask, telea: Pixels, radius: int) -> NDArray[np.float32]:
    """Median over time of what is known of a pixel."""
    known = np.where(masks[..., None], np.nan, frames.astype(np.float32))
    made = telea.astype(np.float32)
    for k in np.nonzero(masks.any(axis=(1, 2)))[0]:
        near = known[max(0, k - radius) : k + radius + 1][:, masks[k]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            middle = np.nanmedian(near, axis=0)
        made[k][masks[k]] = np.where(np.isnan(middle), made[k][masks[k]], middle)
    return made


def delogo(frames: Pixels, masks: Mask) -> Pixels:
    """ffmpeg's delogo, for a box that is masked in all frames."""
    rows, columns = np.nonzero(masks[0])
    y, x = rows.min(), columns.min()
    n, height, width, _ = frames.shape
    box = f"delogo=x={x}:y={y}:w={columns.max() - x + 1}:h={rows.max() - y + 1}"
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", *raw, "-i", "-", "-vf", f"format=gbrp,{box}"]
    made = subprocess.run(
        [*command, *raw, "-"], input=frames.tobytes(), stdout=subprocess.PIPE, check=True
    ).stdout
    return np.frombuffer(made, np.uint8).reshape(n, height, width, 3)


def psnr(made: NDArray[Any], truth: Pixels, masks: Mask) -> float:
    """Over the missing pixels."""
    error = np.clip(made[masks].astype(np.float64), 0, 255) - truth[masks]
    return float(10 * np.log10(255**2 / max(float((error**2).mean()), 1e-9)))


def row_of(truth: Pixels, case: str, folder: Path) -> dict[str, Any]:
    """One clip, one case: the best peer and ours."""
    masks = holes(case, truth.shape)
    holed = np.where(masks[..., None], 0, truth).astype(np.uint8)
    write(holed, folder / "holed.mkv")
    write(np.repeat(masks[..., None].astype(np.uint8) * 255, 3, axis=3), folder / "mask.mkv")
    telea = spatial(holed, masks, cv2.INPAINT_TELEA)
    made: dict[str, NDArray[Any]] = {
        "telea": telea,
        "ns": spatial(holed, masks, cv2.INPAINT_NS),
        "median": median(holed, masks, telea, len(truth)),
        "median of 5": median(holed, masks, telea, 2),
    }
    if case == "logo":
        made["delogo"] = delogo(holed, masks)
    found = {name: psnr(pixels, truth, masks) for name, pixels in made.items()}
    best = max(found, key=lambda name: found[name])
    runs = commands("inpaint", folder / "holed.mkv", "--mask", str(folder / "mask.mkv"))
    score = {name: psnr(run.frames, truth, masks) for name, run in runs.items()}
    return {
        "best peer": best,
        "its PSNR": found[best],
        **score,
        "lead": score["auto"] - found[best],
        "auto over better": score["auto"] - max(score[m] for m in MODELS),
        "covers": coverage(runs["auto"], truth, masks),
        "CPU s/MP": runs["auto"].cpu / masks.size * 1e6,
    }


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure; a folder of ``clips`` stands for the development clips.

    Returns
    -------
    dict
        A row for each clip and case, and the mean and least lead over the best peer in dB for each case.
    """
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in parts(quick, clips):
            truth = part.read(most=FRAMES)
            if len(truth) < 9:
                continue
            for case in QUICK if quick else CASES:
                named = {"clip": part.name, "held out": "yes" if part.held_out else "", "missing": case}
                rows.append({**named, **row_of(truth, case, Path(folder))})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return {"rows": shown(rows), "sums": summed(rows, "missing")}


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
