"""The noise of every shot, and what stands in the way of measuring it."""

import cv2
import numpy as np
import pytest

from tests.verbs.test_verbs import drifting
from videorestore.plan.drift import with_drift
from videorestore.plan.noise import measure_noises, noise_facts, of_both_fields, usual_noise
from videorestore.spatial.noise import Noise


def noisy(n, sd, seed=0):
    truth = drifting(n=n, seed=seed)
    rng = np.random.default_rng(seed)
    return np.clip(np.rint(truth + rng.normal(0, sd, truth.shape)), 0, 255).astype(np.float32)


def measured(clip, shots, **how):
    return measure_noises(lambda first, end, side: clip[first:end], shots, frozenset(), **how)


@pytest.mark.parametrize("bars", [((14, 14), (0, 0)), ((0, 0), (80, 80))], ids=["letterbox", "upright"])
def test_bars_do_not_hide_the_noise(bars):
    clip = np.pad(noisy(10, 12.0), ((0, 0), *bars, (0, 0)))
    (found,) = measured(clip, ((0, 10),))
    assert found.sd == pytest.approx(12.0, rel=0.1) and found.trustworthy


def test_coloured_bars_with_traces_of_a_codec_do_not_hide_it_either():
    clip = np.pad(noisy(10, 12.0), ((0, 0), (0, 0), (80, 80), (0, 0)))
    clip[:, :, :80] = clip[:, :, -80:] = (10, 30, 120)
    clip[::3, 5:9, 3:60] += 1
    clip[1::3, 5:9, -60:-3] -= 2
    (found,) = measured(clip, ((0, 10),))
    assert found.sd == pytest.approx(12.0, rel=0.1) and found.trustworthy


def test_moving_stripes_are_no_noise():
    y, x = np.mgrid[0:112, 0:144]
    stripes = [128 + 90 * np.sign(np.sin(0.5 * x + 0.3 * y + 1.9 * t)) for t in range(10)]
    clip = np.stack([cv2.GaussianBlur(frame, (0, 0), 0.6) for frame in stripes])[..., None].repeat(3, axis=3)
    clip += np.random.default_rng(1).normal(0, 0.8, clip.shape)
    assert not measured(np.rint(clip).astype(np.float32), ((0, 10),))[0].trustworthy


@pytest.mark.parametrize("upright", [False, True])
def test_bars_of_blurred_picture_do_not_hide_it_either(upright):
    seen = noisy(10, 12.0)
    width = seen.shape[2]
    clip = np.stack([cv2.GaussianBlur(cv2.resize(f, (3 * width, f.shape[0])), (0, 0), 6) for f in seen])
    clip[:, :, width : 2 * width] = seen
    clip = clip.swapaxes(1, 2).copy() if upright else clip
    (found,) = measured(clip, ((0, 10),))
    assert found.sd == pytest.approx(12.0, rel=0.1) and found.trustworthy


def test_every_shot_has_its_own_and_the_longest_speaks_for_all_in_brief():
    clip = np.concatenate([noisy(12, 5.0), noisy(10, 20.0, seed=5)])
    shots = ((0, 12), (12, 22))
    assert [n.sd for n in measured(clip, shots)] == pytest.approx([5.0, 20.0], rel=0.15)
    brief = measured(clip, shots, brief=True)
    assert brief[0] == brief[1] and brief[0].sd == pytest.approx(5.0, rel=0.15)


def test_a_shot_that_cannot_tell_has_the_usual_noise_where_it_has_room_for_it():
    shots = ((0, 10), (10, 11))
    clip = np.concatenate([noisy(10, 12.0), noisy(1, 14.0, seed=5)])
    found = measured(clip, shots)
    assert found[1] == found[0]
    clip[10] = 128.0
    found = measured(clip, shots)
    assert found[1].sd < 1


def test_the_usual_noise_is_that_of_the_middle_frame():
    noises = [Noise(sd=s) for s in (9.0, 2.0, 5.0)]
    assert usual_noise(noises, [(0, 4), (4, 10), (10, 13)]).sd == 5.0
    assert usual_noise(noises, [(0, 20), (20, 26), (26, 29)]).sd == 9.0
    assert usual_noise([], []).sd == 0


def test_what_a_computer_draws_has_no_noise_however_it_jumps():
    rng = np.random.default_rng(3)
    page = np.full((400, 96), 250.0, np.float32)
    for y in range(8, 390, 10):
        page[y : y + 5, 6:90] = np.where(rng.uniform(size=(5, 84)) < 0.4, 20.0, 250.0)
    clip = np.stack([page[a : a + 64] for a in np.cumsum([3, 14, 30, 14, 3, 14, 30, 14, 3, 14])])
    (found,) = measured(np.repeat(clip[..., None], 3, axis=3), ((0, 10),))
    assert found.sd == 0


def test_what_leaves_black_quite_black_is_no_strong_noise():
    """Dense text that scrolls by too much to be followed, green on black."""
    rng = np.random.default_rng(1)
    glyphs = rng.integers(0, 2, (12, 9, 7)) * rng.uniform(90, 220, (12, 9, 7))
    glyphs[:, -2:] = glyphs[:, :, -1:] = 0
    page = np.block([[glyphs[rng.integers(12)] for _ in range(14)] for _ in range(40)]).astype(np.float32)
    clip = np.stack([page[a : a + 72] for a in 27 * np.arange(10)])[..., None]
    (found,) = measured(clip * np.array([0.3, 1, 0.3], np.float32), ((0, 10),))
    assert not (found.trustworthy and found.sd > 20)
    (found,) = measured(
        np.clip(0 * clip + rng.normal(0, 30, clip.shape), 0, 255).astype(np.float32), ((0, 10),)
    )
    assert found.sd > 15


def test_noise_that_drifts_within_a_shot_has_a_course_and_steady_noise_has_none():
    n = 60
    truth = noisy(n, 0.0)
    rising = np.linspace(4, 20, n)
    drift = truth + rising[:, None, None, None] * np.random.default_rng(2).normal(0, 1, truth.shape)
    (found,) = measured(np.clip(np.rint(drift), 0, 255).astype(np.float32), ((0, n),))
    told = [found.at(k).sd for k in range(n)]
    np.testing.assert_allclose(told[5:-5], rising[5:-5], rtol=0.15)
    assert noise_facts([found], [(0, n)])["noise"][0]["course"][0][1] == pytest.approx(told[0], abs=1e-3)
    assert not measured(noisy(n, 12.0), ((0, n),))[0].course
    assert not measured(noisy(n, 0.0), ((0, n),))[0].course


def test_noise_that_begins_in_a_shot_is_sought_down_to_where_it_begins():
    asked = []

    def measure(stretches):
        asked.extend(stretches)
        return [Noise(sd=20.0, low=19.0, high=21.0) if s[0] >= 200 else Noise(sd=0.0) for s in stretches]

    found = with_drift(Noise(sd=20.0, low=19.0, high=21.0), (0, 500), frozenset({40, 41}), measure)
    assert found.at(180).sd < 1 and found.at(220).sd == pytest.approx(20.0, rel=0.05)
    assert len(asked) < 12


def test_what_differs_by_chance_does_not_drift():
    steady, other = Noise(sd=20.0, low=19.0, high=21.0), Noise(sd=21.0, low=20.0, high=22.0)
    assert with_drift(steady, (0, 500), frozenset(), lambda stretches: [other for _ in stretches]) is steady
    assert with_drift(steady, (0, 40), frozenset(), lambda stretches: 1 / 0) is steady


@pytest.mark.parametrize(
    ("top", "bottom", "fields"),
    [(0.0, 0.0, ()), (6.0, 6.0, ()), (4.0, 16.0, (0.343, 1.372)), (0.0, 8.0, (0.0, 1.414))],
)
def test_the_fields_of_a_worn_head_have_their_own_noise(
    top: float, bottom: float, fields: tuple[float, ...]
) -> None:
    upper, lower = (
        Noise(sd=sd, low=0.9 * sd, high=1.1 * sd, offset=sd**2, trustworthy=True) for sd in (top, bottom)
    )
    (found,) = of_both_fields([upper], [lower])
    assert found.fields == pytest.approx(fields, abs=1e-3)


def moving_fields(across: float, sd: float) -> np.ndarray:
    """Every second line of a texture that moves three lines a field; how far it is smooth ``across`` lines; with noise."""
    rng = np.random.default_rng(4)
    canvas = cv2.GaussianBlur(rng.uniform(0, 255, (300, 240)).astype(np.float32), (0, 0), 4, sigmaY=across)
    canvas = 128 + 30 * (canvas - canvas.mean()) / canvas.std()
    frames = np.stack([canvas[20 + 3 * k : 220 + 3 * k, 10 + k : 202 + k] for k in range(8)])
    fields = frames[:, ::2] + sd * rng.standard_normal((8, 100, 192))
    return np.ascontiguousarray(fields, np.float32)[..., None]


def test_what_lines_of_fields_fold_back_is_no_noise():
    (taken,) = measured(moving_fields(0.6, 0.0), ((0, 8),))
    (noise,) = measured(moving_fields(0.6, 0.0), ((0, 8),), fields=lambda first: True)
    assert taken.sd > 5 and noise.sd < 0.3 * taken.sd


def test_noise_of_fields_without_aliases_is_what_it_was():
    clip = moving_fields(6.0, 8.0)
    (taken,), (noise,) = measured(clip, ((0, 8),)), measured(clip, ((0, 8),), fields=lambda first: True)
    assert noise == taken and abs(noise.sd - 8) < 1
