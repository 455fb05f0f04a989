"""The electroGP's own figures: CPU time against GPy, growth with pixels and frames, Gram matrices, placement.

    python scripts/bench_parts/model.py [--quick]

CPU time of one thread counts, not wall-clock. GPy is measured in the same run where it is installed.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent)]

from scenes import teapot  # noqa: E402

from videorestore.model import CoulombProcess, ElectroGP  # noqa: E402
from videorestore.model.gram import columns_of, group_grams  # noqa: E402
from videorestore.model.joint import mode as scaling  # noqa: E402
from videorestore.model.joint.fit import fit_curve  # noqa: E402
from videorestore.model.options import Options  # noqa: E402

Array = NDArray[Any]


def main(quick: bool = False) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    quick : bool
        Smaller sizes, no GPy, no 100,000 frames.
    """
    with threadpool_limits(1):
        ElectroGP().fit(_smooth(40, 60))
        clip = teapot(60 if quick else 200).reshape(60 if quick else 200, -1)
        return {
            "fit": _fit(clip, peers=not quick),
            "placement": _placement(clip),
            "optimisers": _optimisers(clip),
            "pixels": _pixels(quick),
            "gram": _gram(quick),
            "frames": _frames(quick),
            "corp": _corp(),
        }


def _cpu(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def _smooth(n: int, d: int, *, cycles: float = 4.0, noise: float = 0.1, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, n) ** 1.1
    clean = np.sin(2 * np.pi * np.outer(x, rng.uniform(0.2 * cycles, cycles, d)) + rng.uniform(0, 6, d))
    return (clean + noise * rng.normal(size=clean.shape)).astype(np.float32)


def _fit(clip: Array, peers: bool) -> list[dict[str, Any]]:
    """Full fit of the rendered teapot, every twentieth frame left out; peer in the same run."""
    kept = np.setdiff1d(np.arange(len(clip)), np.arange(10, len(clip), 20))
    frames = clip[kept]
    rows = []
    for name, options in (
        ("shared", {"hyper": "shared"}),
        ("pixel", {}),
        ("pixel, kernel by evidence", {"kernel": "auto"}),
    ):
        seconds, model = _cpu(lambda options=options: ElectroGP(**options).fit(frames))
        rows.append({"what": name, "cpu_s": seconds, "iterations": model.n_iter_, "kernel": model.kernel_})
    if peers:
        try:
            import GPy
        except ImportError:
            return rows

        def peer() -> Any:
            centred = frames.astype(float) - frames.mean(axis=0)
            start = np.linspace(-1.7, 1.7, len(frames))[:, None]
            model = GPy.models.BayesianGPLVM(
                centred, 1, X=start, num_inducing=40, kernel=GPy.kern.RBF(1, lengthscale=0.2)
            )
            model.likelihood.variance = 0.01 * centred.var()
            model.optimize("lbfgs", max_iters=330)
            return model

        seconds, _ = _cpu(peer)
        rows.append({"what": "GPy Bayesian GP-LVM, true order, 330 iterations", "cpu_s": seconds})
        for row in rows:
            row["share_of_peer"] = row["cpu_s"] / seconds
    return rows


def _placement(clip: Array) -> dict[str, Any]:
    """Half-missing loose frames: acceptance, agreement of sampler, grid, mode and EM."""
    rng = np.random.default_rng(0)
    out = np.sort(rng.choice(np.arange(5, len(clip) - 5), 10, replace=False))
    kept = np.setdiff1d(np.arange(len(clip)), out)
    model = ElectroGP(kernel="matern52", init="order").fit(clip[kept])
    loose = clip[out].copy()
    missing = rng.uniform(size=loose.shape) < 0.5
    loose[missing] = np.nan
    rows = []
    for placement in model.place(loose):
        chain = placement.sample(1000, rng)
        mean, sd = placement.moments()
        rows.append(
            (chain.acceptance, chain.effective, abs(chain.x.mean() - mean) / sd, chain.x.std() / sd,
             abs(placement.mode() - mean) / sd)
        )  # fmt: skip
    acceptance, effective, mean_off, sd_ratio, mode_off = np.array(rows).T
    by_map, sd = model.impute(loose, "map", return_std=True)
    by_mh, by_em = model.impute(loose, "mh", random_state=0), model.impute(loose, "em")
    seen = missing & (sd > 0)
    place = np.searchsorted(np.sort(model.embedding_), model.transform(loose)[:, 0])
    return {
        "right_place": float((place == out - np.arange(10)).mean()),
        "mse": float(np.square(by_map - clip[out])[missing].mean()),
        "least_acceptance": float(acceptance.min()),
        "least_effective_of_1000": float(effective.min()),
        "worst_mean_off_sd": float(mean_off.max()),
        "sd_ratio": [float(sd_ratio.min()), float(sd_ratio.max())],
        "worst_mode_off_sd": float(mode_off.max()),
        "mh_against_map_sd": float((np.abs(by_mh - by_map)[seen] / sd[seen]).max()),
        "em_against_map_sd": float((np.abs(by_em - by_map)[seen] / sd[seen]).max()),
        "em_within_sd_of_map": float((np.abs(by_em - by_map)[seen] < sd[seen]).mean()),
    }


def _optimisers(clip: Array) -> list[dict[str, Any]]:
    rows = []
    for name in ("lbfgs", "scg"):
        seconds, model = _cpu(
            lambda name=name: ElectroGP(hyper="shared", init="order", optimizer=name, max_iter=600).fit(clip)
        )
        rows.append(
            {
                "optimizer": name,
                "cpu_s": seconds,
                "steps": model.n_iter_,
                "log_posterior": model.log_posterior_,
            }
        )
    return rows


def _pixels(quick: bool) -> list[dict[str, Any]]:
    """Few and many pixels: the search on Gram matrices, the passes over the pixels, and the data themselves.

    ``search_cpu_s`` is what is spent once Gram matrices are built, from the first step of each search to its
    last; ``source_cpu_s`` is what the test's own stream needs to make its numbers, and is in none of the others.
    """
    n = 100
    base = _smooth(n, 20_000)
    rows: list[dict[str, Any]] = []
    for hyper in ("shared", "pixel"):
        for count in (20_000, 100_000 if quick else 1_000_000):
            source, passes = 0.0, 0

            def stream(count: int = count) -> Iterator[Array]:
                nonlocal source, passes
                passes += 1
                for start in range(0, count, 20_000):
                    began = time.process_time()
                    # Other noise each time, so that no block repeats.
                    rng = np.random.default_rng(start)
                    block = base + 0.05 * rng.standard_normal(base.shape, dtype=np.float32)
                    source += time.process_time() - began
                    yield block

            spent = 0.0
            last: float | None = None

            def watch(stage: str, iteration: int, value: float) -> None:
                nonlocal spent, last
                now = time.process_time()
                # Between two steps of one search nothing else happens.
                if iteration > 1 and last is not None:
                    spent += now - last
                last = now

            options = Options(init="order", hyper=hyper, callback=watch)
            seconds, fit = _cpu(lambda options=options, stream=stream: fit_curve(stream, n, options))
            row = {
                "hyper": hyper,
                "pixels": count,
                "passes": passes,
                "search_cpu_s": spent,
                "passes_cpu_s": seconds - spent - source,
                "source_cpu_s": source,
                "steps": fit.n_iter,
            }
            first = next((r for r in rows if r["hyper"] == hyper), row)
            row["search_ratio"] = row["search_cpu_s"] / first["search_cpu_s"]
            row["search_per_step_ratio"] = row["search_ratio"] * first["steps"] / row["steps"]
            row["passes_us_per_pixel"] = 1e6 * row["passes_cpu_s"] / count
            rows.append(row)
    return rows


def _gram(quick: bool) -> dict[str, float]:
    """Gram matrices of eight groups against one float32 product of the same size."""
    n, d = 200, 200_000 if quick else 600_000
    y = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    label = np.random.default_rng(1).integers(0, 8, d)
    blocks = [
        (block, label[i * 8192 : i * 8192 + block.shape[1]], []) for i, block in enumerate(columns_of(y)())
    ]
    other = y.T.copy()
    best = {"product": np.inf, "ours": np.inf}
    for _ in range(3):
        best["product"] = min(best["product"], _cpu(lambda: y @ other)[0])
        best["ours"] = min(best["ours"], _cpu(lambda: group_grams(blocks, n, 8))[0])
    return {
        "product_cpu_s": best["product"],
        "group_grams_cpu_s": best["ours"],
        "speed_ratio": best["product"] / best["ours"],
    }


def _frames(quick: bool) -> list[dict[str, Any]]:
    """Growth with the number of frames; at 1000 also the distance to the exact fit."""
    rows = []
    kinds = {"smooth": lambda n: 5.0, "as many turns per frame": lambda n: 5.0 * n / 250}
    for kind, cycles in kinds.items():
        for n in (250, 500) if quick else (250, 1000):
            y = _smooth(n, 500, cycles=cycles(n))
            for kernel in ("se", "matern52"):
                options = {"init": "order", "kernel": kernel}
                seconds, model = _cpu(lambda y=y, options=options: ElectroGP(**options).fit(y))
                row = {"data": kind, "frames": n, "kernel": kernel, "cpu_s": seconds}
                if n > scaling.EXACT:
                    first = next(
                        r for r in rows if r["frames"] == 250 and r["data"] == kind and r["kernel"] == kernel
                    )
                    row["ratio_to_250"] = seconds / first["cpu_s"]
                    row |= _against_exact(y, kernel)
                rows.append(row)
    if not quick:
        for n in (10_000, 100_000):
            y = _smooth(n, 20, cycles=n / 40)
            seconds, model = _cpu(lambda y=y: ElectroGP(init="order").fit(y))
            placing, _ = _cpu(lambda y=y, model=model: model.transform(y[:10]))
            error = float((model.inverse_transform(model.embedding_[:1000]) - y[:1000]).std())
            row = {"data": "state space", "frames": n, "kernel": model.kernel_, "cpu_s": seconds}
            rows.append(row | {"transform_ms": 100 * placing, "residual_sd": error})
    return rows


def _against_exact(y: Array, kernel: str) -> dict[str, float]:
    """Distance of the posterior means to those of the exact fit, run until it rests, in its sd."""
    options = {"init": "order", "kernel": kernel, "hyper": "shared"}
    cheap = ElectroGP(**options).fit(y)
    limit, scaling.EXACT = scaling.EXACT, 10**9
    try:
        exact = ElectroGP(**options, tolerance=1e-9).fit(y)
    finally:
        scaling.EXACT = limit
    mean, sd = exact.inverse_transform(exact.embedding_, return_std=True)
    off = (cheap.inverse_transform(cheap.embedding_) - mean) / sd
    square = np.square(off, dtype=np.float64)
    return {
        "rms_off_exact_sd": float(np.sqrt(square.mean())),
        "worst_pixel_rms_off_exact_sd": float(np.sqrt(square.mean(axis=0).max())),
        "worst_value_off_exact_sd": float(np.abs(off).max()),
    }


def _corp() -> list[dict[str, Any]]:
    process = CoulombProcess(1.0)
    process.sample(5, 0)
    process.sample(5, 0, method="sequential")
    rows = []
    for method in ("joint", "sequential"):
        for n in (500, 1000):
            seconds, _ = _cpu(lambda n=n, method=method: process.sample(n, 0, method=method))
            rows.append({"sampler": method, "points": n, "cpu_s": seconds})
    return rows


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv[1:]), indent=2))
