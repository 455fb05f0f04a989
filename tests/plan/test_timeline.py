"""Output times are exact, whatever the input's."""

from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from videorestore.clip import ClipInfo, PixelFormat
from videorestore.errors import InputError
from videorestore.plan.timeline import (
    Gap,
    by_factor,
    by_rate,
    has_room,
    retimed,
    usual_step,
    with_insertions,
)

steps = st.lists(st.fractions(F(1, 100), F(1, 5), max_denominator=1000), min_size=1, max_size=12)


def clock(gaps):
    times = [F(0)]
    for gap in gaps:
        times.append(times[-1] + gap)
    return times, [*gaps, gaps[-1]]


@settings(deadline=None, derandomize=True, max_examples=60)
@given(steps, st.integers(1, 7))
def test_integer_factor_keeps_every_frame_and_the_duration(gaps, factor):
    times, durations = clock(gaps)
    slots = by_factor(times, durations, F(factor))
    assert len(slots) == (len(times) - 1) * factor + 1
    assert [s.time for s in slots if s.source is not None] == times
    assert slots[-1].time + slots[-1].duration == times[-1] + durations[-1]
    assert slots[-1].duration == durations[-1]
    assert all(a.time + a.duration == b.time for a, b in zip(slots, slots[1:]))


def test_rational_factor_on_even_times():
    times, durations = clock([F(1, 25)] * 8)
    slots = by_factor(times, durations, F(5, 2))
    assert [s.time for s in slots] == [F(j, 1) * F(2, 5) / 25 for j in range(21)]
    assert [s.source for s in slots[:6]] == [0, None, None, None, None, 2]


def test_rate_stands_on_an_even_grid_of_uneven_times():
    times, durations = clock([F(1, 25), F(3, 25), F(1, 25)])
    slots = by_rate(times, durations, F(50))
    assert [s.time for s in slots] == [F(k, 50) for k in range(11)]
    assert [s.after for s in slots] == [0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3]
    assert slots[-1].duration == F(1, 25)


def test_a_lower_rate_is_refused():
    times, durations = clock([F(1, 25)] * 3)
    with pytest.raises(InputError, match="only raised"):
        by_rate(times, durations, F(12))


def test_insertion_into_a_hole_moves_nothing():
    times, durations = clock([F(1, 25), F(4, 25), F(1, 25), F(1, 25)])
    assert usual_step(times, durations) == F(1, 25)
    assert has_room(times, durations, 1, 3)
    assert not has_room(times, durations, 0, 1)
    slots = with_insertions(times, durations, [Gap(after=1, count=3, shift=False)])
    assert [s.time for s in slots] == [F(k, 25) for k in range(8)]
    assert [s.source for s in slots] == [0, 1, None, None, None, 2, 3, 4]


def test_insertion_without_room_moves_what_follows():
    times, durations = clock([F(1, 25)] * 4)
    slots = with_insertions(times, durations, [Gap(after=1, count=2, shift=True)])
    assert [s.time for s in slots] == [F(k, 25) for k in range(7)]
    assert [s.place for s in slots][2:4] == [F(1, 25) + F(1, 75), F(1, 25) + F(2, 75)]
    assert slots[-1].time + slots[-1].duration == F(7, 25)


@pytest.mark.parametrize("rounded", [None, 1000])
@pytest.mark.parametrize("factor", [F(1), F(2), F(5, 2), F(7)])
def test_an_even_rate_stays_even_though_the_last_frame_stays_longer(factor, rounded):
    fps = F(30000, 1001)
    times = [k / fps for k in range(40)]
    if rounded:
        times = [F(round(t * rounded), rounded) for t in times]
    info = ClipInfo(
        format=PixelFormat(model="rgb", depth=8), fps=fps, extra={"time_base": F(1, rounded or 30000)}
    )
    found = retimed(info, by_factor(times, [1 / fps] * 40, factor))
    assert (found.fps, found.vfr) == (fps * factor, False)


def test_the_rate_of_uneven_times_is_their_mean():
    times, durations = clock([F(1, 10), F(1, 30), F(1, 7)])
    info = ClipInfo(format=PixelFormat(model="rgb", depth=8), fps=F(25))
    found = retimed(info, by_factor(times, durations, F(2)))
    assert found.vfr and found.fps == 7 / (times[-1] + durations[-1])
    even = retimed(info, by_rate([k * F(1, 24) for k in range(9)], [F(1, 24)] * 9, F(60)))
    assert (even.fps, even.vfr) == (60, False)


def test_a_rate_that_the_container_rounded_stays_exact_when_frames_are_inserted() -> None:
    from dataclasses import replace

    from videorestore.clip import ClipInfo, PixelFormat
    from videorestore.plan.timeline import retimed, steady_rate

    exact = F(30000, 1001)
    times = [F(round(k * 1000 / exact), 1000) for k in range(30)]
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=exact)
    info = replace(info, extra={"time_base": "1/1000"})
    gaps = [Gap(after=10, count=2, shift=True)]
    slots = with_insertions(times, [F(33, 1000)] * 30, gaps, steady_rate(info))
    assert retimed(info, slots).fps == exact and not retimed(info, slots).vfr
    assert steady_rate(replace(info, vfr=True)) is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda times, steps: by_factor(times, steps, F(10**9)),
        lambda times, steps: by_rate(times, steps, F(10**9)),
        lambda times, steps: with_insertions(times, steps, [Gap(after=0, count=10**9, shift=True)]),
    ],
)
def test_more_frames_than_a_plan_can_hold_are_refused_at_once(ask):
    with pytest.raises(InputError, match="at most 2000000 frames"):
        ask([F(0), F(1)], [F(1), F(1)])
