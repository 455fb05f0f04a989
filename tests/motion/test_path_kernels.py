"""Kernels of trajectories against slow twins; these also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest

from videorestore.motion import _kernels_paths as kernels
from videorestore.motion.splat import carry
from videorestore.motion.warp import warp

pytestmark = pytest.mark.kernel

SHAPE = (9, 12)


def field(seed, size=2.0):
    return np.random.default_rng(seed).normal(0, size, (*SHAPE, 2)).astype(np.float32)


def plane(seed, scale=1.0):
    return (np.random.default_rng(seed).uniform(0, 1, SHAPE) * scale).astype(np.float32)


def bilinear(image, flow):
    """Bilinear reading by the textbook, borders repeated."""
    height, width = image.shape[:2]
    out = np.empty((*flow.shape[:2], *image.shape[2:]))
    for y in range(flow.shape[0]):
        for x in range(flow.shape[1]):
            px, py = np.clip(x + flow[y, x, 0], 0, width - 1), np.clip(y + flow[y, x, 1], 0, height - 1)
            x0, y0 = int(px), int(py)
            x1, y1 = min(x0 + 1, width - 1), min(y0 + 1, height - 1)
            u, v = px - x0, py - y0
            upper = (1 - u) * image[y0, x0] + u * image[y0, x1].astype(float)
            out[y, x] = (1 - v) * upper + v * ((1 - u) * image[y1, x0] + u * image[y1, x1].astype(float))
    return out


def test_judge():
    first, second = (np.round(plane(k, 255)).astype(np.uint8) for k in (0, 1))
    there, back = field(2), field(3)
    miss, difference = np.empty((2, *SHAPE), np.float32)
    kernels.judge(first, second, there, back, miss, difference)
    np.testing.assert_allclose(miss, np.linalg.norm(there + bilinear(back, there), axis=2), atol=1e-4)
    np.testing.assert_allclose(difference, np.abs(first - bilinear(second, there)), atol=1e-2)
    np.testing.assert_allclose(bilinear(second, there), warp(second, there, method="linear"), atol=6.0)


def test_take_better():
    flow, other, seed = field(0), field(1), field(2)
    residual, left, slipped = (plane(k, 10) for k in (3, 4, 5))
    back = slipped < 0.8 * left
    remaining = np.where(back, slipped, left)
    wins = remaining < 0.95 * residual
    expected = np.where(wins[..., None], np.where(back[..., None], seed, other), flow)
    expected_residual = np.where(wins, remaining, residual)
    kernels.take_better(other, left, seed, slipped, flow, residual)
    np.testing.assert_array_equal(flow, expected)
    np.testing.assert_array_equal(residual, expected_residual)
    assert back[wins].any() and not back[wins].all() and not wins.all()


def test_past_hidden():
    vectors, behind, miss, back_miss = field(0), field(1), plane(2, 6), plane(3, 1)
    whole, known = np.empty_like(vectors), np.empty_like(miss)
    kernels.past_hidden(vectors, miss, behind, back_miss, np.float32(2.0), whole, known)
    share = 0.5 * (1 - np.exp(-((miss / 2.0) ** 2))) * np.exp(-((back_miss / 0.5) ** 2))
    np.testing.assert_allclose(known, share, atol=1e-6)
    np.testing.assert_allclose(whole, vectors + share[..., None] * (-2 * behind - vectors), atol=1e-4)


def test_unrest():
    here, near, far = (np.round(plane(k, 255)).astype(np.uint8) for k in range(3))
    behind, ahead = field(4), field(5)
    out = np.empty(SHAPE, np.float32)
    kernels.unrest(here, near, far, behind, ahead, 1, np.float32(0.25), out)
    expected = np.abs(here - (0.25 * bilinear(near, behind) + 0.75 * bilinear(far, ahead)))
    np.testing.assert_allclose(out, expected, atol=1e-2)
    some = np.empty((-(-SHAPE[0] // 2), -(-SHAPE[1] // 2)), np.float32)
    ways = (np.ascontiguousarray(way[::2, ::2]) / 2 for way in (behind, ahead))
    kernels.unrest(here, near, far, *ways, 2, np.float32(0.25), some)
    np.testing.assert_allclose(some, expected[::2, ::2], atol=1e-2)


@pytest.mark.parametrize("weights", [(0.1, -0.06, -0.07), (0.2, -0.3, 0.0)])
def test_bend_paths_and_their_shrinkage(weights):
    whole, behind, ahead = field(0), field(1), field(2)
    miss, back_miss, far_miss = plane(3, 2), plane(4, 2), plane(5, 2)
    bend, variance, judged = np.empty_like(whole), np.empty_like(miss), np.empty((*SHAPE, 2), np.float32)
    w = np.array(weights, np.float32)
    kernels.bend_paths(whole, miss, behind, back_miss, ahead, far_miss, w, bend, variance, judged)
    beyond = whole + bilinear(ahead, whole)
    expected = w[0] * whole + w[1] * behind + w[2] * beyond
    np.testing.assert_allclose(bend, expected, atol=1e-4)
    errors = [(0.7 * m) ** 2 + 0.01 for m in (miss, back_miss, miss + bilinear(far_miss, whole))]
    np.testing.assert_allclose(variance, sum(a * a * e for a, e in zip(w, errors)), rtol=1e-3)
    np.testing.assert_allclose(judged[..., 0], 1 / variance, rtol=1e-4)
    np.testing.assert_allclose(judged[..., 1], (expected**2).sum(axis=2) / variance, rtol=1e-2, atol=1e-3)
    place, doubt = np.empty_like(whole), np.empty_like(miss)
    kernels.shrink_bend(
        whole, bend, variance, judged, np.float32(0.3), np.float32(1.5), np.float32(0.2), place, doubt
    )
    signal = np.maximum((bend**2).sum(axis=2) - 2 * variance, 0)
    kept = signal / (signal + 2 * variance)
    np.testing.assert_allclose(place, 0.3 * whole + kept[..., None] * bend, atol=1e-3)
    chosen = kept * variance + kept * (1 - kept) * (bend**2).sum(axis=2)
    np.testing.assert_allclose(doubt, np.sqrt(chosen + 1.5 * signal / 2 + 0.2), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("later", [False, True])
def test_carry(later):
    whole, place = field(0), field(1)
    maps = [*(plane(k, 3) for k in range(4)), plane(4, 1)]
    values, weight = np.empty((*SHAPE, 6), np.float32), np.empty(SHAPE, np.float32)
    carry(whole, place, *maps, later, values, weight)
    own, other = (values[..., 2:4], values[..., :2]) if later else (values[..., :2], values[..., 2:4])
    np.testing.assert_allclose(own, -place)
    np.testing.assert_allclose(other, whole - place)
    assert np.array_equal(values[..., 4], maps[0]) and np.array_equal(values[..., 5], maps[1])
    against = 0.5 * maps[2] + 0.05 * maps[3]
    against += maps[4] ** 4 * (np.minimum(against, 1.5) - against)
    np.testing.assert_allclose(weight, np.exp(-against) + 1e-4, rtol=1e-4)
