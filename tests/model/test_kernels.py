"""Compiled loops against their slow twins; these also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from scipy.special import roots_jacobi

from tests.reference import corp as corp_twin
from tests.reference import gp as gp_twin
from videorestore.model import _kernels
from videorestore.model.coulomb import _kernels as _corp_kernels

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_repulsion_sums(n):
    x = np.random.default_rng(n).uniform(size=n)
    logs, cots = np.empty(n), np.empty(n)
    _corp_kernels.repulsion(np.sin(np.pi * x), np.cos(np.pi * x), logs, cots)
    slow_logs, slow_cots = corp_twin.repulsion(x)
    np.testing.assert_allclose(logs, slow_logs, rtol=1e-9)
    np.testing.assert_allclose(cots, slow_cots, rtol=1e-9)


def test_repulsion_of_equal_points_is_minus_infinity():
    x = np.array([0.25, 0.25, 0.75])
    logs, cots = np.empty(3), np.empty(3)
    _corp_kernels.repulsion(np.sin(np.pi * x), np.cos(np.pi * x), logs, cots)
    assert logs[0] == -np.inf and np.isfinite(logs[2])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_distance_to_a_polyline(d):
    rng = np.random.default_rng(d)
    nodes, points = rng.normal(size=(6, d)), rng.normal(size=(7, d))
    nodes[3] = nodes[2]
    out = np.empty(7)
    _kernels.polyline_distance(points, nodes, out)
    np.testing.assert_allclose(out, [gp_twin.polyline_distance(p, nodes) for p in points], atol=1e-10)
    _kernels.polyline_distance(nodes, nodes, out[:6])
    np.testing.assert_allclose(out[:6], 0, atol=1e-7)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_phases_are_the_eigenvalues_of_the_unitary_model(n):
    rng = np.random.default_rng(n)
    gamma = rng.uniform(0, 0.95, n - 1) * np.exp(2j * np.pi * rng.uniform(size=n - 1))
    out = np.empty(n)
    _corp_kernels.phases(gamma.real.copy(), gamma.imag.copy(), 0.4, out)
    for theta in out:
        value, slope = _corp_kernels.phase(theta, gamma.real.copy(), gamma.imag.copy())
        assert abs(np.exp(1j * (value - 0.4)) - 1) < 1e-9
        ahead = _corp_kernels.phase(theta + 1e-6, gamma.real.copy(), gamma.imag.copy())[0]
        assert (ahead - value) / 1e-6 == pytest.approx(slope, rel=1e-3)
    np.testing.assert_allclose(np.sort(out), np.sort(corp_twin.unitary(gamma, 0.4)), atol=1e-8)


def test_sums_of_log_sines():
    points = np.random.default_rng(0).uniform(size=9)
    at = np.array([0.03, 0.5, points[4], 0.999])
    out = np.empty(4)
    _corp_kernels.log_sines(at, points, out)
    np.testing.assert_allclose(out, [corp_twin.log_sines(t, points) for t in at], rtol=1e-9)
    some = _corp_kernels.log_sine_sum(0.03, points, 5)
    assert some == pytest.approx(corp_twin.log_sines(0.03, points[:5]), rel=1e-9)


def test_draws_between_neighbours_follow_the_density():
    points = np.array([0.1, 0.35, 0.8])
    grid, share = corp_twin.between(points, 0.35, 0.8, 1.0, nodes=401)
    assert _corp_kernels.mode_between(points, 3, 0.35, 0.8) == pytest.approx(grid[share.argmax()], abs=2e-3)
    draws = _corp_kernels.draw_between(points, 0.35, 0.8, 1.0, 400, np.random.default_rng(0))
    mean = share @ grid
    sd = np.sqrt(share @ (grid - mean) ** 2)
    assert abs(draws.mean() - mean) < 4 * sd / 20 and draws.std() == pytest.approx(sd, rel=0.15)
    one = _corp_kernels.reject_between(points, 3, 0.8, 1.1, 1.0, np.random.default_rng(1))
    assert one >= 0.8 or one <= 0.1


def test_sequential_draws_have_the_moments_of_the_twin():
    node, weight = roots_jacobi(16, 2.0, 2.0)
    log_weight = np.log(weight) - 2.0 * np.log1p(-np.square(node))
    rng = np.random.default_rng(3)
    ours, slow = [], []
    for _ in range(60):
        x = np.empty(4)
        x[0] = rng.random()
        _corp_kernels.sequential(x, 1.0, node, log_weight, rng)
        assert (x >= 0).all() and (x < 1).all() and np.unique(x).size == 4
        ours.append(np.cos(2 * np.pi * (x[3] - x[:3])).mean())
        y = corp_twin.sequential(4, 1.0, rng.random(4), nodes=2000)
        slow.append(np.cos(2 * np.pi * (y[3] - y[:3])).mean())
    spread = np.hypot(np.std(ours), np.std(slow)) / np.sqrt(60)
    assert abs(np.mean(ours) - np.mean(slow)) < 4 * spread


def test_mode_between_neighbours_has_no_slope():
    points = np.array([0.1, 0.35, 0.8])
    mode = _corp_kernels.mode_between(points, 3, 0.35, 0.8)
    assert abs((1 / np.tan(np.pi * (mode - points))).sum()) < 1e-5
