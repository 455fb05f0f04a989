"""What is found of planted faults: cuts, repeats, black, garbage and dropped frames, damaged pixels.

    python scripts/bench_parts/detection.py [--quick]

For pixels the spike detector of the textbooks (out of the range of both neighbours, without motion) stands beside.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench_parts.clips import parts  # noqa: E402

from videorestore.detect.damage import find_damage  # noqa: E402
from videorestore.detect.frames import judge  # noqa: E402
from videorestore.detect.measures import measure  # noqa: E402

Frames = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Tally:
    """Hits, false alarms and misses."""

    def __init__(self) -> None:
        self.hits = self.false = self.missed = 0

    def add(self, found: Iterable[int], true: Iterable[int]) -> None:
        """Count one clip."""
        a, b = set(found), {int(k) for k in true}
        self.hits += len(a & b)
        self.false += len(a - b)
        self.missed += len(b - a)

    def row(self, what: str) -> dict[str, Any]:
        """As a line of the table."""
        return {
            "what": what,
            "precision": self.hits / max(1, self.hits + self.false),
            "recall": self.hits / max(1, self.hits + self.missed),
            "planted": self.hits + self.missed,
        }


def faulty(frames: Frames, rng: np.random.Generator) -> tuple[Frames, dict[str, list[int]]]:
    """Repeats, black and garbage frames, and flashes, which are no fault, in one clip."""
    kinds = ("repeats", "black", "snow", "grey", "half", "flash")
    places = rng.permutation(np.arange(4, len(frames) - 4, 5))
    made = frames.copy()
    truth: dict[str, list[int]] = {kind: [] for kind in kinds}
    for number, k in enumerate(places):
        kind = kinds[number % len(kinds)]
        truth[kind].append(int(k))
        if kind == "repeats":
            made[k] = made[k - 1]
        elif kind == "black":
            made[k] = rng.uniform(0, 6)
        elif kind == "snow":
            made[k] = np.clip(rng.normal(128, 60, made[k].shape), 0, 255)
        elif kind == "grey":
            made[k] = 128
        elif kind == "half":
            made[k, made.shape[1] // 2 :] = 128
        else:
            made[k] = np.clip(1.4 * made[k] + 50, 0, 255)
    return made, truth


def dirty(frames: Frames, rng: np.random.Generator) -> tuple[Frames, Mask]:
    """Dust, blotches, scratches and rows of low and high contrast in all frames but the ends."""
    made = frames.copy()
    n, height, width = frames.shape[:3]
    masks = np.zeros((n, height, width), bool)
    for k in range(1, n - 1):
        for number in range(5):
            spot = np.zeros((height, width), np.uint8)
            x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
            if number < 2:
                cv2.circle(spot, (x, y), int(rng.integers(1, 4)), 1, -1)
            elif number == 2:
                size = int(rng.integers(3, 9)), int(rng.integers(3, 9))
                cv2.ellipse(spot, (x, y), size, float(rng.uniform(0, 180)), 0, 360, 1, -1)
            elif number == 3:
                end = x + int(rng.integers(-4, 5)), int(rng.integers(height // 2, height))
                cv2.line(spot, (x, int(rng.integers(0, height // 4))), end, 1, int(rng.integers(1, 3)))
            else:
                spot[y : y + 2, x // 2 : x // 2 + width // 2] = 1
            at = spot > 0
            step = rng.uniform(20, 90) * (-1 if frames[k][at].mean() > 128 else 1)
            made[k][at] = np.clip(made[k][at] + step, 0, 255)
            masks[k] |= at & (np.abs(made[k] - frames[k]).max(axis=2) >= 8)
    return np.rint(made), masks


def textbook(frames: Frames) -> Mask:
    """Spikes without motion compensation: outside of the range of both neighbours by 20 levels."""
    masks = np.zeros(frames.shape[:3], bool)
    for k in range(1, len(frames) - 1):
        low, high = np.minimum(frames[k - 1], frames[k + 1]), np.maximum(frames[k - 1], frames[k + 1])
        masks[k] = (np.maximum(frames[k] - high, low - frames[k]) > 20).any(axis=2)
    return masks


def f_score(found: Mask, true: Mask) -> float:
    """Harmonic mean of precision and recall over pixels."""
    return float(2 * (found & true).sum() / max(1, found.sum() + true.sum()))


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
        Tables "frames" (precision and recall) and "pixels" (F, and the share of clean clips that is flagged).
    """
    rng = np.random.default_rng(1)
    tallies = {name: Tally() for name in ("cuts", "repeats", "black", "garbage", "to fill", "dropped")}
    pixels: list[dict[str, Any]] = []
    shots = []
    for part in parts(quick, clips):
        name, frames = part.name, part.read(most=30 if quick else None).astype(np.float32)
        if len(frames) < 16:
            continue
        shots.append(np.stack([cv2.resize(f, (320, 240), interpolation=cv2.INTER_AREA) for f in frames[:16]]))
        spoilt, truth = faulty(frames, rng)
        found = judge(measure(spoilt))
        tallies["repeats"].add(found.duplicates, truth["repeats"])
        tallies["black"].add(found.black, truth["black"])
        tallies["garbage"].add(found.corrupt_suspects, truth["snow"] + truth["grey"] + truth["half"])
        tallies["to fill"].add(found.worthless, [k for kind in truth if kind != "flash" for k in truth[kind]])
        lost = int(rng.integers(len(frames) // 3, 2 * len(frames) // 3))
        short = judge(measure(np.delete(frames, lost, axis=0)))
        tallies["dropped"].add([one.after for one in short.dropped], [lost - 1])
        few = frames[:8]
        spotted, masks = dirty(few, rng)
        pixels.append(
            {
                "clip": name,
                "F": f_score(find_damage(spotted)[0], masks),
                "F textbook": f_score(textbook(spotted), masks),
                "clean %": 100 * float(find_damage(few)[0].mean()),
                "clean % textbook": 100 * float(textbook(few).mean()),
            }
        )
    if not shots:
        return {"frames": [], "pixels": []}
    starts = np.cumsum([len(shot) for shot in shots])[:-1]
    tallies["cuts"].add(judge(measure(np.concatenate(shots))).cuts, starts)
    return {"frames": [tally.row(name) for name, tally in tallies.items()], "pixels": pixels}


if __name__ == "__main__":
    print(json.dumps(main(quick="--quick" in sys.argv), indent=1))
