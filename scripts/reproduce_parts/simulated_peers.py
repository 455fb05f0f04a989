"""Peers on the simulations: R's principal curves where R has princurve (Debian's r-cran-princurve), and GPy's GP-LVM and
Bayesian GP-LVM where this Python has GPy.

    python simulated_peers.py OUT.json SEEDS [FIRST_SEED]

Isomap start (6 neighbours, joined by the minimum spanning tree), one latent dimension, at most 1000 steps of
L-BFGS. ``bayesian gp-lvm`` starts from GPy's own kernel; ``bayesian gp-lvm, short start`` from a short length
and sharp positions, which it needs on the spiral. Principal curves have no noise model: their band is as wide as 95 % of the points to be fitted ask for.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path
from scipy.spatial.distance import cdist

sys.path.insert(0, str(Path(__file__).resolve().parent))
from simulated_curves import CASES, CLOSED, Array, distance, sample, scores

METHODS = ("bayesian gp-lvm", "bayesian gp-lvm, short start", "gp-lvm")


def isomap(points: Array, k: int = 6) -> Array:
    """First Isomap coordinate (n,), standardised."""
    length = cdist(points, points)
    n = len(points)
    near = np.zeros((n, n), dtype=bool)
    near[np.arange(n)[:, None], np.argsort(length, axis=1)[:, 1 : k + 1]] = True
    tree = minimum_spanning_tree(length).toarray() > 0
    near = near | near.T | tree | tree.T
    way = np.square(shortest_path(np.where(near, length, 0.0), directed=False))
    centred = -0.5 * (way - way.mean(axis=0) - way.mean(axis=1)[:, None] + way.mean())
    first = np.linalg.eigh(centred)[1][:, -1]
    return np.asarray((first - first.mean()) / first.std())


def fit(method: str, points: Array, seed: int) -> dict[str, Any]:
    """Mean curve on [min x, max x], 95 % radius, three draws of the curve and positions."""
    import GPy

    # GPy draws its inducing points from NumPy's global state.
    np.random.seed(seed)  # noqa: NPY002
    mean = points.mean(axis=0)
    y = points - mean
    x = isomap(points)[:, None]
    if method == "gp-lvm":
        model = GPy.models.GPLVM(y, 1, X=x, kernel=GPy.kern.RBF(1))
    else:
        short = method.endswith("short start")
        kernel = GPy.kern.RBF(1, variance=y.var(), lengthscale=0.3) if short else GPy.kern.RBF(1)
        spread = np.full_like(x, 0.01 if short else 0.1)
        model = GPy.models.BayesianGPLVM(y, 1, X=x, X_variance=spread, num_inducing=25, kernel=kernel)
    model.likelihood.variance = 0.01 * y.var()
    model.optimize("lbfgs", max_iters=1000)
    at = np.asarray(model.X if method == "gp-lvm" else model.X.mean)[:, 0]
    grid = np.linspace(at.min(), at.max(), 400)[:, None]
    curve, variance = model.predict_noiseless(grid)
    noise = float(np.squeeze(model.likelihood.variance))
    rng = np.random.default_rng(seed)
    pick = rng.integers(0, 400, 2000)
    spread = np.sqrt(np.asarray(variance)[pick].reshape(2000, -1) + noise)
    drawn = curve[pick] + mean + rng.normal(size=(2000, mean.size)) * spread
    curve = curve + mean
    radius = float(np.quantile(distance(drawn, curve), 0.95))
    out = {"curve": curve, "radius": radius, "x": at, "draws": []}
    if method == "gp-lvm":
        # As in the paper, over the whole unit of the latent space, holes and margins included.
        wide = np.linspace(at.min() - 0.1 * np.ptp(at), at.max() + 0.1 * np.ptp(at), 300)[:, None]
        three = model.posterior_samples_f(wide, size=3)
        out["draws"] = [(three[:, :, i] + mean).tolist() for i in range(3)]
    return out


def princurves(seeds: range) -> list[dict[str, Any]]:
    """Rows of R's principal curves; none where there is no R with princurve."""
    script, rows = os.environ.get("RSCRIPT") or shutil.which("Rscript"), []
    if script is None:
        return rows
    with tempfile.TemporaryDirectory() as folder:
        names = {
            (case, seed): Path(folder) / f"{'closed' if case in CLOSED else 'open'}-{case}-{seed}"
            for case in CASES
            for seed in seeds
        }
        for (case, seed), name in names.items():
            np.savetxt(f"{name}.csv", sample(case, seed).points, delimiter=",")
        start = time.perf_counter()
        done = subprocess.run(
            [script, str(Path(__file__).with_name("princurve.R")), folder], capture_output=True
        )
        if done.returncode:
            return rows
        seconds = (time.perf_counter() - start) / len(names)
        for (case, seed), name in names.items():
            curve, data = np.loadtxt(f"{name}.out", delimiter=","), sample(case, seed)
            radius = float(np.quantile(distance(data.points, curve), 0.95))
            row = {"method": "princurve", "case": case, "seed": seed, "time_s": seconds}
            rows.append(row | scores(case, data, curve, radius))
            if seed == seeds[0]:
                rows[-1] |= {"curve": curve.tolist(), "draws": []}
    return rows


def main(arguments: list[str]) -> None:
    warnings.filterwarnings("ignore")
    out, seeds = Path(arguments[0]), int(arguments[1])
    first = int(arguments[2]) if len(arguments) > 2 else 0
    rows = princurves(range(first, first + seeds))
    out.write_text(json.dumps(rows))
    for case in CASES if importlib.util.find_spec("GPy") else ():
        for seed in range(first, first + seeds):
            data = sample(case, seed)
            for method in METHODS:
                start = time.process_time()
                row: dict[str, Any] = {"method": method, "case": case, "seed": seed}
                try:
                    found = fit(method, data.points, seed)
                    row["time_s"] = time.process_time() - start
                    row |= scores(case, data, found["curve"], found["radius"])
                    order = np.argsort(np.argsort(found["x"]))
                    row["x"] = order.tolist()
                    if seed == first:
                        row |= {"curve": found["curve"][::2].tolist(), "draws": found["draws"]}
                except Exception as error:  # a peer's crash is a result
                    row["failed"] = str(error)
                rows.append(row)
        out.write_text(json.dumps(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
