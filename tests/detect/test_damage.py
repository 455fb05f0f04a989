import cv2
import numpy as np
import pytest

from tests.detect.test_survey import glide
from videorestore.detect._kernels import best_place, beyond
from videorestore.detect.damage import find_damage
from videorestore.detect.lines import find_lines
from videorestore.detect.sight import LARGEST, Sight, reduction
from videorestore.detect.verdict import features, log_odds
from videorestore.errors import InputError
from videorestore.make.spool import Spool


def clip(n=7, **options):
    frames = glide(n, height=96, width=128, **options)
    return np.repeat(frames[..., None], 3, axis=3)


def planted(frames, contrast):
    """Frames with a spot, a scratch and a dropout in frame 3, and their mask."""
    mask = np.zeros(frames.shape[:3], bool)
    y, x = np.mgrid[0:96, 0:128]
    mask[3] |= (y - 30) ** 2 + (x - 40) ** 2 < 16
    mask[3, 50:90, 90:92] = True
    mask[3, 70:72, 10:60] = True
    dirty = frames.copy()
    high = frames[3].mean(axis=2) > 128
    dirty[3][mask[3] & high] -= contrast
    dirty[3][mask[3] & ~high] += contrast
    return dirty, mask


@pytest.mark.parametrize("contrast", [40, 100])
def test_planted_damage_is_found_and_named(contrast):
    dirty, mask = planted(clip(), contrast)
    found, damage = find_damage(dirty)
    hit = (found & mask).sum()
    precision, recall = hit / found.sum(), hit / mask.sum()
    assert 2 * precision * recall / (precision + recall) > 0.85
    assert {one.frame for one in damage} == {3}
    assert "scratch" in {one.kind for one in damage}
    for one in damage:
        x, y, width, height = one.box
        assert found[3, y : y + height, x : x + width].any()


@pytest.mark.parametrize("sd", [0, 8])
def test_clean_clips_stay_untouched(sd):
    frames = clip(speed=3.0)
    frames = frames + np.random.default_rng(1).normal(0, sd, frames.shape).astype(np.float32)
    found, damage = find_damage(frames, noise_sd=sd)
    assert not found.any() and damage == []


def test_noise_does_not_hide_a_blotch():
    rng = np.random.default_rng(2)
    dirty, mask = planted(clip(), 90)
    dirty = dirty + rng.normal(0, 10, dirty.shape).astype(np.float32)
    found, _ = find_damage(dirty, noise_sd=10)
    assert (found[3] & mask[3]).sum() > 0.5 * mask[3].sum()
    assert (found[3] & ~mask[3]).sum() < 0.8 * mask[3].sum()


def test_a_flying_ball_is_no_damage():
    frames = clip(speed=0.3)
    y, x = np.mgrid[0:96, 0:128]
    for k in range(7):
        frames[k][(y - 20 - 9 * k) ** 2 + (x - 64) ** 2 < 36] = 250
    found, _ = find_damage(frames)
    assert found.sum() < 40


def test_flicker_is_no_damage():
    frames = clip() * 0.8
    frames[3] *= 1.15
    assert not find_damage(frames)[0].any()


def test_damage_in_a_repeated_frame_is_found_in_both():
    dirty, mask = planted(clip(), 80)
    twice = np.insert(dirty, 3, dirty[3], axis=0)
    found, _ = find_damage(twice)
    for k in (3, 4):
        assert (found[k] & mask[3]).sum() > 0.7 * mask[3].sum()


def test_lines_that_stay_are_told_from_the_moving_picture():
    frames = clip(speed=2.0)
    struck = frames.copy()
    struck[:, :, 70:72] += 35
    mask = find_lines(struck, 3, 0.0)
    assert mask[:, 70:72].mean() > 0.8
    assert mask[:, :66].sum() == mask[:, 76:].sum() == 0
    assert not find_lines(frames, 3, 0.0).any()


def test_a_pole_in_a_still_scene_is_no_line():
    frames = np.repeat(clip(1), 7, axis=0)
    frames[:, :, 70:72] += 35
    assert not find_damage(frames)[0].any()


@pytest.mark.parametrize("shape", [(1, 8, 8, 3), (2, 8, 8, 1), (5, 3, 2, 1)])
def test_tiny_clips(shape):
    masks, damage = find_damage(np.full(shape, 50, np.float32))
    assert masks.shape == shape[:3] and not masks.any() and damage == []


def test_wrong_arguments_are_refused():
    with pytest.raises(InputError, match="frames must have shape"):
        find_damage(np.zeros((4, 4, 3), np.float32))


def test_where_damage_is_rare_what_is_seen_again_is_a_thing():
    frames = clip(9)
    for k in (3, 4, 5):
        frames[k, 40 + 2 * k : 50 + 2 * k, 50 + 9 * (k % 2) : 60 + 9 * (k % 2)] = 250
    assert not find_damage(frames, least=4.5, strict=True)[0].any()
    once, mask = planted(clip(9), 100)
    found, damage = find_damage(once, least=4.5, strict=True)
    assert (found & mask).sum() > 0.4 * mask.sum()
    assert all(one.probability > 0.98 for one in damage)


def test_a_moving_texture_of_narrow_things_has_no_lines():
    texture = np.random.default_rng(4).integers(0, 256, (120, 200)).astype(np.float32)
    frames = np.stack([np.roll(texture, 3 * k, axis=1)[..., None] for k in range(7)])
    assert all(place.kind != "line" for place in find_damage(frames, least=4.5, strict=True)[1])


def large(frames, factor):
    """Frames whose reduced ones are these."""
    return np.stack(
        [cv2.resize(f, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC) for f in frames]
    )


@pytest.mark.parametrize("factor", [2, 3])
def test_in_large_frames_damage_is_sought_in_reduced_ones_and_masked_in_full(factor, tmp_path):
    mask = planted(clip(), 90)[1]
    whole = large(clip(), factor)
    masks = np.repeat(np.repeat(mask, factor, axis=1), factor, axis=2)
    high = whole[3].mean(axis=2) > 128
    whole[3][masks[3] & high] -= 90
    whole[3][masks[3] & ~high] += 90
    whole = np.ascontiguousarray(whole[:, :-1, :-1])  # blocks at the border are cut
    masks = masks[:, :-1, :-1]
    found, damage = find_damage(whole, factor=factor)
    hit = (found & masks).sum()
    assert 2 * hit / (found.sum() + masks.sum()) > 0.85
    for one in damage:
        x, y, width, height = one.box
        assert found[one.frame, y : y + height, x : x + width].any()
        assert x + width <= whole.shape[2] and y + height <= whole.shape[1]
    spool = Spool(str(tmp_path), whole.shape)
    spool[:] = whole
    np.testing.assert_array_equal(find_damage(spool, factor=factor)[0], found)


def test_large_frames_are_reduced_to_what_is_looked_at():
    assert reduction(576, 720) == 1 and reduction(720, 1280) == 2 and reduction(1080, 1920) == 3
    for height, width in ((721, 1283), (2160, 4096)):
        factor = reduction(height, width)
        assert height * width / factor**2 <= LARGEST < height * width / (factor - 1) ** 2
        sight = Sight(np.zeros((3, height, width, 1), np.uint8), 0.0)
        assert sight.frames.shape == (3, -(-height // factor), -(-width // factor), 1)


def test_the_best_place_is_that_of_a_template():
    rng = np.random.default_rng(1)
    picture = cv2.GaussianBlur(rng.uniform(0, 255, (40, 50, 3)), (0, 0), 2).astype(np.float32)
    inside = rng.uniform(size=(7, 9)) < 0.6
    patch = picture[20:27, 31:40] + rng.normal(0, 1, (7, 9, 3)).astype(np.float32)
    places = np.argwhere(inside)
    weight = np.repeat(inside[..., None], 3, axis=2).astype(np.float32)
    misfit = cv2.matchTemplate(picture, patch, cv2.TM_SQDIFF, mask=weight)
    span = misfit.shape
    assert best_place(patch[inside], places, picture, *span, 1e9) == (20, 31)
    assert np.unravel_index(misfit.argmin(), span) == (20, 31)
    assert best_place(patch[inside], places, picture, *span, 0.9 * float(misfit.min())) == (-1, -1)


def test_what_leaves_a_range():
    rng = np.random.default_rng(2)
    frame, one, two = rng.uniform(0, 255, (3, 6, 7, 3)).astype(np.float32)
    low, high = np.minimum(one, two), np.maximum(one, two)
    out = np.empty((6, 7), np.float32)
    beyond(frame, low, high, out)
    np.testing.assert_allclose(
        out, np.maximum(np.maximum(frame - high, low - frame), 0).max(axis=2), rtol=1e-6
    )


def test_what_the_own_motion_of_a_frame_explains_is_no_damage_however_strong():
    def odds(step, left=1.0, flew=False):
        off, unrest = np.full((200, 3), step, np.float32), np.zeros(200, np.float32)
        return log_odds(features(off, unrest, 1e3, left, flew, 0.0), inner=True)

    for step in (10.0, 60.0, 250.0):
        # Door frames of a film that weaves are long, strong and differ one way.
        assert odds(step) > 3 and odds(step, left=0.0) < 0
        # Looks after the first can only acquit, so that they are taken of what is left.
        assert odds(step) > odds(step, left=0.5) > odds(step, left=0.0)
        assert odds(step) > odds(step, flew=True)


def test_on_a_clean_film_only_suspicious_frames_are_looked_at_with_care(monkeypatch):
    from videorestore.detect import sight

    asked = []
    careful = sight.pair
    monkeypatch.setattr(sight, "pair", lambda *views, **how: asked.append(1) or careful(*views, **how))
    frames = clip(12)
    assert find_damage(frames, strict=True)[1] == [] and not asked
    frames = frames.copy()
    frames[6, 60:68, 80:90] = 255
    found = find_damage(frames, strict=True)[1]
    assert {place.frame for place in found} == {6} and 0 < len(asked) < 12
