import warnings
from fractions import Fraction
from itertools import accumulate

import cv2
import numpy as np
import pytest

from videorestore.detect.dropped import grid_steps
from videorestore.detect.frames import judge
from videorestore.detect.measures import measure


def survey(pictures, times=None):
    return judge(measure(pictures), times)


def glide(n=40, speed=2.0, seed=1, height=72, width=96, wander=0.0):
    """Luma ``(n, height, width)`` of a random landscape seen by a camera that moves to the right."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [(rng.uniform(0.05, 0.5), rng.uniform(-0.5, 0.5), rng.uniform(0, 6.3)) for _ in range(14)]
    places = speed * np.arange(n) + wander * rng.normal(size=n)
    frames = [128 + 13 * sum(np.sin(a * (x + p) + b * y + c) for a, b, c in waves) for p in places]
    return np.clip(np.array(frames), 0, 255).astype(np.float32)


def noisy(frames, sd, seed=5):
    grains = np.random.default_rng(seed).normal(0, sd, frames.shape)
    return np.clip(np.rint(frames + grains), 0, 255).astype(np.float32)


@pytest.mark.parametrize("sd", [0, 8])
def test_a_good_clip_has_nothing_wrong(sd):
    found = survey(noisy(glide(), sd))
    assert found.cuts == found.fades == found.duplicates == found.black == ()
    assert found.corrupt_suspects == found.worthless == found.dropped == ()
    assert not found.flicker["present"]
    assert (found.gains == [1, 0]).all()


@pytest.mark.parametrize("sd", [0, 8])
def test_cuts_are_the_first_frames_of_new_shots(sd):
    shots = [glide(15, seed=1), glide(12, seed=2, speed=-3), glide(14, seed=3, speed=0.5)]
    assert survey(noisy(np.concatenate(shots), sd)).cuts == (15, 27)


@pytest.mark.parametrize(("before", "after"), [(10, 40), (40, 10), (20, 0)])
def test_noise_that_jumps_is_a_cut_and_noise_that_drifts_is_none(before, after):
    half = glide(12)
    assert survey(np.concatenate([noisy(half, before), noisy(half[::-1], after, seed=6)])).cuts == (12,)
    drifting = [noisy(f, before + (after - before) * k / 23, seed=k) for k, f in enumerate(glide(24))]
    assert survey(np.array(drifting)).cuts == ()


def test_a_flash_is_no_cut_and_no_garbage():
    frames = glide()
    frames[20] = np.clip(frames[20] * 1.3 + 40, 0, 255)
    found = survey(frames)
    assert found.cuts == () and found.corrupt_suspects == ()


@pytest.mark.parametrize("sd", [0, 8])
def test_repeats_and_frozen_runs_are_found(sd):
    frames = noisy(glide(), sd)
    frames[10] = frames[9]
    frames[20:26] = frames[19]
    found = survey(frames)
    assert found.duplicates == (10, 20, 21, 22, 23, 24, 25)
    assert found.worthless == found.frozen == found.duplicates
    assert found.cadence is None


def test_a_still_scene_with_living_noise_is_not_frozen():
    still = np.repeat(glide(1), 30, axis=0)
    assert survey(noisy(still, 4)).duplicates == ()
    assert survey(still).worthless == ()


def test_animation_on_twos_is_a_cadence_and_no_fault():
    found = survey(np.repeat(glide(20, speed=4.0), 2, axis=0))
    assert found.cadence == 2
    assert found.worthless == () and len(found.duplicates) == 20


@pytest.mark.parametrize("lost", [False, True])
def test_a_rhythm_in_a_part_of_a_clip_is_no_fault_unless_it_hides_frames(lost):
    rng = np.random.default_rng(3)
    even = list(rng.uniform(2.5, 5.5, 30))
    # Every third frame repeats the one before; what it hid is seen behind it, or nothing was.
    part = [
        s for _ in range(8) for a, b in [rng.uniform(2.5, 5.5, 2)] for s in (0.0, a + 4 if lost else a, b)
    ]
    places = np.cumsum([*even, *part, *even])
    landscape = glide(1, width=700, seed=2)[0]
    found = survey(np.array([landscape[:, int(p) : int(p) + 96] for p in places]))
    planted = tuple(k for k in range(30, 54) if (k - 30) % 3 == 0)
    assert found.cadence is None and set(planted) <= set(found.duplicates)
    assert (len(found.frozen) >= 6) if lost else found.frozen == ()


def test_black_and_garbage_frames_in_a_shot_are_worthless():
    frames = noisy(glide(), 3)
    frames[12] = 3
    rng = np.random.default_rng(2)
    frames[20:22] = rng.uniform(0, 255, (2, *frames.shape[1:]))
    found = survey(frames)
    assert found.black == (12,)
    assert found.corrupt_suspects == (20, 21)
    assert found.worthless == (12, 20, 21)
    assert found.cuts == ()


@pytest.mark.parametrize("kind", ["grey", "noise", "other"])
def test_a_frame_that_does_not_belong_is_garbage_while_the_camera_moves(kind):
    frames = glide(speed=2.5)
    rng = np.random.default_rng(3)
    strange = {
        "grey": np.full_like(frames[0], 128),
        "noise": np.clip(rng.normal(128, 60, frames[0].shape), 0, 255).astype(np.float32),
        "other": glide(1, seed=9)[0],
    }
    for k in (12, 20):
        frames[k] = strange[kind]
    found = survey(frames)
    assert found.worthless == found.corrupt_suspects == (12, 20)
    assert found.cuts == ()


@pytest.mark.parametrize("lost", [False, True])
def test_every_25th_frame_repeated_is_another_rate_unless_it_hides_frames(lost):
    picked = np.arange(90) - np.arange(90) // 25
    if lost:
        picked = np.arange(90)
        picked[25::25] -= 1
    found = survey(glide(90)[picked])
    assert found.duplicates == (25, 50, 75)
    assert found.frozen == (found.duplicates if lost else ())


@pytest.mark.parametrize("sd", [0, 4])
@pytest.mark.parametrize("lost", [False, True])
def test_a_single_repeat_is_a_fault_only_where_it_hides_a_frame(lost, sd):
    picked = [*range(20), 19, *range(21 if lost else 20, 40)]
    found = survey(noisy(glide(), sd)[picked])
    assert found.duplicates == (20,)
    assert found.frozen == ((20,) if lost else ())


def test_a_repeat_at_the_end_with_nothing_behind_it_is_judged_without_a_warning():
    frames = glide(12)
    frames[-1] = frames[-2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert survey(frames).duplicates == (11,)


@pytest.mark.parametrize("every", [2, 3, 5])
def test_pictures_that_take_turns_are_no_garbage(every):
    frames = glide(21, speed=0.5)
    frames[1::every] = glide(21, seed=9, speed=0.5)[1::every]
    assert survey(frames).worthless == ()


def test_a_dance_of_few_frames_that_steps_back_once_is_no_garbage():
    poses = glide(24, speed=24.0)
    assert survey(poses[[*range(13), 11, *range(13, 24)]]).worthless == ()


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_the_light_of_a_welder_is_no_garbage(seed):
    rng = np.random.default_rng(seed)
    frames = 0.5 * glide(30, speed=0.3)
    rows, columns = np.mgrid[: frames.shape[1], : frames.shape[2]]
    glare = 300 * np.exp(-np.hypot(rows - 44, columns - 60) / 10)
    for k, light in enumerate(rng.choice([0, 0, 0.3, 1, 1.6], 30)):
        frames[k] = 0.35 * frames[k] + light * glare if light else frames[k]
    assert survey(noisy(frames, 0.6)).corrupt_suspects == ()


def test_noise_that_comes_again_and_again_is_garbage():
    frames = glide(41, speed=0.5)
    frames[1::8] = noisy(np.full_like(frames[1::8], 128), 60)
    assert survey(frames).corrupt_suspects == (1, 9, 17, 25, 33)


def test_a_flash_that_saturates_is_no_garbage():
    frames = glide()
    frames[20] = np.clip(frames[20] * 1.4 + 60, 0, 255)
    frames[30] = 252
    found = survey(frames)
    assert found.worthless == ()


def test_black_before_the_first_shot_is_no_fault():
    frames = np.concatenate([np.zeros((5, 72, 96), np.float32), glide(20)])
    found = survey(frames)
    assert found.black == (0, 1, 2, 3, 4) and found.worthless == ()


def test_a_fade_is_reported():
    frames = glide(30)
    dim = np.concatenate([np.linspace(0, 1, 12), np.ones(18)]).astype(np.float32)
    found = survey(frames * dim[:, None, None])
    assert len(found.fades) == 1
    first, last = found.fades[0]
    assert first <= 1 and 9 <= last <= 12
    assert found.cuts == ()


@pytest.mark.parametrize("sd", [0, 5])
@pytest.mark.parametrize("lost", [1, 2])
def test_dropped_frames_are_counted(sd, lost):
    frames = np.delete(glide(45, speed=1.5), np.arange(20, 20 + lost), axis=0)
    found = survey(noisy(frames, sd))
    assert [(one.after, one.count) for one in found.dropped] == [(19, lost)]
    assert found.dropped[0].probability > 0.5


def test_a_shaking_camera_drops_nothing():
    assert survey(glide(45, speed=0.5, wander=1.5)).dropped == ()


def stamped(steps, unit=Fraction(1, 25)):
    """Times that are so many units apart."""
    return list(accumulate([Fraction(0), *(unit * step for step in steps)]))


@pytest.mark.parametrize("sd", [0, 10])
def test_frames_are_lost_where_the_times_have_a_hole_and_the_picture_jumps_as_far(sd):
    frames = np.delete(glide(30, speed=1.5), [10, 11, 20], axis=0)
    steps = [1] * 26
    steps[9], steps[17] = 3, 2
    found = survey(noisy(frames, sd), stamped(steps))
    assert [(one.after, one.count) for one in found.holes] == [(9, 2), (17, 1)]
    assert all(one.probability > 0.9 for one in found.holes)
    assert found.dropped == ()


def test_a_hole_in_the_times_without_a_jump_is_hardly_a_loss():
    steps = [1] * 26
    steps[9], steps[17] = 3, 241
    found = survey(noisy(glide(27, speed=1.5), 3), stamped(steps))
    assert [(one.after, one.count) for one in found.holes] == [(9, 2), (17, 240)]
    assert all(one.probability < 0.1 for one in found.holes)


def test_where_nothing_moves_a_hole_is_as_likely_a_pause():
    steps = [1] * 26
    steps[9] = 3
    still = np.repeat(glide(1), 27, axis=0)
    for sd in (0, 3):
        assert [one.probability for one in survey(noisy(still, sd), stamped(steps)).holes] == [0.5]


def test_a_long_pause_is_no_loss_whatever_moved_meanwhile():
    frames = np.delete(glide(30, speed=1.5), [10, 11], axis=0)
    steps = [1] * 27
    steps[9] = 242
    found = survey(noisy(frames, 3), stamped(steps))
    assert found.holes == found.dropped == ()


def test_a_camera_that_sets_its_own_pace_has_no_holes():
    uneven = [Fraction(int(1000 * t), 1000) for t in np.random.default_rng(1).uniform(0.9, 1.1, 29)]
    assert grid_steps(stamped(uneven)) is None
    uneven[7] = Fraction(2)
    assert survey(glide(30, speed=1.5), stamped(uneven)).holes == ()


def test_stamps_in_milliseconds_lie_on_the_grid_of_any_rate():
    places = [0, 1, 2, 3, 4, 6, *range(7, 40)]
    times = [Fraction(round(1000 * place / 187), 1000) for place in places]
    steps = grid_steps(times)
    assert steps is not None and steps[4] == 2 and sum(steps) == 39


def test_flicker_is_measured_and_its_gains_take_it_away():
    frames = glide(40, speed=0.5) * 0.7
    rng = np.random.default_rng(4)
    gain = 1 + rng.normal(0, 0.06, 40)
    shaken = (frames * gain[:, None, None]).astype(np.float32)
    found = survey(shaken)
    assert found.flicker["present"] and 0.02 < found.flicker["sd"] < 0.12
    mended = shaken * found.gains[:, :1, None] + found.gains[:, 1:, None]
    jumps = [np.diff(clip.mean(axis=(1, 2))).std() for clip in (frames, shaken, mended)]
    assert jumps[2] < jumps[0] + 0.35 * (jumps[1] - jumps[0])


@pytest.mark.parametrize("kind", ["slow", "switch", "fade", "flash"])
def test_changes_of_light_that_are_meant_are_no_flicker(kind):
    frames = glide(40, speed=0.5) * 0.8
    time = np.arange(40)
    light = {
        "slow": 0.85 + 0.15 * np.sin(2 * np.pi * time / 40),
        "switch": np.where(time < 20, 0.6, 1.0),
        "fade": np.clip(time / 12, 0, 1),
        "flash": np.where(time == 20, 1.25, 1.0),
    }[kind]
    found = survey((frames * light[:, None, None]).astype(np.float32))
    assert not found.flicker["present"] and (found.gains == [1, 0]).all()


def test_a_camera_that_controls_its_gain_does_not_flicker():
    gain = 1 + np.random.default_rng(6).normal(0, 0.012, 40)
    found = survey((glide(40, speed=0.5) * 0.8 * gain[:, None, None]).astype(np.float32))
    assert 0.005 < found.flicker["sd"] < 0.02
    assert not found.flicker["present"] and (found.gains == [1, 0]).all()


def test_flicker_of_a_moving_clip_keeps_its_contrast():
    frames = glide(40, speed=2.0) * 0.8
    shaken = (frames * (1 + 0.06 * np.cos(np.pi * np.arange(40)))[:, None, None]).astype(np.float32)
    found = survey(shaken)
    assert found.flicker["present"]
    mended = shaken * found.gains[:, :1, None] + found.gains[:, 1:, None]
    assert np.square(mended - frames).mean() < 0.2 * np.square(shaken - frames).mean()


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_short_clips(n):
    found = survey([np.full((5, 7, 3), 90, np.float32)] * n)
    assert found.worthless == () and len(found.gains) == n


@pytest.mark.parametrize(
    ("length", "fading", "filled"), [(1, False, True), (4, False, False), (1, True, False)]
)
def test_a_blink_of_black_at_a_cut_is_a_fault_and_a_pause_is_not(length, fading, filled):
    one, two = glide(16, speed=1.0), 0.6 * glide(16, speed=1.0, seed=9)
    if fading:
        one[-6:] *= np.linspace(0.9, 0.1, 6)[:, None, None].astype(np.float32)
    found = survey(np.concatenate([one, np.zeros((length, *one.shape[1:]), np.float32), two]))
    # A frame without content belongs to the shot after it.
    assert (16 if filled else 16 + length) in found.cuts
    assert found.worthless == ((16,) if filled else ())


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_a_part_without_content_for_a_moment_is_garbage(share):
    frames = glide(20, speed=5.0)
    frames[9, round(share * frames.shape[1]) :] = 128
    assert survey(iter(frames)).corrupt_suspects == (9,)


@pytest.mark.parametrize("seed", [1, 5])
def test_lines_drawn_anew_in_every_frame_leave_no_part_without_content(seed):
    """Speed lines of drawn films: many places are empty in one frame and not in the next, here and there."""
    frames, rng = glide(20, height=160, width=216), np.random.default_rng(seed)
    for frame in frames[6:14]:
        frame[:] = 240
        for angle, gap in rng.uniform((0, 40), (6.28, 80), (40, 2)):
            ends = [(round(108 + r * np.cos(angle)), round(80 + r * np.sin(angle))) for r in (gap, 250)]
            cv2.line(frame, *ends, 10.0, 2, cv2.LINE_AA)
    assert survey(iter(frames)).worthless == ()


@pytest.mark.parametrize("filled", [False, True])
def test_a_window_that_opens_on_a_screen_and_closes_again_is_no_garbage(filled):
    frames = np.repeat(glide(1), 20, axis=0)
    height, width = frames.shape[1:]
    window = np.s_[height // 5 : -height // 5, width // 5 : -width // 5]
    for k in (14, 15, 16):
        frames[k][window] = 255 - frames[k][window] if filled else 235
    assert survey(iter(frames)).worthless == ()


def test_a_part_that_stays_empty_is_no_garbage():
    frames = glide(20, speed=4.0)
    frames[9:, frames.shape[1] // 2 :] = 128
    assert survey(iter(frames)).worthless == ()


def test_a_dark_scene_with_sparks_is_not_interrupted_by_black_frames():
    rng = np.random.default_rng(3)
    frames = 12 + rng.normal(0, 1, (16, 120, 160)).astype(np.float32)
    for k in range(16):
        for y, x in zip(*rng.integers(8, (110, 150), (8 if k % 3 == 1 else 30, 2)).T, strict=True):
            frames[k, y : y + 3, x : x + 3] = 150
    found = survey(iter(frames))
    assert len(found.black) == 5 and not found.worthless
    frames[frames > 100] += 90
    frames[7] = 2
    assert survey(iter(frames)).worthless == (7,)


def test_light_that_falls_on_a_part_of_the_picture_is_no_garbage():
    frames = 0.5 * glide(12)
    height, width = frames.shape[1:]
    y, x = np.mgrid[0:height, 0:width]
    glow = 130 * np.exp(
        -(((y - 0.4 * height) / (0.3 * height)) ** 2) - ((x - 0.3 * width) / (0.25 * width)) ** 2
    )
    frames[6] += glow
    assert survey(iter(frames)).worthless == ()
    frames[6, : height // 2] = 128
    assert survey(iter(frames)).worthless == (6,)


def test_a_camera_that_stops_and_starts_gently_has_no_frozen_frames():
    rng = np.random.default_rng(0)
    wall = cv2.GaussianBlur(rng.uniform(0, 255, (90, 400)).astype(np.float32), (0, 0), 4)
    wall = 128 + 5 * (wall - wall.mean())
    speeds = [4.0] * 12 + [0.0, 0.0, 1.0, 2.5] + [4.0] * 12

    def seen(steps: list[float]) -> np.ndarray:
        places = np.cumsum([0.0, *steps])
        views = [
            cv2.warpAffine(wall, np.float32([[1, 0, -x], [0, 1, 0]]), (120, 90), flags=cv2.INTER_CUBIC)
            for x in places
        ]
        return np.repeat(np.clip(np.stack(views), 0, 255)[..., None], 3, axis=3)

    assert survey(iter(seen(speeds))).frozen == ()
    # The same pause as a fault: what it hid comes all at once.
    assert survey(iter(seen([4.0] * 12 + [0.0, 0.0, 12.0] + [4.0] * 12))).frozen == (13, 14)


def test_a_pause_of_some_frames_behind_which_nothing_is_missing_is_not_frozen():
    """A page that is scrolled by jerks differs by as much after a pause as after any other step."""
    rows = np.random.default_rng(2).integers(0, 2, (400, 12)) * 200.0
    page = np.kron(rows, np.ones((3, 8)))
    at = np.cumsum([0, 12, 14, 30, 14, 12, 0, 0] * 2)
    found = survey(np.array([page[a : a + 72] for a in at], np.float32))
    assert found.duplicates == (6, 7, 8, 14, 15) and found.frozen == ()


@pytest.mark.parametrize("sd", [1.0, 0.3])
def test_a_scene_that_stands_between_flashes_repeats_nothing(sd):
    frames = noisy(0.3 * np.repeat(glide(1), 24, axis=0), sd)
    for k in (2, 5, 9, 14, 18):
        frames[k] += 40 + 10 * (k % 3)
        frames[k, :, 10 * (k % 7) : 10 * (k % 7) + 3] = 250
    assert survey(frames).frozen == ()


def test_a_light_that_goes_out_again_and_again_is_switched():
    frames = glide(24)
    frames[3::4] = 4.0
    found = survey(frames)
    assert found.black == tuple(range(3, 24, 4)) and found.worthless == ()


def test_a_wide_frame_of_a_few_lines_is_looked_at():
    rng = np.random.default_rng(0)
    wide = cv2.resize(rng.integers(0, 256, (2, 60), np.uint8), (640, 3), interpolation=cv2.INTER_CUBIC)
    frames = np.stack([np.roll(wide, 2 * k, axis=1) for k in range(8)])[..., None]
    assert not survey(frames).black


def test_a_freeze_is_found_beside_a_jerk_of_the_camera():
    """The picture behind it differs less than one step before it does, but by more than motion explains."""
    rng = np.random.default_rng(0)
    one, two = (cv2.GaussianBlur(rng.uniform(-1, 1, (160, 340)), (0, 0), 3) for _ in range(2))
    moved = np.cumsum([5 if t == 8 else 1 for t in range(20)])
    turning = [
        np.roll(np.cos(0.1 * t) * one / one.std() + np.sin(0.1 * t) * two / two.std(), moved[t], axis=1)
        for t in range(20)
    ]
    frames = 128 + 40 * np.array(turning)[:, :120, :200] + rng.normal(0, 0.7, (20, 120, 200))
    frames[10:13] = frames[9]
    assert survey(np.clip(frames, 0, 255).astype(np.float32)[..., None]).frozen == (10, 11, 12)


def scrolling(seed):
    """Lines of a terminal, of which some frames show none more; drawn by hand, as OpenCV's letters differ by version."""
    rng = np.random.default_rng(seed)
    letters = (rng.uniform(size=(15, 9, 7)) < 0.35).astype(np.uint8) * 220
    lines = letters[rng.integers(0, 15, (60, 24))]
    for count in np.cumsum([12, *[1, 3] * 4, 0, 3, 1, 0, 3, 1, 1, 3, 1, 3]):
        frame = np.zeros((160, 208, 1), np.float32)
        for row, column in np.ndindex(12, 24):
            y, x = 3 + 12 * row, 2 + 8 * column
            frame[y : y + 9, x : x + 7, 0] = lines[count - 12 + row, column]
        yield frame


def test_a_screen_changes_when_it_likes():
    """Two lines on average were hidden or not: most are left, though lines of one height cannot always tell."""
    found = [survey(np.array(list(scrolling(seed)))) for seed in range(12)]
    assert all(len(each.duplicates) == 2 and each.cadence is None for each in found)
    assert sum(bool(each.frozen) for each in found) <= 2
