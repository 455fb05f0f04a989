"""Order of shuffled frames: recovered up to reversal, through noise, without foreign frames."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from videorestore.errors import InputError
from videorestore.model._kernels_tour import search_tour, tour_cost
from videorestore.model.tour import open_path
from videorestore.order.distances import clean_distances, describe, find_foreign
from videorestore.order.reorder import reorder


def agreement(one, two):
    """|Kendall's tau| of two orders of the same frames."""
    rank = np.argsort(one)
    return abs(kendalltau(np.arange(len(one)), rank[two])[0])


def shuffled(frames, sd=0.0, seed=0):
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(frames))
    noisy = frames + sd * rng.standard_normal(frames.shape).astype(np.float32)
    return noisy[order].astype(np.float32), order


@pytest.mark.parametrize("sd", [0.0, 20.0])
def test_open_order_is_found(pan, sd):
    given, true = shuffled(pan, sd)
    found = reorder(given)
    assert not found.closed
    assert found.refused == ()
    assert agreement(np.argsort(true)[np.arange(len(true))], found.order) >= 0.98
    assert (np.diff(found.x) >= 0).all()
    assert found.x.min() > 0 and found.x.max() < 1


def test_closed_order_is_found_up_to_the_cut(turning):
    given, true = shuffled(turning, 10.0)
    found = reorder(given)
    assert found.closed
    steps = np.diff(true[found.order]) % len(true)
    assert set(np.minimum(steps, len(true) - steps)) == {1}


def test_first_decides_direction_and_cut(pan, turning):
    given, true = shuffled(pan)
    start = int(np.flatnonzero(true == len(true) - 1)[0])
    assert true[reorder(given, first=start).order].tolist() == list(range(len(true)))[::-1]
    given, true = shuffled(turning)
    start = int(np.flatnonzero(true == 7)[0])
    assert reorder(given, first=start).order[0] == start


def test_foreign_frames_are_named(pan, scenes):
    rng = np.random.default_rng(3)
    strange = scenes.pan(60, 36, 44, step=2.0, seed=9)[[3, 4, 40]]
    both = np.concatenate([pan, strange]) + 20 * rng.standard_normal((39, 36, 44, 3)).astype(np.float32)
    order = rng.permutation(39)
    found = reorder(both[order].astype(np.float32))
    assert sorted(order[list(found.refused)]) == [36, 37, 38]
    assert len(found.order) == 36


def test_a_clip_without_strangers_refuses_none(pan, turning):
    for frames in (pan, turning):
        assert not find_foreign(clean_distances(describe(frames))).any()


def test_strand_crossing_is_resolved_by_bends():
    # A figure of eight: the shortest path may change over at the crossing, the smooth one does not.
    t = np.linspace(0.35, 2 * np.pi + 0.2, 61)
    points = np.stack([np.sin(t), np.sin(t) * np.cos(t), 0.05 * t], axis=1)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    path = open_path(distance)
    assert agreement(np.arange(61), path) > 0.98


def test_search_never_raises_the_cost():
    rng = np.random.default_rng(1)
    points = rng.standard_normal((30, 2))
    distance = np.zeros((31, 31))
    distance[:30, :30] = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = np.argsort(distance + 1e9 * np.eye(31), axis=1)[:, :12]
    tour = rng.permutation(31)
    before = tour_cost(distance, tour, 0.5)
    cost = search_tour(distance, near, tour, 0.5, rng.integers(0, 1 << 30, (50, 2)))
    assert cost == pytest.approx(tour_cost(distance, tour, 0.5))
    assert cost < before
    assert sorted(tour) == list(range(31))


def test_noise_share_is_removed_from_distances(pan):
    rows = describe(pan)
    noisy = describe(pan + 20 * np.random.default_rng(0).standard_normal(pan.shape).astype(np.float32))
    step = clean_distances(rows)[0, 1]
    assert abs(clean_distances(noisy)[0, 1] - step) < 0.5 * abs(np.linalg.norm(noisy[0] - noisy[1]) - step)


def test_small_inputs_and_bad_ones(pan):
    for n in (1, 2, 3, 5):
        assert sorted(reorder(pan[:n]).order) == list(range(n))
    with pytest.raises(InputError):
        reorder(pan[:0])
    with pytest.raises(InputError):
        reorder(pan, first=99)


def test_repeated_frames_stay_together(pan):
    given = np.concatenate([pan[:12], pan[5:6]])
    found = list(reorder(given).order)
    assert abs(found.index(5) - found.index(12)) == 1


def test_foreign_frames_that_are_near_each_other_are_found(turning, pan):
    import cv2

    others = [cv2.resize(np.asarray(pan[k]), (32, 32)).reshape(32, 32, -1) for k in (3, 4, 20)]
    channels = turning.shape[3]
    others = [np.repeat(f.mean(axis=2, keepdims=True), channels, axis=2) for f in others]
    mixed = np.concatenate([turning, np.stack(others)]).astype(np.float32)
    found = find_foreign(clean_distances(describe(mixed)))
    assert np.flatnonzero(found).tolist() == [36, 37, 38]
    assert not find_foreign(clean_distances(describe(np.asarray(turning)))).any()
