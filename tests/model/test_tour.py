"""The moves of the path search against plain lists: what is gained is what the whole tour gains."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.tour import cost_with_bends, length, shortest
from videorestore.model import _kernels_tour as kernels
from videorestore.model.tour import closed_path, open_path

pytestmark = pytest.mark.kernel

WEIGHT = 0.5


def plane(n: int, seed: int) -> np.ndarray:
    """Distances of random points, with a free end as the last node."""
    points = np.random.default_rng(seed).standard_normal((n - 1, 2))
    distance = np.zeros((n, n))
    distance[:-1, :-1] = np.linalg.norm(points[:, None] - points[None], axis=2)
    return distance


def shuffled(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    tour = np.random.default_rng(seed).permutation(n)
    place = np.empty(n, np.int64)
    place[tour] = np.arange(n)
    return tour, place


@pytest.mark.parametrize("seed", range(4))
def test_the_cost_of_a_tour_is_that_of_the_twin(seed):
    distance = plane(23, seed)
    tour, _ = shuffled(23, seed)
    assert kernels.tour_cost(distance, tour, WEIGHT) == pytest.approx(cost_with_bends(tour, distance, WEIGHT))
    run = tour[3:12].copy()
    steps = sum(distance[a, b] for a, b in zip(run[:-1], run[1:]))
    bends = sum(kernels._bend(distance, a, b, c, WEIGHT) for a, b, c in zip(run, run[1:], run[2:]))
    made = kernels._stretch(distance, tour, 3, 0, 0, False, 0, 8, WEIGHT)
    assert made == pytest.approx(steps + bends)


def test_a_bend_at_the_free_end_costs_nothing():
    distance = plane(9, 0)
    assert kernels._bend(distance, 8, 1, 2, WEIGHT) == kernels._bend(distance, 1, 8, 2, WEIGHT) == 0
    assert kernels._bend(distance, 1, 2, 3, WEIGHT) > 0


@pytest.mark.parametrize("seed", range(12))
def test_a_reversed_stretch_gains_what_was_foretold(seed):
    rng = np.random.default_rng(seed)
    n = 25
    distance = plane(n, seed)
    tour, place = shuffled(n, seed)
    first, inside = int(rng.integers(n)), int(rng.integers(2, n - 3))
    last = (first + inside - 1) % n
    before = cost_with_bends(tour, distance, WEIGHT)
    gain = kernels._reversal_gain(distance, tour, first, last, WEIGHT)
    kernels._reverse(tour, place, first, last)
    assert sorted(tour) == list(range(n)) and np.array_equal(tour[place], np.arange(n))
    assert before - cost_with_bends(tour, distance, WEIGHT) == pytest.approx(gain, abs=1e-9)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("length_of_run", [1, 2, 3])
def test_a_carried_run_gains_what_was_foretold(length_of_run, flip):
    n = 40
    distance = plane(n, 7)
    for spot in range(length_of_run, n - 1):
        for first in (0, 17, n - 2):
            tour, place = shuffled(n, spot)
            before = cost_with_bends(tour, distance, WEIGHT)
            gain = kernels._carry_gain(distance, tour, first, length_of_run, spot, flip, WEIGHT)
            run = [int(tour[(first + k) % n]) for k in range(length_of_run)]
            rest = [int(tour[(first + k) % n]) for k in range(length_of_run, n)]
            after = int(tour[(first + spot) % n])
            at = rest.index(after) + 1
            twin = [*rest[:at], *(run[::-1] if flip else run), *rest[at:]]
            kernels._carry(tour, place, first, length_of_run, spot, flip)
            assert length(tour, distance) == pytest.approx(length(twin, distance))
            assert tour.tolist() == twin and np.array_equal(tour[place], np.arange(n))
            assert before - cost_with_bends(tour, distance, WEIGHT) == pytest.approx(gain, abs=1e-9), spot


def test_settling_saves_and_leaves_nothing_queued():
    n = 30
    distance = plane(n, 3)
    near = np.argsort(distance + 1e9 * np.eye(n), axis=1)[:, :12].astype(np.int64)
    tour, place = shuffled(n, 3)
    before = cost_with_bends(tour, distance, WEIGHT)
    queue, queued = tour.copy(), np.ones(n, np.bool_)
    kernels._settle(distance, near, tour, place, WEIGHT, queue, queued, n)
    assert cost_with_bends(tour, distance, WEIGHT) < before and not queued.any()
    touched = np.empty(12, np.int64)
    for a in range(n):
        assert kernels._improve(distance, near, tour, place, WEIGHT, a, touched) == (0.0, 0)


def test_without_bends_the_shortest_way_is_found():
    for seed in range(6):
        distance = plane(8, seed)
        near = np.argsort(distance + 1e9 * np.eye(8), axis=1)[:, :7].astype(np.int64)
        tour = np.arange(8)
        kicks = np.random.default_rng(seed).integers(0, 1 << 30, (40, 2))
        cost = kernels.search_tour(distance, near, tour, 0.0, kicks)
        assert cost == pytest.approx(length(tour, distance)) == pytest.approx(shortest(distance))


@pytest.mark.parametrize("seed", range(3))
def test_a_path_through_few_points_is_nearly_the_shortest(seed):
    distance = plane(8, seed)[:-1, :-1]
    path = open_path(distance, bend=0.0)
    padded = np.zeros((8, 8))
    padded[:-1, :-1] = distance
    assert sorted(path) == list(range(7))
    assert length(np.append(path, 7), padded) <= 1.02 * shortest(padded)


def test_a_closed_path_of_a_circle_is_the_circle():
    angle = 2 * np.pi * np.arange(11) / 11
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    square = np.square(points[:, None] - points[None]).sum(axis=2)
    path = closed_path(square, np.random.default_rng(0).permutation(11), bend=0.0)
    assert set(np.abs(np.diff(path))) <= {1, 10}
