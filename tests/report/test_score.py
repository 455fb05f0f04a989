"""The scorer itself: known figures, and wrong alignment is found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import ssim as reference
from videorestore.report import score


def pictures(seed: int = 0, size: tuple[int, int] = (19, 23)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 256, size).astype(np.uint8)
    b = np.clip(a + rng.normal(0, 20, size), 0, 255).astype(np.uint8)
    return a, b


@pytest.mark.parametrize(("difference", "decibel"), [(1, 48.1308), (5, 34.1514), (255, 0.0)])
def test_psnr_of_a_constant_difference(difference: int, decibel: float) -> None:
    a = np.zeros((8, 9, 3), np.uint8)
    b = np.full((8, 9, 3), difference, np.uint8)
    assert score.psnr(score.mse(a, b)) == pytest.approx(decibel, abs=1e-4)
    assert score.psnr(score.mse(b, a)) == pytest.approx(decibel, abs=1e-4)


def test_equal_pictures_reach_the_ceiling() -> None:
    a, _ = pictures()
    assert score.mse(a, a) == 0 and score.psnr(0.0) == score.CEILING


def test_missing_pixels_are_left_out() -> None:
    a = np.array([1.0, np.nan, 3.0], np.float32)
    assert score.mse(a, np.zeros(3, np.float32)) == pytest.approx(5.0)


def test_ssim_equals_its_definition() -> None:
    a, b = pictures()
    assert score.ssim(a, b) == pytest.approx(reference.ssim(a, b), abs=1e-6)


def test_ssim_of_known_cases() -> None:
    a, b = pictures()
    assert score.ssim(a, a) == pytest.approx(1.0, abs=1e-12)
    assert score.ssim(a, b) == pytest.approx(score.ssim(b, a), abs=1e-12)
    flat, other = np.full((20, 20), 100.0), np.full((20, 20), 110.0)
    c1 = (0.01 * 255) ** 2
    assert score.ssim(flat, other) == pytest.approx((2 * 100 * 110 + c1) / (100**2 + 110**2 + c1), abs=1e-9)


def test_ssim_of_a_tiny_picture_is_finite() -> None:
    a, b = pictures(size=(3, 2))
    assert -1 <= score.ssim(a, b) < 1


def test_depths_meet_on_one_scale() -> None:
    eight = np.array([[0, 128, 255]], np.uint8)
    sixteen = eight.astype(np.uint16) * 257
    as_float = eight.astype(np.float32) / 255
    for other in (sixteen, as_float):
        np.testing.assert_allclose(score.on_255(other), score.on_255(eight), atol=1e-4)


def test_grey_meets_colour_and_alpha_is_dropped() -> None:
    grey, rgba = np.full((2, 2, 1), 7, np.uint8), np.full((2, 2, 4), 7, np.uint8)
    a, b = score.same_colours(grey, rgba)
    assert a.shape == b.shape == (2, 2, 3) and (a == b).all()


def times(*milliseconds: int) -> list[Fraction]:
    return [Fraction(ms, 1000) for ms in milliseconds]


def test_equal_times_pair_up() -> None:
    found = score.align(times(0, 40, 80), times(0, 40, 80))
    assert found.pairs == ((0, 0), (1, 1), (2, 2)) and not found.only_a and not found.only_b


def test_small_jitter_does_not_matter() -> None:
    assert score.align(times(0, 40, 80), times(1, 39, 82)).pairs == ((0, 0), (1, 1), (2, 2))


def test_a_dropped_frame_is_found_and_the_rest_stays_aligned() -> None:
    found = score.align(times(0, 40, 80, 120, 160), times(0, 40, 120, 160))
    assert found.pairs == ((0, 0), (1, 1), (3, 2), (4, 3)) and found.only_a == (2,)


def test_twice_the_rate_pairs_every_second_frame() -> None:
    found = score.align(times(0, 40, 80), times(0, 20, 40, 60, 80))
    assert found.pairs == ((0, 0), (1, 2), (2, 4)) and found.only_b == (1, 3)


def test_a_shifted_clip_scores_worse_than_an_aligned_one() -> None:
    rng = np.random.default_rng(0)
    clip = rng.integers(0, 256, (6, 16, 16)).astype(np.uint8)
    straight = score.align(times(0, 40, 80, 120, 160, 200), times(0, 40, 80, 120, 160, 200))
    shifted = score.align(times(0, 40, 80, 120, 160, 200), times(40, 80, 120, 160, 200, 240))
    worst = max(score.mse(clip[i], clip[j]) for i, j in straight.pairs)
    assert worst == 0
    assert min(score.mse(clip[i], clip[j]) for i, j in shifted.pairs) > 1000
    assert shifted.only_a == (0,) and shifted.only_b == (5,)


@settings(deadline=None, derandomize=True)
@given(st.sets(st.integers(0, 400), min_size=1), st.sets(st.integers(0, 400), min_size=1))
def test_pairs_rise_and_nobody_is_counted_twice(first: set[int], second: set[int]) -> None:
    a, b = times(*sorted(first)), times(*sorted(second))
    found = score.align(a, b)
    lefts, rights = [i for i, _ in found.pairs], [j for _, j in found.pairs]
    assert lefts == sorted(set(lefts)) and rights == sorted(set(rights))
    assert sorted([*lefts, *found.only_a]) == list(range(len(a)))
    assert sorted([*rights, *found.only_b]) == list(range(len(b)))
