"""Reading frames along paths."""

import cv2
import numpy as np
import pytest
from scipy import ndimage

from videorestore.motion._kernels_spline import read_spline
from videorestore.motion.fusion import TEMPERATURE, compare, fuse, look, spline_coefficients

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
    blends = np.empty((len(paths), *shape), np.float32)
    gaps, costs = np.empty((2, *shape[:2], len(paths)), np.float32)
    splines = spline_coefficients(first), spline_coefficients(second)
    still, single = np.zeros(shape[:2], np.uint8) if still is None else still, np.empty(shape[:2], np.uint8)
    support = np.full(paths.shape[:3], 3.0, np.float32)
    look(
        first, second, still, passing, *splines, there, back, *sures, size, paths, support, np.float32(share),
        blends, gaps, costs, single,
    )  # fmt: skip
    alone = single > 0
    blends[1:, alone], gaps[alone, 1:] = blends[0, alone], gaps[alone, :1]
    return blends, gaps, costs


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
    """As `cv2.resize` enlarges them, vectors and all."""
    first, second = frame((8, 12, 3)), frame((8, 12, 3), seed=1)
    small = np.random.default_rng(2).normal(0, 1, (3, 4, 6, 4)).astype(np.float32)
    large = np.stack([cv2.resize(2 * path, (12, 8)) for path in small])
    flow = np.zeros((4, 6, 2), np.float32)
    half = looked(first, second, small, flow=flow, size=2)
    whole = looked(first, second, large, flow=flow.repeat(2, axis=0).repeat(2, axis=1))
    for one, other in zip(whole, half):
        np.testing.assert_allclose(one, other, atol=0.05)


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


def test_fuse_is_a_weighted_mean():
    blends = np.stack([frame((5, 6, 3), seed) for seed in range(3)])
    supports = frame((3, 5, 6), 9) / 255
    paths, costs, gaps = frame((3, 5, 6, 6), 8), frame((5, 6, 3), 7) / 50, frame((5, 6, 3), 6)
    weights = (supports + 1e-3) * np.exp(-np.moveaxis(costs, 2, 0) / TEMPERATURE)
    weights /= weights.sum(axis=0)
    mean, evidence = np.empty((5, 6, 3), np.float32), np.empty((3, 5, 6), np.float32)
    fuse(costs, supports, 1, paths, blends, gaps, np.zeros((5, 6), np.uint8), mean, evidence)
    np.testing.assert_allclose(mean, (weights[..., None] * blends).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(evidence[0], (weights * np.moveaxis(gaps, 2, 0)).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(evidence[1], (weights * paths[..., 4]).sum(axis=0), rtol=1e-4)
    np.testing.assert_allclose(evidence[2], (weights * paths[..., 5]).sum(axis=0), rtol=1e-4)


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
    for one, other in zip(whole, half):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_doubt_of_reduced_paths_is_in_pixels_of_the_frame():
    rng = np.random.default_rng(0)
    costs, gaps = np.zeros((4, 6, 2), np.float32), rng.uniform(0, 9, (4, 6, 2)).astype(np.float32)
    support, blends = np.ones((2, 2, 3), np.float32), rng.uniform(0, 255, (2, 4, 6, 3)).astype(np.float32)
    paths = rng.uniform(0, 2, (2, 2, 3, 6)).astype(np.float32)
    mean, evidence = np.empty((4, 6, 3), np.float32), np.empty((3, 4, 6), np.float32)
    fuse(costs, support, 2, paths, blends, gaps, np.zeros((4, 6), np.uint8), mean, evidence)
    large = paths.mean(axis=0).repeat(2, axis=0).repeat(2, axis=1)
    np.testing.assert_allclose(evidence[1], 2 * large[..., 4], rtol=1e-5)
    np.testing.assert_allclose(evidence[2], large[..., 5], rtol=1e-5)
    np.testing.assert_allclose(mean, blends.mean(axis=0), rtol=1e-5)


def test_candidates_that_show_the_same_are_taken_as_they_are():
    shown = frame((4, 6, 3))
    blends, gaps = np.stack([shown, shown]), np.full((4, 6, 2), 3.0, np.float32)
    costs = np.random.default_rng(1).uniform(0, 9, (4, 6, 2)).astype(np.float32)
    support, paths = np.ones((2, 4, 6), np.float32), np.ones((2, 4, 6, 6), np.float32)
    mean, evidence = np.empty_like(shown), np.empty((3, 4, 6), np.float32)
    fuse(costs, support, 1, paths, blends, gaps, np.ones((4, 6), np.uint8), mean, evidence)
    assert np.array_equal(mean, shown)
    np.testing.assert_allclose(evidence[0], 3.0, rtol=1e-5)
