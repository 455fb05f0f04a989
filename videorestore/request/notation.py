"""How frames, times, ranges, rates and sizes are written by people, and what they mean.

Both the command line and the Python functions take these spellings, so they live below both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from videorestore.errors import InputError
from videorestore.request.values import Insertion, Span

# No number here has more than 18 digits: what is longer is a slip, and Python refuses to read it at all.
_DIGITS = r"\d{1,18}"
_DECIMAL = rf"{_DIGITS}(?:\.\d{{0,18}})?|\.{_DIGITS}"
_NUMBER = re.compile(_DIGITS, re.ASCII)
_SECONDS = re.compile(rf"({_DECIMAL})s", re.ASCII)
_CLOCK = re.compile(rf"({_DIGITS}):([0-5]?\d):([0-5]?\d(?:\.\d{{0,18}})?)", re.ASCII)
_RATIO = re.compile(rf"({_DECIMAL})(?:/({_DIGITS}))?", re.ASCII)
_SIZE = re.compile(rf"({_DECIMAL})\s*([kmgt]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_MOST_FRAMES = 1_000_000

# What players and cameras round to two or three decimals; nobody means 2397/100.
_BROADCAST = {
    "23.976": Fraction(24000, 1001),
    "23.98": Fraction(24000, 1001),
    "29.97": Fraction(30000, 1001),
    "47.952": Fraction(48000, 1001),
    "47.95": Fraction(48000, 1001),
    "59.94": Fraction(60000, 1001),
    "119.88": Fraction(120000, 1001),
}


def parse_frames(text: str) -> tuple[int | Span, ...]:
    """A LIST of frames, sorted and without repeats; stretches of time, both ends included, stand behind them.

    >>> parse_frames("7,50-53")
    (7, 50, 51, 52, 53)
    >>> parse_frames("7,12.5s-13s")
    (7, Span(start=Fraction(25, 2), stop=Fraction(13, 1), in_seconds=True))
    """
    frames: set[int] = set()
    stretches: list[Span] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [_end(end) for end in ((first, last) if dash else (first,))]
        kinds = {type(end) for end in ends}
        if len(kinds) != 1 or not kinds <= {int, Fraction}:
            raise InputError(
                f"a list of frames must look like 7 or 50-54 or 7,50-54 or 12.5s-13s, got {text!r}; write it so."
            )
        low, high = ends[0], ends[-1]
        if high < low:  # type: ignore[operator]
            raise InputError(f"a run of frames must go upwards, got {part.strip()!r}; write {last}-{first}.")
        if isinstance(low, int) and isinstance(high, int):
            if high - low >= _MOST_FRAMES:
                raise InputError(
                    f"a run of frames must hold at most {_MOST_FRAMES} frames, got {part.strip()!r}; use --range."
                )
            frames.update(range(low, high + 1))
        elif isinstance(low, Fraction) and isinstance(high, Fraction):
            stretches.append(Span(start=low, stop=high, in_seconds=True))
    return (*sorted(frames), *stretches)


def runs_of(numbers: Iterable[int]) -> list[list[int]]:
    """Maximal runs of successive numbers, in order."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def frames_in_words(numbers: Iterable[int], most: int = 12) -> str:
    """Frame numbers as a LIST that can be given back to the program.

    >>> frames_in_words([7, 50, 51, 52])
    '7,50-52'
    """
    runs = runs_of(numbers)
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:most]]
    return ",".join(words) + (f" and {len(runs) - most} more" if len(runs) > most else "")


def parse_insertions(text: str) -> tuple[Insertion, ...]:
    """Absent frames: ``K@N`` is K new frames after frame N, ``?@N`` lets the program count them; N may be a time.

    >>> parse_insertions("5@50")
    (Insertion(after=50, count=5),)
    """
    found: dict[int | Fraction, Insertion] = {}
    for part in text.split(","):
        count, at, after = part.strip().partition("@")
        place = _end(after)
        counted = count == "?" or _NUMBER.fullmatch(count)
        if not at or not counted or not isinstance(place, (int, Fraction)):
            raise InputError(
                f"frames to insert must look like 5@50 (five after frame 50) or ?@50 or 5@2.5s, got {text!r}; write it so."
            )
        number = None if count == "?" else int(count)
        if number == 0:
            raise InputError(
                f"the number of frames to insert must be at least 1, got {part.strip()!r}; leave it out."
            )
        if place in found:
            raise InputError(
                f"each place must be named once, got {after} twice in {text!r}; add the counts up."
            )
        found[place] = Insertion(after=place, count=number)
    return tuple(found[place] for place in sorted(found))


def parse_time(text: str) -> Fraction:
    """Seconds as ``12.5s`` or a clock as ``00:00:12.500``, exactly.

    >>> parse_time("00:01:00.5")
    Fraction(121, 2)
    """
    seconds = _SECONDS.fullmatch(text)
    if seconds:
        return _decimal(seconds[1])
    clock = _CLOCK.fullmatch(text)
    if clock:
        return int(clock[1]) * 3600 + int(clock[2]) * 60 + _decimal(clock[3])
    raise InputError(f"a time must look like 12.5s or 00:00:12.500, got {text!r}; write it so.")


def parse_span(text: str) -> Span:
    """A half-open range ``A:B`` of frames or times; either end may be left out.

    >>> parse_span("10:20")
    Span(start=10, stop=20, in_seconds=False)
    """
    # A clock has colons of its own, so every colon is tried as the one between A and B.
    for place in (match.start() for match in re.finditer(":", text)):
        ends = [_end(text[:place]), _end(text[place + 1 :])]
        kinds = {type(end) for end in ends if not isinstance(end, _Open)}
        if None in ends or len(kinds) != 1:
            continue
        start, stop = (None if isinstance(end, _Open) else end for end in ends)
        if start is not None and stop is not None and stop <= start:
            raise InputError(
                f"a range A:B must end after it starts, got {text!r}; B is the first frame left out."
            )
        return Span(start=start, stop=stop, in_seconds=Fraction in kinds)
    raise InputError(
        f"a range must look like 100:200 (frames) or 12.5s:20s or 00:00:12.5:00:00:20 (times), got {text!r}; write it so."
    )


def parse_ratio(text: str) -> Fraction:
    """A positive rational: ``2``, ``2.5``, ``5/2``.

    >>> parse_ratio("5/2")
    Fraction(5, 2)
    """
    match = _RATIO.fullmatch(text)
    if not match or (match[2] is not None and int(match[2]) == 0):
        raise InputError(f"a number must look like 2 or 2.5 or 5/2, got {text!r}; write it so.")
    value = _decimal(match[1]) / (int(match[2]) if match[2] else 1)
    if value <= 0:
        raise InputError(f"the number must be above 0, got {text!r}; give a larger one.")
    return value


def parse_rate(text: str) -> Fraction:
    """A frame rate: ``60``, ``60000/1001``; the rounded broadcast rates mean the exact ones.

    >>> parse_rate("29.97")
    Fraction(30000, 1001)
    """
    return _BROADCAST.get(text.rstrip("0") if "." in text else text) or parse_ratio(text)


def parse_memory(text: str) -> int:
    """Bytes from ``4G``, ``800M`` or a plain number; units are powers of 1024.

    >>> parse_memory("4G")
    4294967296
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(_decimal(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " ")) if match else 0
    if size <= 0:
        raise InputError(f"an amount of memory must look like 4G or 800M, got {text!r}; write it so.")
    return size


class _Open:
    """An end of a range that was left out."""


def _end(text: str) -> int | Fraction | _Open | None:
    """One end of a range; None where it cannot be one."""
    if not text:
        return _Open()
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        return parse_time(text)
    except InputError:
        return None


def _decimal(digits: str) -> Fraction:
    # Fraction takes "12.5" exactly, but not "12." or ".5" on every version.
    whole, _, part = digits.partition(".")
    return int(whole or "0") + (Fraction(int(part), 10 ** len(part)) if part else Fraction(0))
