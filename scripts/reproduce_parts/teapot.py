"""The paper's video inpainting: 190 frames in order, 10 loose ones with half of their pixels.

    scripts/reproduce teapot [--quick] [--out assets] [--peers PYTHON] [--seed 0]

On a rendered teapot, and on the real grey teapots and four COIL objects where ../shared/data is present.
``--peers`` names a Python that has GPy, where this one has not.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from reproduce_parts.video_tools import DATA, mse, peer, sheet, table

ROOT = Path(__file__).resolve().parents[2]


def real_clips() -> dict[str, tuple[np.ndarray, bool]]:
    """Real sequences of one turn, with whether they close."""
    import cv2
    from scipy.io import loadmat

    clips: dict[str, tuple[np.ndarray, bool]] = {}
    source = DATA / "manifold" / "teapots_gray_100.mat"
    if source.exists():
        rows = loadmat(source)["teapotImages"]
        frames = np.stack([row.reshape(50, 38).T for row in rows])[..., None]
        clips["real teapots"] = ((255 * frames).astype(np.float32), False)
    for number in (1, 4, 5, 14):
        names = [DATA / "manifold" / "coil20" / f"obj{number}__{k}.png" for k in range(72)]
        if all(name.exists() for name in names):
            frames = np.stack([cv2.imread(str(name), 0) for name in names]).astype(np.float32)[..., None]
            clips[f"COIL object {number}"] = (frames, True)
    return clips


def protocol(frames: np.ndarray, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the loose frames, of the others, and masks of what is missing in the loose ones."""
    rng = np.random.default_rng(seed)
    n, height, width = frames.shape[:3]
    loose = np.sort(rng.choice(np.arange(2, n - 2), min(10, n // 10), replace=False))
    rest = np.setdiff1d(np.arange(n), loose)
    masks = np.zeros((len(loose), height, width), bool)
    for mask in masks:
        if kind == "random":
            mask[:] = rng.random((height, width)) < 0.5
        else:
            mask[:, : width // 2] = rng.random() < 0.5
            mask[:, width // 2 :] = not mask[0, 0]
    return loose, rest, masks


def neighbours(frames: np.ndarray, loose: np.ndarray, masks: np.ndarray, k: int = 5) -> np.ndarray:
    """k-nearest-neighbour imputation: mean of the frames nearest in the seen pixels."""
    out = np.array(loose)
    for i, mask in enumerate(masks):
        error = np.square(frames[:, ~mask] - loose[i][~mask]).mean(axis=(1, 2))
        out[i] = frames[np.argsort(error)[:k]].mean(axis=0)
    return out


def run(
    name: str, frames: np.ndarray, closed: bool, kind: str, arguments: argparse.Namespace, gpy: bool
) -> dict:
    from videorestore.curve.fit import fit_shot
    from videorestore.curve.place import place

    loose, rest, masks = protocol(frames, kind, arguments.seed)
    given, truth = frames[rest], frames[loose]
    start = time.process_time()
    fit = fit_shot(given, closed=closed)
    placed = place(given, fit, truth, masks)
    seconds = time.process_time() - start
    where = np.searchsorted(rest, loose)
    hidden = np.array(truth)
    hidden[masks] = 0

    def score(made: np.ndarray) -> float:
        return float(np.mean([mse(made[i][masks[i]], truth[i][masks[i]]) for i in range(len(truth))]))

    ours = np.stack([p.frame for p in placed])
    independent = np.stack([fit.predict(given, np.array([p.x % 1.0]))[0][0] for p in placed])
    share = ((loose - rest[where - 1]) / (rest[where] - rest[where - 1]))[:, None, None, None]
    straight = (1 - share) * given[where - 1] + share * given[where]
    cover = np.mean(
        [(np.abs(ours - truth)[i] < 1.96 * placed[i].sd)[masks[i]].mean() for i in range(len(truth))]
    )
    result = {
        "right places": f"{sum(p.index == w for p, w in zip(placed, where))}/{len(loose)}",
        "ours": score(ours),
        "electroGP, pixels independent (the paper's)": score(independent),
        "linear interpolation, place known": score(straight),
        "5 nearest neighbours": score(neighbours(given, truth, masks)),
        "covered by 95 %": cover,
        "CPU s": seconds,
    }
    if gpy:
        flat = given.reshape(len(given), -1)
        wide = np.repeat(masks[..., None], frames.shape[3], axis=3).reshape(len(loose), -1)
        made = peer(
            "gplvm", "GPy", arguments.peers, frames=flat, loose=truth.reshape(len(loose), -1), masks=wide
        )
        if made is not None:
            made = made.reshape(truth.shape)
            result["Bayesian GP-LVM (GPy, true order)"] = score(made)
            result["gplvm"] = made
    result["pictures"] = (truth, hidden, ours)
    return result


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="every second frame of the rendered clip only")
    parser.add_argument("--out", default=str(ROOT / "assets"))
    parser.add_argument("--peers")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    import scenes

    clips = {"rendered teapot": (scenes.teapot(100 if options.quick else 200), False)}
    if not options.quick:
        clips |= real_clips()
    print("The paper (its own teapot video): electroGP 70.62, Bayesian GP-LVM 450.75, all places right.")
    ratios: dict[str, list[float]] = {"random": [], "half": []}
    for name, (frames, closed) in clips.items():
        for kind in ("random", "half"):
            # GPy is asked once for each kind of clip: it takes longer than all the rest.
            gpy = kind == "random" and "COIL" not in name
            result = run(name, frames, closed, kind, options, gpy)
            made = result.pop("gplvm", None)
            truth, hidden, ours = result.pop("pictures")
            ratio = result["ours"] / result["linear interpolation, place known"]
            if "COIL" in name:
                ratios[kind].append(ratio)
            rows = [
                (key, value if isinstance(value, str) else f"{value:.3g}") for key, value in result.items()
            ]
            rows.append(("ours / linear interpolation", f"{ratio:.2f}"))
            missing = "half of the pixels at random" if kind == "random" else "the left or right half"
            table(f"{name}, {len(frames)} frames, missing: {missing}; MSE of the missing pixels", rows)
            if name == "rendered teapot":
                pick = range(0, len(truth), max(1, len(truth) // 5))
                lines = [[truth[i] for i in pick], [hidden[i] for i in pick], [ours[i] for i in pick]]
                if made is not None:
                    lines.append([made[i] for i in pick])
                sheet(Path(options.out) / f"teapot-{kind}.png", lines)
    for kind, values in ratios.items():
        if values:
            print(f"COIL, {kind}: ours / linear interpolation with known place, mean {np.mean(values):.2f}")
    return 0
