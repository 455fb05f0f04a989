"""The fits of `scripts/calibrate` find what was planted, and the package takes part with its own numbers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SPEC = importlib.util.spec_from_file_location("calibrating", SCRIPTS / "calibrating.py")
calibrating = importlib.util.module_from_spec(SPEC)
sys.modules["calibrating"] = calibrating
SPEC.loader.exec_module(calibrating)


@pytest.fixture(scope="module")
def pan() -> np.ndarray:
    """A textured picture that moves by a pixel a frame; 6 frames of 96 x 128."""
    rng = np.random.default_rng(5)
    wide = np.kron(rng.uniform(40, 200, (14, 18, 3)), np.ones((8, 8, 1)))
    return np.stack([wide[4 + k : 100 + k, 4:132] for k in range(6)]).astype(np.uint8)


def test_planted_weights_are_found_and_rank_better_than_others() -> None:
    rng = np.random.default_rng(0)
    truth = np.array([0.5, -0.5, 2.0, 1.0, -1.0, 1.5, -1.0])
    values = rng.standard_normal((20_000, 6))
    damage = (rng.random(20_000) < 1 / (1 + np.exp(-values @ truth[:-1] - truth[-1]))).astype(float)
    cases = [(values[::2], damage[::2]), (values[1::2], damage[1::2])]
    found = calibrating.fit_spots(cases)
    np.testing.assert_allclose(found, truth, atol=0.15)
    right, wrong = (calibrating.spot_errors(numbers, cases) for numbers in (found, [1.0] * 7))
    assert all(right[name] < wrong[name] for name in right)
    # Ranked all wrong, and all right.
    planted = [(np.array([[1.0] + [0.0] * 5, [-1.0] + [0.0] * 5]), np.array([1.0, 0.0]))]
    for weight, share in ((1.0, 0.0), (-1.0, 1.0)):
        assert calibrating.spot_errors([weight] + [0.0] * 6, planted)["pairs ranked wrong"] == share


def test_planted_mixture_of_variances_is_found() -> None:
    rng = np.random.default_rng(1)
    along = rng.uniform(5, 50, 50_000)
    claims = np.stack([along * rng.uniform(0.02, 1, along.size), along, rng.uniform(1, 4, along.size)])
    variance = np.stack([1.5 * claims[1] ** 0.4 * claims[0] ** 0.6, 2.5 * claims[2]])
    cases = [(claims, variance * np.square(rng.standard_normal(variance.shape)))]
    found = calibrating.fit_sd(cases)
    np.testing.assert_allclose(found, [1.5, 0.6, 2.5], rtol=0.1)
    assert all(error < 0.02 for error in calibrating.sd_errors(found, cases).values())
    assert calibrating.sd_errors([3.0, 0.6, 2.5], cases)["luma, worst case"] > 0.03


def test_spots_are_told_to_be_damage_where_it_was_planted(pan: np.ndarray) -> None:
    cases = calibrating.spots_of(pan)
    assert not cases[0][1].any()
    values, damage = cases[1]
    assert values.shape[1] == 6 and damage.mean() > 0.5


def test_errors_and_claims_are_of_the_same_pixels(pan: np.ndarray) -> None:
    for (claims, off), sigma in zip(calibrating.errors_of(pan), (10, 50)):
        assert claims.shape == (3, off.shape[1]) and off.shape[0] == 2
        assert np.sqrt(off[0].mean()) < sigma
        assert (
            np.mean(
                off[0]
                <= calibrating.WIDE**2
                * calibrating.denoise_error.LUMA
                * calibrating._mixture(claims, calibrating.denoise_error.CLAIM)
            )
            > 0.5
        )


def test_every_stage_begins_with_the_numbers_of_the_package(pan: np.ndarray) -> None:
    for stage in calibrating.STAGES.values():
        assert len(stage.names) == len(stage.now)
    rows, errors = calibrating.calibrate(
        calibrating.STAGES["coded"], iter([("pan", pan, False), ("pan", pan, True)])
    )
    assert [row["now"] for row in rows] == list(calibrating.STAGES["coded"].now)
    told = {(row["clips"], row["error"]): row for row in errors}
    assert told["fitted", "mean log ratio"]["anew"] <= told["fitted", "mean log ratio"]["now"]
    # The same clip is held out: the same errors.
    assert told["held out", "mean log ratio"]["anew"] == told["fitted", "mean log ratio"]["anew"]
