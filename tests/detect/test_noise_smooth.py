"""Smooth noise, as of tapes: its spectrum is found in luma and chroma, and it is removed; white noise and clean clips stay white."""

from __future__ import annotations

import cv2
import numba
import numpy as np
import pytest

from tests.detect.test_noise import moving, planted
from videorestore.detect.noise import estimate_noise
from videorestore.detect.noise_blocks import compare, spectrum
from videorestore.detect.noise_smooth import smooth_noise, with_levels
from videorestore.motion.denoise import denoise
from videorestore.spatial.dct import halved, share_in_mean
from videorestore.spatial.noise import Noise
from videorestore.spatial.planes import LUMA_CHROMA, from_planes, to_planes
from videorestore.spatial.subsampled import gather

JIT = not numba.config.DISABLE_JIT
LUMA_SD, CHROMA_SD = 9.0, 14.0


def blurred(rng: np.random.Generator, h: int, w: int, across: float, down: float) -> np.ndarray:
    noise = cv2.GaussianBlur(rng.standard_normal((h, w)), (0, 0), sigmaX=across, sigmaY=down)
    return noise / noise.std()


def as_from_tape(truth: np.ndarray, seed: int = 3) -> np.ndarray:
    """Luma noise that is a little smooth, chroma noise that is stronger and smoother."""
    rng = np.random.default_rng(seed)
    planes = to_planes(truth, basis=LUMA_CHROMA)
    for own in planes:
        own[0] += LUMA_SD * blurred(rng, *own.shape[1:], 0.7, 0.7)
        for plane in own[1:]:
            plane += CHROMA_SD * blurred(rng, *own.shape[1:], 4.0, 1.0)
    return np.clip(np.rint(from_planes(planes, basis=LUMA_CHROMA)), 0, 255)


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def test_smooth_noise_is_found_with_its_levels() -> None:
    found = estimate_noise(as_from_tape(moving(8)))
    assert found.shape and found.chroma and found.trustworthy and not found.codec
    assert abs(found.sd / LUMA_SD - 1) < 0.2
    own = np.reshape(found.shape, (8, 8))
    assert own[:3, :3].mean() > 4 * own[5:, 5:].mean()
    half = CHROMA_SD * np.sqrt(
        np.mean(np.square(gather(blurred(np.random.default_rng(0), 96, 128, 4.0, 1.0)[None])))
    )
    assert abs(found.chroma_sd / half - 1) < 0.25


@pytest.mark.parametrize("sd", [0, 2, 5, 12, 30])
def test_white_noise_and_clean_clips_have_no_spectrum_of_their_own(sd: float) -> None:
    found = estimate_noise(planted(moving(8), sd))
    assert not found.shape and not found.chroma


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("quality", ["fast", "default"])
def test_smooth_noise_is_removed_from_luma_and_chroma(quality: str) -> None:
    truth = moving(12)
    noisy = as_from_tape(truth)
    mean, sd = denoise(noisy, estimate_noise(noisy), quality=quality)
    left, before = (to_planes(p - truth, basis=LUMA_CHROMA) for p in (mean, noisy))
    # As white noise, which is what its finest frequencies show, two thirds of it stayed in the chroma.
    assert rms(left[:, 0]) < 0.55 * rms(before[:, 0])
    assert rms(left[:, 1:]) < 0.4 * rms(before[:, 1:])
    assert np.isfinite(sd).all() and np.mean(np.abs(mean - truth) < 1.96 * sd) > 0.85


def test_a_spectrum_is_that_of_the_planted_noise() -> None:
    rng = np.random.default_rng(1)
    planes = np.stack([128 + 10 * blurred(rng, 320, 400, 0.8, 0.5) for _ in range(7)]).astype(np.float32)
    found = spectrum(planes, np.full_like(planes, 128), 6).reshape(8, 8)
    assert abs(np.sqrt(found.mean()) / 10 - 1) < 0.1
    # A Gaussian of sd s passes exp(-(s w)^2) of the variance at the frequency w.
    # Blocks leak: their highest frequencies hold some of the lower ones.
    w = np.arange(8) * np.pi / 8
    expected = np.exp(-np.add.outer((0.5 * w) ** 2, (0.8 * w) ** 2))
    found, expected = found[:6, :6], expected[:6, :6]
    np.testing.assert_allclose(found / found.mean(), expected / expected.mean(), rtol=0.3, atol=0.3)


@pytest.mark.parametrize("widths", [(0.3, 0.3), (0.8, 1.5), (2.0, 1.0)])
def test_what_a_mean_leaves_of_smooth_noise(widths: tuple[float, float]) -> None:
    noise = blurred(np.random.default_rng(2), 512, 512, *widths).astype(np.float32)
    blocks = noise.reshape(64, 8, 64, 8).swapaxes(1, 2).reshape(-1, 8, 8)
    own = np.mean([np.square(cv2.dct(b)) for b in blocks], axis=0).ravel().astype(np.float32)
    own[0] = (own[1] + own[8]) / 2
    for box in ((2, 2), (5, 5)):
        seen = float(np.var(cv2.blur(noise, box)))
        assert abs(share_in_mean(own, box) / seen - 1) < 0.25
    small = gather(noise[None])[0]
    blocks = small.reshape(32, 8, 32, 8).swapaxes(1, 2).reshape(-1, 8, 8)
    seen_small = np.mean([np.square(cv2.dct(b)) for b in blocks], axis=0).ravel()
    guess = halved(own).reshape(8, 8)
    # Low against high frequencies, within a factor of two over spectra that fall by up to two hundred.
    ratio = guess[:4, :4].mean() / guess[4:, 4:].mean()
    true = seen_small.reshape(8, 8)
    assert abs(np.log(ratio * true[4:, 4:].mean() / true[:4, :4].mean())) < 0.7


def test_white_noise_in_a_mean() -> None:
    assert share_in_mean(np.ones(64, np.float32), (1, 1)) == pytest.approx(1)
    assert abs(share_in_mean(np.ones(64, np.float32), (2, 2)) - 0.25) < 1e-6


def test_smooth_noise_counts_for_more_where_spots_are_sought() -> None:
    white = estimate_noise(planted(moving(8), 9))
    assert white.spot_sd == white.sd
    noisy = as_from_tape(moving(8))
    found = estimate_noise(noisy)
    seen = cv2.blur(noisy[0] - moving(8)[0], (3, 3)).std()
    assert 0.8 * seen < found.spot_sd / 3 < 1.8 * seen


def darker(truth: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noise of a camera at night, smoothed by its chroma and its codec: thrice as strong in the dark; and its sd."""
    sd = np.interp(truth.mean(axis=-1), [40, 140], [18, 6])[..., None]
    rng = np.random.default_rng(seed)
    grain = np.stack([blurred(rng, *truth.shape[1:3], 0.5, 0.5) for _ in truth])[..., None]
    return np.clip(np.rint(truth + sd * grain), 0, 255).astype(np.float32), sd


def test_noise_that_is_stronger_in_the_dark_is_told_by_brightness() -> None:
    ramp = np.linspace(25, 230, 256, dtype=np.float32)
    truth = np.broadcast_to(ramp[None, None, :, None], (8, 192, 256, 3))
    noisy, _ = darker(truth)
    blocks = compare(noisy, 1, 6)["luma"]
    usual = Noise.white(8.0, clipped=False)
    found = with_levels(usual, blocks)
    dark, bright = (
        found.factor(np.full((1, 1, 3), 45, np.float32)),
        found.factor(np.full((1, 1, 3), 200, np.float32)),
    )
    assert bright == 1 and dark > 1.8
    assert found.variance(np.full((2, 2, 3), 45, np.float32)) == pytest.approx(64 * float(dark[0, 0]))
    even = compare(planted(truth, 8.0), 1, 6)["luma"]
    assert not with_levels(usual, even).levels
    # What clipping takes from the dark is no difference in the noise.
    dark_clip = np.clip(truth - 40, 0, 255)
    clipped = compare(planted(dark_clip, 40.0), 1, 6)["luma"]
    assert not with_levels(Noise.white(40.0), clipped).levels


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_frames_too_low_for_blocks_of_chroma_have_none_of_its_own() -> None:
    noisy = as_from_tape(moving(8, 14, 256))
    found = smooth_noise(noisy, 6)
    assert found.shape and not found.chroma
    mean, sd = denoise(noisy, found, quality="fast")
    assert np.isfinite(mean).all() and np.isfinite(sd).all()
