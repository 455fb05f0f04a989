"""The trial on hidden frames: a curve that cannot win is not fitted."""

from fractions import Fraction

import cv2
import numpy as np

import videorestore as vr
from videorestore.make.steps import Steps
from videorestore.make.work import Slot
from videorestore.plan.choose import (
    FIRST,
    Trial,
    mixture_error,
    psnr,
    score_hidden,
    shots_worked_on,
    summary_of,
)
from videorestore.spatial.noise import Noise


def waving(n, moving):
    """A texture that fades in place, or one that runs along."""
    t = np.arange(n, dtype=np.float32)[:, None, None, None]
    x = np.arange(24, dtype=np.float32)[None, None, :, None]
    place = x - 7.0 * t if moving else x
    wave = np.sin(0.9 * place + 0.02 * place**2) * (1.0 if moving else np.cos(0.2 * t))
    return np.broadcast_to(128 + 60 * wave, (n, 8, 24, 1)).astype(np.float32)


def trial(moving, model="auto"):
    return score_hidden(waving(21, moving), np.arange(21.0), Noise(sd=0.0), model)


def test_a_curve_that_cannot_win_is_not_fitted(monkeypatch):
    monkeypatch.setattr("videorestore.plan.choose.mixture_error", lambda *_: 1e12)
    result = trial(moving=True)
    assert result.bounded and "mixed" not in result.squares and "curve" not in result.inside
    assert result.model(0.0) == "motion" and result.psnr("curve") < result.psnr("motion")


def test_a_curve_that_may_win_is_weighed_against_motion():
    result = trial(moving=False)
    assert not result.bounded and set(result.inside) == {"motion", "curve", "mixed"}
    assert result.model(0.03) == "mixed" and result.squares["mixed"] < result.squares["motion"]


def test_it_must_be_worth_the_time():
    squares = {"motion": 100.0, "mixed": 95.0}
    result = Trial(hidden=1, squares=squares, inside={}, values=1)
    assert result.model(0.03) == "mixed" and result.model(0.1) == "motion"


def test_a_model_that_was_asked_for_is_tried_alone():
    assert set(trial(False, "curve").squares) == {"curve", "linear"}
    assert set(trial(False, "motion").squares) == {"motion", "linear"}


def test_no_mixture_of_frames_is_below_the_bound():
    rng = np.random.default_rng(0)
    frames = rng.uniform(0, 255, (9, 6, 7, 3)).astype(np.float32)
    hidden = np.array([4])
    kept = np.setdiff1d(np.arange(9), hidden)
    bound = mixture_error(frames[kept], frames[hidden], kept, hidden)
    for _ in range(20):
        weights = rng.dirichlet(np.ones(8))
        mixed = np.tensordot(weights, frames[kept], axes=1)
        assert bound <= np.square(mixed - frames[4]).sum()


def test_a_bound_that_is_far_off_in_the_first_hidden_frames_ends_the_trial():
    rng = np.random.default_rng(0)
    wide = cv2.GaussianBlur(rng.uniform(0, 255, (64, 200, 1)).astype(np.float32), (0, 0), 2)
    pan = np.stack([wide[:, 4 * k : 4 * k + 96, None] for k in range(25)])
    tried = score_hidden(pan, np.arange(25.0), Noise(sd=0.0))
    assert tried.hidden == FIRST and tried.bounded and tried.model(0.03) == "motion"
    assert tried.values == FIRST * 64 * 96
    assert score_hidden(pan, np.arange(25.0), Noise(sd=0.0), "motion").hidden == 6


def test_scores_are_those_of_all_shots():
    tried = Trial(
        hidden=4,
        squares={"curve": 8.0, "motion": 2.0, "mixed": 1.0, "linear": 9.0},
        inside={"motion": 3.0, "curve": 4.0, "mixed": 4.0},
        values=4,
    )
    bound = Trial(
        hidden=4,
        squares={"curve": 8.0, "motion": 2.0, "linear": 9.0},
        inside={"motion": 2.0},
        values=4,
        bounded=True,
    )
    both = summary_of({0: tried, 1: bound}, {0: "mixed", 1: "motion"})
    assert both["coverage95"] == 0.75 and both["hidden"] == 8 and both["curve_psnr_is_bound"]
    assert both["psnr"] == round(psnr(3 / 8), 2) and both["motion_psnr"] == round(psnr(4 / 8), 2)
    alone = summary_of(
        {0: Trial(hidden=1, squares={"motion": 1.0, "linear": 2.0}, inside={"motion": 1.0}, values=1)},
        {0: "motion"},
    )
    assert "curve_psnr" not in alone


def test_a_model_is_needed_where_noise_is_removed_or_frames_are_made():
    slots = tuple(
        Slot(time=Fraction(k), duration=Fraction(1), place=Fraction(k), after=k, source=k) for k in range(12)
    )
    shots = ((0, 4), (4, 8), (8, 12))
    assert shots_worked_on(Steps(slots=slots), shots) == []
    assert shots_worked_on(Steps(slots=slots, missing=frozenset({5})), shots) == [1]
    assert shots_worked_on(Steps(slots=slots, noises=(None, None, Noise(sd=5.0))), shots) == [2]


def test_no_model_is_tried_for_a_clip_that_needs_nothing(monkeypatch):
    monkeypatch.setattr("videorestore.plan.choose.score_hidden", lambda *_: 1 / 0)
    y, x = np.mgrid[:40, :56]
    frames = np.repeat((60 + x + y)[None, ..., None], 3, axis=-1).repeat(12, axis=0).astype(np.uint8)
    for k in range(12):
        frames[k, 10:22, 4 + 2 * k : 16 + 2 * k] = (220, 180, 90)
    made = vr.restore(frames)
    assert np.array_equal(made.clip.frames, frames) and "self_test" not in made.record
