"""Splatting against its slow twin; filling of what nothing reaches."""

import numpy as np
import pytest

from tests.reference import splat as slow
from videorestore.compiled import set_thread_count, thread_count
from videorestore.motion.splat import APART, apart, favour, fill, splat


def sources(seed, shape=(9, 11), count=2):
    rng = np.random.default_rng(seed)
    displacement = rng.uniform(-4, 4, (count, *shape, 2)).astype(np.float32)
    values = rng.normal(0, 1, (count, *shape, 3)).astype(np.float32)
    weight = rng.uniform(0.1, 1, (count, *shape)).astype(np.float32)
    return displacement, values, weight


@pytest.mark.parametrize("seed", range(4))
def test_kernel_equals_its_twin(seed):
    displacement, values, weight = sources(seed)
    sums, support = splat(displacement, values, weight)
    for k in range(2):
        expected_sums, expected_support = slow.splat(displacement[k], values[k], weight[k], APART)
        np.testing.assert_allclose(support[k], expected_support, atol=1e-5)
        np.testing.assert_allclose(sums[k], expected_sums, atol=1e-5)


def test_nothing_is_lost_inside():
    displacement, values, weight = sources(0, shape=(12, 12))
    displacement[:] = 0.25
    _, support = splat(displacement, values, weight)
    np.testing.assert_allclose(support[:, :, :].sum(axis=(1, 2)) < weight.sum(axis=(1, 2)), True)
    displacement[:] = 0
    sums, support = splat(displacement, values, weight)
    np.testing.assert_allclose(support, weight, atol=1e-6)
    np.testing.assert_allclose(sums, values * weight[..., None], atol=1e-6)


def test_bits_do_not_depend_on_threads():
    given = sources(7, shape=(40, 50))
    before = thread_count()
    try:
        results = []
        for threads in (1, 3):
            set_thread_count(threads)
            results.append(splat(*given))
    finally:
        set_thread_count(before)
    assert all(np.array_equal(a, b) for a, b in zip(results[0], results[-1]))


def test_holes_take_values_from_around():
    sums = np.full((13, 17, 2), 3.0, np.float32)
    support = np.ones((13, 17), np.float32)
    support[3:9, 4:12] = 0
    sums[3:9, 4:12] = 0
    np.testing.assert_allclose(fill(sums, support), 3.0, atol=1e-4)
    ramp = np.tile(np.arange(17, dtype=np.float32), (13, 1))[..., None]
    filled = fill(ramp * support[..., None], support)[..., 0]
    assert np.array_equal(filled[support > 0], ramp[..., 0][support > 0])
    assert np.abs(filled - ramp[..., 0]).max() < 4


def test_nothing_at_all_is_filled_with_zero():
    assert not fill(np.zeros((5, 6, 2), np.float32), np.zeros((5, 6), np.float32)).any()


def test_what_moves_otherwise_than_its_surroundings_is_in_front():
    vectors, around = np.zeros((12, 16, 2), np.float32), np.zeros((3, 2, 2), np.float32)
    around[:, 1] = vectors[:, 8:] = 5.0
    assert apart(vectors, around) == 0.0
    vectors[4:8, 4:8] = (30.0, 0.0)
    assert apart(vectors, around) == 30.0
    sure, weight = np.full((12, 16), 0.5, np.float32), np.full((12, 16), 0.25, np.float32)
    sure[5] = 0.0
    favour(vectors, around, sure, weight)
    expected = np.full((12, 16), 0.25)
    expected[[4, 6, 7], 4:8] = 0.25 * (1 + 10 * 0.5)
    np.testing.assert_allclose(weight, expected, rtol=1e-6)
