"""Missing pixels and loose frames on a curve."""

from __future__ import annotations

import numpy as np
import pytest

from videorestore.curve.fit import fit_shot
from videorestore.curve.inpaint import complete, inpaint
from videorestore.curve.place import place
from videorestore.errors import InputError


@pytest.fixture(scope="module")
def scene(pan):
    """A clip, its loose frames with half of their pixels, and a fit of the rest."""
    rng = np.random.default_rng(4)
    numbers = np.array([5, 12, 20, 29])
    rest = np.setdiff1d(np.arange(len(pan)), numbers)
    masks = rng.random((4, *pan.shape[1:3])) < 0.5
    masks[3] = False
    masks[3, :, :22] = True
    return pan[rest], fit_shot(pan[rest]), pan[numbers], masks, np.searchsorted(rest, numbers)


@pytest.mark.parametrize("method", ["map", "mh"])
def test_loose_frames_find_their_places(scene, method):
    frames, fit, loose, masks, truth = scene
    placed = place(frames, fit, loose, masks, method=method)
    assert [p.index for p in placed] == truth.tolist()
    assert not any(p.refused for p in placed)
    for p, frame, mask, index in zip(placed, loose, masks, truth):
        blend = (frames[index - 1] + frames[index]) / 2
        assert np.square(p.frame - frame)[mask].mean() < 0.6 * np.square(blend - frame)[mask].mean()
        assert np.array_equal(p.frame[~mask], frame[~mask])
        assert fit.x[index - 1] < p.x < fit.x[index]
        assert p.x_sd >= 0


def test_closed_curve_places_across_the_cut(turning):
    loose = np.array([10, 35])
    rest = np.setdiff1d(np.arange(36), loose)
    fit = fit_shot(turning[rest], closed=True)
    masks = np.random.default_rng(0).random((2, 32, 32)) < 0.5
    placed = place(turning[rest], fit, turning[loose], masks)
    assert placed[0].index == 10
    assert placed[1].index in (0, 34)


def test_strangers_are_refused(scene, scenes):
    frames, fit, _, masks, _ = scene
    strange = scenes.pan(40, 36, 44, step=2.0, seed=9)[[30]]
    assert place(frames, fit, strange, masks[:1])[0].refused


def test_bad_loose_frames(scene):
    frames, fit, loose, masks, _ = scene
    with pytest.raises(InputError):
        place(frames, fit, loose[:, :20], masks[:, :20])
    with pytest.raises(InputError):
        place(frames, fit, loose, np.ones_like(masks))
    with pytest.raises(InputError):
        place(frames, fit, loose, masks, method="guess")


def test_seen_pixels_stay_and_missing_ones_come_back(pan):
    rng = np.random.default_rng(1)
    frames = pan[:20].copy()
    masks = np.zeros(frames.shape[:3], bool)
    masks[7, 10:22, 12:26] = True
    masks[12] = rng.random(masks.shape[1:]) < 0.5
    given = frames.copy()
    given[masks] = np.nan
    made, sd = inpaint(given, masks)
    assert np.array_equal(made[~masks], frames[~masks])
    assert not sd[~masks].any()
    assert np.square(made - frames)[masks].mean() < 0.05 * frames[masks].var()
    assert (np.abs(made - frames)[masks] < 1.96 * sd[masks]).mean() > 0.85


def test_a_logo_never_seen_behind(pan):
    masks = np.zeros(pan.shape[:3], bool)[:10]
    masks[:, 4:9, 4:12] = True
    made, sd = inpaint(pan[:10], masks)
    assert np.isfinite(made).all()
    assert (sd[masks] > 0).all()


def test_bad_masks(pan):
    with pytest.raises(InputError):
        inpaint(pan, np.zeros((3, 4, 5), bool))
    with pytest.raises(InputError):
        inpaint(pan, np.ones(pan.shape[:3], bool))


def test_the_better_guess_rules_deep_in_a_hole(pan):
    mask = np.zeros(pan.shape[1:3], bool)
    mask[:, :22] = True
    wrong = np.full_like(pan[5], pan[5].mean())
    mean, sd = complete(pan[5], mask, [wrong, pan[5] + np.float32(0.5)])
    assert np.abs(mean - pan[5])[mask].mean() < 2
    assert (sd[mask] > 0).all()
