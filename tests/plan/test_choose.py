"""The trial on hidden frames: a curve that cannot win is not fitted."""

import numpy as np
import pytest

from videorestore.make.engines import NewFrames
from videorestore.plan.choose import (
    Trial,
    better,
    better_inside,
    mixture_error,
    score_hidden,
    summary_of,
)
from videorestore.spatial.noise import Noise


class Stub:
    """An engine that gives the truth plus an error."""

    def __init__(self, frames, error):
        self.frames, self.error, self.calls = frames, error, 0

    def interpolate(self, frames, times, targets):
        self.calls += 1
        made = self.frames[targets.astype(int)] + np.float32(self.error)
        return NewFrames(frames=made, sd=np.full_like(made, 1.0))


def waving(n, moving):
    """A texture that fades in place, or one that runs along."""
    t = np.arange(n, dtype=np.float32)[:, None, None, None]
    x = np.arange(24, dtype=np.float32)[None, None, :, None]
    place = x - 7.0 * t if moving else x
    wave = np.sin(0.9 * place + 0.02 * place**2) * (1.0 if moving else np.cos(0.2 * t))
    return np.broadcast_to(128 + 60 * wave, (n, 8, 24, 1)).astype(np.float32)


def trial(moving, error):
    frames = waving(21, moving)
    engines = {"curve": Stub(frames, 0.5), "motion": Stub(frames, error)}
    result = score_hidden(frames, np.arange(21.0), engines, Noise(sd=0.0))
    return result, engines


def test_a_curve_that_cannot_win_is_not_fitted():
    result, engines = trial(moving=True, error=1.0)
    assert result.bounded and engines["curve"].calls == 0
    assert better(result, 0.0) == "motion" and result.psnr("curve") < result.psnr("motion")


def test_half_of_the_trial_is_enough_for_a_clear_case():
    clear, engines = trial(moving=True, error=1.0)
    assert clear.hidden == 3 and engines["motion"].calls == 1
    close, engines = trial(moving=False, error=1.0)
    assert close.hidden == 5 and engines["motion"].calls == 2
    assert close.squares["motion"] == pytest.approx(close.values)


def test_a_curve_that_may_win_is_tried():
    result, engines = trial(moving=False, error=1.0)
    assert not result.bounded and engines["curve"].calls == 1
    assert better(result, 0.0) == "curve" and better(result, 10.0) == "motion"


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


def test_scores_are_those_of_all_hidden_values():
    result, _ = trial(moving=False, error=1.0)
    assert isinstance(result, Trial) and result.hidden == 5
    assert result.psnr("motion") == pytest.approx(20 * np.log10(255.0), abs=1e-3)
    assert result.coverage("motion") == 1.0


class Mender:
    """An engine that mends with an error; it must not see what is hidden."""

    def __init__(self, truth, error):
        self.truth, self.error = truth, error

    def inpaint(self, frames, masks, start, stop):
        assert masks.any() and not masks.all(axis=(1, 2)).any() and not masks[0].any()
        made = np.where(masks[..., None], self.truth + np.float32(self.error), frames)
        return made[start:stop], np.zeros_like(made[start:stop])


def test_hidden_blocks_tell_who_mends_better():
    frames = waving(12, moving=False)
    good, bad = Mender(frames, 1.0), Mender(frames, 5.0)
    assert better_inside(frames, {"curve": bad, "motion": good}) == "motion"
    assert better_inside(frames, {"curve": good, "motion": bad}) == "curve"


def test_what_was_never_tried_has_no_score():
    tried = Trial(
        hidden=4,
        squares={"curve": 8.0, "motion": 2.0, "linear": 9.0},
        inside={"motion": 3.0, "curve": 4.0},
        values=4,
    )
    bound = Trial(
        hidden=4,
        squares={"curve": 8.0, "motion": 2.0, "linear": 9.0},
        inside={"motion": 3.0},
        values=4,
        bounded=True,
    )
    names = ["curve", "motion"]
    both = summary_of({0: tried, 1: bound}, {0: "motion", 1: "curve"}, names)
    assert both["coverage95"] == 0.75 and both["hidden"] == 8 and both["curve_psnr_is_bound"]
    none = summary_of({1: bound}, {1: "curve"}, names)
    assert "coverage95" not in none and "psnr" not in none and "curve_psnr" in none
