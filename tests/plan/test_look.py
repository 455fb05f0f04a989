"""A clip is looked through in stretches: the findings are those of one look, whoever helps."""

import contextlib
from dataclasses import fields
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from videorestore import colour
from videorestore.clip import Frame, PixelFormat
from videorestore.detect.measures import Measures, measure
from videorestore.plan import look
from videorestore.plan.look import STRETCH, helped_by, measured, small_picture, stretches
from videorestore.plan.scan import central_pixels, chosen
from videorestore.report.pictures import shrink
from videorestore.run.workers import Crew


def drifting(n, height=30, width=40):
    rng = np.random.default_rng(3)
    canvas = np.kron(rng.uniform(20, 230, (30, 60)), np.ones((4, 4))).astype(np.float32)
    return [canvas[k % 40 : k % 40 + height, k : k + width] for k in range(n)]


def same(one, two):
    return all(
        np.array_equal(getattr(one, f.name), getattr(two, f.name), equal_nan=True) for f in fields(Measures)
    )


@pytest.mark.parametrize("n", [1, 5, STRETCH, STRETCH + 1, STRETCH + 3, 2 * STRETCH + 9])
def test_stretches_cover_every_picture_once(n):
    pictures = [np.full((2, 3), k, np.float32) for k in range(n)]
    counted = [part[first:stop, 0, 0] for part, first, stop in stretches(iter(pictures))]
    assert np.array_equal(np.concatenate(counted), np.arange(n))


def test_stretches_measure_what_one_look_does():
    pictures = drifting(STRETCH + 20)
    assert same(measured(iter(pictures)), measure(pictures))


def test_helpers_find_the_same():
    pictures = drifting(2 * STRETCH + 5)
    alone = measured(iter(pictures))
    with Crew(2) as crew, helped_by(crew.in_order):
        assert same(measured(iter(pictures)), alone)


@pytest.mark.parametrize("step", [(0, 0), (1, 1), (2, 0)])
def test_small_pictures_are_averages_of_large_ones(step):
    form = PixelFormat(model="yuv", subsampling=step, matrix="bt709", full_range=False)
    rng = np.random.default_rng(1)
    shapes = form.plane_shapes(96, 128)
    planes = tuple(np.kron(rng.integers(30, 220, (h // 8, w // 8)), np.ones((8, 8))) for h, w in shapes)
    planes = tuple(p.astype(np.uint8) for p in planes)
    frame = Frame(planes=planes, format=form, index=0, time=Fraction(0), duration=Fraction(1))
    large, small = shrink(colour.working(frame), 32), small_picture(frame, 32)
    assert small.shape == large.shape == (24, 32, 3)
    assert np.abs(small - large).mean() < (0.01 if step == (0, 0) else 4.0)
    assert small_picture(frame, 128).shape == (96, 128, 3)


@pytest.mark.parametrize("subsampling", [(0, 0), (1, 0), (1, 1), (2, 0)])
@pytest.mark.parametrize("size", [(61, 90), (33, 20), (20, 33)])
def test_the_middle_of_a_frame_is_that_of_all_of_its_pixels(subsampling, size):
    rng = np.random.default_rng(1)
    (h, w), (sx, sy) = size, subsampling
    shapes = [(h, w)] + [(-(-h >> sy), -(-w >> sx))] * 2
    planes = tuple(rng.integers(0, 256, shape, dtype=np.uint8) for shape in shapes)
    form = PixelFormat(model="yuv", subsampling=subsampling, matrix="bt709", full_range=False)
    frame = Frame(planes=planes, format=form, index=0, time=Fraction(0), duration=Fraction(1))
    whole, side = colour.working(frame), 24
    top, left = max(0, (h - side) // 2), max(0, (w - side) // 2)
    expected = whole[top : top + side, left : left + side]
    np.testing.assert_array_equal(central_pixels(frame, side), expected)
    np.testing.assert_array_equal(central_pixels(frame, None), whole)


@pytest.mark.parametrize("helped", [False, True])
def test_frames_are_looked_at_in_their_order_and_few_are_held(helped):
    taken = []

    def frames():
        for k in range(40):
            taken.append(k)
            yield (k,)

    with look.helped_by(lambda *_: iter(())) if helped else contextlib.nullcontext():
        for k, seen in enumerate(look.looked_at(lambda n: n * n, frames())):
            assert seen == k * k
            assert len(taken) <= k + look.LOOKERS + 2
    with pytest.raises(ZeroDivisionError), look.helped_by(lambda *_: iter(())):
        list(look.looked_at(lambda n: 1 // n, [(1,), (0,)]))


@pytest.mark.parametrize(
    ("keys", "read"),
    [
        ((0, 50), [(3, 41), (90, 92)]),
        ((0, 20, 80), [(3, 5), (40, 41), (90, 92)]),
        ((), [(3, 5), (40, 41), (90, 92)]),
    ],
)
def test_a_jump_is_made_only_where_a_key_frame_lies_on_the_way(keys, read):
    asked = []

    def frames(start, stop):
        asked.append((start, stop))
        return (SimpleNamespace(index=k) for k in range(start, stop))

    source = SimpleNamespace(index=lambda: SimpleNamespace(keys=keys), frames=frames)
    assert [frame.index for frame in chosen(source, [3, 4, 40, 90, 91])] == [3, 4, 40, 90, 91]
    assert asked == read
