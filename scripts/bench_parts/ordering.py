"""Shuffled frames put into order: ours and the peers' Kendall tau, and foreign frames found.

Development clips where ../shared/data is present, a rendered teapot elsewhere. Orders are scored up to reversal; on
closed curves (a full turn of an object) up to rotation as well.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reproduce_parts.teapot import real_clips
from reproduce_parts.video_tools import DATA

NOISE = (0.0, 20.0)


def clips(quick: bool) -> dict[str, tuple[np.ndarray, bool]]:
    """Frames by name, and whether their curve is closed."""
    import scenes

    found = {"rendered teapot": (scenes.teapot(60, detail=2), False)}
    if quick:
        return found
    found |= real_clips()
    for name, path in (
        ("highway", "natural/highway.mpg"),
        ("bus", "natural/bus_qcif_raw.y4m"),
        ("foreman", "natural/foreman_cif_vp9.webm"),
        ("traffic", "natural/traffic_48x48_raw.avi"),
        ("escalator", "natural/escalator.avi"),
    ):
        if (DATA / path).exists():
            found[name] = (first_frames(DATA / path, 150), False)
    return found


def first_frames(path: Path, count: int) -> np.ndarray:
    """The first frames of a video, RGB."""
    import av

    frames = []
    with av.open(str(path)) as video:
        for frame in video.decode(video=0):
            frames.append(frame.to_ndarray(format="rgb24"))
            if len(frames) == count:
                break
    return np.stack(frames).astype(np.float32)


def peers(rows: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Orders of the peers from rows of pixels, each peer at the settings usual for it."""
    from sklearn.manifold import Isomap, LocallyLinearEmbedding, SpectralEmbedding

    square = np.square(rows).sum(axis=1)
    distance = np.sqrt(np.maximum(square[:, None] + square - 2 * rows @ rows.T, 0))
    start = int(np.random.default_rng(seed).integers(len(rows)))
    left, chain = np.ones(len(rows), bool), [start]
    left[start] = False
    while left.any():
        chain.append(int(np.argmin(np.where(left, distance[chain[-1]], np.inf))))
        left[chain[-1]] = False
    orders = {"greedy chain": np.array(chain)}
    for k in (6, 10):
        made = {
            "LLE": LocallyLinearEmbedding(n_neighbors=k, n_components=1, eigen_solver="dense"),
            "Isomap": Isomap(n_neighbors=k, n_components=1),
            "spectral": SpectralEmbedding(n_components=1, affinity="nearest_neighbors", n_neighbors=k),
        }
        for name, method in made.items():
            orders[f"{name} {k}"] = np.argsort(method.fit_transform(rows)[:, 0])
    return orders


def agreement(one: np.ndarray, two: np.ndarray, ring: bool = False) -> float:
    """|Kendall's tau| of two orders of the same frames; the best over all cuts when the curve is closed."""
    from scipy.stats import kendalltau

    n = len(one)
    rank = np.empty(n, np.int64)
    rank[one] = np.arange(n)
    ranks = rank[two]
    if not ring:
        return abs(float(kendalltau(np.arange(n), ranks)[0]))
    # Rotations that matter bring a step of one order to the cut of the other: try the longest jumps of rank.
    jumps = np.abs(np.diff(np.append(ranks, ranks[0])))
    cuts = np.argsort(-jumps, kind="stable")[:8]
    best = 0.0
    for cut in cuts:
        turned = np.roll(ranks, -int(cut) - 1)
        for shift in {0, int(turned[0]), int(turned[-1])}:
            for flip in (turned, n - 1 - turned):
                moved = (flip - (shift if flip is turned else n - 1 - shift)) % n
                best = max(best, abs(float(kendalltau(np.arange(n), moved)[0])))
    return best


def orders(quick: bool, seed: int = 0) -> list[dict[str, Any]]:
    """One row for each clip and noise level."""
    from videorestore.order.distances import describe
    from videorestore.order.reorder import reorder

    table = []
    for name, (frames, closed) in clips(quick).items():
        for sd in NOISE:
            rng = np.random.default_rng(seed)
            noisy = np.clip(frames + sd * rng.standard_normal(frames.shape), 0, 255).astype(np.float32)
            shuffle = rng.permutation(len(frames))
            truth = np.argsort(shuffle)
            shuffled = noisy[shuffle]
            found = reorder(shuffled, refuse=False)
            # The real teapots turn once as well; where a closed curve begins nobody can tell.
            closed = closed or found.closed
            scores = {"ours": agreement(truth, found.order, closed)}
            for peer, order in peers(describe(shuffled), seed).items():
                scores[peer] = agreement(truth, order, closed)
            best = scores["ours"] >= max(scores.values()) - 1e-9
            table.append({"clip": name, "noise": sd, **scores, "ours is best": best})
    return table


def foreign(quick: bool, seed: int = 0) -> list[dict[str, Any]]:
    """Frames of other clips planted into shuffled ones: precision, recall and F1 of what is refused."""
    from videorestore.order.reorder import reorder

    pool = {k: v[0] for k, v in clips(quick).items()}
    if quick:
        import scenes

        pool["disc"] = scenes.disc(36, 60)
    table = []
    for name, frames in pool.items():
        others = [k for k in pool if k != name and k.split()[0] != name.split()[0]]
        for sd in NOISE:
            rng = np.random.default_rng(seed)
            count = int(rng.integers(3, 9))
            planted = [_like(pool[others[k % len(others)]], frames[0], rng) for k in range(count)]
            mixed = np.concatenate([frames, np.stack(planted)])
            mixed = np.clip(mixed + sd * rng.standard_normal(mixed.shape), 0, 255).astype(np.float32)
            shuffle = rng.permutation(len(mixed))
            refused = {int(shuffle[i]) for i in reorder(mixed[shuffle]).refused}
            hits = len(refused & set(range(len(frames), len(mixed))))
            score = 2 * hits / (len(refused) + count) if refused else 0.0
            table.append({"clip": name, "noise": sd, "planted": count, "refused": len(refused), "F1": score})
    return table


def _like(clip: np.ndarray, frame: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random frame of a clip in the size and with the channels of another frame."""
    picked = clip[int(rng.integers(len(clip)))]
    picked = cv2.resize(picked, (frame.shape[1], frame.shape[0]), interpolation=cv2.INTER_AREA)
    picked = picked.reshape(*frame.shape[:2], -1)
    grey = picked.mean(axis=2, keepdims=True)
    return np.asarray(picked if picked.shape == frame.shape else np.repeat(grey, frame.shape[2], axis=2))


def main(quick: bool = False) -> dict[str, Any]:
    """Tables of orders and of foreign frames."""
    planted = foreign(quick)
    return {
        "orders, |Kendall tau|": orders(quick),
        "foreign frames": planted,
        "foreign frames, mean F1": float(np.mean([row["F1"] for row in planted])),
    }


if __name__ == "__main__":
    for title, rows in main("--quick" in sys.argv).items():
        print(title)
        for row in rows if isinstance(rows, list) else [rows]:
            print("  ", row)
