"""Reading frames along paths."""

import cv2
import numpy as np
import pytest
from scipy import ndimage

from videorestore.motion._kernels_spline import read_spline
from videorestore.motion._kernels_ways import TEMPERATURE, WAY, ways_along, weigh_candidates
from videorestore.motion.fusion import compare, fuse, look, spline_coefficients

pytestmark = pytest.mark.kernel


def frame(shape, seed=0):
    return np.random.default_rng(seed).uniform(0, 255, shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(9, 12, 3), (30, 17, 1), (2, 3, 3), (1, 4, 1)])
def test_spline_goes_through_the_pixels(shape):
    pixels = frame(shape)
    coefficients = spline_coefficients(pixels)
    read = 4 if shape[2] == 3 else shape[2]
    assert coefficients.shape == (shape[0] + 3, shape[1] + 3, read)
    out = np.empty(read, np.float32)
    for y in range(shape[0]):
        for x in range(shape[1]):
            read_spline(coefficients, np.float32(x), np.float32(y), out)
            np.testing.assert_allclose(out[: shape[2]], pixels[y, x], atol=2e-3)


def test_spline_equals_scipy():
    pixels = frame((16, 20, 3))
    coefficients = spline_coefficients(pixels)
    out = np.empty(4, np.float32)
    for x, y in [(3.3, 4.8), (0.2, 0.7), (18.9, 14.6), (10.5, 2.25)]:
        read_spline(coefficients, np.float32(x), np.float32(y), out)
        expected = [
            ndimage.map_coordinates(pixels[..., c], [[y], [x]], order=3, mode="mirror")[0] for c in range(3)
        ]
        np.testing.assert_allclose(out[:3], expected, atol=0.02)


def looked(
    first, second, paths, share=0.25, flow=None, back=None, sure=0.0, still=None, size=1, passing=False
):
    shape = first.shape
    there = np.zeros((*shape[:2], 2), np.float32) if flow is None else flow
    back = -there if back is None else back
    sures = np.full((2, *there.shape[:2]), sure, np.float32)
    grid, count = paths.shape[1:3], len(paths)
    ways, agree = np.empty((*grid, WAY * count), np.float32), np.empty(grid, np.uint8)
    ways_along(paths, there, back, *sures, size, np.float32(share), ways, agree)
    mean, others = np.empty(shape, np.float32), np.empty((count - 1, *shape), np.float32)
    gaps, costs = np.empty((2, *grid, count), np.float32)
    splines = spline_coefficients(first), spline_coefficients(second)
    still, single = np.zeros(shape[:2], np.uint8) if still is None else still, np.empty(shape[:2], np.uint8)
    support = np.full(paths.shape[:3], 3.0, np.float32)
    look(
        first, second, still, passing, *splines, ways, agree, size, support, np.float32(share), mean, others, gaps,
        costs, single,
    )  # fmt: skip
    others[:, single > 0] = mean[single > 0]
    return np.concatenate([mean[None], others]), gaps, costs


def test_without_motion_the_blend_is_linear_in_time():
    first, second = frame((8, 10, 3)), frame((8, 10, 3), seed=1)
    blends, gaps, costs = looked(first, second, np.zeros((2, 8, 10, 4), np.float32))
    np.testing.assert_allclose(blends[0], 0.75 * first + 0.25 * second, atol=5e-3)
    np.testing.assert_allclose(gaps[..., 0], np.abs(first - second).mean(axis=2), atol=5e-3)
    assert np.array_equal(gaps, costs) and np.array_equal(blends[0], blends[1])


def test_a_frame_that_does_not_hold_the_place_does_not_count():
    first, second = frame((8, 30, 1)), frame((8, 30, 1), seed=1)
    paths = np.zeros((1, 8, 30, 4), np.float32)
    paths[..., 2] = 20.0
    blends, _, _ = looked(first, second, paths, share=0.5)
    np.testing.assert_allclose(blends[0][:, 25:], first[:, 25:], atol=1.0)


def test_what_stands_still_follows_no_path():
    first, second = frame((8, 10, 3)), frame((8, 10, 3), seed=1)
    still = np.zeros((8, 10), np.uint8)
    still[2:5, 3:7] = 1
    blends, gaps, _ = looked(first, second, np.full((2, 8, 10, 4), 1.5, np.float32), still=still)
    there = still > 0
    expected = 0.75 * first + 0.25 * second
    np.testing.assert_allclose(blends[1][there], expected[there], atol=1e-3)
    np.testing.assert_allclose(gaps[there][:, 0], np.abs(first - second).mean(axis=2)[there], atol=1e-3)
    assert np.abs(blends[1] - expected)[~there].mean() > 5


def test_what_passes_over_what_stands_still_is_seen():
    first, second = frame((8, 10, 3)), frame((8, 10, 3), seed=1)
    paths = np.zeros((2, 8, 10, 4), np.float32)
    paths[:, :, 5:, 2] = 2.0
    still = np.ones((8, 10), np.uint8)
    blends, _, _ = looked(first, second, paths, still=still, passing=True)
    free, _, _ = looked(first, second, paths)
    rests = 0.75 * first + 0.25 * second
    np.testing.assert_allclose(blends[0, :, :5], rests[:, :5], atol=1e-3)
    assert np.array_equal(blends[0, :, 5:], free[0, :, 5:]) and np.abs(free[0] - rests)[:, 5:].mean() > 5


def test_paths_of_reduced_frames_are_read_between_them():
    """As `cv2.resize` enlarges them, vectors and all; what frames differ by there is the mean over a square."""
    first, second = frame((8, 12, 3)), frame((8, 12, 3), seed=1)
    small = np.random.default_rng(2).normal(0, 1, (3, 4, 6, 4)).astype(np.float32)
    large = np.stack([cv2.resize(2 * path, (12, 8)) for path in small])
    flow = np.zeros((4, 6, 2), np.float32)
    # Nothing is visible along these paths, so that time alone weighs both frames.
    half, gaps, _ = looked(first, second, small, flow=flow + 90, size=2)
    whole, fine, _ = looked(first, second, large, flow=2 * flow.repeat(2, axis=0).repeat(2, axis=1) + 90)
    np.testing.assert_allclose(half, whole, atol=0.05)
    squares = fine.reshape(4, 2, 6, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(gaps, squares, atol=0.05)


def test_a_path_that_the_flows_contradict_costs_nothing():
    first, second = frame((8, 30, 1)), frame((8, 30, 1), seed=1)
    flow = np.full((8, 30, 2), 6.0, np.float32)
    _, gaps, costs = looked(first, second, np.zeros((1, 8, 30, 4), np.float32), flow=flow)
    assert gaps.mean() > 20 and costs.max() < 1e-3


def test_what_surely_moves_elsewhere_covers_the_pixel():
    first, second = frame((8, 30, 3)), frame((8, 30, 3), seed=1)
    elsewhere, stays = np.full((8, 30, 2), 6.0, np.float32), np.zeros((8, 30, 2), np.float32)
    paths = np.zeros((1, 8, 30, 4), np.float32)
    unsure, _, _ = looked(first, second, paths, share=0.5, flow=elsewhere, back=stays)
    np.testing.assert_allclose(unsure[0], first / 3 + 2 * second / 3, atol=0.01)
    surely, _, _ = looked(first, second, paths, share=0.5, flow=elsewhere, back=stays, sure=1.0)
    assert np.abs(surely[0] - second).max() < 3
    # Covered in both frames: time alone decides.
    both, _, _ = looked(first, second, paths, share=0.5, flow=elsewhere, back=elsewhere, sure=1.0)
    np.testing.assert_allclose(both[0], (first + second) / 2, atol=0.01)


def weighed(costs, supports, paths, gaps, size=1):
    weights, evidence = np.empty_like(costs), np.empty((3, *costs.shape[:2]), np.float32)
    weigh_candidates(costs, supports, size, paths, gaps, weights, evidence)
    return weights, evidence


def test_fuse_is_a_weighted_mean():
    blends = np.stack([frame((5, 6, 3), seed) for seed in range(3)])
    supports = frame((3, 5, 6), 9) / 255
    paths, costs, gaps = frame((3, 5, 6, 6), 8), frame((5, 6, 3), 7) / 50, frame((5, 6, 3), 6)
    weights = (supports + 1e-3) * np.exp(-np.moveaxis(costs, 2, 0) / TEMPERATURE)
    weights /= weights.sum(axis=0)
    found, evidence = weighed(costs, supports, paths, gaps)
    mean = blends[0].copy()
    fuse(mean, blends[1:], found, 1, np.zeros((5, 6), np.uint8))
    np.testing.assert_allclose(mean, (weights[..., None] * blends).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(evidence[0], (weights * np.moveaxis(gaps, 2, 0)).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(evidence[1], (weights * paths[..., 4]).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(evidence[2], (weights * paths[..., 5]).sum(axis=0), rtol=1e-4)


def test_costs_however_high_leave_weights_that_add_up_to_one():
    costs = np.full((2, 3, 3), 254.0, np.float32)
    costs[..., 1] = 250.0
    weights, _ = weighed(costs, np.ones((3, 2, 3), np.float32), np.ones((3, 2, 3, 6), np.float32), costs)
    np.testing.assert_allclose(weights.sum(axis=2), 1.0, rtol=1e-5)
    assert (weights[..., 1] > 0.5).all()


def test_compare_tells_what_is_close_and_what_is_the_same():
    frames = np.round(np.random.default_rng(0).uniform(0, 4, (2, 20, 30, 3))).astype(np.float32)
    close, same = np.empty((2, 20, 30), np.uint8)
    compare(*frames, np.float32(2.0), close, same)
    apart = np.abs(frames[0] - frames[1]).max(axis=2)
    assert np.array_equal(close, apart <= 2) and np.array_equal(same, apart == 0) and same.any()


def test_flows_of_reduced_frames_are_read_where_they_belong():
    """A flow of half the size, constant over squares of two, says the same as one of the full size."""
    first, second = frame((8, 12, 3)), frame((8, 12, 3), seed=1)
    paths = np.zeros((1, 8, 12, 4), np.float32)
    paths[..., 2] = 4.0
    small = np.zeros((4, 6, 2), np.float32)
    small[:, :, 0] = 1.0
    large = np.full((8, 12, 2), (2.0, 0.0), np.float32)
    whole = looked(first, second, paths, flow=large, back=-large, sure=1.0)
    half = looked(first, second, paths[:, ::2, ::2] / 2, flow=small, back=-small, sure=1.0, size=2)
    np.testing.assert_allclose(whole[0], half[0], atol=1e-3)
    for one, other in zip(whole[1:], half[1:]):
        np.testing.assert_allclose(one.reshape(4, 2, 6, 2, 1).mean(axis=(1, 3)), other, atol=1e-3)


def test_weights_of_reduced_paths_are_read_between_them():
    rng = np.random.default_rng(0)
    blends = rng.uniform(0, 255, (2, 4, 6, 3)).astype(np.float32)
    weights = rng.uniform(0, 1, (2, 3, 2)).astype(np.float32)
    weights[..., 0] = 1 - weights[..., 1]
    mean = blends[0].copy()
    fuse(mean, blends[1:], weights, 2, np.zeros((4, 6), np.uint8))
    large = cv2.resize(weights, (6, 4))
    np.testing.assert_allclose(mean, (large.transpose(2, 0, 1)[..., None] * blends).sum(axis=0), rtol=1e-4)


def test_doubt_of_reduced_paths_is_in_pixels_of_the_frame():
    rng = np.random.default_rng(0)
    costs, gaps = np.zeros((2, 3, 2), np.float32), rng.uniform(0, 9, (2, 3, 2)).astype(np.float32)
    paths = rng.uniform(0, 2, (2, 2, 3, 6)).astype(np.float32)
    _, evidence = weighed(costs, np.ones((2, 2, 3), np.float32), paths, gaps, size=2)
    np.testing.assert_allclose(evidence[1], 2 * paths.mean(axis=0)[..., 4], rtol=1e-5)
    np.testing.assert_allclose(evidence[2], paths.mean(axis=0)[..., 5], rtol=1e-5)


def test_candidates_that_show_the_same_are_taken_as_they_are():
    shown = frame((4, 6, 3))
    mean, weights = shown.copy(), np.full((4, 6, 2), 0.5, np.float32)
    fuse(mean, np.zeros((1, 4, 6, 3), np.float32), weights, 1, np.ones((4, 6), np.uint8))
    assert np.array_equal(mean, shown)
