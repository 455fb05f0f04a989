import numpy as np
import pytest

from videorestore.detect.quiet import lively_sd, quietest_sd, unmatched_sd


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("sd", [4, 15, 30])
def test_noise_is_never_larger_than_the_bound(sd, channels):
    y, x = np.mgrid[0:96, 0:128]
    picture = 128 + 40 * np.sin(x / 9) * np.cos(y / 7) + 30 * (x > 64) * np.sin(1.9 * x)
    rng = np.random.default_rng(1)
    frames = picture[None, ..., None] + rng.normal(0, sd, (3, 96, 128, channels))
    bound = quietest_sd(np.clip(np.rint(frames), 0, 255).astype(np.float32))
    assert 0.85 * sd < bound < 1.5 * sd


def test_a_clean_picture_with_a_flat_part_has_no_noise():
    frames = np.full((2, 64, 64, 3), 90, np.float32)
    frames[:, :, 32:] = np.random.default_rng(2).uniform(0, 255, (2, 64, 32, 3))
    assert quietest_sd(frames) < 0.5


def test_tiny_frames():
    assert quietest_sd(np.zeros((2, 5, 7, 3), np.float32)) == 0.0


def test_texture_that_stands_still_is_not_lively():
    rng = np.random.default_rng(2)
    texture = rng.normal(128, 10, (1, 64, 64, 3)).astype(np.float32)
    still = np.repeat(texture, 5, axis=0)
    assert lively_sd(still) == 0.0
    noisy = still + rng.normal(0, 10, still.shape).astype(np.float32)
    assert 9 < lively_sd(noisy) < 11
    assert lively_sd(still[:1]) == 0.0


def test_noise_that_is_cut_off_does_not_make_a_block_quiet():
    levels = np.repeat(np.array([240.0, 120.0]), 64)[None, None, :, None]
    noise = np.random.default_rng(3).normal(0, 45, (3, 96, 128, 3))
    frames = np.clip(np.rint(levels + noise), 0, 255).astype(np.float32)
    assert quietest_sd(frames) < 0.75 * 45 < 0.85 * 45 < quietest_sd(frames, 45.0)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("sd", [4, 15, 30])
def test_noise_does_not_repeat_itself(sd, channels):
    y, x = np.mgrid[0:96, 0:128]
    picture = 128 + 40 * np.sin(x / 9) * np.cos(y / 7)
    noise = np.random.default_rng(1).normal(0, sd, (3, 96, 128, channels))
    noisy = np.clip(np.rint(picture[None, ..., None] + noise), 0, 255).astype(np.float32)
    assert 0.9 * sd < unmatched_sd(noisy, sd)
    stripes = np.repeat(128 + 90 * np.sign(np.sin(0.8 * x + 0.5 * y))[None, ..., None], channels, axis=3)
    assert unmatched_sd(stripes.astype(np.float32)) < 4


def test_a_picture_too_dark_or_too_small_does_not_tell_whether_noise_repeats_itself():
    dark = np.clip(np.random.default_rng(3).normal(0, 20, (3, 96, 128, 3)), 0, 255).astype(np.float32)
    assert np.isinf(unmatched_sd(dark, 20.0)) and np.isinf(unmatched_sd(dark[:, :12, :12] + 90))
