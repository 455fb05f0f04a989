"""Frames on disk are cut like an array."""

import numpy as np
import pytest

from tests.media.makers import random_frame
from videorestore import colour
from videorestore.clip import PixelFormat
from videorestore.make.spool import Patched, Spool, Unfolded, cut, patched


@pytest.fixture
def pair(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.normal(100, 40, (7, 9, 11, 3)).astype(np.float32)
    spool = Spool(str(tmp_path), truth.shape)
    for k, picture in enumerate(truth):
        spool[k] = picture
    return truth, spool


def test_reading_is_like_an_array(pair):
    truth, spool = pair
    for key in (0, 6, np.int64(3), slice(2, 5), (slice(None), slice(1, 4))):
        assert np.array_equal(spool[key], truth[key])
    box = (slice(None), slice(2, 9), slice(3, 11))
    assert np.array_equal(spool[box], truth[box])
    assert np.array_equal(np.array(spool[:, 0:2], np.float32), truth[:, 0:2])
    assert spool.shape == truth.shape and len(spool) == 7 and spool.ndim == 4


def test_writing_is_like_an_array(pair):
    truth, spool = pair
    rng = np.random.default_rng(1)
    box = (slice(None), slice(3, 7), slice(2, 5))
    values = rng.normal(size=(7, 4, 3, 3)).astype(np.float32)
    truth[box] = values
    spool[box] = values
    truth[2:4, 1:3] = 0
    spool[2:4, 1:3] = 0
    truth[1:2, 0:5, 4:6] += 1
    spool[1:2, 0:5, 4:6] += 1
    assert np.array_equal(spool[:], truth)


def test_bytes_and_halves_keep_their_precision(tmp_path):
    numbers = np.arange(256, dtype=np.float32).reshape(1, 16, 16, 1)
    exact = Spool(str(tmp_path), numbers.shape, np.uint8)
    exact[0] = numbers[0]
    assert exact[0].dtype == np.uint8 and np.array_equal(exact[:], numbers)
    rough = Spool(str(tmp_path), numbers.shape, np.float16)
    rough[0] = numbers[0] / 7
    assert rough[0].dtype == np.float32
    assert np.allclose(rough[:], numbers / 7, rtol=1e-3)


def test_what_was_never_written_is_zero(tmp_path):
    spool = Spool(str(tmp_path), (3, 4, 5, 1))
    spool[0, 1:2] = 3
    assert spool[2].sum() == 0 and spool[0, 1:2].sum() == 15
    assert not list(tmp_path.iterdir()), "the file has a name"


def test_parts_and_patches(pair, tmp_path):
    truth, spool = pair
    assert np.array_equal(spool.part(2, 5)[:], truth[2:5])
    patch = Spool(str(tmp_path), (2, *truth.shape[1:]))
    patch[:] = np.float32(7)
    patched = Patched(spool, patch, 3)
    expected = truth.copy()
    expected[3:5] = 7
    assert np.array_equal(patched[:], expected)
    assert np.array_equal(patched[:, 2:4], expected[:, 2:4])
    assert np.array_equal(patched[4], expected[4])
    zero = Patched(None, patch, 3)
    assert zero[0].sum() == 0 and (zero[4] == 7).all()
    spool = cut(spool, 0, 4)
    assert np.array_equal(cut(truth, 2, 4), cut(spool, 2, 4)[:])
    assert np.array_equal(spool[:], truth[:4])


@pytest.mark.parametrize("subsampling", [(1, 1), (2, 0), (0, 0)])
def test_pixels_made_of_samples_part_by_part_are_those_of_whole_frames(subsampling):
    form = PixelFormat(model="yuv", depth=8, subsampling=subsampling, matrix="bt709")
    frames = [random_frame(form, 37, 53, number=k) for k in range(3)]
    whole = np.stack([colour.working(frame) for frame in frames])
    stack = Unfolded(frames, {})
    assert stack.shape == whole.shape and len(stack) == 3
    for key in (1, slice(0, 2), (slice(None), slice(11, 30), slice(5, 53)), (2, slice(20, 37), slice(0, 9))):
        np.testing.assert_allclose(stack[key], whole[key], atol=1e-4)
    lit = Unfolded(frames, {1: (1.5, -4.0)})
    np.testing.assert_allclose(
        lit[:], whole * [[[[1]]], [[[1.5]]], [[[1]]]] - [[[[0]]], [[[4]]], [[[0]]]], atol=1e-3
    )
    result = np.zeros((1, *whole.shape[1:]), np.float32)
    both = patched(stack, result, 1)
    assert not both[1].any() and np.array_equal(both[2], stack[2])
