"""Places behind a fixed logo, followed until they come to sight; and what guesses count for."""

import numpy as np

from tests.motion.test_inpaint import moving_picture
from videorestore.motion.inpaint_bridge import honesty
from videorestore.motion.inpaint_far import follow
from videorestore.motion.inpaint_fusion import Guess, fuse

SPEED = 0.75


def scene(n=31):
    frames = moving_picture(n=n, height=32, width=64, speed=SPEED)
    known = np.ones(frames.shape[:3], bool)
    known[:, 10:20, 30:44] = False
    return frames, known, np.where(known[..., None], frames, np.float32(0))


def gliding(i, j):
    way = np.ones((32, 64, 3), np.float32)
    way[..., 0], way[..., 1] = SPEED * (i - j), 0
    return way


def test_a_slow_camera_shows_at_last_what_a_logo_hides():
    frames, known, holed = scene()
    hidden = ~known[0]
    found = follow(0, 1, 30, hidden, holed, known, gliding)
    assert (found.trust[hidden] > 0.9).all()
    assert np.abs(found.pixels - frames[0])[hidden].max() < 0.1 * frames.std()
    # Farther sights are vaguer, and the known pixels beside are judged by a way as long.
    assert found.variance[15, 43] > found.variance[15, 31]
    assert found.trust[15, 28] > 0 and found.variance[15, 28] > found.variance[15, 31]


def test_places_that_do_not_come_to_sight_are_not_made_up():
    _, known, holed = scene()
    hidden = ~known[0]
    near = follow(0, 1, 6, hidden, holed, known, gliding)
    assert near.trust[15, 31] > 0 and near.trust[15, 43] == 0
    assert follow(0, -1, 30, hidden, holed, known, gliding) is None
    still = gliding(0, 0)
    assert follow(0, 1, 30, hidden, holed, known, lambda i, j: still) is None
    lost = gliding(0, 1) * np.array([1, 1, 0], np.float32)
    assert follow(0, 1, 30, hidden, holed, known, lambda i, j: lost) is None


def test_guesses_that_share_a_motion_do_not_outvote_one_that_counts_for_them():
    rng = np.random.default_rng(5)
    frame = rng.uniform(90, 110, (24, 24, 1)).astype(np.float32)
    known = np.ones((24, 24), bool)
    known[10:13, 10:13] = False
    drifted = np.where(known[..., None], frame, frame + 20).astype(np.float32)
    sure, zero = np.ones((24, 24), np.float32), np.zeros((24, 24), np.float32)

    def off(voices):
        many = [Guess(pixels=drifted, trust=sure, variance=zero, usual=400.0) for _ in range(6)]
        one = Guess(pixels=frame, trust=sure, variance=zero, usual=400.0, voices=voices)
        holed = np.where(known[..., None], frame, np.float32(0))
        mean, _ = fuse(holed, known, [*many, one], frame, np.ones_like(frame))
        return float(np.abs(mean - frame)[~known].mean())

    assert off(6.0) < 0.75 * off(1.0)


def test_honesty_is_learnt_with_care():
    rng = np.random.default_rng(6)
    errors = rng.normal(0, 2, (40000, 3)).astype(np.float32)
    variance = np.full(40000, 4.0, np.float32)
    assert abs(honesty(errors, variance) - 1) < 0.1
    assert honesty(errors, 4 * variance) < 0.4
    assert abs(honesty(errors[:40], 4 * variance[:40]) - 1) < 0.05
    assert honesty(errors[:0], variance[:0]) == 1
