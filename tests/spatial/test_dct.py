"""Cosine shrinkage against SciPy and a slow twin, and on planted noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.fft import dct

from tests.reference.dct import shrink_plane
from videorestore.compiled import set_thread_count, thread_count
from videorestore.spatial._kernels_dct import backward, forward
from videorestore.spatial.dct import shrink, shrink_in_planes
from videorestore.spatial.planes import LUMA_CHROMA, from_planes, to_planes, variance_to_planes


def scene(h: int, w: int) -> np.ndarray:
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    grey = 120 + 60 * np.sin(x / 7) * np.cos(y / 9) + 40 * (x > w / 2)
    return np.stack([grey, 0.8 * grey + 20, 200 - 0.5 * grey], axis=-1).astype(np.float32)


@pytest.mark.kernel
def test_transform_is_scipys_and_its_inverse_goes_back() -> None:
    rows = np.random.default_rng(0).standard_normal((8, 5)).astype(np.float32)
    there, back = np.empty_like(rows), np.empty_like(rows)
    forward(rows, there, 5)
    backward(there, back, 5)
    np.testing.assert_allclose(there, dct(rows, axis=0, norm="ortho"), atol=1e-5)
    np.testing.assert_allclose(back, rows, atol=1e-5)


@pytest.mark.kernel
@pytest.mark.parametrize(("h", "w", "step"), [(9, 13, 4), (5, 3, 4), (8, 8, 2)])
def test_agrees_with_the_slow_twin(h: int, w: int, step: int) -> None:
    rng = np.random.default_rng(1)
    plane = (50 * rng.standard_normal((1, h, w))).astype(np.float32)
    variance = rng.uniform(100, 900, (1, h, w)).astype(np.float32)
    mean, spread = shrink_in_planes(plane, variance, step=step)
    expected, expected_spread = shrink_plane(plane[0].astype(float), variance[0].astype(float), step=step)
    np.testing.assert_allclose(mean[0], expected, atol=2e-3)
    np.testing.assert_allclose(spread[0], expected_spread, rtol=1e-3)


@pytest.mark.kernel
def test_coloured_noise_agrees_with_the_slow_twin() -> None:
    rng = np.random.default_rng(5)
    plane = (50 * rng.standard_normal((1, 9, 10))).astype(np.float32)
    variance = rng.uniform(100, 900, (1, 9, 10)).astype(np.float32)
    shape = rng.uniform(0.1, 3, (8, 8)).astype(np.float32)
    mean, spread = shrink_in_planes(plane, variance, step=2, first_step=4, shape=shape.ravel())
    expected, expected_spread = shrink_plane(
        plane[0].astype(float), variance[0].astype(float), step=2, first_step=4, shape=shape.astype(float)
    )
    np.testing.assert_allclose(mean[0], expected, atol=2e-3)
    np.testing.assert_allclose(spread[0], expected_spread, rtol=1e-3)


@pytest.mark.kernel
def test_bands_meet_without_a_seam() -> None:
    """More rows than one task owns: the same as the twin on a narrow image."""
    rng = np.random.default_rng(2)
    plane = (50 * rng.standard_normal((1, 70, 4))).astype(np.float32)
    variance = np.full_like(plane, 400)
    mean, _ = shrink_in_planes(plane, variance)
    expected, _ = shrink_plane(plane[0].astype(float), variance[0].astype(float))
    np.testing.assert_allclose(mean[0], expected, atol=2e-3)


def test_most_of_planted_noise_goes_and_sd_tells_the_error() -> None:
    truth = scene(48, 56)
    noisy = truth + 20 * np.random.default_rng(3).standard_normal(truth.shape).astype(np.float32)
    mean, sd = shrink(noisy, 20.0)
    error = np.sqrt(np.mean(np.square(mean - truth)))
    assert error < 0.4 * 20
    assert 0.3 * error < np.sqrt(np.mean(np.square(sd))) < 2 * error


def test_no_noise_changes_nothing() -> None:
    image = scene(11, 17)
    mean, sd = shrink(image, 0.0)
    np.testing.assert_allclose(mean, image, atol=2e-3)
    assert np.all(sd == 0)


def test_only_noisy_places_are_smoothed() -> None:
    image = np.random.default_rng(4).uniform(0, 255, (24, 48, 1)).astype(np.float32)
    sd = np.zeros((24, 48, 1), np.float32)
    sd[:, 32:] = 200
    mean, _ = shrink(image, sd)
    np.testing.assert_allclose(mean[:, :24], image[:, :24], atol=2e-2)
    assert mean[:, 40:].std() < 0.5 * image[:, 40:].std()


def test_shapes_inputs_and_threads() -> None:
    image = scene(20, 24)
    before = image.copy()
    mean, sd = shrink(image, np.full((20, 24, 1), 5.0))
    assert mean.shape == sd.shape == image.shape
    np.testing.assert_array_equal(image, before)
    threads = thread_count()
    try:
        set_thread_count(1)
        alone, _ = shrink(image, 5.0)
    finally:
        set_thread_count(threads)
    np.testing.assert_array_equal(alone, shrink(image, 5.0)[0])
    assert shrink(np.ones((1, 1, 3)), 1.0)[0].shape == (1, 1, 3)


def test_planes_go_there_and_back_and_white_stays_white() -> None:
    image = scene(4, 6)
    for basis in (None, LUMA_CHROMA):
        np.testing.assert_allclose(from_planes(to_planes(image, basis=basis), basis=basis), image, atol=1e-3)
    np.testing.assert_allclose(
        variance_to_planes(np.ones((2, 2, 3), np.float32), basis=LUMA_CHROMA), 1, rtol=1e-5
    )
