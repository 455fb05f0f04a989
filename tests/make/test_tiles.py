"""Parts join without a trace."""

import os

import numpy as np
import pytest

from videorestore.make.spool import Room
from videorestore.make.tiles import MARGIN, by_parts, stretches
from videorestore.make.window import spool_bytes


@pytest.mark.parametrize("length", [1, 40, 512, 513, 700, 1080, 1920, 3001])
def test_weights_add_up_to_one(length):
    total = np.zeros(length)
    for span in stretches(length):
        total[span.start : span.stop] += span.weights
    assert np.allclose(total, 1, atol=1e-5)


def test_an_engine_that_looks_around_gives_the_same_in_parts():
    from scipy.ndimage import uniform_filter

    frames = np.random.default_rng(0).standard_normal((3, 260, 333, 2)).astype(np.float32)
    seen = []

    def blur(part):
        seen.append(part.shape[1:3])
        smooth = uniform_filter(part, (0, 9, 9, 0))[1:]
        return smooth, np.abs(smooth)

    whole = blur(frames)
    mean, sd = by_parts(blur, frames, 2, side=64)
    assert max(max(shape) for shape in seen[1:]) <= 64 + 2 * MARGIN + 16
    assert np.allclose(mean, whole[0], atol=1e-5)
    assert np.allclose(sd, whole[1], atol=1e-5)


def test_room_on_disk_is_what_is_foretold(tmp_path):
    """The frames around are read only: neither mean nor sd of them is written."""
    height, width, own, around = 96, 128, 5, 4

    def engine(part):
        return part[around:-around], np.abs(part[around:-around])

    frames = np.ones((own + 2 * around, height, width, 3), np.float32)
    stacks = by_parts(engine, frames, own, side=64, room=Room(str(tmp_path)))
    taken = sum(os.fstat(stack._file.fileno()).st_size for stack in stacks)
    assert taken == spool_bytes(height, width, 0, own)
