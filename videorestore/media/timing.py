"""Presentation times of decoded frames, made strictly increasing, and what they say about the rate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

Policy = Literal["pts", "dts", "rate"]
"""Where times come from: presentation stamps, decoding stamps, or counting at a rate."""

# A step back of more than this is a new origin of time in the file (joined recordings), not a slip.
_NEW_ORIGIN = Fraction(1)


def choose_policy(stamps: Sequence[tuple[int | None, int | None]], *, counted: bool = False) -> Policy:
    """Which stamps to trust, from the ``(pts, dts)`` of the first decoded frames.

    Where the file stores none and its reader has ``counted`` them, a step in the first kind is a slip of that count (an
    MPEG stream with pictures out of order seems to lack its second frame), if the second kind has none.
    """
    usable: dict[Policy, set[int]] = {}
    kinds: tuple[tuple[Policy, int], ...] = (("pts", 0), ("dts", 1))
    for policy, column in kinds:
        # The last frames of a short file leave the decoder without a dts.
        values = [pair[column] for pair in stamps if policy == "pts" or pair[column] is not None]
        known = [v for v in values if v is not None]
        steps = {b - a for a, b in zip(known, known[1:])}
        if known and len(known) == len(values) and all(step > 0 for step in steps):
            usable[policy] = steps
    if counted and len(usable) > 1 and len(usable["dts"]) == 1 < len(usable["pts"]):
        return "dts"
    return next(iter(usable), "rate")


class Clock:
    """Gives each frame, in the order of display, its time in seconds.

    Parameters
    ----------
    policy : Policy
    tick : Fraction
        Seconds per unit of a stamp.
    origin : Fraction
        Time in the file that becomes zero.
    step : Fraction
        Usual time between frames, used where a stamp is missing.
    """

    def __init__(self, policy: Policy, tick: Fraction, origin: Fraction, step: Fraction) -> None:
        self.policy = policy
        self.repaired = 0
        self._tick = tick
        self._origin = origin
        self._step = step
        self._shift = Fraction(0)
        self._previous: Fraction | None = None

    def place(self, pts: int | None, dts: int | None) -> Fraction:
        """Time of the next frame."""
        stamp = pts if self.policy == "pts" else dts if self.policy == "dts" else None
        previous = self._previous
        if stamp is None:
            time = Fraction(0) if previous is None else previous + self._step
            self.repaired += self.policy == "pts"
        else:
            if previous is None and self.policy == "dts":
                # Decoding stamps run ahead of the picture by the delay of the decoder.
                self._origin = stamp * self._tick
            time = stamp * self._tick - self._origin + self._shift
            if previous is None:
                if time < 0:
                    self._origin += time
                    time = Fraction(0)
            elif time <= previous:
                self.repaired += 1
                if previous - time > _NEW_ORIGIN:
                    self._shift += previous + self._step - time
                    time = previous + self._step
                else:
                    time = previous + self._tick
        self._previous = time
        return time


def rate_of(
    times: Sequence[Fraction], durations: Sequence[Fraction], stated: Sequence[Fraction], tick: Fraction
) -> tuple[Fraction | None, bool]:
    """Mean rate, and whether the rate varies by more than the rounding of the stamps.

    Parameters
    ----------
    times, durations : sequences of Fraction
    stated : sequence of Fraction
        What the file claims, the likeliest first; taken where the times agree with it.
    tick : Fraction
        Resolution of the stamps.

    Returns
    -------
    fps : Fraction or None
    vfr : bool
    """
    n = len(times)
    if n < 2:
        if stated:
            return stated[0], False
        return (1 / durations[0] if durations and durations[0] > 0 else None), False
    span = times[-1] - times[0]
    mean = (n - 1) / span
    for candidate in (*stated, mean):
        if _even(times, 1 / candidate, tick):
            return candidate, False
    for candidate in stated:
        if _even_with_gaps(times, 1 / candidate, tick):
            return candidate, False
    whole = span + durations[-1] if durations and durations[-1] > 0 else None
    return (n / whole if whole else mean), True


def _slack(step: Fraction, tick: Fraction) -> float:
    return min(float(tick) * 1.01, float(step) * 0.26)


def _even(times: Sequence[Fraction], step: Fraction, tick: Fraction) -> bool:
    # Floats decide where they are clear; hours of exact fractions would be slow.
    start, pace, slack = float(times[0]), float(step), _slack(step, tick)
    return all(abs(float(t) - start - k * pace) <= slack for k, t in enumerate(times))


def _even_with_gaps(times: Sequence[Fraction], step: Fraction, tick: Fraction) -> bool:
    """A constant rate from which a few frames were dropped: all times on the grid, nine of ten steps single."""
    start, pace, slack = float(times[0]), float(step), _slack(step, tick)
    places = [(float(t) - start) / pace for t in times]
    if any(abs(p - round(p)) * pace > slack for p in places):
        return False
    single = sum(1 for a, b in zip(places, places[1:]) if round(b) - round(a) == 1)
    return single >= 0.9 * (len(times) - 1)
