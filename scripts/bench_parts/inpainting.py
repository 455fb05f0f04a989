"""Missing pixels: ours, OpenCV's Telea and Navier-Stokes, ffmpeg's delogo, and the temporal median, in the same run.

    python scripts/bench_parts/inpainting.py [--quick]

Cases: half of the pixels, blocks missing in one and in three frames, scratches, rows (dropouts), a fixed logo; and the
logo once more in the stretch of the clip over which the camera travels farthest, if that is more than half of the
logo's width. PSNR is over RGB and the missing pixels only. Two medians are tried, over the whole clip and over two frames on either side;
where a pixel is never seen they take Telea's. Coverage is the share of true samples within 1.96 sd, rank the rank
correlation of sd and absolute error over blocks of 8 x 8. CPU time is per frame, that of all threads.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import cv2
import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts.interpolation import read, sources  # noqa: E402

from videorestore.motion.flow import fast_flow  # noqa: E402
from videorestore.motion.inpaint import inpaint  # noqa: E402

Pixels = NDArray[np.uint8]
Mask = NDArray[np.bool_]

CASES = ("half", "block 1", "block 3", "scratches", "rows", "logo")
PANNED = "logo, camera moves"


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


def rank(error: NDArray[Any], sd: NDArray[Any], masks: Mask) -> float:
    """Rank correlation of the mean absolute error and the mean sd over blocks of 8 x 8."""

    def blocks(values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([cv2.blur(v.astype(np.float32), (8, 8))[4::8, 4::8] for v in values])

    share = np.maximum(blocks(masks), 1e-6)
    good = share > 0.2
    return float(
        spearmanr((blocks(error * masks) / share)[good], (blocks(sd * masks) / share)[good]).statistic
    )


def travelled(frames: Pixels, count: int) -> tuple[int, float]:
    """First of the ``count`` frames over which the camera travels farthest, and how far, in widths of the logo."""
    small = [
        cv2.resize(f, (128, 96), interpolation=cv2.INTER_AREA).mean(axis=2).astype(np.uint8) for f in frames
    ]
    steps = [np.median(fast_flow(a, b), axis=(0, 1)) for a, b in zip(small, small[1:])]
    way = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    far = [float(np.hypot(*(way[k + count - 1] - way[k]))) for k in range(len(frames) - count + 1)]
    best = int(np.argmax(far))
    return best, far[best] / (128 / 6)


def score(truth: Pixels, case: str) -> dict[str, float]:
    """One clip, one case: all peers and ours."""
    masks = holes(case.split(",")[0], truth.shape)
    holed = np.where(masks[..., None], 0, truth).astype(np.uint8)
    telea = spatial(holed, masks, cv2.INPAINT_TELEA)
    made: dict[str, NDArray[Any]] = {
        "telea": telea,
        "ns": spatial(holed, masks, cv2.INPAINT_NS),
        "median": median(holed, masks, telea, len(truth)),
        "median of 5": median(holed, masks, telea, 2),
    }
    if case.startswith("logo"):
        made["delogo"] = delogo(holed, masks)
    row = {name: psnr(pixels, truth, masks) for name, pixels in made.items()}
    best = max(row.values())
    start = time.process_time()
    ours, sd = inpaint(holed.astype(np.float32), masks)
    spent = time.process_time() - start
    error = np.abs(ours - truth)
    row["ours"] = psnr(ours, truth, masks)
    row["lead"] = row["ours"] - best
    row["coverage"] = float((error < 1.96 * sd)[masks].mean())
    row["rank"] = rank(error.mean(axis=3), sd.mean(axis=3), masks)
    row["cpu s"] = spent / len(truth)
    return row


def main(quick: bool = False, clips: Path | None = None) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    quick : bool
        Fewer frames.
    clips : Path, optional
        A folder of clips instead of the development clips.

    Returns
    -------
    dict
        A table per case, and the mean leads over the best peer of each clip in dB.
    """
    tables: dict[str, Any] = {case: [] for case in (*CASES, PANNED)}
    count = 9 if quick else 16
    for name, path in sources(clips):
        frames = read(path, 80)
        if len(frames) < 9:
            continue
        if max(frames.shape[1:3]) > 400:
            frames = np.stack(
                [cv2.resize(f, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for f in frames]
            )
        for case in CASES:
            tables[case].append({"clip": name, **score(frames[:count], case)})
        first, far = travelled(frames, min(2 * count, len(frames)))
        if far > 0.5:
            stretch = frames[first : first + 2 * count]
            tables[PANNED].append({"clip": name, "travel": far, **score(stretch, PANNED)})
    tables["mean lead"] = {
        case: float(np.mean([row["lead"] for row in rows])) for case, rows in tables.items() if rows
    }
    covered = [(row["clip"], row["coverage"]) for case in CASES for row in tables[case]]
    tables["mean coverage"] = {
        name: float(np.mean([share for clip, share in covered if clip == name])) for name, _ in covered
    }
    return tables


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
