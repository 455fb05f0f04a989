"""What the reproduced experiments make of their rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from reproduce_parts import simulations, surfaces
from reproduce_parts.simulated_curves import CASES, TITLES


def test_ten_curves_are_compared_seed_by_seed():
    methods = {simulations.OURS: 1.0, simulations.PLAIN: 2.0, "princurve": 5.0}
    rows = [
        {"method": method, "case": case, "seed": seed, "error": error * (1 + seed)}
        for method, error in methods.items()
        for case in CASES
        for seed in range(3)
    ]
    # Of two starts the better one counts, on each seed by itself; a crash has no error.
    for seed, (own, short) in enumerate(((1.0, 9.0), (9.0, 2.0), (3.0, 9.0))):
        rows.append({"method": "bayesian gp-lvm", "case": "spiral", "seed": seed, "error": own})
        rows.append(
            {"method": "bayesian gp-lvm, short start", "case": "spiral", "seed": seed, "error": short}
        )
    rows.append({"method": "gp-lvm", "case": "spiral", "seed": 0, "failed": "crash"})
    table = {row["curve"]: row for row in simulations.compared(rows)}
    assert list(table) == [TITLES[case] for case in CASES] and len(table) == 10
    spiral = table["spiral"]
    assert (
        spiral["electroGP"] == "2.0000"
        and spiral["r = 0"] == "4.0000"
        and spiral["princurve (R)"] == "10.0000"
    )
    assert spiral["Bayesian GP-LVM (GPy, better of two starts)"] == "2.0000" and "GP-LVM (GPy)" not in spiral
    assert spiral["ours / r = 0, paired"] == "0.500" and spiral["seeds"] == 3
    assert "| spiral | 0.500 | 0.500 |" in simulations.paired(rows)


@pytest.mark.parametrize("kind", list(surfaces.SURFACES))
def test_neighbours_on_a_planted_surface_are_those_of_its_frames(kind):
    truth, frames = surfaces.planted(kind, 3, 200)
    assert len(truth) == len(frames) == 200 and surfaces.kept(truth, frames) > 0.97
    assert surfaces.kept(truth, np.random.default_rng(0).normal(size=(200, 2))) < 0.6
