import numpy as np
import pytest

from tests.reference import inpaint as twin
from videorestore.motion._kernels_inpaint import midmean, products, ridge_weights
from videorestore.motion.inpaint_fusion import Guess, fuse
from videorestore.spatial.kriging import fill

pytestmark = pytest.mark.kernel


def test_midmean_equals_its_twin():
    rng = np.random.default_rng(1)
    frames = rng.uniform(0, 255, (7, 3, 4, 2)).astype(np.float32)
    known = rng.random((7, 3, 4)) < 0.6
    known[:, 0, 0] = False
    rows, columns = (axis.ravel() for axis in np.indices((3, 4)))
    mean, count = np.empty((12, 2), np.float32), np.empty(12, np.int64)
    midmean(frames, known, 2, rows, columns, mean, count)
    slow_mean, slow_count = twin.midmean(frames, known, 2)
    np.testing.assert_allclose(mean.reshape(3, 4, 2), slow_mean, rtol=1e-5)
    np.testing.assert_array_equal(count.reshape(3, 4), slow_count)


def test_products_are_means_over_channels():
    rng = np.random.default_rng(3)
    steps, wanted = (
        rng.normal(size=(3, 4, 5, 2)).astype(np.float32),
        rng.normal(size=(4, 5, 2)).astype(np.float32),
    )
    fields = np.empty((9, 4, 5), np.float32)
    products(steps, wanted, fields)
    pairs = [(steps[i] * steps[j]).mean(axis=2) for i in range(3) for j in range(i + 1)]
    expected = np.stack([*pairs, *((step * wanted).mean(axis=2) for step in steps)])
    np.testing.assert_allclose(fields, expected, atol=1e-6)


def test_ridge_weights_solve_every_system():
    rng = np.random.default_rng(2)
    roots = rng.normal(size=(5, 4, 4))
    matrices = roots @ roots.transpose(0, 2, 1) + 0.5 * np.eye(4)
    load = rng.normal(size=(4, 5)).astype(np.float32)
    lower = np.tril_indices(4)
    gram = np.stack([m[lower] for m in matrices], axis=1).astype(np.float32)
    weights = np.empty((4, 5), np.float32)
    ridge_weights(gram, load, weights)
    exact = np.linalg.solve(matrices, load.T[..., None])[..., 0].T
    np.testing.assert_allclose(weights, exact, rtol=2e-3, atol=2e-4)


def test_the_better_guess_wins_and_the_sd_tells():
    rng = np.random.default_rng(3)
    frame = rng.uniform(50, 200, (32, 32, 1)).astype(np.float32)
    known = np.ones((32, 32), bool)
    known[12:18, 12:18] = False
    flat = np.full((32, 32), 1, np.float32)
    nothing = np.zeros((32, 32), np.float32)

    def guess(noise):
        pixels = (frame + rng.normal(0, noise, frame.shape)).astype(np.float32)
        return Guess(pixels=pixels, trust=flat, variance=nothing, usual=400.0)

    spatial = np.full_like(frame, 125)
    spread = np.full_like(frame, 40)
    seen = np.where(known[..., None], frame, 0).astype(np.float32)
    mean, variance = fuse(seen, known, [guess(2), guess(30)], spatial, spread)
    np.testing.assert_array_equal(mean[known], frame[known])
    assert np.sqrt(np.mean((mean - frame)[~known] ** 2)) < 4
    _, poor = fuse(seen, known, [guess(30)], spatial, spread)
    assert poor[~known].mean() > 10 * variance[~known].mean()


def test_where_motion_fails_the_spatial_fill_serves():
    rng = np.random.default_rng(6)
    y, x = np.mgrid[0:48, 0:48].astype(np.float32)
    # Dark to bright, so that the picture varies far more than what lies between two known pixels.
    frame = (128 + 90 * np.sin(x / 14) * np.cos(y / 16))[..., None].astype(np.float32)
    known = rng.random((48, 48)) < 0.5
    seen = np.where(known[..., None], frame, 0).astype(np.float32)
    spatial, spread = fill(seen, known)
    wrong = (frame + rng.normal(0, 60, frame.shape)).astype(np.float32)
    sure, nothing = np.ones((48, 48), np.float32), np.zeros((48, 48), np.float32)
    mean, _ = fuse(
        seen, known, [Guess(pixels=wrong, trust=sure, variance=nothing, usual=400.0)], spatial, spread
    )
    assert np.sqrt(np.mean((mean - frame)[~known] ** 2)) < 4
