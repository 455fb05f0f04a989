"""The sd of denoised pictures: its parts, and that it holds where noise hides texture."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numba
import numpy as np
import pytest
from scipy.stats import spearmanr

from videorestore.motion.denoise import denoise
from videorestore.motion.denoise_error import error_variance, lost_to_codec, luma_share
from videorestore.spatial.noise import Noise

JIT = not numba.config.DISABLE_JIT


def textured(n: int, h: int, w: int, sd: float) -> np.ndarray:
    """Grey clip that moves by 1.3 pixels per frame: fine random texture over a slow wave."""
    rng = np.random.default_rng(5)
    texture = cv2.GaussianBlur(rng.standard_normal((h, w + 20)).astype(np.float32), (0, 0), 1.0)
    texture *= sd / texture.std()
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    frames = [
        cv2.remap(texture, x + 1.3 * t, y, cv2.INTER_CUBIC) + 120 + 30 * np.sin((x + 1.3 * t) / 15)
        for t in range(n)
    ]
    return np.array(frames, dtype=np.float32)[..., None]


def noisy_of(truth: np.ndarray, sd: float) -> np.ndarray:
    noise = np.random.default_rng(0).standard_normal(truth.shape).astype(np.float32)
    return np.clip(np.rint(truth + sd * noise), 0, 255).astype(np.float32)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("quality", ["fast", "default", "best"])
@pytest.mark.parametrize("sd", [20, 40])
def test_texture_that_noise_hides_is_in_the_sd(quality: str, sd: float) -> None:
    """Texture of sd 8 does not stand out of such noise and is lost: the posterior variance knows nothing of it."""
    truth = textured(7, 64, 80, 8)
    mean, spread = denoise(noisy_of(truth, sd), Noise.white(sd), quality=quality)
    covered = np.mean(np.abs(mean - truth) < 1.96 * spread)
    assert 0.87 < covered < 0.985


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("quality", ["fast", "default"])
def test_sd_ranks_the_errors(quality: str) -> None:
    """A clip that is smooth on the left and textured on the right."""
    truth = textured(7, 64, 96, 25)
    truth[:, :, :48] = textured(7, 64, 48, 0.01)
    mean, spread = denoise(noisy_of(truth, 20), Noise.white(20), quality=quality)
    blocks = [
        a.reshape(7, 8, 8, 12, 8).mean(axis=(2, 4)).ravel()
        for a in (spread[..., 0], np.abs(mean - truth)[..., 0])
    ]
    assert spearmanr(*blocks).statistic > 0.5


def test_error_lies_between_the_posterior_and_the_noise() -> None:
    rng = np.random.default_rng(1)
    luma, share = (rng.uniform(0.1, 1, (2, 1, 3, 4)).astype(np.float32) for _ in range(2))
    chroma, along = rng.uniform(0, 1, (2, 2, 3, 4)).astype(np.float32), luma / share
    sure = Noise.white(10)
    error, colour = error_variance(luma, along, chroma, sure)
    assert (error > luma * 0.99).all() and (error < 1.1 * along).all()
    between = np.log(error / along)
    # The same way from the noise to the posterior on a scale of ratios, nearer to the noise.
    slope = np.polyfit(np.log(luma / along).ravel(), between.ravel(), 1)[0]
    assert 0.3 < slope < 0.5 and np.corrcoef(np.log(luma / along).ravel(), between.ravel())[0, 1] > 0.9999
    doubtful = replace(sure, low=6.0, high=14.0)
    wider, wider_colour = error_variance(luma, along, chroma, doubtful)
    assert (wider > 1.3 * error).all() and (wider_colour > 1.3 * colour).all()
    assert lost_to_codec(doubtful) == 0 < lost_to_codec(replace(doubtful, codec=True))


def test_what_planes_share_is_parted_as_in_the_guide() -> None:
    noise = np.full((1, 3, 2, 2), 100, np.float32)
    guide = noise * np.array([0.3, 0.1, 0.2], np.float32)[:, None, None]
    np.testing.assert_allclose(luma_share(0.1 * noise, guide, noise), 100 * 0.1 * 3 * 0.5, rtol=1e-5)
    np.testing.assert_array_equal(luma_share(noise[:, :1], guide[:, :1], noise[:, :1]), noise[:, :1])
    assert not luma_share(0 * noise, 0 * guide, 0 * noise).any()
