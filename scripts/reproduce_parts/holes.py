"""How wide a hole in a clip comes back: frames are taken out of rendered clips, and the latent gap is set against theirs.

    scripts/reproduce holes [--quick] [--held-out] [--unknown]

Cells are the gap over its true width, by the frames missing; a star marks what is off by more than 20 %. Order and numbers of the
frames are known, as for `fill --missing`; ``--unknown``: only their order. ``--held-out``: clips on which nothing was chosen.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

MISSING = (1, 3, 5, 8)
KINDS = ("clean", "8 bit", "noise 10")


def clips(held_out: bool) -> dict[str, np.ndarray]:
    """Rendered clips at even speed."""
    import scenes

    if held_out:
        return {
            "turning disc, 60 frames a turn": scenes.disc(60, seed=5),
            "teapot, 1.5 degrees a frame": scenes.teapot(120)[30:90],
            "pan, 1.5 pixels a frame": scenes.pan(48, step=1.5, seed=3),
            "shockwave, 90 frames": scenes.shockwave(90, 72),
        }
    return {
        "turning disc, 48 frames a turn": scenes.disc(48),
        "teapot, 0.9 degrees a frame": scenes.teapot(200)[:60],
        "pan, 0.8 pixels a frame": scenes.pan(40),
        "shockwave, 60 frames": scenes.shockwave(60, 64),
    }


def width(frames: np.ndarray, count: int, sigma: float | None, known: bool) -> float:
    """Gap across ``count`` missing frames in the middle, over the usual gap times ``count + 1``."""
    from videorestore.curve.fit import fit_shot

    first = len(frames) // 2 - count // 2
    absent = range(first, first + count)
    seen = np.delete(np.arange(len(frames)), absent)
    fit = fit_shot(frames[seen], times=seen if known else None, sigma=sigma)
    gaps = np.diff(fit.x)
    return float(gaps[first - 1] / np.median(np.delete(gaps, first - 1)) / (count + 1))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/reproduce holes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="holes of three frames only")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--unknown", action="store_true", help="how many frames are missing is not told")
    parsed: Any = parser.parse_args(arguments)
    missing = (3,) if parsed.quick else MISSING
    print(f"| clip | kind | {' | '.join(map(str, missing))} |\n|---|---|{'---|' * len(missing)}")
    off = cases = 0
    for name, clean in clips(parsed.held_out).items():
        for kind in KINDS:
            noise = 10.0 if kind == "noise 10" else 0.0
            made = clean + noise * np.random.default_rng(7).standard_normal(clean.shape)
            made = np.rint(np.clip(made, 0, 255)) if kind == "8 bit" else made
            found = [
                width(made.astype(np.float32), count, noise or None, not parsed.unknown) for count in missing
            ]
            wrong = [not 0.8 <= w <= 1.2 for w in found]
            off, cases = off + sum(wrong), cases + len(found)
            cells = " | ".join(f"{w:.2f}{'*' if bad else ''}" for w, bad in zip(found, wrong))
            print(f"| {name} | {kind} | {cells} |", flush=True)
    print(f"\n{off} of {cases} are off by more than 20 %.")
    return 0
