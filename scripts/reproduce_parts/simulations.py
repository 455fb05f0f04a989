"""The paper's simulations: figures of sections 2 and 3, and a table over seeds with peers.

    scripts/reproduce simulations [--quick] [--seeds 10] [--first-seed 0] [--out assets] [--peers PYTHON]
                                  [--peer-results FILE]

All ten curves, the default against r = 0 on the same seeds, the paper's recipe, and peers: GPy's models (``--peers`` or PEERS
names a Python that has it, where this one has not) and R's princurve, where R is there (Debian: r-cran-princurve; RSCRIPT names
another Rscript).
``--peer-results`` takes what an earlier run of the peers wrote.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from reproduce_parts.simulated_curves import CASES, CLOSED, TITLES, Array, sample, scores

HERE = Path(__file__).resolve().parent
OURS = "electroGP"
PLAIN = "plain GP-LVM (r = 0)"
RECIPE = "the paper's recipe"
SHOWN = {
    "electroGP": (OURS,),
    "r = 0": (PLAIN,),
    "the paper's recipe": (RECIPE,),
    "Bayesian GP-LVM (GPy, better of two starts)": ("bayesian gp-lvm", "bayesian gp-lvm, short start"),
    "GP-LVM (GPy)": ("gp-lvm",),
    "princurve (R)": ("princurve",),
}
"""Columns of the comparison, and the methods each stands for."""


def settings() -> dict[str, dict[str, Any]]:
    """Our estimators: default, no repulsion, and the paper's model and method as they are printed."""
    return {OURS: {}, PLAIN: {"r": 0.0}, RECIPE: {"recipe": "paper"}}


def measure(method: str, case: str, seed: int) -> dict[str, Any]:
    """Fit one data set and score curve, band and order."""
    from scipy.stats import kendalltau

    from videorestore.model import ElectroGP

    data = sample(case, seed)
    start = time.process_time()
    model = ElectroGP(periodic=case in CLOSED, **settings()[method]).fit(data.points)
    seconds = time.process_time() - start
    band = model.band(random_state=seed)
    row = {"method": method, "case": case, "seed": seed, "time_s": seconds}
    row |= scores(case, data, np.asarray(band.curve), band.radius)
    if case not in CLOSED:
        row["tau"] = float(abs(kendalltau(data.u, model.embedding_)[0]))
    return row


def peers(arguments: argparse.Namespace, seeds: int) -> list[dict[str, Any]]:
    """Rows of the peers that are to be had, from a run beside this one."""
    if arguments.peer_results:
        rows = json.loads(Path(arguments.peer_results).read_text())
        return [row for row in rows if 0 <= row["seed"] - arguments.first_seed < seeds]
    python = arguments.peers or sys.executable
    if python == sys.executable and not importlib.util.find_spec("GPy"):
        print("GPy is not installed: its models are left out (pip install GPy, or --peers PYTHON).")
    out = Path(arguments.out) / "simulations-peers.json"
    subprocess.run(
        [python, str(HERE / "simulated_peers.py"), str(out), str(seeds), str(arguments.first_seed)],
        check=True,
        env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),
    )
    rows = json.loads(out.read_text())
    out.unlink()
    return list(rows)


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per method and case: medians over seeds, and seeds worse than three times the median."""
    table = []
    for method in dict.fromkeys(row["method"] for row in rows):
        for case in CASES:
            group = [row for row in rows if row["method"] == method and row["case"] == case]
            good = [row for row in group if "error" in row]
            if not good:
                continue

            def column(name: str, of: list[dict[str, Any]] = good) -> Array:
                return np.array([row.get(name, np.nan) for row in of], dtype=float)

            error = column("error")
            line = {
                "method": method,
                "case": case,
                "error": float(np.median(error)),
                "worst / median": float(error.max() / np.median(error)),
                "coverage": float(column("coverage").mean()),
                "area": float(np.median(column("area"))),
                "tau": float(np.median(column("tau"))),
                "failures": int((error > 3 * np.median(error)).sum() + len(group) - len(good)),
                "time_s": float(np.median(column("time_s"))),
                "seeds": len(group),
            }
            table.append(line)
    return table


def show(table: list[dict[str, Any]]) -> str:
    """The table as Markdown."""
    lines = [
        "| method | case | curve error | worst / median | coverage | area / oracle | tau | failures | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table:
        tau, area = ("" if np.isnan(row[name]) else f"{row[name]:.3f}" for name in ("tau", "area"))
        lines.append(
            f"| {row['method']} | {row['case']} | {row['error']:.4f} | {row['worst / median']:.2f} | "
            f"{row['coverage']:.3f} | {area} | {tau} | {row['failures']} | {row['time_s']:.2f} |"
        )
    return "\n".join(lines)


def paired(rows: list[dict[str, Any]]) -> str:
    """The default against r = 0 on the same seeds, case by case: ratios of errors below 1 say that repulsion pays."""
    lines = ["| case | ratio of medians | geometric mean of ratios |", "|---|---|---|"]
    for case in CASES:
        ratio, mean = gain(rows, case)
        if not np.isnan(ratio):
            lines.append(f"| {case} | {ratio:.3f} | {mean:.3f} |")
    return "\n".join(lines)


def compared(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Median curve error by case and method over the same seeds; where a method has several starts, of the better one."""
    table = []
    for case in CASES:
        line: dict[str, Any] = {"curve": TITLES[case]}
        for name, methods in SHOWN.items():
            by_seed: dict[int, list[float]] = {}
            for row in rows:
                if row["case"] == case and row["method"] in methods and "error" in row:
                    by_seed.setdefault(row["seed"], []).append(row["error"])
            if by_seed:
                line[name] = f"{np.median([min(errors) for errors in by_seed.values()]):.4f}"
        line["ours / r = 0, paired"] = f"{gain(rows, case)[1]:.3f}"
        line["seeds"] = sum(row["case"] == case and row["method"] == OURS for row in rows)
        table.append(line)
    return table


def gain(rows: list[dict[str, Any]], case: str) -> tuple[float, float]:
    """Error of the default over that of r = 0 on the same seeds: ratio of medians, geometric mean of ratios."""
    errors = {
        (row["method"], row["seed"]): row["error"] for row in rows if row["case"] == case and "error" in row
    }
    seeds = [seed for method, seed in errors if method == PLAIN and (OURS, seed) in errors]
    if not seeds:
        return np.nan, np.nan
    ours, none = (np.array([errors[method, seed] for seed in seeds]) for method in (OURS, PLAIN))
    return float(np.median(ours) / np.median(none)), float(np.exp(np.log(ours / none).mean()))


def add_order(rows: list[dict[str, Any]]) -> None:
    """Kendall's tau of the peers' orders, which come as ranks."""
    from scipy.stats import kendalltau

    for row in rows:
        ranks = row.pop("x", None)
        if ranks is not None and row["case"] not in CLOSED:
            u = sample(row["case"], row["seed"]).u
            row["tau"] = float(abs(kendalltau(u, ranks)[0]))


def tune_r(seed: int = 0) -> float:
    """Repulsion chosen by scikit-learn's grid search through ``score``, on the parabola."""
    from sklearn.model_selection import GridSearchCV, KFold

    from videorestore.model import ElectroGP

    folds = KFold(3, shuffle=True, random_state=seed)
    search = GridSearchCV(ElectroGP(), {"r": [0.0, 0.3, 1.0]}, cv=folds)
    search.fit(sample("parabola", seed).points)
    return float(search.best_params_["r"])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/reproduce simulations", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three seeds, our default only")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0, help="of the seeds that are measured")
    parser.add_argument("--out", default=str(HERE.parent.parent / "assets"))
    parser.add_argument("--peers", default=os.environ.get("PEERS"), help="a Python that has GPy")
    parser.add_argument("--peer-results", help="JSON of simulated_peers.py")
    parser.add_argument("--no-figures", action="store_true")
    parsed = parser.parse_args(arguments)
    seeds = 3 if parsed.quick else parsed.seeds
    out = Path(parsed.out)
    out.mkdir(parents=True, exist_ok=True)
    others = peers(parsed, seeds) if not parsed.quick or parsed.peer_results else []
    add_order(others)
    methods = [OURS] if parsed.quick else list(settings())
    rows: list[dict[str, Any]] = []
    for method in methods:
        for case in CASES:
            first = parsed.first_seed
            rows += [measure(method, case, seed) for seed in range(first, first + seeds)]
            print(f"{method}, {case}: done", file=sys.stderr, flush=True)
    table = summarise(rows + others)
    print(show(table) + "\n\nRepulsion against none:\n\n" + paired(rows))
    chosen = tune_r()
    print(f"\nr chosen by GridSearchCV on the parabola: {chosen:g}")
    kept = [{k: v for k, v in row.items() if k not in ("curve", "draws")} for row in rows + others]
    record = {"first_seed": parsed.first_seed, "table": table, "rows": kept, "grid_search_r": chosen}
    record["curves"] = compared(rows + others)
    (out / "simulations.json").write_text(json.dumps(record, indent=1))
    if not parsed.no_figures:
        if importlib.util.find_spec("matplotlib") is None:
            print("matplotlib is not installed: no figures (pip install videorestore[bench]).")
            return 0
        from reproduce_parts import simulated_figures

        for path in simulated_figures.draw_all(out, others, parsed.first_seed):
            print(path)
    return 0
