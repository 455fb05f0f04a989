"""Parts of the count of missing frames."""

from __future__ import annotations

import numpy as np

from videorestore.curve.count import _measures, _plant, count_missing
from videorestore.curve.count_motion import Ways


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
    table = _measures(np.square(rows[:, None] - rows), 3)
    assert np.allclose(np.exp(table[5, 9, 4]), 4) and np.allclose(np.exp(table[4, 5, 4]), 1)


def test_pulses_of_a_codec_do_not_hide_the_count(pan):
    rng = np.random.default_rng(0)
    level = np.where(np.arange(len(pan)) % 6 == 0, 5.0, 1.0)[:, None, None, None]
    noisy = (pan + level * rng.standard_normal(pan.shape)).astype(np.float32)
    chance = count_missing(np.delete(noisy, np.arange(15, 20), axis=0), 14)
    assert abs(int(chance.argmax()) - 5) <= 1


def test_nothing_to_learn_from_means_nothing_is_known(pan):
    chance = count_missing(pan[:5], 2)
    assert np.allclose(chance, 1 / 21)
