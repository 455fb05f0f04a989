"""Noise is removed from samples as files keep them, as it is from their pixels."""

from dataclasses import replace
from fractions import Fraction

import numba
import numpy as np
import pytest

from videorestore import colour
from videorestore.clip import Frame, PixelFormat
from videorestore.make.engines import MotionEngine
from videorestore.make.samples import are_subsampled, samples_by_parts
from videorestore.make.spool import Unfolded, Widened
from videorestore.motion.denoise import denoise, is_subsampled
from videorestore.spatial.noise import Noise
from videorestore.spatial.planes import LUMA_CHROMA, from_planes, to_planes
from videorestore.spatial.subsampled import gather

JIT = not numba.config.DISABLE_JIT


def frames_of(
    n: int, h: int, w: int, *, matrix: str = "bt709", depth: int = 8, shift: int = 1, lift: float = 0
) -> Unfolded:
    """A bright bar that moves over a slope, with noise."""
    form = PixelFormat(model="yuv", depth=depth, subsampling=(shift, shift), matrix=matrix, full_range=False)
    rng, scale = np.random.default_rng(3), 1 << (depth - 8)
    made = []
    for t in range(n):
        y, x = np.mgrid[:h, :w]
        luma = 60 + lift + y / 2 + 80 * (np.abs(x - 20 - 2 * t) < 9)
        small = luma[:: 1 << shift, :: 1 << shift]
        planes = [luma, 150 - small / 4, 100 + small / 5]
        noisy = tuple(
            np.rint(scale * (p + 6 * rng.standard_normal(p.shape))).astype(form.dtype) for p in planes
        )
        made.append(Frame(planes=noisy, format=form, time=Fraction(t), duration=Fraction(1), index=t))
    return Unfolded(made, {})


@pytest.mark.parametrize(("matrix", "depth"), [("bt709", 8), ("smpte170m", 10)])
def test_what_is_not_changed_keeps_its_bits_in_overlapping_parts(matrix: str, depth: int) -> None:
    frames = frames_of(3, 150, 134, matrix=matrix, depth=depth)
    seen = []

    def engine(luma: np.ndarray, chroma: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        seen.append(luma.shape)
        return luma[1:], chroma[1:], np.full((2, *chroma.shape[2:], 3), 7, np.float32)

    made, sd = samples_by_parts(engine, frames, 1, 3, 64)
    assert len(seen) == 9
    for k in range(2):
        for plane, given in zip(made.frame(k).planes, frames.frame(1 + k).planes):
            np.testing.assert_array_equal(plane, given)
        assert sd[k].shape == (150, 134, 3)
        np.testing.assert_allclose(sd[k], 7, rtol=1e-5)


def test_parts_fade_into_each_other() -> None:
    frames = frames_of(1, 32, 200)
    level = iter([50.0, 90.0])

    def engine(luma: np.ndarray, chroma: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.full_like(luma, next(level)), 0 * chroma, np.ones((1, *chroma.shape[2:], 3), np.float32)

    row = samples_by_parts(engine, frames, 0, 1, 100)[0].frame(0).planes[0][9].astype(int)
    steps = np.diff(row)
    assert steps.min() >= 0 and 0 < steps.max() <= 4
    assert row[91] == row[0] < row[-1] == row[108]


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("matrix", ["bt709", "smpte170m"])
@pytest.mark.parametrize("quality", ["fast", "default"])
def test_samples_are_denoised_as_their_pixels_are(quality: str, matrix: str) -> None:
    frames = frames_of(6, 64, 80, matrix=matrix)
    noise = Noise(sd=7, low=6.5, high=7.5, offset=49, codec=True, chroma=(20.0,) * 64)
    assert is_subsampled(noise) and are_subsampled(frames)
    made, sd, x = MotionEngine(quality).denoise(frames, noise, 1.0, 1, 5)
    pixels, spread = denoise(frames[:], noise, quality=quality, start=1, stop=5)
    assert x is None and isinstance(made, Unfolded)
    for k in range(4):
        expected = colour.native(pixels[k], frames.frame(1 + k))
        for plane, other in zip(made.frame(k).planes, expected.planes):
            apart = np.abs(plane.astype(int) - other)
            assert apart.max() <= 1 and apart.mean() < 0.01
        np.testing.assert_allclose(sd[k], spread[k], rtol=1e-3)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
@pytest.mark.parametrize("matrix", ["bt709", "smpte170m"])
def test_samples_near_black_and_white_are_denoised_as_their_pixels_are(matrix: str) -> None:
    frames = frames_of(6, 64, 80, matrix=matrix, lift=70)
    noise = Noise(sd=7, low=6.5, high=7.5, offset=49, codec=True, clipped=True, chroma=(20.0,) * 64)
    assert is_subsampled(noise)
    made, sd, _ = MotionEngine("fast").denoise(frames, noise, 1.0, 1, 5)
    as_pixels, spread = denoise(frames[:], noise, quality="fast", start=1, stop=5)
    plain, _ = denoise(frames[:], replace(noise, clipped=False), quality="fast", start=1, stop=5)
    assert isinstance(made, Unfolded)
    unlike = []
    for k in range(4):
        expected, other = (colour.native(p[k], frames.frame(1 + k)).planes[0] for p in (as_pixels, plain))
        apart = np.abs(made.frame(k).planes[0].astype(int) - expected)
        unlike.append(np.abs(other.astype(int) - expected).mean())
        assert apart.mean() < 0.3 and np.quantile(apart, 0.95) <= 1
        np.testing.assert_allclose(np.mean(sd[k]), np.mean(spread[k]), rtol=0.02)
    # Brightness that clipping took is given back.
    assert np.mean(unlike) > 0.5


@pytest.mark.kernel
def test_channels_of_planes_are_looked_up_as_pixels_are() -> None:
    rng = np.random.default_rng(2)
    noise = Noise(sd=12, low=11, high=13, offset=144, clipped=True)
    pixels = rng.uniform(-20, 275, (4, 6, 3)).astype(np.float32).repeat(2, axis=0).repeat(2, axis=1)
    planes = to_planes(pixels, basis=LUMA_CHROMA)
    luma, chroma = planes[0] + rng.uniform(-5, 5, (8, 12)).astype(np.float32), gather(planes[1:])
    fine = np.concatenate([luma[None], chroma.repeat(2, axis=1).repeat(2, axis=2)])
    expected = to_planes(noise.unclip(from_planes(fine, basis=LUMA_CHROMA)), basis=LUMA_CHROMA)
    noise.unclip_planes(luma, chroma, LUMA_CHROMA)
    np.testing.assert_allclose(luma, expected[0], atol=0.05)
    np.testing.assert_allclose(chroma, gather(expected[1:]), atol=0.05)


def test_other_samples_are_taken_as_pixels() -> None:
    assert not are_subsampled(frames_of(1, 32, 32, shift=0))
    assert not are_subsampled(frames_of(1, 31, 32))
    assert not are_subsampled(Unfolded([frames_of(1, 32, 32).frame(0)], {0: (1.1, 0.0)}))
    assert not are_subsampled(np.zeros((1, 32, 32, 3), np.float32))
    plain = Noise(sd=7, low=7, high=7, offset=49)
    assert not is_subsampled(plain) and not is_subsampled(Noise.white(7))
    assert not is_subsampled(replace(plain, codec=True, monochrome=True))


def test_blocks_are_given_as_pixels() -> None:
    blocks = np.arange(2 * 2 * 3 * 3, dtype=np.float32).reshape(2, 2, 3, 3)
    wide = Widened(blocks)
    assert wide.shape == (2, 4, 6, 3) and len(wide) == 2
    np.testing.assert_array_equal(wide[1], blocks[1].repeat(2, axis=0).repeat(2, axis=1))
    np.testing.assert_array_equal(wide[0, 1:3, :2], wide[0][1:3, :2])
