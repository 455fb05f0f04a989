"""Mending on disk gives what mending in memory gives."""

import numpy as np
import pytest

from videorestore.make.engines import MotionEngine
from videorestore.make.mending import mend, missing_values
from videorestore.make.spool import Patched, Room, Spool
from videorestore.make.window import HeldNatives, Window


class Guess:
    """Every hole gets the mean of its part of the frame: what the parts say differs a little."""

    def inpaint(self, frames, masks, start, stop):
        made, sd = frames[start:stop].copy(), np.zeros_like(frames[start:stop])
        for k, hole in enumerate(masks[start:stop]):
            made[k][hole] = 70.0
            sd[k][hole] = 3.0
        return made, sd


def spooled(tmp_path, frames):
    spool = Spool(str(tmp_path), frames.shape)
    for k, picture in enumerate(frames):
        spool[k] = picture
    return spool


def test_holes_are_filled_and_the_rest_is_kept_bit_for_bit(tmp_path):
    rng = np.random.default_rng(0)
    frames = rng.normal(100, 40, (5, 150, 400, 3)).astype(np.float32)
    masks = rng.random(frames.shape[:3]) < 0.02
    masks[3] = False
    base, room = spooled(tmp_path, frames), Room(str(tmp_path))
    mended, deviation = mend(Guess(), base, masks, 1, 5, 128, room)
    pixels, sd = Patched(base, mended, 1), Patched(None, deviation, 1)
    assert pixels.shape == frames.shape
    assert np.array_equal(pixels[0], frames[0])
    for k in range(1, 5):
        assert np.array_equal(pixels[k][~masks[k]], frames[k][~masks[k]])
        assert np.allclose(pixels[k][masks[k]], 70, atol=1e-3)
        assert np.allclose(sd[k], np.where(masks[k][..., None], 3, 0), atol=0.01)


def test_small_frames_come_out_as_in_memory(tmp_path):
    rng = np.random.default_rng(1)
    still = rng.uniform(20, 230, (40, 56, 3)).astype(np.float32)
    frames = np.stack([np.roll(still, k, axis=1) for k in range(6)])
    masks = np.zeros(frames.shape[:3], bool)
    masks[2, 10:14, 20:25] = masks[4, 5:7] = True
    engine = MotionEngine("fast")
    mended, sd = engine.inpaint(frames, masks, 1, 6)
    pixels, deviation = mend(engine, spooled(tmp_path, frames), masks, 1, 6, 512, Room(str(tmp_path)))
    assert np.array_equal(pixels[:], mended)
    assert np.allclose(deviation[:], sd, rtol=2e-3)


def test_missing_values(tmp_path):
    frames = np.ones((3, 4, 5, 3), np.float32)
    frames[1, 2, 3, 0] = np.nan
    assert np.argwhere(missing_values(spooled(tmp_path, frames))).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_window_takes_new_frames_and_the_larger_sd(tmp_path, on_disk):
    def stack(*levels):
        frames = np.stack([np.full((4, 5, 1), level, np.float32) for level in levels])
        return spooled(tmp_path, frames) if on_disk else frames

    window = Window(numbers=[0, 1, 2], natives=HeldNatives(), pixels=stack(1, 2, 3))
    window.put(stack(20, 30), stack(5, 1), 1)
    window.put(stack(25), stack(2), 1)
    assert [float(window.pixels[k].mean()) for k in range(3)] == [1, 25, 30]
    assert [float(window.sd[k].mean()) for k in range(2)] == [0, 5]
