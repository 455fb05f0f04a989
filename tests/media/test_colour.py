"""Colour conversion: exact matrices, and the way back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.media.makers import random_frame
from videorestore.clip import Frame, PixelFormat
from videorestore.colour import from_rgb, native, to_rgb, working, ycc_from_rgb
from videorestore.errors import InputError

MATRICES = ("bt709", "fcc", "bt470bg", "smpte170m", "smpte240m", "ycgco", "bt2020nc")


formats = st.one_of(
    st.builds(
        PixelFormat,
        model=st.just("yuv"),
        depth=st.sampled_from([8, 9, 10, 12, 14, 16]),
        subsampling=st.sampled_from([(0, 0), (1, 0), (1, 1), (0, 1), (2, 0), (2, 2)]),
        alpha=st.booleans(),
        matrix=st.sampled_from(MATRICES),
        full_range=st.booleans(),
    ),
    st.builds(
        PixelFormat,
        model=st.sampled_from(["rgb", "grey"]),
        depth=st.sampled_from([8, 9, 10, 12, 14, 16]),
        alpha=st.booleans(),
        full_range=st.booleans(),
    ),
)


@settings(deadline=None, derandomize=True, max_examples=120)
@given(pixel=formats, height=st.integers(1, 9), width=st.integers(1, 9), seed=st.integers(0, 99))
def test_working_and_native_are_inverse(pixel: PixelFormat, height: int, width: int, seed: int) -> None:
    frame = random_frame(pixel, height, width, seed)
    back = native(working(frame), frame)
    for old, new in zip(frame.planes, back.planes, strict=True):
        np.testing.assert_array_equal(old, new)


def test_float_samples_come_back_within_rounding() -> None:
    frame = random_frame(PixelFormat(model="rgb", depth=32), 6, 5)
    back = native(working(frame), frame)
    np.testing.assert_allclose(back.planes[1], frame.planes[1], atol=2e-7)


@pytest.mark.parametrize("matrix", MATRICES)
def test_white_is_full_luma_and_no_chroma(matrix: str) -> None:
    np.testing.assert_allclose(ycc_from_rgb(matrix) @ np.ones(3), [1, 0, 0], atol=1e-12)


def test_known_colours_of_bt709_limited_range() -> None:
    # BT.709, 8 bit: red is (63, 102, 240), blue (32, 240, 118) - values of the standard's colour bars.
    pixel = PixelFormat(model="yuv", matrix="bt709", full_range=False)
    pixels = np.array([[[255, 0, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0]]], np.uint8)
    luma, cb, cr = from_rgb(pixels, pixel)
    assert luma.tolist() == [[63, 32, 235, 16]]
    assert cb.tolist() == [[102, 240, 128, 128]]
    assert cr.tolist() == [[240, 118, 128, 128]]


def test_chroma_is_smooth_inside_and_keeps_its_mean() -> None:
    pixel = PixelFormat(model="yuv", subsampling=(1, 1), matrix="bt709")
    ramp = np.tile(np.arange(60, 200, 10, dtype=np.uint8), (4, 1))
    frame = Frame(
        planes=(np.full((8, 28), 128, np.uint8), ramp, ramp),
        format=pixel,
        index=0,
        time=Fraction(0),
        duration=Fraction(1),
    )
    red = working(frame)[4, :, 0]
    inside = np.diff(red)[2:-2]
    np.testing.assert_allclose(inside, inside[0], rtol=1e-3)


def test_kept_pixels_keep_their_samples() -> None:
    pixel = PixelFormat(model="yuv", subsampling=(1, 1), matrix="smpte170m", full_range=False, alpha=True)
    frame = random_frame(pixel, 6, 8)
    keep = np.zeros((6, 8), bool)
    keep[:, :3] = True
    made = native(np.full((6, 8, 3), 77, np.float32), frame, keep=keep)
    np.testing.assert_array_equal(made.planes[0][:, :3], frame.planes[0][:, :3])
    assert (made.planes[0][:, 3:] == made.planes[0][0, 3]).all()
    # Column 3 shares its chroma with column 2, which is kept.
    np.testing.assert_array_equal(made.planes[1][:, :2], frame.planes[1][:, :2])
    assert (made.planes[1][:, 2:] == 128).all()
    np.testing.assert_array_equal(made.planes[3], frame.planes[3])


def test_to_rgb_repeats_chroma_and_clips() -> None:
    pixel = PixelFormat(model="yuv", subsampling=(1, 1), matrix="bt709", full_range=False)
    frame = Frame(
        planes=(np.array([[255, 0]] * 2, np.uint8), np.array([[128]], np.uint8), np.array([[128]], np.uint8)),
        format=pixel,
        index=0,
        time=Fraction(0),
        duration=Fraction(1),
    )
    assert to_rgb(frame).tolist() == [[[255] * 3, [0] * 3]] * 2


@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_to_rgb_fills_the_scale(depth: int) -> None:
    pixel = PixelFormat(model="grey", depth=depth)
    top = (1 << depth) - 1
    frame = replace(random_frame(pixel, 1, 2), planes=(np.array([[0, top]], pixel.dtype),))
    shown = to_rgb(frame)
    assert shown.dtype == (np.uint8 if depth == 8 else np.uint16)
    assert shown.ravel().tolist() == [0, 255 if depth == 8 else 65535]


def test_from_rgb_adds_and_drops_alpha() -> None:
    rgb = np.zeros((2, 2, 3), np.uint8)
    assert from_rgb(rgb, PixelFormat(model="rgb", alpha=True))[-1].tolist() == [[255, 255]] * 2
    assert len(from_rgb(np.zeros((2, 2, 4), np.uint8), PixelFormat(model="rgb"))) == 3


def test_wrong_shape_is_refused() -> None:
    frame = random_frame(PixelFormat(model="rgb"), 4, 4)
    with pytest.raises(InputError, match="shape"):
        native(np.zeros((4, 5, 3), np.float32), frame)


def test_inputs_are_not_changed() -> None:
    frame = random_frame(PixelFormat(model="yuv", subsampling=(1, 1), matrix="bt709"), 6, 6)
    before = [p.copy() for p in frame.planes]
    pixels = working(frame)
    copy = pixels.copy()
    native(pixels, frame)
    np.testing.assert_array_equal(pixels, copy)
    for old, new in zip(before, frame.planes):
        np.testing.assert_array_equal(old, new)
