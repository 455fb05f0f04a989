"""Two estimates weighed by Stein's estimate: the best weight is found, place by place, without the truth."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter

from videorestore.spatial.stein import PROBE, Pair

SD = 12.0


def planted(seed=0):
    """Left half even in space, right half even in time: each estimate is right in one of them."""
    rng = np.random.default_rng(seed)
    truth = np.full((12, 64, 128, 1), 128.0)
    truth[:, :, :64] += 30 * rng.standard_normal((12, 1, 1, 1))
    truth[:, :, 64:] += 30 * rng.standard_normal((1, 64, 64, 1))
    noisy = truth + SD * rng.standard_normal(truth.shape)
    return truth.astype(np.float32), noisy.astype(np.float32)


def in_space(frames):
    return uniform_filter(frames, (0, 5, 5, 0))


def in_time(frames):
    return uniform_filter(frames, (5, 0, 0, 0), mode="nearest")


def pair_of(noisy, claim=1.0):
    """Box means leave 1/25 and 1/5 of the variance; ``claim`` multiplies what they say of themselves."""
    whole = np.ones_like(noisy)
    return Pair(
        data=noisy,
        noise=SD * SD * whole,
        first=in_space(noisy),
        second=in_time(noisy),
        first_left=claim * whole / 25,
        second_left=claim * whole / 5,
    )


def probed_of(noisy):
    probe = np.random.default_rng(9).standard_normal(noisy.shape).astype(np.float32)
    step = np.float32(PROBE * SD)
    moved = noisy + step * probe
    return probe * ((in_time(moved) - in_space(moved)) - (in_time(noisy) - in_space(noisy))) / step


@pytest.mark.parametrize("claim", [0.5, 1.0, 2.0])
def test_each_is_believed_where_it_is_right(claim):
    truth, noisy = planted()
    pair, probed = pair_of(noisy, claim), probed_of(noisy)
    weight = pair.weight(pair.learn(probed))
    assert weight.shape == (12, 64, 128, 1)
    assert weight[:, :, :32].mean() < 0.1 and weight[:, :, 96:].mean() > 0.9
    joined = pair.first + weight * (pair.second - pair.first)
    errors = [np.square(one - truth).mean() for one in (joined, pair.first, pair.second)]
    assert errors[0] < 0.75 * min(errors[1:])


def test_the_gain_is_that_of_the_true_error():
    truth, noisy = planted(1)
    pair, probed = pair_of(noisy), probed_of(noisy)
    weight = pair.weight(pair.learn(probed))
    joined = pair.first + weight * (pair.second - pair.first)
    true = np.square(pair.first - truth).mean() - np.square(joined - truth).mean()
    assert pair.gain(weight, probed) == pytest.approx(true, rel=0.1)
    assert pair.gain(np.zeros_like(weight), probed) == 0


def test_what_is_spared_of_a_variance():
    _, noisy = planted(2)
    pair = pair_of(noisy)
    share = pair.spared(np.ones((*noisy.shape[:3], 1), np.float32))
    assert share.shape == (*noisy.shape[:3], 1) and share.min() == 0.25 and share.max() <= 1
    assert (pair.spared(np.zeros((*noisy.shape[:3], 1), np.float32)) == 1).all()
