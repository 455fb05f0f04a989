"""How dirty a film is taken to be."""

import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_verbs import drifting
from videorestore.detect.damage import Damage, find_damage, weigh_spots
from videorestore.detect.drawn import drawn
from videorestore.detect.verdict import SURE, film_odds, motion_ranks, place_odds
from videorestore.media import open_source
from videorestore.plan import dirt as module
from videorestore.plan.dirt import CERTAIN, SearchedMasks, _in_numbers, dirt
from videorestore.plan.scan import scan


def flakes(n=9, seed=4):
    """A still picture before which bright flakes fall."""
    frames = np.repeat(drifting(n=1, height=96, width=128), n, axis=0).astype(np.float32)
    rng = np.random.default_rng(seed)
    for x, y, v in zip(rng.integers(2, 124, 25), rng.integers(0, 90, 25), rng.integers(3, 7, 25)):
        for k in range(n):
            top = (y + v * k) % 92
            frames[k, top : top + 3, x : x + 3] = 250
    return frames


def dusty(n=9, spots=4, seed=1, height=96, width=128, step=0.5):
    """A gliding texture with dust anywhere on every frame."""
    frames = drifting(n=n, height=height, width=width, step=step).astype(np.float32)
    rng = np.random.default_rng(seed)
    for k in range(n):
        for x, y in zip(rng.integers(4, width - 8, spots), rng.integers(4, height - 8, spots), strict=True):
            frames[k, y : y + 4, x : x + 4] = 255 if frames[k, y, x].mean() < 128 else 0
    return frames


def searched(frames):
    """The search that a clip of these frames gets."""
    with open_source(np.rint(frames).astype(np.uint8)) as source:
        return dirt(source, scan(source))


def test_falling_flakes_are_things_and_dust_is_not():
    assert film_odds(weigh_spots(flakes())[0])[0] < 0
    odds, share = film_odds(weigh_spots(dusty())[0])
    assert odds > CERTAIN and share > 0.6
    assert not searched(flakes()).dirty
    assert searched(dusty()).rate > 1


def test_all_spots_of_a_film_decide_together():
    once, again = 1.0, -1.5
    clean = film_odds([])[0]
    assert film_odds([(0, once)] * 3)[0] < CERTAIN  # three spots may be things
    assert film_odds([(k, once) for k in range(12)])[0] > CERTAIN
    assert film_odds([(0, once)] * 12)[0] < CERTAIN  # in one frame they may have one cause
    assert film_odds([(k, again) for k in range(12)])[0] < clean
    mixed = film_odds([(k, once if k % 3 else again) for k in range(60)])
    assert mixed[0] > CERTAIN and 0.4 < mixed[1] < 0.8


def test_a_few_things_too_fast_to_be_followed_are_no_dirt(monkeypatch):
    """The spots of a car that turns before a fast camera, 416 pixels wide: 39 places were mended."""
    spots = [(2, -2.0), (3, 1.3), (5, -0.6), (6, 1.0), (6, 1.3), (7, 1.3), (8, 1.3), (10, 1.3)]
    monkeypatch.setattr(module, "weigh_spots", lambda *_, **__: (spots, 11))
    assert not searched(dusty()).dirty


def test_film_odds_are_the_sum_over_all_shares():
    """A slow twin: the two hypotheses written out."""
    rng = np.random.default_rng(3)
    spots = [(k, float(odds)) for k, odds in enumerate(rng.normal(0.3, 0.8, 7))]
    shares = np.linspace(0, 1, 20001)
    likelihood = np.prod([1 - shares + shares * np.exp(odds) for _, odds in spots], axis=0)
    odds, share = film_odds(spots)
    assert odds == pytest.approx(film_odds([])[0] + np.log(np.mean(likelihood)), abs=2e-3)
    assert share == pytest.approx(np.sum(shares * likelihood) / np.sum(likelihood), abs=2e-3)


def test_spots_where_things_move_are_less_likely_dust():
    frames = np.repeat(drifting(n=1, height=80, width=120), 9, axis=0).astype(np.float32)
    frames[:, :, 60:] = drifting(n=9, height=80, width=120)[:, :, 60:]
    frames[4, 30:40, 20:30] = 255
    ranks = motion_ranks(frames)
    assert ranks.shape == (20, 30) and ranks.min() >= 0 and ranks.max() <= 1
    calm, busy = (
        [place_odds(ranks, (x, y, 6, 6)) for x in xs for y in range(0, 74, 6)]
        for xs in ((10, 20, 30), (80, 90, 100))
    )
    assert min(calm) > 0.3 and np.mean(busy) < -0.2


def test_what_stands_out_in_frame_after_frame_of_a_clean_film_is_its_own():
    few, many = (dusty(n=12, spots=0) for _ in range(2))
    rng = np.random.default_rng(2)
    for k in range(1, 11):
        for x, y in zip(rng.integers(4, 116, 3), rng.integers(4, 84, 3), strict=True):
            for frames in (few, many) if k == 5 else (many,):
                frames[k, y : y + 6, x : x + 6] = 255 if frames[k, y, x].mean() < 128 else 0
    assert {place.frame for place in find_damage(few, least=SURE, strict=True)[1]} == {5}
    assert find_damage(many, least=SURE, strict=True)[1] == []


def test_every_place_has_the_probability_that_it_is_damage():
    search = searched(dusty())
    places = search.search(dusty())[1]
    assert places and all(place.probability >= 0.5 for place in places)
    clean = SearchedMasks(noise_sd=0.0, rate=0.0)
    one = dusty(spots=0)
    for y, x in [(20, 30), (50, 90), (70, 40)]:
        one[4, y : y + 5, x : x + 5] = 255 if one[4, y, x].mean() < 128 else 0
    places = clean.search(one)[1]
    assert len(places) == 3 and all(place.probability >= 0.9 for place in places)
    result = vr.restore(np.rint(one).astype(np.uint8), denoise="off", model="motion").record
    assert {entry["frame"] for entry in result["damage"]} == {4}
    assert all(entry["probability"] >= 0.9 for entry in result["damage"])


def test_what_is_drawn_has_no_dust():
    picture = np.full((5, 48, 64, 3), 20, np.float32)
    picture[:, 10:30, 10:40] = (200, 40, 60)
    picture[2, 35:39, 20:24] = 255
    assert drawn(picture)
    assert not drawn(drifting(n=3).astype(np.float32))
    ramp = np.repeat(np.arange(40, 232, 3.0, dtype=np.float32), 4)[None, None, :, None]
    assert drawn(
        np.broadcast_to(ramp, (2, 48, ramp.shape[2], 3)).copy()
    )  # many tones, but steps of a computer
    search = SearchedMasks(noise_sd=0.0, rate=0.0, drawn=True)
    assert not search.search(picture)[0].any() and not search.touches(0, 5)


def test_nothing_is_sought_in_a_flash():
    frames = drifting(n=9, height=64, width=80).astype(np.float32) * 0.45
    frames[4] = np.clip(2.2 * frames[4], 0, 230)
    assert not find_damage(frames, least=3.0, strict=True)[0][4].any()


def test_a_spot_alone_on_a_clean_film_stays():
    frames = drifting(n=9, height=96, width=128, step=0.5).astype(np.float32)
    for y, x in [(20, 30), (50, 90), (70, 40)]:
        frames[4, y : y + 5, x : x + 5] = 255 if frames[4, y, x].mean() < 128 else 0
    frames[6, 40:45, 60:65] = 255 if frames[6, 40, 60].mean() < 128 else 0
    found = {place.frame for place in find_damage(frames, least=SURE, strict=True)[1]}
    assert found == {4, 6}
    masks, damage = SearchedMasks(noise_sd=0.0, rate=0.0).search(frames)
    assert {place.frame for place in damage} == {4}
    assert masks[4].any() and not masks[6].any()


@pytest.mark.parametrize(("tall", "mended"), [(14, False), (60, True)])
def test_a_streak_alone_on_a_clean_film_is_a_scratch_only_if_it_is_long(tall, mended):
    frames = drifting(n=9, height=160, width=128, step=0.5).astype(np.float32)
    frames[4, 40 : 40 + tall, 60:62] = 255
    assert find_damage(frames, least=SURE, strict=True)[0][4].any()
    masks, damage = SearchedMasks(noise_sd=0.0, rate=0.0).search(frames)
    assert masks.any() == bool(damage) == mended


def test_bars_before_a_moving_picture_stay_on_a_clean_film():
    """Looked at through a fence or from a train the picture moves behind lines that stay."""
    frames = drifting(n=9, height=112, width=128, step=4.0).astype(np.float32)
    frames[:, :, 20::30] = frames[:, :, 21::30] = 25
    assert any(place.kind == "line" for place in find_damage(frames)[1])
    assert not any(p.kind == "line" for p in SearchedMasks(noise_sd=0.0, rate=0.0).search(frames)[1])


def test_poles_that_fly_past_a_train_are_things():
    frames = drifting(n=15, height=112, width=240, step=1.0, channels=1).astype(np.float32)
    for k in range(15):
        for pole in range(3):
            x = (230 + 380 * pole - 75 * k) % 1140
            frames[k, :, max(0, x - 8) : x + 2] = 20
    spots, _ = weigh_spots(frames, noise_sd=1.0)
    assert len(spots) > 5 and film_odds(spots)[0] < -3


@pytest.mark.parametrize(("lean", "mended"), [(0, True), (12, False)])
def test_a_streak_alone_on_a_clean_film_is_a_scratch_only_if_it_runs_along_the_film(lean, mended):
    masks = np.zeros((3, 96, 128), np.bool_)
    box = (40, 0, 3 + lean, 96)
    masks[1, :, 40 : 43 + lean] = True
    left, places = _in_numbers(masks, [Damage(frame=1, kind="scratch", box=box, odds=5.0)])
    assert bool(places) == left.any() == mended


def test_things_at_the_ends_of_a_sample_are_not_taken_for_seen_once():
    """In a time-lapse things stand for a moment and are gone: only the frames around tell that they come again."""
    rng = np.random.default_rng(6)
    frames = drifting(n=13, height=96, width=128, step=0.0).astype(np.float32)
    for y, x in zip(rng.integers(4, 80, 40), rng.integers(4, 112, 40), strict=True):
        first = int(rng.integers(-1, 13))
        for k in range(max(0, first), min(13, first + 2)):
            top, left = y + 5 * (k - first), x + 7 * (k - first)
            frames[k, top : top + 9, left : left + 7] = 245
    spots, judged = weigh_spots(frames)
    assert judged == 9 and {k for k, _ in spots} <= set(range(2, 11))
    assert film_odds(spots)[0] < CERTAIN
