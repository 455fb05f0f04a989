"""Compiled loops against their slow twins; these also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest

from tests.reference import corp as corp_twin
from tests.reference import gp as gp_twin
from videorestore.model import _corp_kernels, _kernels

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_repulsion_sums(n):
    x = np.random.default_rng(n).uniform(size=n)
    logs, cots = np.empty(n), np.empty(n)
    _kernels.repulsion(np.sin(np.pi * x), np.cos(np.pi * x), logs, cots)
    slow_logs, slow_cots = corp_twin.repulsion(x)
    np.testing.assert_allclose(logs, slow_logs, rtol=1e-9)
    np.testing.assert_allclose(cots, slow_cots, rtol=1e-9)


def test_repulsion_of_equal_points_is_minus_infinity():
    x = np.array([0.25, 0.25, 0.75])
    logs, cots = np.empty(3), np.empty(3)
    _kernels.repulsion(np.sin(np.pi * x), np.cos(np.pi * x), logs, cots)
    assert logs[0] == -np.inf and np.isfinite(logs[2])


def test_ratio_search_finds_the_least_loss():
    rng = np.random.default_rng(0)
    spectrum = np.geomspace(1e-4, 8, 11)
    squares = (rng.chisquare(1, (3, 11)) * (spectrum + 0.3)).astype(np.float32)
    low, high = np.full(3, np.log(1e-3)), np.full(3, np.log(1e2))
    grid = np.linspace(np.log(1e-3), np.log(1e2), 400)

    def loss(j, ratio):
        v = spectrum + ratio
        return 0.5 * 11 * np.log((squares[j] / v).mean()) + 0.5 * np.log(v).sum()

    ratio, phi = np.empty(3), np.empty(3)
    _kernels.search_ratio(squares, spectrum, low, high, ratio, phi)
    for j in range(3):
        best = min(loss(j, np.exp(g)) for g in grid)
        assert loss(j, ratio[j]) <= best + 1e-3
        np.testing.assert_allclose(phi[j], (squares[j] / (spectrum + ratio[j])).mean(), rtol=1e-5)
        np.testing.assert_allclose(
            _kernels.ratio_loss(squares[j], spectrum, ratio[j]), loss(j, ratio[j]), rtol=1e-6
        )


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
    assert np.unique(np.round(out, 9)).size == n and out.min() >= 0 and out.max() <= 2 * np.pi


def test_sequential_draws_stay_in_the_interval_and_apart():
    rng = np.random.default_rng(3)
    node, weight = np.polynomial.legendre.leggauss(8)
    x = np.empty(6)
    x[0] = 0.97
    _corp_kernels.sequential(x, 1.0, node, np.log(weight), rng)
    assert (x >= 0).all() and (x < 1).all() and np.unique(x).size == 6


def test_mode_between_neighbours_has_no_slope():
    points = np.array([0.1, 0.35, 0.8])
    mode = _corp_kernels.mode_between(points, 3, 0.35, 0.8)
    assert abs((1 / np.tan(np.pi * (mode - points))).sum()) < 1e-5


def _length(order, cost):
    return sum(cost[a, b] for a, b in zip(order, np.roll(order, -1)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tours_visit_all_and_only_get_shorter(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(9, 2))
    cost = np.square(points[:, None] - points[None]).sum(axis=2)
    pairs = np.array([(i, j) for i in range(9) for j in range(i + 1, 9)])
    edges = pairs[np.argsort([cost[i, j] for i, j in pairs], kind="stable")]
    tour = _kernels.greedy_tour(edges, 9)
    assert sorted(tour) == list(range(9))
    # The shortest edge of all is always taken.
    place = np.argsort(tour)
    assert abs(place[edges[0, 0]] - place[edges[0, 1]]) in (1, 8)
    before = _length(tour, cost)
    _kernels.shorten_tour(tour, cost, 50)
    assert sorted(tour) == list(range(9)) and _length(tour, cost) <= before + 1e-12
    shuffled = rng.permutation(9)
    before = _length(shuffled, cost)
    _kernels.shorten_tour(shuffled, cost, 50)
    assert sorted(shuffled) == list(range(9)) and _length(shuffled, cost) <= before


def test_tour_of_a_circle_is_the_circle():
    angle = 2 * np.pi * np.arange(11) / 11
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    cost = np.square(points[:, None] - points[None]).sum(axis=2)
    tour = np.random.default_rng(0).permutation(11)
    _kernels.shorten_tour(tour, cost, 50)
    assert set(np.abs(np.diff(tour))) <= {1, 10}
