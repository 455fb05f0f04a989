"""Boxes around holes, and large holes bridged within them."""

import numpy as np
import pytest

from tests.motion.test_inpaint import moving_picture
from videorestore.motion import inpaint_bridge
from videorestore.motion.inpaint_bridge import Bridges, boxes_around, deep_parts, share_of


def test_boxes_hold_all_holes_with_their_margin_and_do_not_overlap():
    rng = np.random.default_rng(0)
    holes = np.zeros((90, 131), bool)
    for y, x in rng.integers(0, (90, 131), (5, 2)):
        holes[y : y + 3, x : x + 4] = True
    boxes = boxes_around(holes, 6)
    count = np.zeros(holes.shape, int)
    for box in boxes:
        count[box] += 1
    assert count.max() == 1 and len(boxes) > 1 and share_of(boxes, holes.shape) == count.mean()
    for y, x in np.argwhere(holes):
        assert count[max(0, y - 6) : y + 7, max(0, x - 6) : x + 7].all()
    assert boxes_around(np.zeros((9, 9), bool), 6) == []
    assert boxes_around(rng.random((40, 50)) < 0.1, 6) == [(slice(0, 40), slice(0, 50))]


@pytest.mark.parametrize("length", [1, 3])
def test_a_bridge_in_a_box_is_that_of_the_whole_frame(monkeypatch, length):
    frames = moving_picture(n=8, height=96, width=128, speed=1.5)
    known = np.ones(frames.shape[:3], bool)
    known[3 : 3 + length, 30:46, 50:66] = False
    holed = np.where(known[..., None], frames, np.float32(0))

    def bridge():
        return Bridges(holed, known, lambda k: deep_parts(known[k]), lambda k: holed[k], 6).at(3)

    guess, covered, least = bridge()
    monkeypatch.setattr(inpaint_bridge, "boxes_around", lambda holes, margin: [(slice(0, 96), slice(0, 128))])
    whole, _, _ = bridge()
    inside = deep_parts(known[3])
    np.testing.assert_array_equal(covered, inside)
    assert np.abs(guess.pixels - whole.pixels)[inside].max() < 0.02 * frames.std()
    assert np.abs(guess.pixels - frames[3])[inside].max() < 0.3 * frames.std()
    assert (least[inside] > 0).all() and (guess.trust[inside] == 1).all()
