"""Parts of the count of missing frames."""

from __future__ import annotations

import numpy as np

from videorestore.order.count import _plant, count_missing
from videorestore.order.count_distance import _usual, measures, squared_distances
from videorestore.order.count_motion import Ways


def test_planted_gaps_lie_on_one_side():
    planted = _plant(40, 18, 3)
    left = planted.b < 18
    assert ((planted.a >= 18) | left).all() and left.any() and not left.all()
    assert (planted.count == planted.b - planted.a - 1).all()
    assert (planted.b[left] + 3 <= 18).all() and (planted.a[~left] >= 20).all()


def test_way_in_steps_follows_the_camera(pan):
    ways = Ways(np.asarray(pan), 18)
    a, b = np.array([6, 8, 22]), np.array([9, 14, 27])
    found = np.exp(ways.measure(a, b))
    assert np.abs(np.median(found, axis=1) / (b - a) - 1).max() < 0.15


def test_way_along_the_tangent_counts_even_steps():
    rows = np.arange(20.0)
    table = measures(np.square(rows[:, None] - rows), 3, 20)
    assert np.allclose(np.exp(table[5, 9, 4]), 4) and np.allclose(np.exp(table[4, 5, 4]), 1)


def test_pulses_of_a_codec_do_not_hide_the_count(pan):
    rng = np.random.default_rng(0)
    level = np.where(np.arange(len(pan)) % 6 == 0, 5.0, 1.0)[:, None, None, None]
    noisy = (pan + level * rng.standard_normal(pan.shape)).astype(np.float32)
    chance = count_missing(np.delete(noisy, np.arange(15, 20), axis=0), 14)
    assert abs(int(chance.argmax()) - 5) <= 1


def test_nothing_to_learn_from_means_nothing_is_known(pan):
    chance = count_missing(pan[:5], 2)
    assert np.allclose(chance[1:11], chance[1]) and chance[0] == 0.5 * chance[1]
    assert (np.diff(chance[10:]) < 0).all() and np.isclose(chance.sum(), 1)


def test_the_usual_step_is_learnt_on_the_own_side():
    rows = np.concatenate([np.arange(10.0), 100 + 2 * np.arange(10.0)])
    logs = np.log(np.square(rows[:, None] - rows) + 1e-9)
    ends, begins = _usual(logs, 10)
    assert np.allclose(ends[1:10], -np.log(2)) and np.allclose(ends[11:], np.log(2))
    assert np.allclose(begins[:9], -np.log(2)) and np.allclose(begins[10:19], np.log(2))


def test_directions_of_edges_do_not_depend_on_contrast(pan):
    faint = squared_distances(np.asarray(0.5 * pan, np.float32))
    plain = squared_distances(np.asarray(pan, np.float32))
    assert len(plain) == 5
    strength = [float(np.median(f / np.maximum(p, 1e-6))) for f, p in zip(faint, plain)]
    assert np.allclose(strength[:2], 0.25, atol=0.01) and min(strength[2:]) > 0.4


def test_nearly_nothing_moves_so_nearly_nothing_is_told():
    from videorestore.plan.count import stated

    rng = np.random.default_rng(5)
    still = np.repeat(rng.uniform(60, 190, (1, 30, 40, 1)), 50, axis=0)
    frames = (still + 2 * rng.standard_normal(still.shape)).astype(np.float32)
    for gap in (1, 5):
        chance = count_missing(np.delete(frames, np.arange(21, 21 + gap), axis=0), 20)
        count, told = stated(chance)
        assert count <= 2 and not told
