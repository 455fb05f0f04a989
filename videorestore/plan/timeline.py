"""Output times: exact fractions for new frame rates, filled runs and inserted frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from videorestore.clip import ClipInfo
from videorestore.errors import InputError
from videorestore.make.interlaced import Output
from videorestore.make.work import Slot
from videorestore.media.timing import rate_of


def retimed(info: ClipInfo, slots: Sequence[Slot | Output]) -> ClipInfo:
    """The facts of a clip with the rate of its new frames; how long the last one stays does not count for an even rate."""
    times = [slot.time for slot in slots]
    stated = [] if info.fps is None else [info.fps]
    if info.fps is not None and len(times) > 1:
        mean = (len(times) - 1) / (times[-1] - times[0])
        stated.append(info.fps * (mean / info.fps).limit_denominator(24))
    tick = Fraction(info.extra.get("time_base", 0)) or Fraction(1, 1_000_000)
    fps, vfr = rate_of(times, [slot.duration for slot in slots], stated, tick)
    return replace(info, fps=fps, vfr=vfr)


Moment = tuple[Fraction, Fraction, int, int | None]
"""Time, place, ``after`` and source of a slot that is as long as the next one lets it be."""


def _slots(moments: Sequence[Moment], end: Fraction) -> tuple[Slot, ...]:
    edges = [*(time for time, *_ in moments[1:]), end]
    return tuple(
        Slot(time=time, duration=edge - time, place=place, after=after, source=source)
        for (time, place, after, source), edge in zip(moments, edges)
    )


MOST_FRAMES = 2_000_000
"""Frames of a result: a day at 25 a second. A plan takes about 2 kB for each, so that more would fill the memory first."""


def check_count(count: int) -> None:
    """Refuse more frames than anybody means."""
    if count > MOST_FRAMES:
        raise InputError(
            f"a result has at most {MOST_FRAMES} frames, it would have {count}; ask for fewer new ones, or use --range."
        )


def by_factor(times: Sequence[Fraction], durations: Sequence[Fraction], factor: Fraction) -> tuple[Slot, ...]:
    """Slots ``1 / factor`` of a frame apart; uneven times stay uneven, the duration stays."""
    last = len(times) - 1
    check_count(int(last * factor) + 1)
    moments: list[Moment] = []
    for j in range(int(last * factor) + 1):
        position = j / factor
        i = int(position)
        rest = position - i
        time = times[i] + rest * (times[i + 1] - times[i]) if rest else times[i]
        moments.append((time, time, i, None if rest else i))
    return _slots(moments, times[last] + durations[last])


def check_raised(own: Fraction | None, fps: Fraction | None) -> None:
    """Refuse a rate below the clip's own, as far as both are known."""
    if own is not None and fps is not None and fps < own:
        raise InputError(
            f"--fps must be at least the clip's own rate {float(own):g}, got {float(fps):g}; the rate is only raised."
        )


def by_rate(times: Sequence[Fraction], durations: Sequence[Fraction], fps: Fraction) -> tuple[Slot, ...]:
    """Slots on the even grid of a frame rate, from the first frame to the last."""
    n = len(times)
    check_raised((n - 1) / (times[-1] - times[0]) if n > 1 else fps, fps)
    moments: list[Moment] = []
    i = 0
    count = int((times[-1] - times[0]) * fps) + 1
    check_count(count)
    for j in range(count):
        t = times[0] + j / fps
        while i + 1 < n and times[i + 1] <= t:
            i += 1
        moments.append((t, t, i, i if times[i] == t else None))
    return _slots(moments, times[-1] + durations[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """``count`` new frames after source frame ``after``; ``shift``: later frames move back to make room."""

    after: int
    count: int
    shift: bool


def usual_step(times: Sequence[Fraction], durations: Sequence[Fraction]) -> Fraction:
    """The median distance of two frames."""
    steps = sorted(b - a for a, b in zip(times[:-1], times[1:]))
    if not steps:
        return durations[0] if durations else Fraction(1, 25)
    return steps[len(steps) // 2]


def steady_rate(info: ClipInfo) -> Fraction | None:
    """The rate of a clip whose times are even; None where they vary."""
    return None if info.vfr else info.fps


def has_room(times: Sequence[Fraction], durations: Sequence[Fraction], after: int, count: int) -> bool:
    """Whether the times show a hole behind ``after`` that ``count`` frames fit into."""
    if after + 1 >= len(times):
        return False
    step = usual_step(times, durations)
    return (times[after + 1] - times[after]) * 2 >= step * (2 * count + 1)


def with_insertions(
    times: Sequence[Fraction],
    durations: Sequence[Fraction],
    gaps: Sequence[Gap],
    fps: Fraction | None = None,
) -> tuple[Slot, ...]:
    """Slots of all source frames, with new ones in the gaps.

    Where the times have room, the new frames share it evenly. Where they have none, each new frame takes
    the step of ``fps``, which a container may have rounded in the times, or without one the usual step, and all that
    follows moves back.
    """
    step = 1 / fps if fps else usual_step(times, durations)
    wanted = {gap.after: gap for gap in gaps}
    check_count(len(times) + sum(gap.count for gap in gaps))
    moments: list[Moment] = []
    moved = Fraction(0)
    for i, time in enumerate(times):
        moments.append((time + moved, time, i, i))
        gap = wanted.get(i)
        if gap is None:
            continue
        length = times[i + 1] - time if i + 1 < len(times) else durations[i]
        for k in range(1, gap.count + 1):
            share = Fraction(k, gap.count + 1) * length
            moments.append((time + moved + (step * k if gap.shift else share), time + share, i, None))
        if gap.shift:
            moved += step * gap.count
    return _slots(moments, times[-1] + durations[-1] + moved)
