"""Denoising along motion: planted truth, honest sd, windows, and the corners of its domain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numba
import numpy as np
import pytest

from tests.reference import reading
from videorestore.compiled import set_thread_count, thread_count
from videorestore.errors import InputError
from videorestore.motion._kernels_denoise import (
    add_tie,
    advance,
    carry,
    carry_samples,
    fit,
    fit_at_rest,
    fit_samples,
    settle,
    weigh,
)
from videorestore.motion.denoise import REACH, denoise, reach
from videorestore.motion.denoise_along import edged
from videorestore.spatial.noise import LUMA, Noise
from videorestore.spatial.planes import LUMA_CHROMA, from_planes, to_planes
from videorestore.spatial.subsampled import gather, scatter

JIT = not numba.config.DISABLE_JIT


def panning(n: int, h: int, w: int, c: int = 3) -> np.ndarray:
    """A texture with an edge that moves by 1.5 pixels per frame."""
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    frames = []
    for t in range(n):
        u = x + 1.5 * t
        grey = 120 + 40 * np.sin(u / 3) * np.cos(y / 5) + 50 * (np.sin(u / 11) > 0.2) + 10 * np.sin(y / 1.7)
        colour = [grey, 0.7 * grey + 30, 190 - 0.4 * grey]
        frames.append(np.stack(colour[:c], axis=-1))
    return np.clip(np.array(frames, dtype=np.float32), 0, 255)


def noisy_of(truth: np.ndarray, sd: float, seed: int = 0) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(truth.shape).astype(np.float32)
    return np.clip(np.rint(truth + sd * noise), 0, 255).astype(np.float32)


def rms(a: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(a, dtype=np.float64))))


def planes(h: int, w: int, c: int = 2, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 255, (c, h, w)).astype(np.float32)


def read(plane: np.ndarray, way: np.ndarray, method: Callable[..., np.ndarray]) -> np.ndarray:
    """A plane read along the way of its blocks."""
    y, x = np.mgrid[: plane.shape[0], : plane.shape[1]].astype(np.float32)
    across, down = way.repeat(2, axis=1).repeat(2, axis=2)
    return method(plane, x + across, y + down)


def in_blocks(image: np.ndarray) -> np.ndarray:
    return image.reshape(image.shape[0] // 2, 2, -1, 2).mean(axis=(1, 3))


@pytest.mark.kernel
def test_fit_is_that_of_whole_blocks() -> None:
    one, other = planes(12, 16), planes(12, 16, seed=1)
    flow = np.random.default_rng(2).normal(0, 3, (2, 6, 8)).astype(np.float32)
    flow[:, 0, 0], flow[:, 5, 7] = -40, 40
    moved, still = np.empty((6, 8), np.float32), np.empty((6, 8), np.float32)
    fit(edged(one), edged(other), flow, moved)
    expected = np.mean(
        [in_blocks((read(a, 2 * flow, reading.linear) - b) ** 2) for a, b in zip(one, other)], 0
    )
    np.testing.assert_allclose(moved, expected, rtol=1e-3)
    fit_at_rest(edged(one), edged(other), still)
    np.testing.assert_allclose(still, np.mean([in_blocks(d) for d in (one - other) ** 2], 0), rtol=1e-5)


@pytest.mark.kernel
@pytest.mark.parametrize("tied", [False, True])
def test_a_neighbour_is_read_along_the_way_of_its_blocks(tied: bool) -> None:
    source, own, before = planes(12, 16), planes(12, 16, seed=1), planes(12, 16, seed=2)
    rng = np.random.default_rng(3)
    way = rng.normal(0, 4, (2, 6, 8)).astype(np.float32)
    way[:, 2:4, 3:6] = 0
    way[:, 0, 0], way[:, 5, 7] = -90, 90
    weight = rng.uniform(0, 1, (6, 8)).astype(np.float32)
    total, apart = before.copy(), np.full((6, 8), 7, np.float32)
    carry(edged(source), edged(own), way, weight, tied, total, apart)
    warped = np.stack([read(plane, way, reading.cubic) for plane in source])
    np.testing.assert_allclose(total, before + weight.repeat(2, 0).repeat(2, 1) * warped, atol=0.02)
    expected = in_blocks((warped[0] - own[0]) ** 2) if tied else np.full((6, 8), 7)
    np.testing.assert_allclose(apart, expected, rtol=1e-3, atol=0.1)


@pytest.mark.kernel
def test_fit_decides_the_weight() -> None:
    rng = np.random.default_rng(0)
    misfit = rng.uniform(0, 9, (3, 4)).astype(np.float32)
    level, allowance = np.full((3, 4), 4, np.float32), np.full((3, 4), 1, np.float32)
    way, sums, weight = (
        np.ones((2, 3, 4), np.float32),
        np.ones((3, 3, 4), np.float32),
        np.empty((3, 4), np.float32),
    )
    way[:, 1] = 0
    weigh(misfit, level, allowance, 8.0, way, sums, weight)
    expected = np.square(4 / (4 + 8 * np.maximum(misfit - 1, 0)))
    np.testing.assert_allclose(weight, expected, rtol=1e-4)
    rests = np.array([[0], [1], [0]])
    np.testing.assert_allclose(sums, 1 + np.stack([expected, expected**2, expected * rests]), rtol=1e-4)
    tied = np.zeros((3, 4), np.float32)
    add_tie(weight, misfit, level, 2.0, tied)
    np.testing.assert_allclose(tied, expected * np.clip(1 - misfit / 8, 0, 1), atol=1e-5)


@pytest.mark.kernel
def test_a_place_rests_where_rest_explains_it() -> None:
    moved, still, level = (np.array([[a, b]], np.float32) for a, b in ((4, 4), (4.5, 9), (1, 1)))
    flow, way = np.full((2, 1, 2), 3.5, np.float32), np.empty((2, 1, 2), np.float32)
    settle(moved, still, level, 1.15, 0.01, flow, way)
    np.testing.assert_allclose(moved, [[4.5, 4]])
    np.testing.assert_array_equal(way, [[[0, 7]]] * 2)
    x, y = (np.empty((1, 2), np.float32) for _ in range(2))
    flow, across, down = (
        np.full(shape, v, np.float32) for shape, v in (((2, 1, 2), 1), ((1, 2), 0.5), ((1, 2), 0.25))
    )
    advance(flow, across, down, x, y)
    np.testing.assert_allclose((x, y), ([[1.5, 2.5]], [[1.25, 1.25]]))


def read_samples(plane: np.ndarray, way: np.ndarray, method: Callable[..., np.ndarray]) -> np.ndarray:
    """A plane read along a way in pixels, of which its samples have two a side."""
    y, x = np.mgrid[: plane.shape[0], : plane.shape[1]].astype(np.float32)
    return method(plane, x + way[0] / 2, y + way[1] / 2)


@pytest.mark.kernel
def test_fit_of_samples_is_that_of_planes_read_along_their_way() -> None:
    source, own = planes(9, 12), planes(9, 12, seed=1)
    way = np.random.default_rng(2).uniform(-30, 30, (2, 9, 12)).astype(np.float32)
    out = np.empty((9, 12), np.float32)
    fit_samples(edged(source), edged(own), way, out)
    moved = np.stack([read_samples(plane, way, reading.linear) for plane in source])
    np.testing.assert_allclose(out, np.square(moved - own).mean(0), rtol=1e-3, atol=0.1)
    fit_samples(edged(source), edged(own), 0 * way, out)
    np.testing.assert_allclose(out, np.square(source - own).mean(0), rtol=1e-4)


@pytest.mark.kernel
def test_samples_are_carried_along_their_way_and_take_no_more_than_they_are_given() -> None:
    rng = np.random.default_rng(3)
    source = planes(7, 10)
    way = rng.uniform(-20, 20, (2, 7, 10)).astype(np.float32)
    way[:, rng.uniform(size=(7, 10)) < 0.4] = 0
    given, misfit, level = rng.uniform(0, 3, (3, 7, 10)).astype(np.float32)
    total, sums = np.zeros((2, 7, 10), np.float32), np.ones((2, 7, 10), np.float32)
    carry_samples(edged(source), way, given, misfit, level, 0.25, 2.0, total, sums)
    weight = given * np.square(level / (level + 2 * np.maximum(misfit - 0.25 * level, 0)))
    np.testing.assert_allclose(sums, [1 + weight, 1 + weight**2], rtol=1e-5)
    moved = np.stack([read_samples(plane, way, reading.cubic) for plane in source])
    np.testing.assert_allclose(total, weight * moved, rtol=1e-4, atol=0.02)
    rests = ~way.any(axis=0)
    np.testing.assert_allclose(total[:, rests], (weight * source)[:, rests], rtol=1e-5)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("quality", ["fast", "default"])
def test_coded_colour_is_denoised_at_its_own_resolution(quality: str, start: int) -> None:
    truth = panning(7, 48, 56)
    truth = half_chroma(truth)
    noisy = half_chroma(noisy_of(truth, 20))
    noise = Noise(sd=20, low=20, high=20, offset=400, codec=True)
    mean, sd = denoise(noisy[:, start:], noise, quality=quality)
    assert mean.shape == sd.shape == noisy[:, start:].shape
    error = mean - truth[:, start:]
    assert rms(error) < 0.35 * rms(noisy - truth)
    # No shift of the colours, and the sd tells the error.
    assert np.abs(error.mean(axis=(0, 1, 2))).max() < 0.6
    assert 0.85 < np.mean(np.abs(error) < 1.96 * sd) < 0.995


def half_chroma(frames: np.ndarray) -> np.ndarray:
    planes = to_planes(frames.astype(np.float32), basis=LUMA_CHROMA)
    planes[:, 1:] = scatter(gather(planes[:, 1:]))
    return from_planes(planes, basis=LUMA_CHROMA)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize(("quality", "share"), [("fast", 0.32), ("default", 0.27), ("best", 0.26)])
def test_most_of_planted_noise_goes_and_sd_covers_the_truth(quality: str, share: float) -> None:
    truth = panning(7, 48, 56)
    noisy = noisy_of(truth, 20)
    before = noisy.copy()
    mean, sd = denoise(noisy, Noise.white(20), quality=quality)
    np.testing.assert_array_equal(noisy, before)
    assert mean.shape == sd.shape == truth.shape
    assert rms(mean - truth) < share * 20
    assert 0.85 < np.mean(np.abs(mean - truth) < 1.96 * sd) < 0.997


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("quality", ["fast", "default", "best"])
def test_a_window_with_its_halo_gives_the_same_bits(quality: str) -> None:
    noisy = noisy_of(panning(2 * REACH + 8, 24, 32, 1), 20)
    noise = Noise.white(20)
    whole, whole_sd = denoise(noisy, noise, quality=quality, start=REACH + 1, stop=REACH + 3)
    halo = reach(quality)
    a = REACH + 1 - halo
    part, part_sd = denoise(noisy[a : REACH + 3 + halo], noise, quality=quality, start=halo, stop=halo + 2)
    np.testing.assert_array_equal(part, whole)
    np.testing.assert_array_equal(part_sd, whole_sd)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_threads_change_no_bit() -> None:
    noisy = noisy_of(panning(4, 40, 48), 25)
    threads = thread_count()
    try:
        set_thread_count(1)
        alone = denoise(noisy, Noise.white(25))
    finally:
        set_thread_count(threads)
    both = denoise(noisy, Noise.white(25))
    np.testing.assert_array_equal(alone[0], both[0])
    np.testing.assert_array_equal(alone[1], both[1])


def test_black_and_white_in_colour_is_denoised_as_grey_and_keeps_its_tint() -> None:
    rng = np.random.default_rng(3)
    y, x = np.mgrid[0:32, 0:40]
    grey = (120 + 60 * np.sin(x / 6 + y / 9) + rng.normal(0, 10, (5, 32, 40))).astype(np.float32)[..., None]
    tinted = grey + np.float32([9, 0, -14])
    noise = replace(Noise.white(10.0, clipped=False), monochrome=True)
    alone, alone_sd = denoise(tinted @ LUMA[:, None], noise, start=1, stop=4)
    mean, sd = denoise(tinted, noise, start=1, stop=4)
    np.testing.assert_allclose(mean @ LUMA[:, None], alone, atol=1e-3)
    np.testing.assert_allclose(mean[..., 0] - mean[..., 2], 23, atol=1e-3)
    np.testing.assert_array_equal(sd, np.repeat(alone_sd, 3, axis=-1))


def test_no_noise_changes_nothing() -> None:
    clip = panning(2, 16, 16)
    mean, sd = denoise(clip, Noise(sd=0.0))
    np.testing.assert_array_equal(mean, clip)
    assert not sd.any()
    mean, _ = denoise(clip, Noise.white(20), strength=0.0)
    np.testing.assert_array_equal(mean, clip)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_hardly_any_noise_changes_hardly_anything() -> None:
    clip = panning(3, 24, 24)
    mean, sd = denoise(clip, Noise.white(0.05, clipped=False))
    assert np.abs(mean - clip).max() < 0.5
    assert sd.max() < 0.5


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_hardly_any_noise_on_strong_edges_gives_numbers() -> None:
    """Groups with contrasts that are thousands of times the noise had singular Gram matrices."""
    rng = np.random.default_rng(2)
    frames = (255.0 * (rng.random((4, 40, 48, 3)) > 0.5)).astype(np.float32)
    for codec in (False, True):
        mean, sd = denoise(frames, Noise(sd=0.05, low=0.05, high=0.05, offset=0.0025, codec=codec))
        assert np.isfinite(mean).all() and np.isfinite(sd).all()
        assert np.abs(mean - frames).max() < 3


def test_what_is_assumed_is_removed() -> None:
    """After a codec the level to remove is not the one that is surely there."""
    rng = np.random.default_rng(6)
    frames = (128 + 12 * rng.standard_normal((5, 40, 48, 1))).astype(np.float32)
    seen = Noise(sd=1, low=1, high=1, offset=1, codec=True)
    left = [float(denoise(frames, n, quality="fast")[0].std()) for n in (seen, replace(seen, assumed=13.0))]
    assert left[0] > 8 and left[1] < 5


@pytest.mark.parametrize("shape", [(1, 40, 40, 3), (3, 5, 3, 1), (2, 9, 70, 3), (2, 1, 1, 1)])
def test_any_size_and_number_of_frames(shape: tuple[int, int, int, int]) -> None:
    truth = np.full(shape, 100, np.float32)
    for quality in ("fast", "default"):
        mean, sd = denoise(noisy_of(truth, 15), Noise.white(15), quality=quality)
        assert mean.shape == sd.shape == shape
        assert np.isfinite(mean).all() and np.isfinite(sd).all()


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_clipped_brightness_comes_back() -> None:
    """White with noise of sd 30, clipped at 255, is 12 levels too dark in the mean."""
    truth = np.full((5, 32, 32, 3), 255, np.float32)
    noisy = noisy_of(truth, 30)
    assert np.mean(noisy) < 245
    clipped, _ = denoise(noisy, Noise.white(30), quality="fast")
    plain, _ = denoise(noisy, Noise.white(30, clipped=False), quality="fast")
    assert abs(np.mean(np.clip(clipped, 0, 255)) - 255) < 2 < abs(np.mean(plain) - 255)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_noise_that_grows_with_the_signal() -> None:
    truth = panning(6, 40, 48)
    rng = np.random.default_rng(1)
    noisy = (truth + np.sqrt(2 * truth + 25) * rng.standard_normal(truth.shape)).astype(np.float32)
    noise = Noise(sd=17, low=17, high=17, offset=25, slope=2)
    mean, sd = denoise(noisy, noise)
    assert rms(mean - truth) < 0.3 * rms(noisy - truth)
    bright = truth > 200
    assert sd[bright].mean() > 1.05 * sd[truth < 100].mean()


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_nothing_is_blended_across_a_cut() -> None:
    first, second = np.full((3, 32, 32, 1), 60, np.float32), np.full((3, 32, 32, 1), 190, np.float32)
    mean, _ = denoise(noisy_of(np.concatenate([first, second]), 10), Noise.white(10), quality="fast")
    assert np.abs(mean[:3] - 60).mean() < 2.5
    assert np.abs(mean[3:] - 190).mean() < 2.5


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_repeated_noise_is_not_averaged_away_in_the_sd() -> None:
    """A codec that repeats the noise leaves it in every frame: more frames are no more evidence."""
    truth = np.full((5, 40, 40, 1), 128, np.float32)
    frozen = np.repeat(noisy_of(truth[:1], 20), 5, axis=0)
    noise = Noise(sd=20, low=20, high=20, offset=400, codec=True)
    mean, _ = denoise(frozen, noise, quality="fast")
    assert rms(mean - truth) < 0.35 * 20


def test_what_is_wrong_is_said() -> None:
    clip = np.zeros((2, 16, 16, 3), np.float32)
    with pytest.raises(InputError, match="frames must have shape"):
        denoise(clip[0], Noise.white(5))
    with pytest.raises(InputError, match="quality must be"):
        denoise(clip, Noise.white(5), quality="finest")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="start and stop"):
        denoise(clip, Noise.white(5), start=1, stop=3)
    with pytest.raises(InputError, match="strength"):
        denoise(clip, Noise.white(5), strength=-1)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_best_is_better_than_default_where_nothing_moves() -> None:
    rng = np.random.default_rng(8)
    y, x = np.mgrid[:96, :112]
    still = 128 + 30 * np.sin(x / 8 + y / 9) * np.cos(y / 7)
    clip = (still + 20 * rng.standard_normal((25, *still.shape))).astype(np.float32)[..., None]
    off = {}
    for quality in ("default", "best"):
        mean, _ = denoise(clip, Noise.white(20, clipped=False), quality=quality, start=11, stop=14)
        off[quality] = float(np.mean(np.square(mean[..., 0] - still)))
    assert off["best"] < 0.93 * off["default"]
