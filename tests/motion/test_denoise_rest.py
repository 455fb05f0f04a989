"""What rests hears all frames: planted truth at rest, in changing light, and where things move."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from tests.motion.test_denoise import noisy_of, panning, rms
from videorestore.motion import denoise as denoising
from videorestore.motion._kernels_rest import (
    expect,
    join,
    largest_excess,
    light_sums,
    lose,
    mean_square,
    relight,
    share_below,
    take_in,
)
from videorestore.motion.denoise import denoise
from videorestore.motion.denoise_along import Along
from videorestore.motion.denoise_rest import with_rest
from videorestore.spatial.noise import Noise

JIT = not numba.config.DISABLE_JIT
SD = 20.0


def errors(truth: np.ndarray, monkeypatch: pytest.MonkeyPatch, where: object = ...) -> tuple[float, float]:
    """Error of ``fast`` without and with the memory of what rests."""
    noisy = noisy_of(truth, SD)
    with_memory = denoise(noisy, Noise.white(SD), quality="fast")[0]
    monkeypatch.setattr(denoising, "with_rest", lambda parts, *_: parts)
    without = denoise(noisy, Noise.white(SD), quality="fast")[0]
    return rms((without - truth)[where]), rms((with_memory - truth)[where])


def resting(n: int) -> np.ndarray:
    return np.repeat(panning(1, 64, 72), n, axis=0)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("lit", [False, True], ids=["steady", "flickering"])
def test_what_rests_is_seen_in_all_frames_whatever_the_light(
    lit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = resting(30)
    if lit:
        gain = 0.8 + 0.08 * np.random.default_rng(1).standard_normal(30)
        truth = (truth * gain[:, None, None, None]).astype(np.float32)
    without, with_memory = errors(truth, monkeypatch)
    assert with_memory < (0.85 if lit else 0.75) * without


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_what_moves_is_left_to_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    without, with_memory = errors(panning(20, 64, 72), monkeypatch)
    assert with_memory < 1.005 * without


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_what_comes_and_goes_leaves_no_ghost(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = resting(30)
    place = np.s_[:, 20:40, 25:45]
    truth[place][10:18] += 35
    without, with_memory = errors(np.clip(truth, 0, 255), monkeypatch, place)
    assert with_memory < without


def test_the_mass_at_rest_is_the_number_of_frames() -> None:
    n, h, w = 12, 24, 24
    clip = np.full((n, 1, h, w), 100, np.float32)
    one = np.ones((h // 2, w // 2), np.float32)
    parts = [Along(mean=clip[t].copy(), left=one / 3, trust=one, own=one / 3) for t in range(n)]
    joined = with_rest(parts, clip, 9 * np.ones((n, *one.shape), np.float32), np.ones(n, np.float32), 1)
    # Three frames are in each mean along motion; the other nine are before and behind.
    np.testing.assert_allclose(1 / joined[6].left, n, rtol=1e-4)
    np.testing.assert_allclose(joined[6].mean, 100, rtol=1e-5)
    ones = np.ones((2, h // 2, w // 2), np.float32)
    assert with_rest(parts[:2], clip[:2], ones, ones[:, 0, 0], 1) == parts[:2]


def test_frames_with_less_noise_have_more_mass() -> None:
    n, h, w = 12, 24, 24
    clip = np.full((n, 1, h, w), 100, np.float32)
    growth = np.where(np.arange(n) < 6, 1, 4).astype(np.float32)
    one = np.ones((h // 2, w // 2), np.float32)
    parts = [Along(mean=clip[t].copy(), left=one / 3, trust=one, own=one / 3) for t in range(n)]
    joined = with_rest(parts, clip, 9 * growth[:, None, None] * one, growth, 1)
    # In units of the frame's own noise: its three, four noisier ones behind, and five of a quarter of its variance.
    np.testing.assert_allclose(1 / joined[6].left, 3 + 4 + 4 * 5, rtol=1e-3)


def wide(blocks: np.ndarray) -> np.ndarray:
    return blocks.repeat(2, axis=-2).repeat(2, axis=-1)


def in_blocks(planes: np.ndarray) -> np.ndarray:
    c, h, w = planes.shape
    return planes.reshape(c, h // 2, 2, w // 2, 2).mean(axis=(2, 4))


@pytest.mark.kernel
def test_sums_for_the_light_are_means_over_cells() -> None:
    rng = np.random.default_rng(3)
    h, w, c, cell = 5, 7, 2, 2
    mean, wanted = (rng.normal(100, 20, (c, 2 * h, 2 * w)).astype(np.float32) for _ in range(2))
    hold, noise, common = (rng.uniform(1, 5, (h, w)).astype(np.float32) for _ in range(3))
    out = np.empty((4 * c + 1, 3, 4), np.float32)
    light_sums(mean, wanted, hold, noise, common, cell, out)
    every = np.concatenate(
        [mean, wanted, mean * wanted - wide(common), mean * mean - wide(noise), wide(hold)[None]]
    )
    for i in range(3):
        for j in range(4):
            part = every[:, 2 * i * cell : 2 * (i + 1) * cell, 2 * j * cell : 2 * (j + 1) * cell]
            np.testing.assert_allclose(out[:, i, j], part.mean(axis=(1, 2)), rtol=1e-4)


@pytest.mark.kernel
def test_light_is_linear_between_the_middles_of_cells() -> None:
    rng = np.random.default_rng(4)
    h, w, c, cell = 10, 14, 2, 4
    mean, wanted = (rng.normal(100, 20, (c, h, w)).astype(np.float32) for _ in range(2))
    lines = rng.normal(1, 0.3, (2 * c, 3, 4)).astype(np.float32)
    lit, difference, square = (
        np.empty((*lead, h // k, w // k), np.float32) for lead, k in (((c,), 1), ((c,), 2), ((), 2))
    )
    relight(mean, wanted, lines, cell, lit, difference, square)
    down, across = ((np.arange(length) + 0.5) / cell - 0.5 for length in (h, w))
    for q in range(c):
        slope, offset = (
            np.stack([np.interp(across, np.arange(4), line) for line in lines[k]]) for k in (q, c + q)
        )
        slope, offset = (
            np.stack([np.interp(down, np.arange(3), column) for column in part.T], axis=1)
            for part in (slope, offset)
        )
        np.testing.assert_allclose(lit[q], offset + slope * mean[q], rtol=1e-4)
    np.testing.assert_allclose(difference, in_blocks(lit - wanted), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(square, in_blocks(np.square(lit - wanted)).mean(axis=0), rtol=1e-4)
    again = np.empty_like(square)
    mean_square(difference, again)
    np.testing.assert_allclose(again, np.square(difference).mean(axis=0), rtol=1e-5)


@pytest.mark.kernel
def test_a_frame_is_taken_in_by_its_share() -> None:
    rng = np.random.default_rng(5)
    noisy, mean = (rng.normal(100, 20, (3, 6, 8)).astype(np.float32) for _ in range(2))
    news, mass = (rng.uniform(0.1, 3, (3, 4)).astype(np.float32) for _ in range(2))
    wanted = (mean * wide(mass) + noisy * wide(news)) / wide(mass + news)
    heavier = mass + news
    take_in(noisy, news, mean, mass)
    np.testing.assert_allclose(mean, wanted, rtol=1e-5)
    np.testing.assert_allclose(mass, heavier, rtol=1e-6)
    before = mean.copy()
    join(mass, noisy, news, mean)
    np.testing.assert_allclose(mean, before + wide(news / mass) * (noisy - before), rtol=1e-5)


@pytest.mark.kernel
def test_what_is_expected_of_a_state_and_the_mass_that_a_misfit_leaves_it() -> None:
    rng = np.random.default_rng(5)
    level, mass, left, own = rng.uniform(0.5, 9, (4, 6, 7)).astype(np.float32) / np.float32(
        [[[1]], [[1]], [[10]], [[10]]]
    )
    noise, common, expected = (np.empty_like(level) for _ in range(3))
    expect(level, mass, left, own, 2, 3, noise, common, expected)
    both = level * np.minimum(2 / mass, 1) * (1 - own) / 6
    np.testing.assert_allclose(noise, level / mass, rtol=1e-5)
    np.testing.assert_allclose(common, both, rtol=1e-5)
    np.testing.assert_allclose(
        expected, np.maximum(level * left + level / mass - 2 * both, 1e-6), rtol=1e-4, atol=1e-5
    )
    around = rng.uniform(0, 20, level.shape).astype(np.float32)
    misfit = np.ones_like(level)
    largest_excess(around, expected, 1.5, misfit)
    np.testing.assert_allclose(misfit, np.maximum(around - 1.5 * expected, 1), rtol=1e-5)
    assert share_below(misfit, expected, 0.5) == np.mean(misfit < 0.5 * expected)
    out = np.empty_like(mass)
    lose(mass, misfit, level, 4.0, out)
    np.testing.assert_allclose(out, mass / (1 + mass * 4 * misfit / level), rtol=1e-4)
