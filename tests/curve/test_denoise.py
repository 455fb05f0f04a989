"""Denoising on a curve: error far below the noise, sd that means something, nothing done where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from videorestore.curve.denoise import denoise
from videorestore.detect.noise import estimate_noise
from videorestore.spatial.noise import Noise


@pytest.fixture(scope="module")
def noisy(pan):
    rng = np.random.default_rng(2)
    return (pan + 20 * rng.standard_normal(pan.shape)).astype(np.float32)


@pytest.fixture(scope="module")
def restored(noisy):
    return denoise(noisy, estimate_noise(noisy))


def test_error_is_a_small_share_of_the_noise(pan, noisy, restored):
    mean, _, _ = restored
    assert np.square(mean - pan).mean() < 0.06 * 400


def test_space_helps_the_curve(pan, noisy, restored):
    along, _ = restored[2].predict(noisy, restored[2].x)
    assert np.square(restored[0] - pan).mean() < 0.5 * np.square(along - pan).mean()


def test_sd_covers_the_error(pan, restored):
    mean, sd, _ = restored
    assert 0.86 < (np.abs(mean - pan) < 1.96 * sd).mean() < 0.99


def test_shockwave_beats_half_the_trial_of_non_local_means(scenes):
    clean = scenes.shockwave(100)[20:60]
    rng = np.random.default_rng(0)
    given = (clean + 25.5 * rng.standard_normal(clean.shape)).astype(np.float32)
    mean, _, _ = denoise(given, Noise.white(25.5, clipped=False))
    assert np.square(mean - clean).mean() < 8


def test_tiles_do_not_show(noisy, restored, monkeypatch):
    import videorestore.curve.denoise as module

    monkeypatch.setattr(module, "TILE", 16)
    small, _, _ = denoise(noisy, estimate_noise(noisy))
    assert np.abs(small - restored[0]).max() < 2


def test_zero_noise_passes_through_and_input_stays(pan, noisy):
    before = noisy.copy()
    mean, sd, _ = denoise(noisy, Noise(sd=0.0))
    assert np.array_equal(mean, noisy)
    assert not sd.any()
    assert np.array_equal(noisy, before)


def test_integers_and_outputs_given(noisy):
    frames = np.clip(np.rint(noisy[:10]), 0, 255).astype(np.uint8)
    out, out_sd = (np.zeros(frames.shape, np.float32) for _ in range(2))
    mean, sd, _ = denoise(frames, Noise.white(20.0), out=out, out_sd=out_sd)
    assert mean is out and sd is out_sd
    assert np.isfinite(out).all() and (out_sd > 0).all()


def test_clipped_blacks_stay_black(pan):
    """One number for the noise would lift them by four tenths of its sd."""
    truth = np.clip(pan - 110, 0, 255)
    dark = truth < 1
    assert 0.1 < dark.mean() < 0.9
    rng = np.random.default_rng(3)
    noise = Noise.white(20.0)
    noisy = np.clip(truth + 20 * rng.standard_normal(pan.shape), 0, 255).astype(np.float32)
    mean = noise.unclip(denoise(noisy, noise)[0])
    assert np.abs((mean - truth)[dark].mean()) < 2


def test_black_and_white_is_denoised_by_its_luma(pan):
    grey = np.repeat(pan.mean(axis=-1, keepdims=True), 3, axis=-1)
    rng = np.random.default_rng(4)
    noisy = (grey + 20 * rng.standard_normal((*pan.shape[:3], 1))).astype(np.float32)
    noise = Noise.white(20.0, clipped=False)
    alone, _, _ = denoise(noisy[..., :1], noise)
    stored, sd, _ = denoise(noisy, replace(noise, monochrome=True))
    assert sd.shape == stored.shape and np.ptp(stored, axis=-1).max() < 1e-3
    # Taken for three channels of their own, the noise of the luma would be thought a third of what it is.
    assert np.square(stored - grey).mean() < 1.1 * np.square(alone - grey[..., :1]).mean()
