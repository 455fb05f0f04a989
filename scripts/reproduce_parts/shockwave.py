"""The paper's denoising and super-resolution: a shrinking shockwave, 95 noisy frames, frames 51 to 55 missing.

    scripts/reproduce shockwave [--quick] [--out assets] [--peers PYTHON] [--sd 0.1]

``--sd`` is the noise as a share of the range. ``--peers`` names a Python that has bm3d, where this one has not.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import cv2
import numpy as np

from reproduce_parts.video_tools import mse, peer, sheet, table

ROOT = Path(__file__).resolve().parents[2]
MISSING = [50, 51, 52, 53, 54]


def non_local_means(frames: np.ndarray, strength: float) -> np.ndarray:
    """OpenCV's non-local means per frame; it works on 8 bits, with room on both sides so that nothing is clipped."""
    out = np.empty_like(frames)
    for i, frame in enumerate(frames):
        eight = np.clip(np.rint((frame[..., 0] + 128) / 2), 0, 255).astype(np.uint8)
        out[i, ..., 0] = 2.0 * cv2.fastNlMeansDenoising(eight, None, strength / 2, 7, 21) - 128
    return out


def diffusion(frames: np.ndarray, steps: int, edge: float) -> np.ndarray:
    """Perona and Malik's diffusion per frame, the paper's IsD."""
    image = frames[..., 0].astype(np.float64)
    for _ in range(steps):
        padded = np.pad(image, ((0, 0), (1, 1), (1, 1)), mode="edge")
        flow = 0.0
        for dy, dx in ((0, 1), (2, 1), (1, 0), (1, 2)):
            step = padded[:, dy : dy + image.shape[1], dx : dx + image.shape[2]] - image
            flow = flow + step * np.exp(-np.square(step / edge))
        image = image + 0.2 * flow
    return image[..., None].astype(np.float32)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="peers at one setting, no bm3d")
    parser.add_argument("--out", default=str(ROOT / "assets"))
    parser.add_argument("--peers")
    parser.add_argument("--sd", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    import scenes

    from videorestore.curve.denoise import denoise
    from videorestore.detect.noise import estimate_noise
    from videorestore.make.engines import JointEngine, MotionEngine

    clean = scenes.shockwave()
    sd = 255 * options.sd
    rng = np.random.default_rng(options.seed)
    noisy = (clean + sd * rng.standard_normal(clean.shape)).astype(np.float32)
    seen = np.setdiff1d(np.arange(100), MISSING)
    truth = clean[seen]

    start = time.process_time()
    noise = estimate_noise(noisy[seen])
    ours, ours_sd, fit = denoise(noisy[seen], noise)
    seconds = time.process_time() - start
    independent, _ = fit.predict(noisy[seen], fit.x)
    rows = [("", "MSE, 0..255", "MSE, 0..1")]

    def line(name: str, made: np.ndarray) -> float:
        error = mse(made, truth)
        rows.append((name, f"{error:.2f}", f"{error / 255**2:.2e}"))
        return error

    line("noisy", noisy[seen])
    line("ours: curve, then space", ours)
    line("electroGP, pixels independent (the paper's)", independent)
    strengths = [2.5 * sd] if options.quick else [f * sd for f in (0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)]
    trials = [non_local_means(noisy[seen], s) for s in strengths]
    best_nlm = min(trials, key=lambda made: mse(made, truth))
    nlm_error = line("non-local means, best of its settings", best_nlm)
    settings = (
        [(20, 2.0)] if options.quick else [(s, e) for s in (5, 10, 20, 40) for e in (1.0, 1.5, 2.0, 3.0)]
    )
    trials = [diffusion(noisy[seen], steps, edge * sd) for steps, edge in settings]
    line("Perona-Malik diffusion, best of its settings", min(trials, key=lambda made: mse(made, truth)))
    left, right = int(np.flatnonzero(seen == 49)[0]), int(np.flatnonzero(seen == 55)[0])
    best_peer, best_error = best_nlm, nlm_error
    # BM3D takes seconds for every frame: it is measured on every fifth one and on those beside the hole.
    some = np.unique(np.append(np.arange(0, len(seen), 5), [left, right]))
    arrays = {"frames": noisy[seen[some]][..., 0], "sd": np.array(sd)}
    block = None if options.quick else peer("bm3d", "bm3d", options.peers, **arrays)
    if block is not None:
        error = mse(block[..., None], truth[some])
        rows.append(("BM3D per frame", f"{error:.2f}", f"{error / 255**2:.2e}"))
        if error < best_error:
            best_peer = np.array(best_nlm)
            best_peer[some] = block[..., None]
    table(f"Denoising, noise sd {options.sd:g} of the range (estimated {noise.sd / 255:.4f})", rows)
    print(f"  ours / non-local means {mse(ours, truth) / nlm_error:.2f}; CPU {seconds:.1f} s")
    print(f"  covered by our 95 % interval: {(np.abs(ours - truth) < 1.96 * ours_sd).mean():.3f}")
    print("  the paper (scales not stated): electroGP 1.8e-3, non-local means 63.37, diffusion 61.79")

    engine = JointEngine(MotionEngine(), 48, grain=sd)
    filled = engine.interpolator(noisy[seen], seen.astype(np.float64)).at(np.array(MISSING, np.float64))
    made, made_sd = filled.frames, filled.sd
    target = clean[52]
    straight = (best_peer[left] + best_peer[right]) / 2
    middle = fit.x[left] + 0.5 * (fit.x[right] - fit.x[left])
    alone, _ = fit.predict(noisy[seen], np.array([middle]))
    rows = [
        ("ours", f"{mse(made[2], target):.2f}"),
        ("electroGP, pixels independent (the paper's)", f"{mse(alone[0], target):.2f}"),
        ("linear interpolation between neighbours denoised by the best peer", f"{mse(straight, target):.2f}"),
        (
            "linear interpolation between our denoised neighbours",
            f"{mse((ours[left] + ours[right]) / 2, target):.2f}",
        ),
        (
            "linear interpolation between the clean neighbours",
            f"{mse((clean[49] + clean[55]) / 2, target):.2f}",
        ),
    ]
    table(
        "Frame 53, in the middle of five missing ones; MSE, 0..255 (the paper: electroGP 2e-5, linear 13)",
        rows,
    )
    gap = (fit.x[right] - fit.x[left]) / np.median(np.diff(fit.x))
    print(f"  the hole of five frames is {gap:.2f} median latent steps wide (truth 6)")

    times = seen.astype(np.float64)
    targets = np.setdiff1d(np.round(np.arange(0, 30, 1 / 3), 6), np.arange(0, 31.0))
    count = int(np.searchsorted(times, 31.0))
    new = JointEngine(MotionEngine(), 48).interpolator(ours[:count], times[:count]).at(targets).frames
    axis = np.arange(100) - 49.5
    distance = np.hypot(axis[:, None], axis[None, :])
    radius = 44 - 36 * targets / 99
    wave = (
        0.8
        * (0.6 + 0.4 * radius / 44)[:, None, None]
        * np.exp(-0.5 * ((distance - radius[:, None, None]) / 3) ** 2)
    )
    inside = 0.08 / (1 + np.exp((distance - radius[:, None, None]) / 1.5))
    print(f"  frame rate tripled: MSE of the new frames {mse(new[..., 0], 255 * (0.1 + wave + inside)):.2f}")

    k = 93 - len(MISSING)
    error = lambda a: 10 * np.abs(a - target)  # noqa: E731
    first = [truth[k], noisy[seen][k], ours[k], independent[k], best_nlm[k]]
    second = [target, made[2], error(made[2]), error(straight), np.clip(20 * made_sd[2], 0, 255)]
    sheet(Path(options.out) / "shockwave.png", [first, second])
    return 0
