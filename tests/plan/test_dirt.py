"""How dirty a film is taken to be."""

import numpy as np

from tests.verbs.test_verbs import drifting
from videorestore.detect.damage import Damage, find_damage, weigh_spots
from videorestore.detect.verdict import SURE
from videorestore.plan.dirt import DIRTY, SearchedMasks, calmer_half, drawn, rate_of


def flakes(n=9, seed=4):
    """A still picture before which bright flakes fall."""
    frames = np.repeat(drifting(n=1, height=96, width=128), n, axis=0).astype(np.float32)
    rng = np.random.default_rng(seed)
    for x, y, v in zip(rng.integers(2, 124, 25), rng.integers(0, 90, 25), rng.integers(3, 7, 25)):
        for k in range(n):
            top = (y + v * k) % 92
            frames[k, top : top + 3, x : x + 3] = 250
    return frames


def rate(frames):
    spots = weigh_spots(frames)
    once = [place for place, again in spots if not again]
    return rate_of(spots, len(frames), len({place.frame for place in once}), len(once) // 2)


def test_falling_flakes_are_things_and_dust_is_not():
    assert rate(flakes()) == 0.0
    dusty = drifting(n=9, height=96, width=128, step=0.5).astype(np.float32)
    rng = np.random.default_rng(1)
    for k in range(9):
        for x, y in zip(rng.integers(4, 120, 4), rng.integers(4, 88, 4)):
            dusty[k, y : y + 4, x : x + 4] = 255 if dusty[k, y, x].mean() < 128 else 0
    assert rate(dusty) > 1


def test_faint_spots_count_where_they_are_everywhere():
    def spots(n, odds):
        return [(Damage(frame=k, kind="dust", box=(3 * k, 2, 4, 4), odds=odds), False) for k in range(n)]

    assert rate_of(spots(9, 1.5), 9, 9, 4) == 1.0
    assert rate_of(spots(6, 1.5), 9, 6, 3) == 0.0
    assert rate_of(spots(6, 3.5), 9, 6, 3) == 5 / 9
    # Three spots in the nine frames of a short clip may be things.
    assert rate_of(spots(3, 3.5), 9, 3, 2) < DIRTY
    assert rate_of(spots(6, 3.5), 9, 1, 3) == 0.0


def test_spots_only_where_things_move_are_no_dust():
    spots = [(Damage(frame=k % 9, kind="dust", box=(3 * k, 2, 4, 4), odds=3.5), False) for k in range(20)]
    assert rate_of(spots, 9, 9, 10) == 20 / 9
    assert rate_of(spots, 9, 9, 1) == 0.0


def test_the_calmer_half_is_where_nothing_moves():
    frames = np.repeat(drifting(n=1, height=80, width=120), 9, axis=0).astype(np.float32)
    frames[:, :, 60:] = drifting(n=9, height=80, width=120)[:, :, 60:]
    frames[4, 30:40, 20:30] = 255
    still = calmer_half(frames)
    assert still[:, :40].mean() > 0.9 and still[:, 80:].mean() < 0.1


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
