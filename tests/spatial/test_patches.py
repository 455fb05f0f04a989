"""Patch posterior against NumPy and brute force, and on planted noise."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.patches import posterior as slow_posterior
from tests.reference.patches import similar
from videorestore.compiled import set_thread_count, thread_count
from videorestore.spatial import _kernels_linear as linear
from videorestore.spatial import _kernels_patches as kernels
from videorestore.spatial.patches import Groups, restore_patches


def spd(m: int) -> np.ndarray:
    a = np.random.default_rng(0).standard_normal((m, 2 * m))
    return (a @ a.T + m * np.eye(m)).astype(np.float32)


@pytest.mark.kernel
def test_small_systems_are_numpys() -> None:
    m, o = 12, 8
    matrix = spd(m)
    factor = np.zeros((16, 16), np.float32)
    factor[:m, :m] = matrix
    linear.cholesky(factor, m, np.empty((4, 16), np.float32))
    trace = linear.trace_of_inverse(factor, m, np.zeros((16, 16), np.float32))
    np.testing.assert_allclose(trace, np.trace(np.linalg.inv(matrix.astype(float))), rtol=1e-4)
    right = np.random.default_rng(1).standard_normal((16, 16)).astype(np.float32)
    expected = np.linalg.solve(matrix.astype(float), right[:m, :o])
    linear.solve(factor, m, right, o)
    np.testing.assert_allclose(right[:m, :o], expected, atol=1e-5)


@pytest.mark.kernel
def test_products_and_combinations_are_numpys() -> None:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((8, 64)).astype(np.float32) for _ in range(2))
    out = np.empty((8, 8), np.float32)
    linear.products(a, b, 8, 4, 64, False, out)
    np.testing.assert_allclose(out[:, :4], a @ b[:4].T, atol=1e-4)
    linear.products(a, a, 8, 8, 64, True, out)
    np.testing.assert_allclose(np.tril(out), np.tril(a @ a.T), atol=1e-4)
    total = np.zeros((3, 64), np.float32)
    linear.combine(out, a, 8, 3, 64, total)
    np.testing.assert_allclose(total, out[:, :3].T @ a, rtol=1e-3, atol=1e-3)


@pytest.mark.kernel
def test_search_finds_what_brute_force_finds() -> None:
    rng = np.random.default_rng(3)
    guide = rng.uniform(0, 255, (3, 15, 18)).astype(np.float32)
    padded = np.pad(guide, ((0, 0), (0, 0), (0, kernels.LANES)), mode="edge")
    still = np.zeros((2, 15, 18, 2), np.float32)
    count = 15**2 + 2 * 2 * 5**2
    near = np.empty(count, np.float32)
    place = np.empty((count, 3), np.int32)
    first, m = kernels.search(
        padded, still, still, 1, 4, 9, 2, 7, 2, 5, 16,
        np.empty((8, 8), np.float32), np.empty(kernels.LANES, np.float32), near, place,
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
    rows = 16
    g, v = np.zeros((rows, d), np.float32), np.zeros((rows, d), np.float32)
    g[:m], v[:m] = guide, noisy
    out = np.empty((rows, d), np.float32)
    square = [np.zeros((rows, rows), np.float32) for _ in range(3)]
    share = kernels.posterior(
        g,
        v,
        m,
        o,
        d,
        np.empty(d, np.float32),
        np.empty(d, np.float32),
        *square,
        np.empty((4, rows), np.float32),
        out,
    )
    expected, expected_share = slow_posterior(guide.astype(float), noisy.astype(float))
    np.testing.assert_allclose(out[:o], expected[:o], atol=1e-3)
    np.testing.assert_allclose(share, expected_share, rtol=1e-3)


def panning(n: int, h: int, w: int) -> tuple[np.ndarray, np.ndarray]:
    """Planes ``(n, 1, h, w)`` of a texture that moves by one pixel per frame, and the motion to the next."""
    y, x = np.mgrid[0:h, 0 : w + n].astype(np.float32)
    texture = 120 + 50 * np.sin(x / 2.1 + y / 5) + 30 * np.cos(y / 3)
    planes = np.stack([texture[None, :, n - t : n - t + w] for t in range(n)]).astype(np.float32)
    flow = np.zeros((n - 1, h, w, 2), np.float32)
    flow[..., 0] = 1
    return planes, flow


def test_frames_are_restored_and_threads_do_not_matter() -> None:
    truth, flow = panning(3, 16, 20)
    noisy = truth + 15 * np.random.default_rng(5).standard_normal(truth.shape).astype(np.float32)
    variance = np.full_like(truth, 225)
    groups = Groups(size=12, own=4, reach=1, own_radius=4, radius=1)
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
    black, motion = np.zeros((2, 1, 16, 24), np.float32), np.zeros((1, 16, 24, 2), np.float32)
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
    still = np.zeros((3, 32, 32, 2), np.float32)
    mean, spread = restore_patches(
        noisy, noisy, np.full_like(noisy, variance), still, still, start=0, stop=4, groups=Groups(size=48)
    )
    assert np.isfinite(mean).all() and np.isfinite(spread).all()
    assert (spread >= 0).all()
