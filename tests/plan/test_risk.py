"""Stein's estimate agrees with the true error, for linear and for thresholding denoisers."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from videorestore.plan.risk import estimated_mse, unclipped


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(3)
    truth = gaussian_filter(rng.standard_normal((6, 64, 64, 1)), (2, 3, 3, 0)).astype(np.float32)
    truth = 128 + 40 * truth / truth.std()
    return truth, truth + 12 * rng.standard_normal(truth.shape).astype(np.float32)


@pytest.mark.parametrize("width", [0.3, 1.0, 3.0, 8.0])
def test_linear_smoother(planted, width):
    truth, noisy = planted

    def smooth(frames):
        return gaussian_filter(frames, (0, width, width, 0))[1:5]

    true = float(np.mean((smooth(noisy) - truth[1:5]) ** 2))
    assert estimated_mse(smooth, noisy, slice(1, 5), 12.0) == pytest.approx(true, rel=0.1, abs=3)


def test_channels_with_the_same_noise(planted):
    truth, noisy = (np.repeat(part, 3, axis=-1) for part in planted)

    def smooth(frames):
        luma = frames.mean(axis=-1, keepdims=True)
        return frames + gaussian_filter(luma, (0, 1, 1, 0)) - luma

    true = float(np.mean((smooth(noisy) - truth) ** 2))
    found = estimated_mse(smooth, noisy, slice(0, 6), 12.0, monochrome=True)
    assert found == pytest.approx(true, rel=0.1, abs=3)


def test_soft_threshold(planted):
    truth, noisy = planted

    def soften(frames):
        mean = gaussian_filter(frames, (0, 4, 4, 0))
        rest = frames - mean
        return mean + np.sign(rest) * np.maximum(np.abs(rest) - 15, 0)

    true = float(np.mean((soften(noisy) - truth) ** 2))
    assert estimated_mse(soften, noisy, slice(0, 6), 12.0) == pytest.approx(true, rel=0.1)


def test_noise_that_is_cut_off_does_not_count():
    frames = np.zeros((2, 32, 40, 1), np.float32)
    frames[:, :, 20:] = 128.0
    clear = unclipped(frames, 12.0)
    assert clear[:, :, 24:].all() and not clear[:, :, :16].any()
    # Where all of it is cut off nothing is known, and nothing is claimed.
    dark = frames[:, :, :12]
    assert np.isnan(estimated_mse(lambda part: part, dark, slice(0, len(dark)), 12.0))
