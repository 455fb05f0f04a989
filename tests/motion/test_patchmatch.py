"""Seeds for large motion."""

import numpy as np

from tests.motion.scenes import psnr, translating
from videorestore.motion.flow import View, pair
from videorestore.motion.patchmatch import patch_cost, search
from videorestore.motion.warp import warp


def jumping(place, shape=(72, 96)):
    """A small textured square that jumps far over a calm background."""
    frame = translating([(0, 0)], shape=shape, finest=0.1)[0].copy()
    square = np.random.default_rng(3).uniform(0, 255, (4, 4, 3)).repeat(4, axis=0).repeat(4, axis=1)
    frame[place[1] : place[1] + 16, place[0] : place[0] + 16] = square
    return frame


def test_patch_cost_is_the_mean_absolute_difference():
    rng = np.random.default_rng(0)
    first, second = rng.uniform(0, 255, (2, 14, 15, 3)).astype(np.float32)
    far = np.float32(1e9)
    flat = first.reshape(14, 45), second.reshape(14, 45), 3
    expected = np.abs(first[3:10, 2:9] - second[5:12, 6:13]).mean()
    assert abs(patch_cost(*flat, 6, 5, 2, 4, far) - expected) < 1e-3
    # Patches are cut by the border of either frame.
    expected = np.abs(first[:5, :5] - second[1:6, :5]).mean()
    assert abs(patch_cost(*flat, 1, 1, 1, 0, far) - expected) < 1e-3
    # Given up beyond the limit, at something above it; not given up below.
    whole = patch_cost(*flat, 6, 5, 2, 4, far)
    assert patch_cost(*flat, 6, 5, 2, 4, np.float32(1.01) * whole) == whole
    assert patch_cost(*flat, 6, 5, 2, 4, np.float32(5.0)) > 5.0


def test_search_never_gets_worse_and_repeats_itself():
    rng = np.random.default_rng(1)
    first = rng.uniform(0, 255, (12, 14, 1)).astype(np.float32)
    second = np.roll(first, (2, 3), axis=(0, 1))
    start, every = np.zeros((12, 14, 2), np.int32), np.ones((12, 14), bool)
    found, cost, before = search(
        first[..., 0], second[..., 0], 1, start, every, 1, 4, 8, 4000, np.float32(4.0)
    )
    again = search(first[..., 0], second[..., 0], 1, start, every, 1, 4, 8, 4000, np.float32(4.0))
    assert (cost <= before).all() and all(np.array_equal(a, b) for a, b in zip((found, cost, before), again))
    assert (found[5:8, 5:8] == (3, 2)).all()
    y, x = np.mgrid[0:12, 0:14]
    assert ((x + found[..., 0] >= 0) & (x + found[..., 0] < 14)).all()
    assert ((y + found[..., 1] >= 0) & (y + found[..., 1] < 12)).all()


def test_pixels_between_the_searched_ones_take_up_what_was_found():
    rng = np.random.default_rng(2)
    first = rng.uniform(0, 255, (16, 18, 1)).astype(np.float32)
    second = np.roll(first, (2, 3), axis=(0, 1))
    start, every = np.zeros((16, 18, 2), np.int32), np.ones((16, 18), bool)
    found, cost, before = search(
        first[..., 0], second[..., 0], 1, start, every, 2, 4, 8, 4000, np.float32(4.0)
    )
    assert (found[6:9, 6:9] == (3, 2)).all() and (cost[6:9, 6:9] == 0).all() and (before[6:9, 6:9] > 4).all()
    # Where the searched ones gain nothing, the others are not even looked at.
    still = search(first[..., 0], first[..., 0], 1, start, every, 2, 4, 8, 4000, np.float32(4.0))
    assert not still[0].any() and not still[1].any() and not still[2].any()


def test_a_small_fast_thing_is_followed():
    first, second = jumping((12, 20)), jumping((36, 28))
    plain = pair(View(first), View(second), seeded=False)[0]
    seeded = pair(View(first), View(second))[0]
    on = (slice(22, 34), slice(14, 26))
    np.testing.assert_allclose(np.median(seeded.vectors[on], axis=(0, 1)), (24, 8), atol=1.0)
    assert (
        psnr(warp(second, seeded.vectors)[on], first[on])
        > psnr(warp(second, plain.vectors)[on], first[on]) + 3
    )
