"""Flow, its judgement and its cache; warping."""

import cv2
import numpy as np
import pytest

from tests.motion.scenes import translating
from videorestore.motion import flow as flows
from videorestore.motion.flow import FlowCache, View, fast_flow, luma, medium_flow, pair
from videorestore.motion.warp import compose, inside, warp


def test_warp_by_whole_pixels_moves_pixels():
    frame = np.arange(5 * 6 * 3, dtype=np.float32).reshape(5, 6, 3)
    shift = np.zeros((5, 6, 2), np.float32)
    shift[..., 0] = 2
    for method in ("cubic", "linear", "nearest"):
        moved = warp(frame, shift, method=method)
        np.testing.assert_allclose(moved[:, :4], frame[:, 2:], atol=1e-4)
        np.testing.assert_allclose(moved[:, 4], frame[:, 5], atol=1e-4)


def test_warp_keeps_the_axes_of_its_frame():
    shift = np.zeros((4, 7, 2), np.float32)
    for shape in ((4, 7), (4, 7, 1), (4, 7, 3)):
        assert warp(np.ones(shape), shift).shape == shape


def test_inside_and_compose():
    shift = np.zeros((4, 6, 2), np.float32)
    shift[..., 0] = 1.5
    assert inside(shift)[:, :4].all() and not inside(shift)[:, 5].any()
    np.testing.assert_allclose(compose(shift, shift)[..., 0], 3.0)


@pytest.mark.parametrize("move", [(1.0, 0.0), (2.5, -1.25), (0.0, 0.0)])
def test_planted_motion_is_found_to_a_fraction_of_a_pixel(move):
    frames = translating([(0, 0), move], shape=(64, 80))
    there, back = pair(View(frames[0]), View(frames[1]))
    inner = (slice(8, -8), slice(8, -8))
    np.testing.assert_allclose(np.median(there.vectors[inner], axis=(0, 1)), move, atol=0.1)
    assert np.abs(there.vectors[inner] - np.float32(move)).mean() < 0.1
    assert np.abs(back.vectors[inner] + np.float32(move)).mean() < 0.1
    assert there.consistency[inner].mean() < 0.1 and there.residual[inner].mean() < 3


def test_fine_flow_follows_small_things():
    frames = translating([(0, 0), (0, 0)], shape=(72, 96), finest=0.3)
    frames[0, 20:50:6, 20:26] = frames[1, 20:50:6, 22:28] = 255.0
    lumas = luma(frames[0]), luma(frames[1])
    errors = [
        np.abs(medium_flow(*lumas, fine=fine)[20:50:6, 21:25, 0] - 2.0).mean() for fine in (False, True)
    ]
    assert errors[1] < errors[0]


def test_a_flow_is_sure_where_it_returns_and_finds_the_same():
    frames = translating([(0, 0), (3, 0)], shape=(64, 80))
    frames[1, 20:40, 30:50] = np.random.default_rng(0).uniform(0, 255, (20, 20, frames.shape[3]))
    there, _ = pair(View(frames[0]), View(frames[1]))
    sure = there.sure()
    assert sure[8:14, 8:60].mean() > 0.9 and sure[24:36, 31:43].mean() < 0.5


def test_what_leaves_the_frame_is_not_consistent():
    frames = translating([(0, 0), (6, 0)], shape=(48, 64))
    there, _ = pair(View(frames[0]), View(frames[1]))
    assert (there.consistency > 1.5)[:, -3:].mean() > 0.8
    assert (there.consistency > 1.5)[8:-8, 12:40].mean() < 0.02


def test_a_seeded_call_leaves_nothing_behind():
    a, b = (luma(frame) for frame in translating([(0, 0), (1, 1)]))
    plain = medium_flow(a, b)
    start = np.full((*a.shape, 2), 10.0, np.float32)
    medium_flow(a, b, start=start)
    assert np.array_equal(medium_flow(a, b), plain)
    assert (start == 10.0).all()


def test_bits_do_not_depend_on_the_threads_of_opencv():
    a, b = (luma(frame) for frame in translating([(0, 0), (3, 1)], shape=(96, 128)))
    before = cv2.getNumThreads()
    try:
        results = []
        for threads in (1, 2, 5):
            cv2.setNumThreads(threads)
            results.append((medium_flow(a, b), fast_flow(a, b)))
    finally:
        cv2.setNumThreads(before)
    for medium, fast in results[1:]:
        assert np.array_equal(medium, results[0][0]) and np.array_equal(fast, results[0][1])


@pytest.mark.parametrize("shape", [(1, 1, 3), (16, 16, 1), (3, 90, 3), (90, 5, 1)])
def test_frames_of_any_size(shape):
    frames = np.random.default_rng(0).uniform(0, 255, (2, *shape)).astype(np.float32)
    there, _ = pair(View(frames[0]), View(frames[1]))
    assert there.vectors.shape == (*shape[:2], 2) and np.isfinite(there.vectors).all()


def test_no_flow_is_computed_twice(monkeypatch):
    calls = []
    original = flows.pair
    monkeypatch.setattr(flows, "pair", lambda *a, **k: calls.append(1) or original(*a, **k))
    cache = FlowCache(translating([(0, 0), (1, 0), (2, 0)]), seeded=False)
    first = cache.flow(0, 1)
    assert cache.flow(0, 1) is first
    cache.flow(1, 0)
    assert len(calls) == 1
    cache.drop_before(1)
    cache.flow(0, 1)
    assert len(calls) == 2
