"""Rates, times left and throttling."""

from __future__ import annotations

import io
import json

from videorestore.cli.console import Console, Meter, describe, spell
from videorestore.cli.environment import Environment


class Clock:
    """Time that goes only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_rate_and_time_left() -> None:
    meter = Meter("work", 0.0)
    assert meter.rate(1.0) is None and meter.left(1.0) is None
    meter.update(0, 100)
    meter.update(20, 100)
    assert meter.rate(10.0) == 2.0
    assert meter.left(10.0) == 40.0
    assert describe(meter, 10.0) == "work: 20/100, 2/s, 40 s left"


def test_what_an_earlier_run_did_does_not_flatter_the_rate() -> None:
    meter = Meter("work", 0.0)
    meter.update(90, 100)
    meter.update(95, 100)
    assert meter.rate(5.0) == 1.0
    assert meter.left(5.0) == 5.0


def test_a_phase_of_unknown_length() -> None:
    meter = Meter("reading", 0.0)
    meter.update(0, 0)
    meter.update(30, 0)
    assert meter.left(3.0) is None
    assert describe(meter, 3.0) == "reading: 30, 10/s"


def test_plain_lines_are_throttled() -> None:
    err, clock = io.StringIO(), Clock()
    console = Console(Environment(stdout=io.StringIO(), stderr=err), progress="plain", clock=clock)
    for done in range(1001):
        clock.now = done / 100
        console.progress("work", done, 1000)
    lines = err.getvalue().splitlines()
    assert lines[0] == "work: 0/1000"
    assert lines[-1] == "work: 1000/1000, 100/s"
    assert 4 <= len(lines) <= 8


def test_the_same_phase_can_come_again() -> None:
    err = io.StringIO()
    console = Console(Environment(stdout=io.StringIO(), stderr=err), progress="plain", clock=Clock())
    for phase in ("a", "b", "a"):
        console.progress(phase, 1, 1)
        console.progress(phase, 1, 1)
    assert [line.split(":")[0] for line in err.getvalue().splitlines()] == ["a", "b", "a"]


def test_json_lines() -> None:
    err, clock = io.StringIO(), Clock()
    console = Console(Environment(stdout=io.StringIO(), stderr=err), progress="json", clock=clock)
    console.progress("work", 0, 10)
    clock.now = 2.0
    console.progress("work", 4, 10)
    console.note("by the way")
    entries = [json.loads(line) for line in err.getvalue().splitlines()]
    assert entries[1] == {
        "phase": "work",
        "done": 4,
        "total": 10,
        "share": 0.4,
        "rate": 2.0,
        "left_s": 3.0,
        "elapsed_s": 2.0,
    }
    assert entries[2] == {"message": "by the way"}


def test_durations_for_people() -> None:
    assert [spell(s) for s in (0.4, 59, 60, 3599, 3600, 90061)] == [
        "0 s",
        "59 s",
        "1:00",
        "59:59",
        "1:00:00",
        "25:01:01",
    ]


def test_a_long_silence_is_broken() -> None:
    err, clock = io.StringIO(), Clock()
    console = Console(Environment(stdout=io.StringIO(), stderr=err), progress="plain", clock=clock)
    console.still()
    assert err.getvalue() == ""
    console.progress("fitting", 0, 0)
    clock.now = 90.0
    console.still()
    console.close()
    console.still()
    assert err.getvalue().splitlines() == ["fitting", "fitting (working for 1:30)"]


def test_the_rate_is_that_of_the_last_minute() -> None:
    meter = Meter("denoise", 0.0)
    meter.update(0, 1000, 0.0)
    for second in range(1, 101):
        # Slow while kernels are compiled, then ten a second.
        meter.update(0 if second <= 30 else 10 * (second - 30), 1000, float(second))
    rate = meter.rate(100.0)
    assert rate is not None and abs(rate - 10) < 0.2
    left = meter.left(100.0)
    assert left is not None and abs(left - 30) < 3


def test_a_start_does_not_make_the_work_behind_it_look_quick() -> None:
    meter = Meter("denoise", 0.0)
    meter.update(0, 72, 0.0)
    # As 72 frames of 1080p go: three seconds until anything is told, and a pace that is at its best after that.
    told = [(3, 0.024), (4, 0.045), (6, 0.072), (8, 0.1), (10, 0.122), (12, 0.141), (15, 0.173), (20, 0.229)]
    for second, share in told:
        meter.update(72 * share, 72, float(second))
        left, real = meter.left(float(second)), 87.7 - second
        if second > 8.8:
            assert left is not None and abs(left / real - 1) < 0.15


def test_a_pause_is_forgotten_soon() -> None:
    meter = Meter("looking", 0.0)
    meter.update(0, 500, 0.0)
    for k in range(1, 240):
        # Twenty a second; after sixteen seconds the machine has something else to do for almost three minutes.
        now = k / 10 + (160 if k > 160 else 0)
        meter.update(2 * k, 500, now)
        left = meter.left(now)
        if k > 162:
            assert left is not None and left < 600
    assert left is not None and left < 60


def test_time_left_is_near_after_a_tenth_and_does_not_grow_while_the_pace_is_even() -> None:
    meter, total, least = Meter("denoise", 0.0), 300, float("inf")
    meter.update(0, total, 0.0)
    for second in range(4, 601, 4):
        # Three frames in two or six seconds by turns: work comes in lumps.
        made = second / 2 + (1.0 if second % 8 else 0.0)
        meter.update(min(made, total), total, float(second))
        left = meter.left(float(second))
        if second > 60:
            assert left is not None and abs(second + left - 600) < 0.2 * 600
            assert left < least + 6
            least = min(least, left)
