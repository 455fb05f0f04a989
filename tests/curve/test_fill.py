"""Missing frames, new frames between, and how many are missing."""

from __future__ import annotations

import numpy as np
import pytest

from videorestore.curve.fill import _hideouts, _neighbourhoods, fill, upsample
from videorestore.curve.fit import fit_shot
from videorestore.errors import InputError
from videorestore.order.count import count_missing


def test_missing_run_is_better_than_a_blend(pan):
    gap = [15, 16, 17]
    given = pan.copy()
    given[gap] = 0
    before = given.copy()
    made, sd = fill(given, gap)
    share = np.array([0.25, 0.5, 0.75])[:, None, None, None]
    blend = (1 - share) * pan[14] + share * pan[18]
    assert np.square(made - pan[gap]).mean() < 0.3 * np.square(blend - pan[gap]).mean()
    assert (np.abs(made - pan[gap]) < 1.96 * sd).mean() > 0.85
    assert np.array_equal(given, before)


def test_missing_frames_hold_nothing_that_is_read(pan):
    one, two = pan.copy(), pan.copy()
    one[[4, 20]], two[[4, 20]] = 0, 200
    assert np.array_equal(fill(one, [20, 4])[0], fill(two, [20, 4])[0])


def test_missing_at_the_ends_and_bad_lists(pan):
    made, sd = fill(pan[:12], [0, 11])
    assert np.isfinite(made).all() and np.isfinite(sd).all()
    assert fill(pan[:12], [])[0].shape == (0, *pan.shape[1:])
    with pytest.raises(InputError):
        fill(pan[:12], [12])
    with pytest.raises(InputError):
        fill(pan[:6], [0, 1, 2, 3, 4])


def test_upsample_keeps_frames_and_makes_good_ones(pan):
    times = np.arange(0, 24, 2.0)
    made, sd = upsample(pan[:24:2], times, np.arange(0, 23, 1.0))
    assert np.array_equal(made[::2], pan[:23:2])
    assert not sd[::2].any() and (sd[1::2] > 0).all()
    blend = (pan[0:22:2] + pan[2:24:2]) / 2
    assert np.square(made[1::2] - pan[1:22:2]).mean() < 0.4 * np.square(blend - pan[1:22:2]).mean()


def test_upsample_wants_rising_times(pan):
    with pytest.raises(InputError):
        upsample(pan[:5], [0, 1, 1, 2, 3], [0.5])


@pytest.mark.parametrize("gap", [0, 1, 4, 7])
def test_planted_gaps_are_counted(pan, gap):
    given = np.delete(pan, np.arange(15, 15 + gap), axis=0)
    chance = count_missing(given, 14)
    assert chance.shape == (21,)
    assert chance.sum() == pytest.approx(1)
    assert abs(int(chance.argmax()) - gap) <= 1


def test_count_is_not_biased(pan):
    error = []
    for gap in (1, 5):
        for after in (9, 17):
            given = np.delete(pan, np.arange(after + 1, after + 1 + gap), axis=0)
            chance = count_missing(given, after)
            error.append(chance @ np.arange(21) - gap)
    assert abs(np.mean(error)) < 0.75


def test_count_wants_a_gap_inside(pan):
    with pytest.raises(InputError):
        count_missing(pan, len(pan) - 1)


def test_positions_rise_and_noise_is_known(pan):
    noisy = (pan + 8 * np.random.default_rng(0).standard_normal(pan.shape)).astype(np.float32)
    fit = fit_shot(noisy, missing=[10, 11])
    assert (np.diff(fit.x) > 0).all()
    assert 10 not in fit.rows
    assert abs(fit.noise_sd - 8) < 1
    low, middle, high = fit.place([9.0, 10.5, 12.0])
    assert low < middle < high


def test_sd_of_noisy_clips_covers_the_clean_frames(scenes):
    clean = scenes.shockwave(36, 40)
    noisy = (clean + 12 * np.random.default_rng(2).standard_normal(clean.shape)).astype(np.float32)
    missing = [9, 20, 21]
    made, sd = fill(noisy, missing)
    assert 0.9 < (np.abs(made - clean[missing]) < 1.96 * sd).mean() <= 1
    assert np.square(sd).mean() < 4 * np.square(made - clean[missing]).mean()
    targets = np.array([9.0, 21.0])
    made, sd = upsample(noisy[::2], np.arange(0, 36, 2.0), targets)
    assert 0.9 < (np.abs(made - clean[[9, 21]]) < 1.96 * sd).mean() <= 1


def test_hidden_runs_stay_clear_of_gaps_and_ends():
    assert _hideouts(24, 3, [11]) == [7, 14]
    assert _hideouts(20, 1, []) == [2, 8, 14]
    for first in _hideouts(30, 4, [9, 16]):
        assert 2 <= first <= 24
        assert all(not first - 2 < g + 1 < first + 6 for g in (9, 16))


def test_gaps_near_each_other_are_judged_together():
    found = list(_neighbourhoods(100, [10, 20, 80], [1, 1, 2]))
    assert [members for _, members in found] == [[0, 1], [2]]
    assert found[0][0][0] == 0 and found[0][0][-1] == 34
    assert found[1][0][0] == 65 and found[1][0][-1] == 96
