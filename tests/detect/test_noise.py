"""Planted noise is found; clean clips are clean."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from scipy.fft import dctn, idctn

from videorestore.detect.noise import estimate_noise
from videorestore.errors import InputError
from videorestore.spatial.noise import LUMA_GAIN, Noise, clipping_table


def moving(n: int = 6, h: int = 96, w: int = 128) -> np.ndarray:
    """A smooth scene with some texture that pans by half a pixel per frame."""
    rng = np.random.default_rng(7)
    wide = cv2.GaussianBlur(rng.uniform(0, 255, (h, w + 8)).astype(np.float32), (0, 0), 6)
    wide = (wide - wide.min()) / np.ptp(wide) * 200 + 25
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    wide[: h // 4] += 15 * np.sin(np.arange(w + 8) / 1.5)
    frames = [cv2.remap(wide, x + 0.5 * t, y, cv2.INTER_CUBIC) for t in range(n)]
    grey = np.array(frames)[..., None]
    return np.concatenate([grey, 0.8 * grey + 20, 230 - 0.7 * grey], axis=-1).astype(np.float32)


def planted(truth: np.ndarray, sd: float | np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal(truth.shape)
    return np.clip(np.rint(truth + sd * noise), 0, 255).astype(np.float32)


@pytest.mark.parametrize("sd", [2, 5, 10, 20, 35, 50])
def test_planted_noise_is_found(sd: float) -> None:
    found = estimate_noise(planted(moving(), sd))
    assert abs(found.sd / sd - 1) < 0.1
    assert found.low <= sd <= found.high
    assert not found.codec and found.trustworthy and not found.clean
    assert all(abs(v / sd - 1) < 0.15 for v in found.per_channel)


@pytest.mark.parametrize("sd", [3, 15, 40])
def test_grey_too(sd: float) -> None:
    found = estimate_noise(planted(moving(), sd)[..., :1])
    assert abs(found.sd / sd - 1) < 0.1


@pytest.mark.parametrize("tint", [0, 12])
def test_black_and_white_stored_in_colour_has_the_noise_of_its_luma(tint: float) -> None:
    grey = planted(moving(), 10)[..., :1]
    found = estimate_noise(np.concatenate([grey, grey - tint, grey - 2 * tint], axis=-1))
    assert found.monochrome and abs(found.sd / 10 - 1) < 0.1 and len(found.per_channel) == 3
    assert not estimate_noise(planted(moving(), 2)).monochrome


def test_growth_with_brightness_is_found() -> None:
    truth = moving(8)
    found = estimate_noise(planted(truth, np.sqrt(20 + 1.5 * truth)))
    assert abs(found.slope / 1.5 - 1) < 0.2
    assert abs(float(found.variance(np.float32([120]))[0]) / 200 - 1) < 0.15


def test_clean_clips_are_clean() -> None:
    assert estimate_noise(np.rint(moving())).clean
    assert estimate_noise(np.full((4, 32, 32, 3), 77)).sd == 0
    assert estimate_noise(np.full((4, 32, 32, 1), 0)).clean


@pytest.mark.parametrize("step", [5, 15])
def test_texture_that_turns_faster_than_it_is_followed_is_no_noise(step: int) -> None:
    """A ball on a turntable before black; no codec tilts noise as much as its differences are."""
    texture = cv2.GaussianBlur(np.random.default_rng(0).uniform(0, 255, (512, 512)), (0, 0), 1.5)
    texture = ((texture - texture.min()) / np.ptp(texture) * 200 + 20).astype(np.float32)
    y, x = np.mgrid[0:128, 0:128].astype(np.float32) - 63.5
    across = np.arcsin(np.clip(x / 60, -1, 1))
    frames = [
        cv2.remap(
            texture,
            ((across + np.deg2rad(step) * k) * 80 % 512).astype(np.float32),
            y + 200,
            cv2.INTER_LINEAR,
        )
        for k in range(10)
    ]
    found = estimate_noise(np.rint(np.where(np.hypot(x, y) < 60, frames, 0))[..., None])
    assert found.codec and found.sd < 0.5


def test_repeated_frames_do_not_hide_the_noise() -> None:
    noisy = planted(moving(), 12)
    assert abs(estimate_noise(np.repeat(noisy, 2, axis=0)).sd / 12 - 1) < 0.1


def subsampled(frames: np.ndarray) -> np.ndarray:
    """What 4:2:0 does: chroma is averaged over 2x2 pixels and spread again."""
    luma = frames @ np.float32([0.299, 0.587, 0.114])
    h, w = luma.shape[1:]
    chroma = frames - luma[..., None]
    smooth = [
        cv2.resize(cv2.resize(f, (w // 2, h // 2), interpolation=cv2.INTER_AREA), (w, h)) for f in chroma
    ]
    return luma[..., None] + np.array(smooth)


def test_smooth_chroma_is_told_and_luma_counts() -> None:
    found = estimate_noise(subsampled(planted(moving(), 20)))
    assert found.codec
    assert abs(found.sd / 20 - 1) < 0.1


def test_frozen_noise_is_still_seen() -> None:
    """Half of the blocks repeat the frame before, as a codec's skipped blocks do."""
    noisy = subsampled(planted(moving(1).repeat(10, axis=0), 15))
    rng = np.random.default_rng(3)
    for t in range(1, len(noisy)):
        skip = np.kron(rng.random((6, 8)) < 0.5, np.ones((16, 16), bool))
        noisy[t][skip] = noisy[t - 1][skip]
    found = estimate_noise(noisy)
    assert found.codec and 0.75 * 15 < found.sd < 1.25 * 15


def quantised(noise: np.ndarray, step: float) -> np.ndarray:
    """Noise ``(n, h, w)`` as a codec leaves it: coefficients of 8x8 blocks below a step are dropped, fine ones first."""
    n, h, w = noise.shape
    blocks = noise.reshape(n, h // 8, 8, w // 8, 8).swapaxes(2, 3)
    coefficients = dctn(blocks, axes=(3, 4), norm="ortho")
    limit = step * (0.7 + 0.06 * np.add.outer(np.arange(8), np.arange(8)))
    kept = np.where(np.abs(coefficients) > limit, coefficients, 0)
    return np.asarray(idctn(kept, axes=(3, 4), norm="ortho")).swapaxes(2, 3).reshape(n, h, w)


@pytest.mark.parametrize(("planted_sd", "step"), [(20, 6.0), (20, 14.0), (30, 20.0)])
def test_level_to_remove_is_that_before_the_codec(planted_sd: float, step: float) -> None:
    truth = moving()
    luma = planted_sd * LUMA_GAIN * np.random.default_rng(4).standard_normal(truth.shape[:3])
    found = estimate_noise(subsampled(truth) + quantised(luma, step)[..., None])
    assert found.codec and found.assumed is not None
    assert 0.8 * planted_sd < found.level < 1.25 * planted_sd


def test_more_is_taken_by_a_stronger_codec() -> None:
    """The less of the fine noise is left the farther lies the level above what is seen, and the wider its interval."""
    truth = moving()
    luma = 20 * LUMA_GAIN * np.random.default_rng(4).standard_normal(truth.shape[:3])
    weak, strong = (
        estimate_noise(subsampled(truth) + quantised(luma, step)[..., None]) for step in (3.0, 16.0)
    )
    assert strong.level / strong.sd > 1.1 * weak.level / weak.sd
    assert strong.assumed_width > weak.assumed_width


def test_a_coded_clip_is_clean_and_yet_has_a_level() -> None:
    """A codec's own errors are worth removing where one asks for it; nothing says that there is noise."""
    found = estimate_noise(subsampled(moving()))
    assert found.codec and found.clean
    assert 2 < found.level < 9


def test_the_noise_to_remove_has_the_level() -> None:
    noise = Noise(
        sd=4, low=3, high=5, offset=16, per_channel=(4, 4, 4), assumed=10, assumed_width=4, codec=True
    )
    removed = noise.to_remove()
    assert (removed.sd, removed.low, removed.high, removed.offset, removed.assumed) == (10, 8, 12, 100, None)
    assert noise.scaled(0.5).level == 5 and noise.scaled(0.5).assumed_width == 2
    white = Noise.white(7)
    assert white.to_remove() is white and white.level == 7


def test_coded_noise_was_clipped_unless_blocks_are_too_near_to_black() -> None:
    """The mean of clipped noise is 0.4 sd at least; black bars that were never noisy lie below."""
    truth = moving()
    assert estimate_noise(subsampled(planted(truth, 20))).clipped
    truth[:, -32:] = 0
    noisy = planted(truth, 20)
    assert estimate_noise(subsampled(noisy)).clipped
    noisy[:, -32:] = 0
    found = estimate_noise(subsampled(noisy))
    assert found.codec and not found.clipped


@pytest.mark.parametrize("shape", [(1, 40, 40, 3), (3, 4, 5, 1), (2, 1, 1, 3)])
def test_little_data_is_not_trusted(shape: tuple[int, ...]) -> None:
    assert not estimate_noise(planted(np.full(shape, 128.0), 10)).trustworthy


def test_wrong_shape_is_said() -> None:
    with pytest.raises(InputError, match="frames must have shape"):
        estimate_noise(np.zeros((3, 8, 8)))


def test_table_is_that_of_clipped_samples() -> None:
    rng = np.random.default_rng(5)
    signal, mean, variance = clipping_table(900.0, 0.0)
    for level in (0.0, 20.0, 128.0, 250.0):
        samples = np.clip(level + 30 * rng.standard_normal(200_000), 0, 255)
        k = int(np.argmin(np.abs(signal - level)))
        assert abs(mean[k] - samples.mean()) < 0.5
        assert abs(variance[k] / samples.var() - 1) < 0.03
    noise = Noise.white(30)
    np.testing.assert_allclose(
        noise.unclip(np.interp([40.0, 200.0], signal, mean).astype(np.float32)), [40, 200], atol=0.2
    )
    assert noise.scaled(0.5).offset == 225
    assert abs(LUMA_GAIN - 0.669) < 1e-3


def test_noise_that_lies_beyond_the_scale_was_not_clipped() -> None:
    """A dark picture of one brightness: too few blocks tell by their variance."""
    truth = np.full((6, 64, 64, 1), 26.0, np.float32)
    truth[:, 20:40, 20:40] = 150.0
    noisy = truth + np.random.default_rng(4).normal(0, 25.5, truth.shape).astype(np.float32)
    assert not estimate_noise(noisy).clipped
    assert estimate_noise(np.clip(noisy, 0, 255)).clipped
    assert estimate_noise(np.clip(np.rint(noisy), 0, 255)).clipped
