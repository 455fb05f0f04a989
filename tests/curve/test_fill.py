"""Missing frames, new frames between, and how many are missing."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from videorestore.curve.fill import foreseen, opinion, without
from videorestore.curve.fit import fit_shot, numbers_of
from videorestore.errors import InputError
from videorestore.make.engines import JointEngine, MotionEngine
from videorestore.model.covariance import covariance
from videorestore.order.count import count_missing


def on_curve(frames, times, targets, noise_sd=0.0):
    fit = fit_shot(frames, times=times)
    mean, variance = opinion(frames, fit, np.asarray(targets, float), noise_sd=noise_sd)
    return mean, np.sqrt(variance)


def together(frames, times, targets):
    """Motion and the curve."""
    engine = JointEngine(MotionEngine(), 10)
    made = engine.interpolator(frames, np.asarray(times, float)).at(np.asarray(targets, float))
    return made.frames, made.sd


def without_run(clip, gap):
    """The other frames and their times."""
    kept = np.setdiff1d(np.arange(len(clip)), gap)
    return clip[kept], kept.astype(float)


def lamp(n=30):
    """A picture under light that wanes and waxes."""
    rng = np.random.default_rng(3)
    picture = cv2.GaussianBlur(rng.uniform(40, 200, (40, 48)).astype(np.float32), (0, 0), 1.5)
    light = 1 + 0.3 * np.sin(2 * np.pi * np.arange(n) / 12)
    return (light[:, None, None, None] * picture[None, :, :, None]).astype(np.float32)


def test_a_frame_left_out_in_closed_form(pan):
    """The rows of frames have nothing of them: the same as a posterior that never had the frame."""
    frames = pan[:9, :6, :7]
    fit = fit_shot(frames)
    number = np.array([4])
    place = foreseen(fit, number)
    rows = without(fit.posterior.weights(place), 0, fit, number)
    known, curve = fit.posterior.x, fit.posterior.fit
    others = np.delete(np.arange(len(known)), 4)
    for g, (alpha, ratio) in enumerate(zip(curve.alpha, curve.ratio)):
        gram = covariance(curve.kernel, known[others], known[others], float(alpha), False)
        cross = covariance(curve.kernel, place, known[others], float(alpha), False)
        solved = np.linalg.solve(gram + ratio * np.eye(8), cross.T).T
        np.testing.assert_allclose(rows.matrix[g, :, others].T, solved, atol=1e-5)
        assert abs(rows.matrix[g, 0, 4]) < 1e-9
        np.testing.assert_allclose(rows.variance[g], 1 - (solved * cross).sum(1), atol=1e-5)


def test_a_place_is_foreseen_from_the_others(pan):
    fit = fit_shot(pan[:9])
    moved = replace(fit, x=np.where(np.arange(9) == 4, fit.x + 0.01, fit.x))
    assert foreseen(moved, np.array([4])) == foreseen(fit, np.array([4]))
    assert fit.x[3] < foreseen(fit, np.array([4]))[0] < fit.x[5]


def test_missing_run_is_better_than_a_blend(pan):
    gap = [15, 16, 17]
    made, sd = together(*without_run(pan, gap), gap)
    share = np.array([0.25, 0.5, 0.75])[:, None, None, None]
    blend = (1 - share) * pan[14] + share * pan[18]
    assert np.square(made - pan[gap]).mean() < 0.3 * np.square(blend - pan[gap]).mean()
    assert (np.abs(made - pan[gap]) < 1.96 * sd).mean() > 0.85


def test_together_no_worse_than_either(pan):
    """Where things move, motion is believed; where the light changes, the curve."""
    for clip, gap in ((pan, [15]), (lamp(), [15])):
        given = without_run(clip, gap)
        moved = MotionEngine().interpolator(*given).at(np.array(gap, float)).frames
        errors = [
            np.square(m - clip[gap]).mean()
            for m in (together(*given, gap)[0], moved, on_curve(*given, gap)[0])
        ]
        assert errors[0] < 1.03 * min(errors[1:]) + 0.02


def test_the_claim_of_the_curve_is_that_of_its_errors():
    """Where pixels change by themselves the curve is far off, and says so; beside, it is sure."""
    clip = lamp()
    clip[:, :, 24:] += 30 * np.random.default_rng(0).standard_normal((30, 40, 24, 1)).astype(np.float32)
    made, sd = on_curve(*without_run(clip, [15]), [15])
    error = np.abs(made - clip[[15]])
    assert (error < 1.96 * sd).mean() > 0.9
    assert sd[0, :, 34:].mean() > 20 > 10 > sd[0, :, :14].mean()


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


def test_positions_rise(pan):
    noisy = (pan + 8 * np.random.default_rng(0).standard_normal(pan.shape)).astype(np.float32)
    seen = np.delete(np.arange(len(pan)), [10, 11])
    fit = fit_shot(noisy[seen], times=seen)
    assert (np.diff(fit.x) > 0).all()
    low, middle, high = fit.place([9.0, 10.5, 12.0])
    assert low < middle < high


def test_sd_of_noisy_clips_covers_the_clean_frames(scenes):
    clean = scenes.shockwave(36, 40)
    noisy = (clean + 12 * np.random.default_rng(2).standard_normal(clean.shape)).astype(np.float32)
    missing = [9, 20, 21]
    made, sd = on_curve(*without_run(noisy, missing), missing, 12.0)
    error = np.square(made - clean[missing]).mean()
    assert 0.9 < (np.abs(made - clean[missing]) < 1.96 * sd).mean() <= 1
    assert error < 30


def test_a_hole_in_a_turning_texture_keeps_its_width(scenes):
    """By single frames left out the kernel was `se`: 0.63 of the width of five frames came back, 0.45 of eight."""
    frames = scenes.disc(48)
    for count in (5, 8):
        first = 24 - count // 2
        seen = np.delete(np.arange(48), range(first, first + count))
        gaps = np.diff(fit_shot(frames[seen], times=seen / 25).x)
        width = gaps[first - 1] / np.median(np.delete(gaps, first - 1)) / (count + 1)
        assert 0.8 < width < 1.2, (count, width)


def test_absent_frames_are_told_by_the_times():
    assert numbers_of(np.array([0.0, 0.04, 0.08, 0.24, 0.28])).tolist() == [0, 1, 2, 6, 7]
    assert numbers_of(np.array([0.0, 0.033, 0.067, 0.1, 0.167])).tolist() == [0, 1, 2, 3, 5]
    assert numbers_of(np.array([0.0, 0.04, 0.10, 0.13, 0.17])) is None
    assert numbers_of(np.array([0.0, 0.0, 0.0, 1.0])) is None
