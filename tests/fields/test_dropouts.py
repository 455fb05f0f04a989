"""Dropouts: planted streaks are found and filled, things that move are not, and the kernel agrees with its slow twin."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from videorestore.fields._kernels import streaks
from videorestore.fields.dropouts import LEAST, MOST, SHORTEST, Surroundings

HEIGHT, WIDTH = 160, 240


def pictures(count: int, sd: float = 0.0) -> np.ndarray:
    """A texture ``(count, h, w)`` that moves on a slanted way."""
    rng = np.random.default_rng(0)
    base = cv2.GaussianBlur(rng.uniform(0, 255, (2 * HEIGHT, 2 * WIDTH)).astype(np.float32), (0, 0), 2.5)
    base = np.clip((base - base.mean()) * 4 + 120, 0, 255)
    ways = [np.float32([[1, 0, -1.7 * k], [0, 1, -0.6 * k]]) for k in range(count)]
    moved = np.stack([cv2.warpAffine(base, way, (WIDTH, HEIGHT)) for way in ways])
    return np.clip(np.rint(moved + rng.normal(0, sd, moved.shape)), 0, 255).astype(np.float32)


def around(shown: np.ndarray, k: int) -> Surroundings:
    """Field k of pictures at field rate, upper lines first, with two on each side."""
    fields = [(np.ascontiguousarray(shown[j][j % 2 :: 2]),) for j in range(k - 2, k + 3)]
    return Surroundings(fields, k % 2)


@pytest.mark.parametrize("sd", [0.0, 10.0])
@pytest.mark.parametrize("k", [4, 5])
@pytest.mark.parametrize("level", [250.0, 5.0])
def test_a_streak_is_found_and_filled(sd: float, k: int, level: float) -> None:
    clean, noisy = pictures(9), pictures(9, sd)
    truth, line, columns = clean[k][k % 2 :: 2], 30, slice(60, 100)
    noisy[k, 2 * line + k % 2, columns] = level
    place = around(noisy, k)
    found = place.find()
    assert [(s.line, s.sign) for s in found] == [(line, 1 if level > 128 else -1)]
    assert abs(found[0].start - 60) <= 2 and abs(found[0].stop - 100) <= 2
    (filled,), (spread,), (reach,) = place.fill(found)
    there = spread > 0
    assert (
        there[line, columns].all()
        and there.sum() <= 48
        and np.array_equal(filled[~there], place.own[0][~there])
    )
    assert (reach.start, reach.stop) == (np.nonzero(there)[1].min(), np.nonzero(there)[1].max() + 1)
    error = filled[line, columns] - truth[line, columns]
    linear = 0.5 * (place.own[0][line - 1] + place.own[0][line + 1])[columns] - truth[line, columns]
    assert np.square(error).mean() < 0.5 * np.square(linear).mean()
    assert np.mean(np.abs(error) < 2 * spread[line, columns] + 1) > 0.85


def test_things_are_no_dropouts() -> None:
    shown = pictures(9)
    for k in range(9):
        # A thin bright bar that falls, and a wire that stands still.
        shown[k, 40 + 2 * k, 60:110] = 250
        shown[k, 121, 20:200] = 250
    assert all(around(shown, k).find() == [] for k in range(2, 7))


def test_streaks_agree_with_their_slow_twin() -> None:
    rng = np.random.default_rng(1)
    beyond = np.where(rng.random((40, 90)) < 0.7, 0, rng.normal(0, 60, (40, 90))).astype(np.float32)
    beyond[7, 20:50], beyond[9, :12], beyond[11, 80:] = 70, -50, 200
    found = np.empty((500, 5))
    count = streaks(beyond, LEAST, MOST, 60.0, SHORTEST, found)

    def slow() -> list[tuple[float, ...]]:
        every = []
        for y, row in enumerate(beyond.astype(float)):
            for sign in (1, -1):
                values = np.minimum(sign * row - LEAST, MOST)
                start = 0
                while start < len(row):
                    sums = np.cumsum(values[start:])
                    ends = np.nonzero(sums <= 0)[0]
                    stop = int(ends[0]) if len(ends) else len(sums)
                    if stop:
                        best = int(sums[:stop].argmax())
                        if sums[best] >= 60 and best + 1 >= SHORTEST:
                            every.append((y, start, start + best + 1, sign, sums[best]))
                    start += stop + 1
        return every

    assert np.allclose(found[:count], np.array(slow()), atol=1e-3) and count >= 3
