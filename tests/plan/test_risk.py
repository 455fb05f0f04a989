"""The curve is asked where it takes error away, and nothing is claimed where nothing can be known."""

from dataclasses import replace

import cv2
import numba
import numpy as np
import pytest

from videorestore.make.engines import CurveEngine, JointEngine, MotionEngine
from videorestore.make.spool import Room, Spool
from videorestore.plan.risk import hears_motion_alone, say_of_curve
from videorestore.spatial.noise import Noise

SD = 40.0

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="too slow without compilation")


def lit(n=18, gray=False):
    """A texture at rest under a lamp that flickers."""
    rng = np.random.default_rng(3)
    picture = cv2.GaussianBlur(rng.standard_normal((64, 72, 3)).astype(np.float32), (0, 0), 3)
    picture = 128 + 35 * picture / picture.std()
    if gray:
        picture = np.repeat(picture[..., :1], 3, axis=-1)
    light = 1 + 0.15 * np.sin(1.7 * np.arange(n))
    return (picture * light[:, None, None, None]).astype(np.float32)


def noisy_of(truth, channels=3):
    noise = SD * np.random.default_rng(0).standard_normal((*truth.shape[:3], channels))
    return np.clip(np.rint(truth + noise), 0, 255).astype(np.float32)


@pytest.fixture(scope="module")
def told():
    truth = lit()
    noisy = noisy_of(truth)
    return truth, noisy, say_of_curve(noisy, Noise.white(SD), "fast")


@compiled
def test_together_they_are_better_than_either(told):
    truth, noisy, say = told
    assert say.divergence is not None
    motion = MotionEngine("fast")
    engines = [JointEngine(motion, 10, say.divergence), motion, CurveEngine()]
    made = [engine.denoise(noisy, Noise.white(SD), 1.0, 2, 16) for engine in engines]
    errors = [np.square(mean - truth[2:16]).mean() for mean, _, _ in made]
    assert errors[0] < min(errors[1:])
    mean, sd, x = made[0]
    assert (np.abs(mean - truth[2:16]) <= 1.96 * sd).mean() > 0.9 and x.shape == (18,)
    # The estimate of the gain is an estimate of this.
    assert say.gain > 0.5 * (1 - errors[0] / errors[1])


@compiled
def test_on_disk_it_is_the_same(told, tmp_path):
    _, noisy, say = told
    engine = JointEngine(MotionEngine("fast"), 10, say.divergence)
    frames = Spool(str(tmp_path), noisy.shape, np.uint8)
    frames[:] = noisy
    mean, sd, _ = engine.denoise(frames, Noise.white(SD), 1.0, 3, 12, Room(str(tmp_path)))
    given, spread, _ = engine.denoise(noisy, Noise.white(SD), 1.0, 3, 12)
    # Of an sd on disk three digits are kept.
    assert np.allclose(mean[:], given, atol=0.05)
    assert np.allclose(sd[:], spread, rtol=2e-2)


@compiled
def test_black_and_white_in_colour():
    noisy = noisy_of(lit(12, gray=True), 1)
    noise = replace(Noise.white(SD), monochrome=True)
    one = say_of_curve(noisy[..., :1], Noise.white(SD), "fast")
    three = say_of_curve(noisy, noise, "fast")
    assert one.gain == pytest.approx(three.gain, abs=0.02)


def test_nothing_is_claimed_of_coded_noise_or_equal_frames():
    noisy = noisy_of(lit(4))
    assert hears_motion_alone(replace(Noise.white(SD), codec=True))
    assert not hears_motion_alone(Noise.white(SD))
    assert say_of_curve(noisy[[0, 0, 1, 1]], Noise.white(SD), "fast").divergence is None
