"""The benchmark's scorer: known values, and mistakes of alignment that it must see."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from bench_parts import scores


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """A textured picture that moves by (1, 2) pixels a frame; 6 frames of 64 x 96."""
    rng = np.random.default_rng(3)
    wide = rng.uniform(0, 255, (90, 130))
    kernel = np.hanning(9)[1:-1] / np.hanning(9).sum()
    for axis in (0, 1):
        wide = np.apply_along_axis(np.convolve, axis, wide, kernel, "same")
    wide = (wide - wide.min()) / np.ptp(wide) * 200 + 20
    frames = np.stack([wide[5 + k : 69 + k, 5 + 2 * k : 101 + 2 * k] for k in range(6)])
    return np.repeat(frames[..., None], 3, axis=3).astype(np.uint8)


@pytest.mark.parametrize("step", [1, 2, 5])
def test_known_psnr(truth: np.ndarray, step: int) -> None:
    assert scores.psnr(truth + step, truth) == pytest.approx(20 * np.log10(255 / step), abs=1e-9)


def test_known_psnr_of_noise(truth: np.ndarray) -> None:
    noisy = truth + np.random.default_rng(0).normal(0, 8, truth.shape)
    assert scores.psnr(noisy, truth) == pytest.approx(20 * np.log10(255 / 8), abs=0.1)


def test_equal_clips_score_the_most(truth: np.ndarray) -> None:
    assert scores.psnr(truth, truth) == 100.0
    assert scores.ssim(truth, truth) == pytest.approx(1.0)
    assert scores.vmaf(truth, truth) > 95


def test_worse_clips_score_less(truth: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    little, much = (np.clip(truth + rng.normal(0, sd, truth.shape), 0, 255) for sd in (5, 25))
    for measure in scores.MEASURES.values():
        assert measure(much, truth) < measure(little, truth) < measure(truth, truth)


@pytest.mark.parametrize("shift", [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, 0, -1), (0, 1, 1)])
def test_a_shifted_result_is_found(truth: np.ndarray, shift: tuple[int, int, int]) -> None:
    late = np.roll(truth, shift, axis=(0, 1, 2))
    assert scores.misplaced(late, truth) == shift


def test_noise_is_not_a_shift(truth: np.ndarray) -> None:
    noisy = truth + np.random.default_rng(2).normal(0, 20, truth.shape)
    assert scores.misplaced(noisy, truth) is None


def test_vmaf_of_another_length_is_refused(truth: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one shape"):
        scores.vmaf(truth[:-1], truth)
