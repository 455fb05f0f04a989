"""Patch posterior against NumPy and brute force, and on planted noise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.patches import posterior as slow_posterior
from tests.reference.patches import similar
from videorestore.compiled import kernel, set_thread_count, thread_count
from videorestore.spatial import _kernels_linear as linear
from videorestore.spatial import _kernels_patches as kernels
from videorestore.spatial._lanes import (
    add_patch,
    copy_patch,
    multiply_add,
    squared_distances,
    transpose_block,
)
from videorestore.spatial.patches import Groups, restore_patches


@kernel
def multiplied(out, a, b, factor, keep):
    multiply_add(out, 4, 3, a, 1, 5, b, 2, 6, 8, np.float32(factor), np.float32(keep))


@kernel
def compared(plane, patch, out):
    squared_distances(plane, 2, 3, patch, out, 2)


@kernel
def moved(plane, window, rows, target, turned):
    copy_patch(plane, 2, 3, np.float32(0.5), rows, 1, 64)
    add_patch(target, 1, 5, np.float32(3.0), window, rows, 1, 64)
    transpose_block(rows, 0, 66, turned)


def spd(m: int) -> np.ndarray:
    a = np.random.default_rng(0).standard_normal((m, 2 * m))
    return (a @ a.T + m * np.eye(m)).astype(np.float32)


@pytest.mark.kernel
def test_blocks_are_numpys() -> None:
    rng = np.random.default_rng(0)
    a, b, out = (rng.standard_normal((12, 16)).astype(np.float32) for _ in range(3))
    expected = out.copy()
    expected[4:8, 3:11] = 0.5 * out[4:8, 3:11] - 2 * a[1:9, 5:9].T @ b[2:10, 6:14]
    multiplied(out, a, b, -2.0, 0.5)
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.kernel
def test_distances_are_numpys() -> None:
    rng = np.random.default_rng(0)
    plane, patch = (rng.standard_normal(shape).astype(np.float32) for shape in ((12, 24), (8, 8)))
    out = np.zeros(12, np.float32)
    compared(plane, patch, out)
    expected = [np.sum(np.square(plane[2:10, x : x + 8] - patch)) for x in range(3, 11)]
    np.testing.assert_allclose(out, [0, 0, *expected, 0, 0], rtol=1e-5)


@pytest.mark.kernel
def test_patches_are_taken_out_and_put_back() -> None:
    rng = np.random.default_rng(1)
    plane, target, window = (rng.standard_normal(s).astype(np.float32) for s in ((12, 16), (12, 16), (8, 8)))
    rows, turned = np.zeros((8, 128), np.float32), np.zeros((80, 8), np.float32)
    expected = target.copy()
    expected[1:9, 5:13] += 3 * window * 0.5 * plane[2:10, 3:11]
    moved(plane, window, rows, target, turned)
    np.testing.assert_allclose(rows[1, 64:], 0.5 * plane[2:10, 3:11].ravel())
    assert not rows[0].any() and not rows[1, :64].any()
    np.testing.assert_allclose(target, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(turned[66:74], rows[:, 66:74].T)


@pytest.mark.kernel
@pytest.mark.parametrize("k", [0, 3, 20])
@pytest.mark.parametrize("equal", [False, True])
def test_the_smallest_are_told_by_their_bits(k: int, equal: bool) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([[-1.0], rng.gamma(2.0, 1e3, 30), [np.inf] * 9]).astype(np.float32)
    if equal:
        values[1:31] = 7.0
    limit = kernels._rank(values, len(values), k)
    wanted = np.sort(values)[k].view(np.int32)
    bits = values.view(np.int32)
    assert limit > wanted or (limit == wanted and np.sum(bits <= wanted) > k + 1)
    assert np.sum(bits < limit) <= k + 1


@pytest.mark.kernel
@pytest.mark.parametrize("m", [8, 16, 48])
def test_small_systems_are_numpys(m: int) -> None:
    matrix = spd(m)
    # What is below the diagonal is not read.
    factor = np.triu(matrix) + np.tril(np.full((m, m), np.nan, np.float32), -1)
    corners, inverse, out = (np.full((m, k), np.nan, np.float32) for k in (4, m, 8))
    linear.cholesky(factor, m, corners)
    upper = np.linalg.cholesky(matrix.astype(float)).T
    np.testing.assert_allclose(np.triu(factor), upper, atol=1e-3)
    trace = linear.invert(factor, corners, m, inverse)
    np.testing.assert_allclose(inverse, np.linalg.inv(upper).T, atol=1e-4)
    np.testing.assert_allclose(trace, np.trace(np.linalg.inv(matrix.astype(float))), rtol=1e-4)
    right = np.random.default_rng(1).standard_normal((m, 8)).astype(np.float32)
    expected = np.linalg.solve(matrix.astype(float), right)
    linear.solve(factor, corners, inverse, m, right, 8, out)
    np.testing.assert_allclose(out, expected, atol=1e-5)


@pytest.mark.kernel
def test_products_and_combinations_are_numpys() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((192, 16)).astype(np.float32) for _ in range(2))
    rows = np.empty((16, 192), np.float32)
    linear.transpose(a, 192, 16, rows)
    np.testing.assert_array_equal(rows, a.T)
    out = np.full((16, 16), np.nan, np.float32)
    linear.products(a, b, 12, 8, 192, False, out)
    np.testing.assert_allclose(out[:12, :8], a[:, :12].T @ b[:, :8], atol=1e-3)
    assert np.isnan(out[12:]).all() and np.isnan(out[:, 8:]).all()
    linear.products(a, a, 16, 16, 192, True, out)
    np.testing.assert_allclose(np.triu(out), np.triu(a.T @ a), atol=1e-3)
    total = np.ones((4, 192), np.float32)
    weights = rng.standard_normal((16, 8)).astype(np.float32)
    linear.combine(weights, rows, 16, 4, 192, total)
    np.testing.assert_allclose(total, 1 + weights[:, :4].T @ rows, rtol=1e-3, atol=1e-3)


@pytest.mark.kernel
def test_search_finds_what_brute_force_finds() -> None:
    rng = np.random.default_rng(3)
    guide = rng.uniform(0, 255, (3, 15, 18)).astype(np.float32)
    padded = np.pad(guide, ((0, 0), (0, 0), (0, kernels.MARGIN)), mode="edge")
    still = np.zeros((2, 8, 9, 2), np.float32)
    strips = 15 * 2 + 2 * 2 * 5
    place = np.empty((16, 3), np.int32)
    first, m = kernels.search(
        padded, still, still, 1, 4, 9, 2, 7, 2, 5, 16,
        np.empty((8, 8), np.float32), np.empty(8 * strips, np.float32), np.empty((strips, 3), np.int32), place,
    )  # fmt: skip
    expected = similar(guide.astype(float), 1, 4, 9, reach=2, own_radius=7, radius=2, own=5, group=16)
    assert m == 16
    assert {tuple(int(v) for v in row) for row in place[:m]} == expected
    assert all(place[i, 0] == 1 for i in range(first)) and all(place[i, 0] != 1 for i in range(first, m))


def test_dual_form_is_the_primal_one() -> None:
    m, o, d = 10, 3, 64
    rng = np.random.default_rng(4)
    guide = (3 * rng.standard_normal((m, 4)) @ rng.standard_normal((4, d))).astype(np.float32)
    noisy = (guide + rng.standard_normal((m, d))).astype(np.float32)
    most = 16
    rows = np.zeros((3, most, d), np.float32)
    rows[0, :m], rows[1, :m] = guide, noisy
    shapes = ((2, d, most), (4, most, most), (most, 4), (2, d))
    share = kernels.posterior(rows, *(np.empty(shape, np.float32) for shape in shapes), m, o, d)
    expected, expected_share = slow_posterior(guide.astype(float), noisy.astype(float))
    np.testing.assert_allclose(rows[2, :o], expected[:o], atol=1e-3)
    np.testing.assert_allclose(share, expected_share, rtol=1e-3)


def panning(n: int, h: int, w: int) -> tuple[np.ndarray, np.ndarray]:
    """Planes ``(n, 1, h, w)`` of a texture that moves by one pixel per frame, and the motion to the next."""
    y, x = np.mgrid[0:h, 0 : w + n].astype(np.float32)
    texture = 120 + 50 * np.sin(x / 2.1 + y / 5) + 30 * np.cos(y / 3)
    planes = np.stack([texture[None, :, n - t : n - t + w] for t in range(n)]).astype(np.float32)
    flow = np.zeros((n - 1, h // 2, w // 2, 2), np.float32)
    flow[..., 0] = 0.5
    return planes, flow


def test_frames_are_restored_and_threads_do_not_matter() -> None:
    truth, flow = panning(3, 16, 20)
    noisy = truth + 15 * np.random.default_rng(5).standard_normal(truth.shape).astype(np.float32)
    variance = np.full_like(truth, 225)
    groups = Groups(size=12, own=4, reach=1, radius=1)
    mean, left = restore_patches(noisy, truth, variance, flow, -flow, start=1, stop=3, groups=groups)
    assert mean.shape == left.shape == (2, 1, 16, 20)
    assert np.sqrt(np.mean(np.square(mean - truth[1:]))) < 0.5 * 15
    assert np.all((left > 0) & (left < 225))
    threads = thread_count()
    try:
        set_thread_count(1)
        alone, _ = restore_patches(noisy, truth, variance, flow, -flow, start=2, stop=3, groups=groups)
    finally:
        set_thread_count(threads)
    np.testing.assert_array_equal(alone[0], mean[1])


@pytest.mark.kernel
def test_equal_patches_leave_no_pixel_without_an_estimate() -> None:
    """A black picture: every patch is as near as any other."""
    black, motion = np.zeros((2, 1, 16, 24), np.float32), np.zeros((1, 8, 12, 2), np.float32)
    mean, spread = restore_patches(
        black, black, np.ones_like(black), motion, motion, start=0, stop=2, groups=Groups(size=16, own=4)
    )
    np.testing.assert_array_equal(mean, black)
    assert np.isfinite(spread).all()


@pytest.mark.parametrize("variance", [1e-12, 1e-6, 1e-2, 1e4])
def test_any_level_of_noise_gives_numbers(variance: float) -> None:
    """Next to no noise on frames that repeat makes the systems as good as singular."""
    rng = np.random.default_rng(5)
    frame = np.kron(rng.integers(0, 255, (2, 4, 4)), np.ones((8, 8))).astype(np.float32)
    noisy = np.repeat(frame[None], 4, axis=0)
    still = np.zeros((3, 16, 16, 2), np.float32)
    mean, spread = restore_patches(
        noisy, noisy, np.full_like(noisy, variance), still, still, start=0, stop=4, groups=Groups(size=48)
    )
    assert np.isfinite(mean).all() and np.isfinite(spread).all()
    assert (spread >= 0).all()
