import numpy as np
import pytest

from tests.reference import membrane as twin
from videorestore.errors import InputError
from videorestore.spatial.membrane import gaussian_mean, push_pull


def test_gaussian_mean_equals_explicit_sums():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(6, 9)).astype(np.float32)
    weights = (rng.random((6, 9)) < 0.4).astype(np.float32)
    mean = gaussian_mean(np.where(weights > 0, values, np.nan).astype(np.float32), weights, 1.5, fallback=4.0)
    np.testing.assert_allclose(mean, twin.gaussian_mean(values, weights, 1.5, 4.0), atol=1e-5)


def test_push_pull_keeps_what_is_known_and_stays_within_its_range():
    rng = np.random.default_rng(2)
    values = rng.uniform(10, 20, (33, 47, 3)).astype(np.float32)
    known = rng.random((33, 47)) < 0.1
    filled = push_pull(np.where(known[..., None], values, np.nan).astype(np.float32), known)
    np.testing.assert_array_equal(filled[known], values[known])
    assert filled.min() >= 10 and filled.max() <= 20


def test_push_pull_follows_a_ramp_across_a_hole():
    ramp = np.broadcast_to(np.arange(64, dtype=np.float32), (64, 64))
    known = np.ones((64, 64), bool)
    known[20:40, 20:40] = False
    filled = push_pull(np.where(known, ramp, np.nan).astype(np.float32), known)
    assert np.abs(filled - ramp).max() < 6


def test_a_constant_stays_and_nothing_known_is_zero():
    flat = np.full((5, 1), 3, np.float32)
    trust = np.array([[0], [1], [0], [0.5], [0]], np.float32)
    np.testing.assert_allclose(push_pull(flat, trust), 3, rtol=1e-6)
    assert (push_pull(flat, np.zeros((5, 1), np.float32)) == 0).all()


def test_wrong_shapes_are_refused():
    with pytest.raises(InputError, match="weights must have"):
        push_pull(np.zeros((4, 4), np.float32), np.zeros((4, 5), np.float32))
