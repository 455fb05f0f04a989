"""Trajectories as kriging in time."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from tests.motion.scenes import translating
from videorestore.motion.flow import Flow, FlowCache
from videorestore.motion.tracks import (
    bend_weights,
    bent,
    flickering,
    kriging_weights,
    shaking,
    track,
    unforeseen,
)


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
    shape = (40, 40)
    back = np.zeros((*shape, 2), np.float32)
    back[:, 20:, 0] = -8.0
    still = np.zeros_like(back)

    def bend(miss):
        flow = Flow(vectors=back, consistency=np.full(shape, miss, np.float32), residual=np.zeros(shape))
        weights = np.array([0.0, -0.25, 0.0])
        return bent(still, np.zeros(shape, np.float32), (flow, flow), weights, 0.5)

    place, doubt = bend(0.0)
    assert (place[:, :8] == 0).all() and (np.abs(place[:, 32:, 0] - 2.0) < 0.04).all()
    assert doubt.max() < 1.1 and (doubt[:, :8] == 0).all()
    assert (bend(20.0)[0] == 0).all()


def test_bend_weights_are_the_way_from_the_straight_to_the_curved_path():
    times, target = np.array([1.0, 2.5, 0.0, 3.0]), 1.7
    places = np.array([0.0, 3.0, -1.0, 5.0])
    weights = bend_weights(*times, target)
    curved = kriging_weights(times, target) @ places
    assert abs(weights @ places[1:] - (curved - 3.0 * 0.7 / 1.5)) < 1e-9
    np.testing.assert_allclose(bend_weights(1.0, 2.5, None, None, target), 0, atol=1e-12)
    assert bend_weights(1.0, 2.5, None, 3.0, target)[1] == 0


@pytest.mark.parametrize(("before", "beyond"), [(-1.0, 2.0), (-0.5, None), (-0.25, 1.25)])
def test_what_is_not_foreseen_of_a_path_is_that_of_its_process(before, beyond):
    steps = np.random.default_rng(0).normal(size=(4000, 400)) * 0.1
    paths = np.cumsum(np.cumsum(steps, axis=1), axis=1)
    grid = np.linspace(-1.0, 2.99, 400)
    times = np.array([t for t in (0.0, 1.0, before, beyond) if t is not None])
    known = paths[:, np.abs(grid[:, None] - times).argmin(axis=0)]
    true = paths[:, np.abs(grid - 0.4).argmin()]
    curved, straight = known @ kriging_weights(times, 0.4), 0.6 * known[:, 0] + 0.4 * known[:, 1]
    ratio = np.square(true - curved).mean() / np.square(curved - straight).mean()
    assert abs(unforeseen(0.0, 1.0, before, beyond, 0.4) / ratio - 1.0) < 0.1


@pytest.mark.parametrize("times", [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 7.0, 8.0], [0.0, 0.5, 2.0, 2.3]])
def test_shaking_is_told_from_acceleration(times):
    times, shape, rng = np.array(times), (8, 8), np.random.default_rng(1)

    def found(places):
        flows = [
            Flow(
                vectors=np.broadcast_to(np.float32(way), (*shape, 2)).copy(), consistency=none, residual=none
            )
            for way in (places[0] - places[1], places[2] - places[1], places[3] - places[2])
        ]
        return shaking(flows[1].vectors, none, (flows[0], flows[2]), times)

    none = np.zeros(shape, np.float32)
    bends = times[:, None] ** 2 * np.array([1.5, -0.5]) + times[:, None] * 3.0
    assert found(bends) < 0.05
    shaken = [found(bends * 0.1 + 2.0 * rng.normal(size=(4, 2))) for _ in range(400)]
    assert 2.0 < np.mean(shaken) < 8.0


def test_flicker_is_told_from_a_fade():
    times, rng = np.array([0.0, 1.0, 4.0, 5.0]), np.random.default_rng(4)
    scene = rng.uniform(0, 200, (1, 12, 16, 3))
    fade = (scene + (3.0 * times + times**2)[:, None, None, None]).astype(np.float32)
    still = np.zeros((3, 12, 16, 2), np.float32)
    flows = still[0], still[1], still[2]
    assert flickering(fade, flows, times) < 0.2
    found = [
        flickering((fade + rng.normal(0, 5, (4, 1, 1, 1))).astype(np.float32), flows, times)
        for _ in range(400)
    ]
    assert 12 < np.mean(found) < 50


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
