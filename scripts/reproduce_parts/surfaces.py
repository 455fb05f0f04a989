"""More than a curve: is the dimension found, and do neighbours on a surface stay neighbours?

    scripts/reproduce surfaces [--quick] [--seeds 3] [--first-seed 0] [--dimension-seeds 50] [--frames 300] [--peers PYTHON]

Right: in how many of ``--dimension-seeds`` drawings ``n_components="auto"`` chooses two dimensions. The others are the
trustworthiness (five neighbours) of the positions against clean points, along the sheet for the roll; mean and least over
``--seeds`` drawings. Peers have two dimensions given: UMAP as it comes, GPy's Bayesian GP-LVM with the better of two starts
(its own and Isomap). They are measured by a Python that has them: this one, ``--peers`` or PEERS.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Array = NDArray[np.float64]
Rng = np.random.Generator


def roll(rng: Rng, n: int) -> tuple[Array, Array, float]:
    """Swiss roll; neighbours are those along the sheet."""
    t, height = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n)), 21 * rng.uniform(size=n)
    length = 0.5 * (t * np.sqrt(1 + t * t) + np.arcsinh(t))
    points = np.stack([t * np.cos(t), height, t * np.sin(t)], axis=1)
    return np.stack([length, height], axis=1), points, 0.2


def sphere(rng: Rng, n: int) -> tuple[Array, Array, float]:
    points = rng.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, points, 0.03


def torus(rng: Rng, n: int) -> tuple[Array, Array, float]:
    a, b = rng.uniform(0, 2 * np.pi, (2, n))
    ring = 2 + 0.7 * np.cos(b)
    points = np.stack([ring * np.cos(a), ring * np.sin(a), 0.7 * np.sin(b)], axis=1)
    return points, points, 0.03


def turntable(rng: Rng, n: int) -> tuple[Array, Array, float]:
    """Pictures of 24 x 32 pixels of a turning texture under a lamp of changing strength."""
    texture = gaussian_filter(rng.normal(size=(24, 256)), (2, 4), mode=("nearest", "wrap"))
    column = np.arcsin(np.linspace(-0.95, 0.95, 32)) * 256 / (2 * np.pi)
    at = 256 * rng.uniform(size=n)[:, None] + column
    whole, part = np.floor(at).astype(int) % 256, at % 1
    seen = texture[:, whole] * (1 - part) + texture[:, (whole + 1) % 256] * part
    pictures = 2 + np.moveaxis(seen, 1, 0) / texture.std()
    points = (pictures * rng.uniform(0.5, 1.5, n)[:, None, None]).reshape(n, -1)
    return points, points, 0.1


SURFACES: dict[str, Callable[[Rng, int], tuple[Array, Array, float]]] = {
    "swiss roll": roll,
    "sphere": sphere,
    "torus": torus,
    "turntable, changing light": turntable,
}
"""Each gives points (n, k) whose neighbours are the true ones, clean frames (n, d) and the sd of the noise."""


def planted(kind: str, seed: int, n: int) -> tuple[Array, Array]:
    """Points with the true neighbours, and noisy frames (n, d)."""
    rng = np.random.default_rng([list(SURFACES).index(kind), seed])
    truth, clean, sd = SURFACES[kind](rng, n)
    return truth, clean + sd * rng.normal(size=clean.shape)


def kept(truth: Array, x: Any) -> float:
    from sklearn.manifold import trustworthiness

    return float(trustworthiness(truth, np.asarray(x).reshape(len(truth), -1)))


def ours(kind: str, seed: int, n: int) -> float:
    from videorestore.model import ElectroGP

    truth, frames = planted(kind, seed, n)
    return kept(truth, ElectroGP(n_components="auto").fit(frames).embedding_)


def umap_of(frames: Array) -> list[Array]:
    import umap

    return [umap.UMAP(n_components=2, random_state=0).fit_transform(frames)]


def gplvm_of(frames: Array) -> list[Array]:
    """Positions by GPy's Bayesian GP-LVM from each of its starts, on the axes that hold 99 % of the variance."""
    import GPy
    from sklearn.manifold import Isomap

    left, size, _ = np.linalg.svd(frames - frames.mean(axis=0), full_matrices=False)
    count = max(3, int(np.searchsorted(np.cumsum(size**2) / np.sum(size**2), 0.99)) + 1)
    y = (left * size)[:, :count]
    first = Isomap(n_neighbors=8, n_components=2).fit_transform(frames)
    first = (first - first.mean(axis=0)) / first.std()
    found = []
    for given in ({}, {"X": first, "X_variance": np.full_like(first, 0.05)}):
        # GPy draws its inducing points from NumPy's global state.
        np.random.seed(0)  # noqa: NPY002
        kernel = GPy.kern.RBF(2, variance=y.var(), lengthscale=0.5 if given else 1.0, ARD=True)
        model = GPy.models.BayesianGPLVM(y, 2, num_inducing=40, kernel=kernel, **given)
        model.likelihood.variance = 0.01 * y.var()
        model.optimize("lbfgs", max_iters=300)
        found.append(np.asarray(model.X.mean))
    return found


PEERS = {"Bayesian GP-LVM (GPy)": ("GPy", gplvm_of), "UMAP": ("umap", umap_of)}


def measure_peers(seeds: range, n: int) -> dict[str, dict[str, list[float]]]:
    """Trustworthiness by peer and surface, of those that this Python has."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, (module, fit) in PEERS.items():
        for kind in SURFACES if importlib.util.find_spec(module) else ():
            for seed in seeds:
                truth, frames = planted(kind, seed, n)
                best = max(kept(truth, x) for x in fit(frames))
                found.setdefault(name, {}).setdefault(kind, []).append(best)
    return found


def peers(python: str, first: int, seeds: int, n: int) -> dict[str, dict[str, list[float]]]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peers.json"
        words = [python, __file__, str(out), str(first), str(seeds), str(n)]
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
        return dict(json.loads(out.read_text()))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/reproduce surfaces", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one drawing, ten for the dimension")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--dimension-seeds", type=int, default=50)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument(
        "--peers", default=os.environ.get("PEERS"), help="a Python that has GPy and umap-learn"
    )
    parser.add_argument("--out", help="not used: there are no figures")
    parsed = parser.parse_args(arguments)
    from videorestore.model.sheet.fit import choose_dimension

    seeds, many = (1, 10) if parsed.quick else (parsed.seeds, parsed.dimension_seeds)
    first, n = parsed.first_seed, parsed.frames
    others = peers(parsed.peers or sys.executable, first, seeds, n)
    names = ["electroGP", *others]
    print(f"| surface | two dimensions found | {' | '.join(names)} |\n|{'---|' * (2 + len(names))}")
    for kind in SURFACES:
        right = sum(choose_dimension(planted(kind, seed, n)[1]) == 2 for seed in range(first, first + many))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = [ours(kind, seed, n) for seed in range(first, first + seeds)]
        cells = [f"{np.mean(f):.3f} ({min(f):.3f})" for f in (own, *(others[name][kind] for name in others))]
        print(f"| {kind} | {right} of {many} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    at, begin, count, size = sys.argv[1], *(int(word) for word in sys.argv[2:])
    Path(at).write_text(json.dumps(measure_peers(range(begin, begin + count), size)))
