"""Small things that fly farther in a step than they are wide."""

import cv2
import numpy as np
import pytest

from tests.motion.scenes import psnr, translating
from videorestore.motion.interpolate import interpolate
from videorestore.motion.sprites import places

STEP = np.array([34.0, 4.0])


def flying(times, pan=(0.0, 0.0), radius=5.0, start=(16.0, 30.0), bright=True):
    """A ball over a texture, at any times."""
    scene = translating([(pan[0] * t, pan[1] * t) for t in times], shape=(80, 176), finest=0.15)
    y, x = np.mgrid[0:80, 0:176]
    frames = []
    for frame, t in zip(scene, times):
        cx, cy = start[0] + STEP[0] * t, start[1] + STEP[1] * t + 1.5 * t * t
        cover = np.clip(radius + 0.5 - np.hypot(x - cx, y - cy), 0, 1)[..., None] if bright else 0.0
        frames.append(frame * (1 - cover) + 250.0 * cover)
    return np.stack(frames).astype(np.float32)


@pytest.mark.parametrize("pan", [(0.0, 0.0), (2.0, -1.0)])
def test_a_ball_flies_on_between_the_frames(pan):
    times = np.arange(4.0)
    made = interpolate(flying(times, pan), times, np.array([1.5, 1.25]))
    true = flying([1.5, 1.25], pan)
    blend = interpolate(flying(times, pan)[1:3], times[1:3], np.array([1.5]))
    for k in (0, 1):
        assert psnr(made.frames[k], true[k]) > 38
    assert psnr(blend.frames[0], true[0]) < 34
    # No ghost is left where it was, and the sd knows of it.
    empty = flying([1.5], pan, bright=False)[0]
    where = (slice(24, 48), slice(40, 60))
    assert psnr(made.frames[0][where], empty[where]) > 34
    cx, cy = (np.array([16, 30]) + 1.5 * STEP).astype(int)
    assert made.sd[0][cy, cx].mean() > np.median(made.sd[0])


def test_given_frames_stay_and_portions_do_not_matter():
    times = np.arange(5.0)
    frames = flying(times)
    made = interpolate(frames, times, np.array([1.0, 1.5, 2.0]))
    assert np.array_equal(made.frames[0], frames[1]) and np.array_equal(made.frames[2], frames[2])
    alone = interpolate(frames[:4], times[:4], np.array([1.5]))
    assert np.array_equal(alone.frames[0], made.frames[1])


def test_a_thing_of_one_frame_is_not_followed():
    times = np.arange(4.0)
    frames = flying(times, bright=False)
    spot = frames.copy()
    cv2.circle(spot[1], (60, 40), 5, (250.0, 250.0, 250.0), -1)
    made = interpolate(spot, times, np.array([1.5]))
    clean = interpolate(frames, times, np.array([1.5]))
    assert psnr(made.frames[0][:, 100:], clean.frames[0][:, 100:]) > 45


def test_places_stand_out_from_both_sides():
    here = np.full((40, 60), 100.0, np.float32)
    one, other = here.copy(), here.copy()
    here[10:15, 20:26] = 200.0
    other[30:35, 5:11] = 200.0  # where only one side differs nothing stands out
    found = places(here, one, other)
    assert len(found) == 1 and found[0].corner == (10, 20) and found[0].mask.shape == (5, 6)
    np.testing.assert_allclose(found[0].centre, (22.5, 12.0))
    here[20:21, 30:50] = 200.0  # thin
    assert len(places(here, one, other)) == 1
