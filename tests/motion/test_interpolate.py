"""Frames between frames: planted motion, exactness, honesty of the sd."""

import cv2
import numpy as np
import pytest

from tests.motion.scenes import psnr, translating
from videorestore.compiled import set_thread_count, thread_count
from videorestore.errors import InputError
from videorestore.motion import interpolate as module
from videorestore.motion.flow import FlowCache, View, pair
from videorestore.motion.interpolate import REACH, Maker, _alone, interpolate
from videorestore.motion.interpolate_sd import Evidence, deviation, slope


def test_a_given_time_returns_the_given_frame():
    frames = translating([(0, 0), (1, 0), (2, 0)])
    result = interpolate(frames, np.arange(3.0), np.array([0.0, 1.0, 2.0]))
    assert np.array_equal(result.frames, frames) and not result.sd.any()


@pytest.mark.parametrize("times", [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 1.3, 3.0]])
@pytest.mark.parametrize("channels", [1, 3])
def test_moving_texture_is_put_in_its_place(times, channels):
    times = np.array(times)
    targets = np.array([times[1] + 0.3 * (times[2] - times[1]), times[1] + 0.5 * (times[2] - times[1])])
    frames = translating([(3 * t, -2 * t) for t in times], channels=channels)
    truth = translating([(3 * t, -2 * t) for t in targets], channels=channels)
    before = frames.copy()
    result = interpolate(frames, times, targets)
    assert np.array_equal(frames, before)
    assert result.frames.shape == truth.shape == result.sd.shape
    mixed = [frames[1] + a * (frames[2] - frames[1]) for a in (0.3, 0.5)]
    for made, mix, true in zip(result.frames, mixed, truth):
        assert psnr(made, true, border=6) > 36 and psnr(made, true, border=6) > psnr(mix, true, border=6) + 6
    assert (result.sd > 0).all()


def test_acceleration_is_used():
    times = np.arange(4.0)
    place = lambda t: (1.5 * t * t, 0.0)  # noqa: E731
    frames = translating([place(t) for t in times], shape=(64, 96))
    truth = translating([place(1.5)], shape=(64, 96))[0]
    four = interpolate(frames, times, np.array([1.5])).frames[0]
    two = interpolate(frames[1:3], times[1:3], np.array([1.5])).frames[0]
    assert psnr(four, truth, border=12) > psnr(two, truth, border=12) + 2


def test_a_long_gap():
    known = np.array([0.0, 1.0, 7.0, 8.0])
    frames = translating([(1.5 * t, 0.5 * t) for t in known], shape=(64, 80))
    targets = np.arange(2.0, 7.0)
    truth = translating([(1.5 * t, 0.5 * t) for t in targets], shape=(64, 80))
    made = interpolate(frames, known, targets).frames
    assert min(psnr(a, b, border=10) for a, b in zip(made, truth)) > 30


@pytest.mark.parametrize("shape", [(16, 16), (1, 1), (4, 40), (9, 7)])
def test_tiny_frames(shape):
    frames = translating([(0, 0), (0.5, 0)], shape=shape, channels=1)
    result = interpolate(frames, np.array([0.0, 1.0]), np.array([0.5]))
    assert np.isfinite(result.frames).all() and np.isfinite(result.sd).all()
    assert np.abs(result.frames[0] - 0.5 * (frames[0] + frames[1])).max() < 40


def test_beyond_the_ends_the_nearest_frame_is_repeated():
    frames = translating([(0, 0), (1, 0)])
    result = interpolate(frames, np.array([0.0, 1.0]), np.array([-1.0, 3.0]))
    assert np.array_equal(result.frames, frames)
    assert result.sd[1].mean() > result.sd[0].mean() > 0
    alone = interpolate(frames[:1], np.array([0.0]), np.array([5.0]))
    assert np.array_equal(alone.frames, frames[:1]) and (alone.sd > 50).all()


def test_a_logo_stands_still_over_a_moving_scene():
    frames = translating([(4.0 * t, 0) for t in range(4)], shape=(64, 96))
    logo = np.zeros((64, 96), bool)
    logo[20:40, 30:33] = logo[20:40, 44:47] = logo[28:31, 30:47] = True
    frames[:, logo] = 250.0
    made = interpolate(frames, np.arange(4.0), np.array([1.5])).frames[0]
    assert np.abs(made[logo] - 250.0).max() < 1e-3
    truth = translating([(6.0, 0)], shape=(64, 96))[0]
    around = np.zeros_like(logo)
    around[14:46, 24:53] = True
    around &= ~logo
    assert np.sqrt(np.square(made[around] - truth[around]).mean()) < 25


@pytest.mark.parametrize(("radius", "step"), [(8, 14), (14, 14)])
def test_a_ball_over_a_wall_stays_whole_and_leaves_no_ghost(radius, step):
    wall = translating([(0, 0)], shape=(120, 200), channels=1)[0, ..., 0]
    ball = 170 + 0.3 * translating([(0, 0)], shape=(2 * radius + 1,) * 2, seed=1, channels=1)[0, ..., 0]
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    inside = x * x + y * y <= radius * radius
    frames = np.tile(wall, (7, 1, 1))
    boxes = [
        (slice(60 - radius, 61 + radius), slice(40 + k * step - radius, 41 + k * step + radius))
        for k in range(7)
    ]
    for frame, box in zip(frames, boxes):
        frame[box][inside] = ball[inside]
    frames = frames[..., None]
    made = interpolate(frames[::2], np.arange(0.0, 7.0, 2.0), np.array([3.0])).frames[0]
    error = np.abs(made - frames[3])[..., 0]
    # Where it is, where it was and where it will be; a ghost is a third of the difference, about 30 levels.
    assert error[boxes[3]][inside].mean() < 25
    assert max(error[boxes[2]][inside].mean(), error[boxes[4]][inside].mean()) < 17


def test_windows_give_the_bits_of_the_whole():
    frames = translating([(2.0 * t, 0.3 * t * t) for t in range(8)], shape=(32, 40))
    times, targets = np.arange(8.0), np.array([3.25, 3.5])
    whole = interpolate(frames, times, targets)
    part = slice(4 - REACH, 4 + REACH)
    window = interpolate(frames[part], times[part], targets)
    assert np.array_equal(whole.frames, window.frames) and np.array_equal(whole.sd, window.sd)


def test_bits_do_not_depend_on_threads():
    frames = translating([(2.0 * t, 0) for t in range(4)], shape=(40, 56))
    before = thread_count()
    try:
        results = []
        for threads in (1, 3):
            set_thread_count(threads)
            results.append(interpolate(frames, np.arange(4.0), np.array([1.4])))
    finally:
        set_thread_count(before)
    assert np.array_equal(results[0].frames, results[-1].frames)
    assert np.array_equal(results[0].sd, results[-1].sd)


def test_sd_covers_planted_noise():
    rng = np.random.default_rng(0)
    clean = translating([(1.5 * t, 0) for t in range(5)], shape=(64, 80), finest=0.4)
    noisy = np.clip(clean + rng.normal(0, 6, clean.shape), 0, 255).astype(np.float32)
    result = interpolate(noisy[[0, 1, 3, 4]], np.array([0.0, 1.0, 3.0, 4.0]), np.array([2.0]))
    covered = np.abs(result.frames[0] - noisy[2]) <= 1.96 * result.sd[0]
    assert 0.88 < covered.mean() < 0.99


def test_fast_is_offered_and_nonsense_is_refused():
    frames = translating([(0, 0), (2, 0)])
    times = np.array([0.0, 1.0])
    truth = translating([(1, 0)])[0]
    assert psnr(interpolate(frames, times, np.array([0.5]), quality="fast").frames[0], truth, border=6) > 32
    for bad in (
        lambda: interpolate(frames[0], times, times),
        lambda: interpolate(frames, times[:1], times),
        lambda: interpolate(frames, times[::-1], times),
        lambda: interpolate(frames, times, np.array([np.nan])),
        lambda: interpolate(frames, times, times, quality="superb"),
    ):
        with pytest.raises(InputError):
            bad()


def test_real_middle_frame_beats_blending(shared_data):
    cv2 = pytest.importorskip("cv2")
    folder = shared_data / "interp_gt" / "RubberWhale"
    first, last, truth = (
        cv2.imread(str(folder / f"frame{name}.png")).astype(np.float32)[60:260, 100:400]
        for name in ("10", "11", "10i11")
    )
    result = interpolate(np.stack([first, last]), np.array([0.0, 1.0]), np.array([0.5]))
    assert psnr(result.frames[0], truth) > psnr(0.5 * (first + last), truth) + 4
    assert 0.85 < (np.abs(result.frames[0] - truth) <= 1.96 * result.sd[0]).mean() < 0.99


def test_the_order_of_targets_does_not_matter():
    frames = translating([(2.0 * t, 0) for t in range(6)], shape=(32, 40))
    targets = np.array([4.5, 0.5, 2.25])
    mixed = interpolate(frames, np.arange(6.0), targets).frames
    for made, target in zip(mixed, targets):
        assert np.array_equal(made, interpolate(frames, np.arange(6.0), np.array([target])).frames[0])


def test_sd_does_not_depend_on_where_frames_lie_in_memory():
    rng = np.random.default_rng(0)
    shape = (240, 352, 3)
    maps = [rng.uniform(0, 9, shape[:2]).astype(np.float32) for _ in range(3)]
    evidence = Evidence(
        gap=maps[0], doubt=maps[1], unrest=maps[2], copied=maps[0].astype(np.uint8), flicker=1.0
    )
    pixels = rng.uniform(0, 255, shape).astype(np.float32)
    room = np.empty(pixels.size + 16, np.float32)
    results = []
    for offset in range(0, 16, 3):
        moved = room[offset : offset + pixels.size].reshape(shape)
        moved[...] = pixels
        results.append(deviation(moved, evidence))
    assert all(np.array_equal(result, results[0]) for result in results)


def test_slope_is_that_of_sobel():
    pixels = np.random.default_rng(0).uniform(0, 255, (31, 18, 3)).astype(np.float32)
    steep = np.empty((31, 18), np.float32)
    slope(pixels, 1, steep)
    grey = pixels.mean(axis=2)
    ways = [cv2.Sobel(grey, cv2.CV_32F, *way, scale=0.125, borderType=cv2.BORDER_REFLECT) for way in ((1, 0), (0, 1))]  # fmt: skip
    expected = np.hypot(*ways)
    np.testing.assert_allclose(steep, expected, rtol=1e-3, atol=1e-3)
    means = np.empty((16, 9), np.float32)
    slope(pixels, 2, means)
    np.testing.assert_allclose(means[:15], expected[:30].reshape(15, 2, 9, 2).mean(axis=(1, 3)), rtol=1e-3)
    np.testing.assert_allclose(means[15], expected[30].reshape(9, 2).mean(axis=1), rtol=1e-3)


def test_copied_pixels_are_surer_than_equally_quiet_ones():
    rng = np.random.default_rng(3)
    scene = np.rint(rng.uniform(0, 255, (1, 48, 64, 3))).astype(np.float32)
    frames = np.repeat(scene, 4, axis=0)
    frames[:, :, 32:] += rng.integers(-1, 2, (4, 48, 32, 3))
    sd = interpolate(frames, np.arange(4.0), np.array([1.5])).sd[0]
    assert 0 < sd[:, :20].max() < 0.05 and sd[:, 44:].min() > 0.3


def test_a_shaking_camera_is_less_sure_than_a_steady_one():
    rng = np.random.default_rng(2)
    inner = (slice(10, -10), slice(14, -14))

    def mean_sd(shakes):
        places = [(3.0 * t + dx, dy) for t, (dx, dy) in enumerate(shakes)]
        frames = translating(places, shape=(64, 80), finest=0.4)
        return interpolate(frames, np.arange(4.0), np.array([1.5])).sd[0][inner].mean()

    shaken = [mean_sd(rng.normal(0, 1.0, (4, 2))) for _ in range(4)]
    assert np.mean(shaken) > 4.0 and mean_sd(np.zeros((4, 2))) < 0.5


def test_flicker_is_in_the_sd(monkeypatch):
    scene = translating([(0, 0)] * 4, shape=(48, 64), finest=0.4) * 0.5 + 50.0
    frames = scene + np.array([0, 8, -8, 8], np.float32)[:, None, None, None]
    full = interpolate(frames, np.arange(4.0), np.array([1.5])).sd[0].mean()
    monkeypatch.setattr("videorestore.motion.interpolate.flickering", lambda *_: 0.0)
    assert full > interpolate(frames, np.arange(4.0), np.array([1.5])).sd[0].mean() + 2.0


def test_more_effort_goes_into_the_flow_where_it_is_alone():
    assert _alone(np.arange(2.0)).all() and _alone(np.arange(3.0)).all()
    assert not _alone(np.arange(6.0)).any()
    assert _alone(np.array([0.0, 1.0, 2.0, 7.0, 8.0])).tolist() == [False, False, True, False]
    frames = translating([(0, 0), (1, 0), (6, 0), (7, 0)], shape=(64, 80))
    flows = FlowCache(frames, fine=False, thorough=_alone(np.array([0.0, 1.0, 6.0, 7.0])))
    views = [View(frame) for frame in frames]
    for k, thorough in ((0, False), (1, True), (2, False)):
        given, expected = flows.flow(k, k + 1), pair(views[k], views[k + 1], fine=False, thorough=thorough)[0]
        other = pair(views[k], views[k + 1], fine=False, thorough=not thorough)[0]
        assert np.array_equal(given.vectors, expected.vectors)
        assert not np.array_equal(given.vectors, other.vectors)


def drifting(n, height, width, speed):
    """A smooth texture that drifts."""
    rng = np.random.default_rng(5)
    wide = cv2.GaussianBlur(rng.uniform(0, 255, (height, width + 100, 1)).astype(np.float32), (0, 0), 4)
    return np.stack([wide[:, round(k * speed) : round(k * speed) + width, None] for k in range(n)])


@pytest.mark.parametrize("shape", [(96, 132), (97, 131)])
def test_motion_of_large_frames_is_sought_in_smaller_ones(monkeypatch, shape):
    frames = drifting(5, *shape, 6.0)
    monkeypatch.setattr("videorestore.motion.flow._ENOUGH", 3000)
    assert module.reduction(*shape) == 2
    made = interpolate(frames[::2], np.array([0.0, 2.0, 4.0]), np.array([1.0, 3.0]))
    inner = (slice(None), slice(8, -8), slice(16, -16))
    error = np.square(made.frames - frames[1::2])[inner].mean()
    assert error < 0.1 * np.square((frames[0] + frames[2]) / 2 - frames[1])[inner[1:]].mean()


@pytest.mark.parametrize("shape", [(96, 132), (97, 131)])
def test_paths_of_frames_whose_flow_is_coarse_are_known_at_half_of_their_resolution(monkeypatch, shape):
    frames = drifting(5, *shape, 6.0)
    times, targets = np.array([0.0, 2.0, 4.0]), np.array([1.0, 3.0])
    inner = (slice(None), slice(8, -8), slice(16, -16))
    error = {}
    for small in (1000, shape[0] * shape[1]):
        monkeypatch.setattr(module, "SMALL", small)
        monkeypatch.setattr("videorestore.motion.flow.SMALL", small)
        made = Maker(frames[::2], times)
        found = made.at(targets)
        assert made._window.size == (2 if small == 1000 else 1)
        error[small] = float(np.square(found.frames - frames[1::2])[inner].mean())
    assert error[1000] < 1.1 * error[shape[0] * shape[1]] + 0.05
    assert Maker(frames[::2], times, quality="best")._window.size == 1


def test_portions_give_the_same_frames():
    frames, times = drifting(7, 48, 64, 3.0), np.arange(7.0)
    targets = np.array([0.5, 2.5, 3.5, 5.5])
    whole = interpolate(frames, times, targets)
    maker = Maker(frames, times)
    for k, target in enumerate(targets):
        made = maker.at(np.array([target]))
        assert np.array_equal(made.frames[0], whole.frames[k]) and np.array_equal(made.sd[0], whole.sd[k])
