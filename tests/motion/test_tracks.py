"""Trajectories as kriging in time."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from tests.motion.scenes import translating
from videorestore.motion.flow import FlowCache
from videorestore.motion.tracks import bend_kept, kriging_weights, track


@pytest.mark.parametrize(
    "times", [[0, 1, 2, 3], [0.0, 0.3, 2.0, 2.1], [5, 6, 9], [1e6, 1e6 + 0.04, 1e6 + 0.5, 1e6 + 0.6]]
)
def test_weights_are_those_of_the_natural_spline(times):
    times = np.array(times, dtype=np.float64)
    values = np.random.default_rng(0).normal(size=len(times))
    target = times[0] + 0.37 * (times[-1] - times[0])
    expected = CubicSpline(times - times[0], values, bc_type="natural")(target - times[0])
    assert abs(kriging_weights(times, target) @ values - expected) < 1e-6


def test_two_places_give_a_straight_line():
    np.testing.assert_allclose(kriging_weights(np.array([1.0, 5.0]), 2.0), [0.75, 0.25], atol=1e-12)


def test_bend_is_kept_only_above_the_error():
    bend = np.zeros((40, 40, 2), np.float32)
    bend[:, 20:, 0] = 2.0
    kept = bend_kept(bend, np.full((40, 40), 0.01, np.float32))
    assert (kept[:, :8] == 0).all() and (kept[:, 32:] > 0.98).all()
    assert (bend_kept(bend, np.full((40, 40), 9.0, np.float32)) == 0).all()


@pytest.mark.parametrize("times", [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.5, 3.0]])
def test_accelerated_motion_is_followed(times):
    times = np.array(times)
    frames = translating([(1.5 * t * t, 0.5 * t) for t in times], shape=(80, 112))
    cache = FlowCache(frames)
    target = 0.5 * (times[1] + times[2])
    inner = (slice(20, -20), slice(28, -36))
    truth = np.array([1.5 * (target**2 - times[1] ** 2), 0.5 * (target - times[1])])
    curved = np.median(track(cache, times, 1, 2, target).displacement[inner], axis=(0, 1))
    straight = np.median(track(cache, times, 1, 2, target, curved=False).displacement[inner], axis=(0, 1))
    assert np.hypot(*(curved - truth)) < 0.4 * np.hypot(*(straight - truth))


def test_a_still_scene_has_no_doubt():
    frames = translating([(0, 0)] * 4)
    found = track(FlowCache(frames), np.arange(4.0), 2, 1, 1.25)
    assert np.abs(found.displacement).max() < 0.05 and found.doubt.max() < 0.2
