import numpy as np
import pytest

from videorestore.errors import InputError
from videorestore.motion import inpaint_scene
from videorestore.motion.flow import medium_flow
from videorestore.motion.inpaint import REACH, inpaint
from videorestore.motion.inpaint_scene import Scene


def moving_picture(n=7, height=40, width=56, channels=3, speed=1.5, seed=1):
    """A smooth random texture that glides to the left, on the 0..255 scale."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [(rng.uniform(0.15, 0.9), rng.uniform(-0.7, 0.7), rng.uniform(0, 6.3)) for _ in range(9)]
    frames = []
    for k in range(n):
        picture = sum(np.sin(a * (x + speed * k) + b * y + c) for a, b, c in waves)
        frames.append(np.stack([128 + (18 + 4 * j) * picture for j in range(channels)], axis=2))
    return np.array(frames, np.float32)


def error(made, truth, mask):
    return float(np.sqrt(np.mean((made - truth)[mask] ** 2)))


def test_half_of_the_pixels_come_back_and_the_others_stay():
    frames = moving_picture()
    masks = np.random.default_rng(2).random(frames.shape[:3]) < 0.5
    holed = np.where(masks[..., None], np.nan, frames).astype(np.float32)
    before = holed.copy()
    made, sd = inpaint(holed, masks)
    np.testing.assert_array_equal(holed, before)
    np.testing.assert_array_equal(made[~masks], frames[~masks])
    assert error(made, frames, masks) < 0.15 * frames.std()
    assert (sd[~masks] == 0).all() and (sd[masks] > 0).all()
    covered = (np.abs(made - frames) < 1.96 * sd)[masks].mean()
    assert 0.85 < covered <= 1


def test_a_block_is_found_in_its_neighbours_where_it_went():
    frames = moving_picture(speed=2.5)
    masks = np.zeros(frames.shape[:3], bool)
    masks[3, 10:26, 20:36] = True
    made, _ = inpaint(np.where(masks[..., None], 0, frames).astype(np.float32), masks, start=3, stop=4)
    still = np.median(np.delete(frames, 3, axis=0), axis=0)
    assert error(made[0], frames[3], masks[3]) < 0.3 * error(still, frames[3], masks[3])


def test_a_fixed_logo_is_seen_behind_when_the_picture_moves():
    frames = moving_picture(n=9, speed=4.0)
    masks = np.zeros(frames.shape[:3], bool)
    masks[:, 8:20, 24:34] = True
    made, _ = inpaint(np.where(masks[..., None], 0, frames).astype(np.float32), masks, start=4, stop=5)
    assert error(made[0], frames[4], masks[4]) < 0.35 * frames.std()


def test_a_static_scene_is_as_good_as_the_median():
    rng = np.random.default_rng(3)
    scene = moving_picture(n=1)[0]
    frames = (scene + rng.normal(0, 3, (9, *scene.shape))).astype(np.float32)
    masks = np.zeros(frames.shape[:3], bool)
    masks[4, 10:24, 12:30] = True
    made, _ = inpaint(np.where(masks[..., None], 0, frames).astype(np.float32), masks, start=4, stop=5)
    median = np.median(np.delete(frames, 4, axis=0), axis=0)
    assert error(made[0], scene, masks[4]) < 1.1 * error(median, scene, masks[4])


def test_a_whole_frame_is_interpolated():
    frames = moving_picture()
    masks = np.zeros(frames.shape[:3], bool)
    masks[3] = True
    made, sd = inpaint(np.where(masks[..., None], np.nan, frames).astype(np.float32), masks, start=3, stop=4)
    plain = (frames[2] + frames[4]) / 2
    assert error(made[0], frames[3], masks[3]) < 0.6 * error(plain, frames[3], masks[3])
    assert (sd > 0).all()


def test_windows_with_their_surroundings_give_the_same_bits():
    frames = moving_picture(n=2 * REACH + 3, height=16, width=20, channels=1)
    rng = np.random.default_rng(4)
    masks = rng.random(frames.shape[:3]) < 0.02
    middle = REACH + 1
    whole, whole_sd = inpaint(frames, masks, start=middle, stop=middle + 1)
    part = slice(middle - REACH, middle + REACH + 1)
    made, sd = inpaint(frames[part], masks[part], start=REACH, stop=REACH + 1)
    np.testing.assert_array_equal(made, whole)
    np.testing.assert_array_equal(sd, whole_sd)


def test_nothing_missing_returns_the_input():
    frames = moving_picture(n=3, height=12, width=10)
    made, sd = inpaint(frames, np.zeros(frames.shape[:3], bool))
    np.testing.assert_array_equal(made, frames)
    assert made is not frames and (sd == 0).all()


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 3, 5, 3), (3, 8, 1, 1)])
def test_tiny_clips_and_nothing_known(shape):
    frames = np.full(shape, np.nan, np.float32)
    made, sd = inpaint(frames, np.ones(shape[:3], bool))
    assert made.shape == sd.shape == shape
    assert np.isfinite(made).all() and (sd > 0).all()


def test_parts_of_a_large_frame_meet_without_a_seam():
    frames = moving_picture(n=3, height=24, width=420, channels=1, speed=1.0)
    masks = np.zeros(frames.shape[:3], bool)
    masks[1, 10:13] = True
    made, _ = inpaint(np.where(masks[..., None], 0, frames).astype(np.float32), masks, start=1, stop=2)
    assert np.abs(made[0] - frames[1])[10:13, 200:220].max() < 12


def test_wrong_arguments_are_refused():
    frames = np.zeros((2, 4, 4, 3), np.float32)
    with pytest.raises(InputError, match="masks must have"):
        inpaint(frames, np.zeros((2, 4, 5), bool))
    with pytest.raises(InputError, match="start and stop"):
        inpaint(frames, np.zeros((2, 4, 4), bool), start=2, stop=1)


def test_a_place_that_stands_still_to_the_bit_is_taken_as_it_is():
    rng = np.random.default_rng(4)
    frames = np.repeat(np.rint(rng.uniform(0, 255, (1, 48, 64, 3))), 7, axis=0).astype(np.float32)
    masks = np.zeros((7, 48, 64), bool)
    for k in range(7):
        masks[k, :, 8 * k + 3 : 8 * k + 6] = True
    made, _ = inpaint(np.where(masks[..., None], 0, frames), masks)
    assert np.array_equal(made, frames)


def test_a_picture_that_is_redrawn_now_and_then_is_taken_from_just_before_and_after():
    rng = np.random.default_rng(7)
    scene = moving_picture(n=1, height=48, width=64)[0]
    # As a codec does with a slide: everything a few levels off, and off otherwise four frames later.
    off = np.repeat(rng.normal(0, 4, (4, *scene.shape)), 4, axis=0)[1:14]
    frames = (scene + off).astype(np.float32)
    masks = np.zeros(frames.shape[:3], bool)
    for k in range(13):
        masks[k, :, 5 * k % 60 : 5 * k % 60 + 3] = True
    made, _ = inpaint(np.where(masks[..., None], 0, frames).astype(np.float32), masks, start=5, stop=6)
    assert error(made[0], frames[5], masks[5]) < 0.25 * off.std()


def test_known_pixels_wait_as_long_as_the_lasting_hole_beside_them():
    frames = moving_picture(n=9, height=40, width=40)
    holes = np.zeros(frames.shape[:3], bool)
    holes[3:6, 12:28, 12:28] = True
    scene = Scene(np.where(holes[..., None], 0, frames).astype(np.float32), holes)
    _, near = scene.rest(4, 0)
    expected = (frames[2] + frames[6]) / 2
    np.testing.assert_allclose(near.pixels[8:32, 8:32], expected[8:32, 8:32], atol=1e-3)
    np.testing.assert_allclose(near.pixels[0, 0], (frames[3, 0, 0] + frames[5, 0, 0]) / 2, atol=1e-3)


def test_motion_is_sought_at_the_full_resolution_around_few_holes_only(monkeypatch):
    frames = moving_picture(n=4, height=160, width=160)
    masks = np.zeros(frames.shape[:3], bool)
    masks[:, 40:43, 50:53] = masks[:, 110:112, 90:94] = True
    sought = []

    def counted(first, second, *, fine=False, **options):
        sought.append(first.size * fine)
        return medium_flow(first, second, fine=fine, **options)

    monkeypatch.setattr(inpaint_scene, "medium_flow", counted)
    made, _ = inpaint(np.where(masks[..., None], 0, frames).astype(np.float32), masks)
    pairs = 2 * (len(frames) - 1)
    assert 0 < sum(sought) < 0.2 * pairs * frames[0, ..., 0].size
    assert error(made, frames, masks) < 0.05 * frames.std()
