"""How dirty a film is taken to be."""

import numpy as np

from tests.tasks.test_verbs import drifting
from videorestore.detect.damage import count_spots, find_damage
from videorestore.tasks.dirt import SearchedMasks, drawn


def flakes(n=9, seed=4):
    """A still picture before which bright flakes fall."""
    frames = np.repeat(drifting(n=1, height=96, width=128), n, axis=0).astype(np.float32)
    rng = np.random.default_rng(seed)
    for x, y, v in zip(rng.integers(2, 124, 25), rng.integers(0, 90, 25), rng.integers(3, 7, 25)):
        for k in range(n):
            top = (y + v * k) % 92
            frames[k, top : top + 3, x : x + 3] = 250
    return frames


def test_falling_flakes_are_things_and_dust_is_not():
    once, again = count_spots(flakes(), least=3.0)
    assert len(once) <= len(again) or len(once) < 2
    dusty = drifting(n=9, height=96, width=128, step=0.5).astype(np.float32)
    rng = np.random.default_rng(1)
    for k in range(9):
        for x, y in zip(rng.integers(4, 120, 4), rng.integers(4, 88, 4)):
            dusty[k, y : y + 4, x : x + 4] = 255 if dusty[k, y, x].mean() < 128 else 0
    once, again = count_spots(dusty, least=3.0)
    assert len(once) > 2 * len(again) and len(set(once)) > 5


def test_what_is_drawn_has_no_dust():
    picture = np.full((5, 48, 64, 3), 20, np.float32)
    picture[:, 10:30, 10:40] = (200, 40, 60)
    picture[2, 35:39, 20:24] = 255
    assert drawn(picture)
    assert not drawn(drifting(n=3).astype(np.float32))
    assert not drawn(np.full((2, 8, 8, 1), 30, np.float32))
    search = SearchedMasks(noise_sd=0.0, rate=0.0, drawn=True)
    assert not search.search(picture)[0].any() and not search.touches(0, 5)


def test_nothing_is_sought_in_a_flash():
    frames = drifting(n=9, height=64, width=80).astype(np.float32) * 0.45
    frames[4] = np.clip(2.2 * frames[4], 0, 230)
    assert not find_damage(frames, least=3.0, strict=True)[0][4].any()
