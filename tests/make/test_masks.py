"""Masks of a folder or a video are read as they are needed."""

import cv2
import numpy as np
import pytest

from videorestore.errors import InputError
from videorestore.make.masks import ArrayMasks, FileMasks, FoundMasks, load_masks

HEIGHT, WIDTH = 12, 16


@pytest.fixture
def folder(tmp_path):
    """Twenty masks; those with odd numbers have a white column of their own."""
    for k in range(20):
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        if k % 2:
            mask[:, k % WIDTH] = 255
        cv2.imwrite(str(tmp_path / f"{k:03d}.png"), mask)
    return str(tmp_path)


def load(path, span=(0, 20), n_frames=20):
    return load_masks(path, span=span, n_frames=n_frames, height=HEIGHT, width=WIDTH)


def test_only_the_masks_at_hand_are_read(folder):
    masks = load(folder)
    assert isinstance(masks, FileMasks)
    assert masks.touches(4, 6) and not masks.touches(4, 5)
    read = masks.read([3, 4, 7], np.zeros((3, HEIGHT, WIDTH, 3), np.float32)).masks
    assert read.shape == (3, HEIGHT, WIDTH)
    assert [np.flatnonzero(m.any(axis=0)).tolist() for m in read] == [[3], [], [7]]


def test_masks_of_a_range_may_be_all_or_just_its_own(folder):
    frames = np.zeros((1, HEIGHT, WIDTH, 3), np.float32)
    for span, n_frames in (((5, 9), 20), ((5, 9), None), ((100, 120), 400), ((100, 120), None)):
        masks = load(folder, span, n_frames)
        first = 0 if span[0] == 5 else 100
        assert masks.read([first + 7], frames).masks[0, :, 7].all()
        assert masks.touches(first + 7, first + 8) and not masks.touches(first + 6, first + 7)


def test_as_many_masks_as_frames(folder):
    with pytest.raises(InputError, match="each of the 21 frames, got 20"):
        load(folder, (0, 21), 21)


def test_one_picture_serves_all(folder):
    masks = load(folder + "/003.png")
    assert isinstance(masks, ArrayMasks) and masks.touches(17, 18)


def test_what_is_sought_is_reckoned_with_and_spots_cost_less_than_holes():
    searched, spots = FoundMasks(noise_sd=0.0).seconds(200_000)
    given, holes = ArrayMasks.of(np.ones((HEIGHT, WIDTH), np.bool_)).seconds(200_000)
    assert searched > given == 0 and 0 < spots < holes / 2


def test_something_must_be_left(tmp_path):
    for k in range(3):
        cv2.imwrite(str(tmp_path / f"{k}.png"), np.full((HEIGHT, WIDTH), 255, np.uint8))
    with pytest.raises(InputError, match="everything is masked"):
        load(str(tmp_path), (0, 3), 3)


@pytest.mark.parametrize("level", [1, 100])
def test_marks_that_are_not_white_are_refused_instead_of_overlooked(tmp_path, level):
    mask = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    mask[4:8, 4:8, 2] = level if level == 1 else 3 * level - 100
    mask[4:8, 4:8, :2] = level if level == 1 else 50
    path = tmp_path / "mask.png"
    cv2.imwrite(str(path), mask)
    with pytest.raises(InputError, match=f"white, the brightest in it has {level} of 255"):
        load(str(path))
    cv2.imwrite(str(path), np.zeros_like(mask))
    assert not load(str(path)).touches(0, 1)


def test_another_model_is_heard_where_the_frames_beside_show_what_is_missing(tmp_path):
    rng = np.random.default_rng(0)
    half = rng.random((6, HEIGHT, WIDTH)) < 0.5
    brief = np.zeros((6, HEIGHT, WIDTH), np.bool_)
    brief[2, 3:6, 3:6] = True
    logo = np.zeros((6, HEIGHT, WIDTH), np.bool_)
    logo[:, 3:6, 3:6] = True
    for number, (masks, heard) in enumerate(((half, False), (brief, True), (logo, False))):
        assert ArrayMasks.of(masks).heard == heard
        path = tmp_path / str(number)
        path.mkdir()
        for k, mask in enumerate(masks):
            cv2.imwrite(str(path / f"{k}.png"), mask.astype(np.uint8) * 255)
        assert load(str(path), span=(0, 6), n_frames=6).heard == heard
    assert not ArrayMasks.of(logo[0]).heard
