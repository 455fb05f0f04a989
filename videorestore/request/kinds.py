"""Kinds of option values: how each is read from a word of the command line, a settings file, or a value of Python's.

`Kind.read` takes both and gives the one value that the program works with; what cannot be read is an `InputError` that
does not name the option: who asked puts the name in front.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from videorestore.errors import InputError
from videorestore.request import notation
from videorestore.request.values import Insertion, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(ABC):
    """A kind of value.

    Attributes
    ----------
    metavar : str
        How help writes the value.
    words : tuple of str
        Words that completion offers.
    """

    metavar: str = ""
    words: tuple[str, ...] = ()

    @abstractmethod
    def read(self, value: Any) -> Any:
        """The value that the program works with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag(Kind):
    """True where it is given; ``opposite`` is the spelling that makes it False."""

    opposite: str | None = None

    def read(self, value: Any) -> bool:
        if not isinstance(value, (bool, int)):
            raise InputError(f"must be true or false, got {value!r}; give one of them.")
        return bool(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(Kind):
    """How often a flag is given."""

    def read(self, value: Any) -> int:
        return _whole(value, 0, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Kind):
    """One of ``words``."""

    def read(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise InputError(f"must be one of {', '.join(self.words)}, got {value!r}; choose one of them.")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Kind):
    """Any text."""

    def read(self, value: Any) -> str:
        if not isinstance(value, str):
            raise InputError(f"must be text, got {value!r}; put it in quotes.")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class File(Kind):
    """The name of a file, or one of ``words``; ``arrays`` lets Python hand in pixels instead."""

    arrays: bool = False
    folder: bool = False

    def read(self, value: Any) -> Any:
        if isinstance(value, (str, os.PathLike)):
            return os.fspath(value)
        if self.arrays and (hasattr(value, "__array__") or hasattr(value, "frames")):
            return value
        what = "a file name or an array" if self.arrays else "a file name"
        raise InputError(f"must be {what}, got {value!r}; give one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Kind):
    """A number within bounds; the word ``auto``, where there is one, stands for None."""

    low: float
    high: float

    def read(self, value: Any) -> float | None:
        if isinstance(value, str) and value in self.words:
            return None
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not self.low <= number <= self.high:
            auto = " or auto" if "auto" in self.words else ""
            raise InputError(
                f"must be a number from {self.low:g} to {self.high:g}{auto}, got {value!r}; give one in between."
            )
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Kind):
    """A whole number within bounds."""

    low: int
    high: int

    def read(self, value: Any) -> int:
        return _whole(value, self.low, self.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelled(Kind):
    """What people write as text; ``convert`` takes Python's own values, and ``auto`` stands for None."""

    parse: Callable[[str], Any]
    convert: Callable[[Any], Any]

    def read(self, value: Any) -> Any:
        if isinstance(value, str):
            return None if value in self.words else self.parse(value)
        try:
            return self.convert(value)
        except InputError:
            raise
        except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise InputError(f"must look like {self.metavar}, got {value!r}; write it so.") from error


def words(*listed: str) -> Word:
    """One of these words."""
    return Word(metavar="|".join(listed), words=listed)


def frames() -> Spelled:
    """A list of frames, or auto."""
    return Spelled(metavar="auto|LIST", words=("auto",), parse=notation.parse_frames, convert=_frames)


def insertions() -> Spelled:
    """Frames that are absent."""
    return Spelled(metavar="LIST", parse=notation.parse_insertions, convert=_insertions)


def span() -> Spelled:
    """A range of frames or times."""
    return Spelled(metavar="A:B", parse=notation.parse_span, convert=_span)


def rate() -> Spelled:
    """Frames a second."""
    return Spelled(metavar="R", parse=notation.parse_rate, convert=_rational)


def ratio() -> Spelled:
    """A rational number."""
    return Spelled(metavar="K", parse=notation.parse_ratio, convert=_rational)


def memory() -> Spelled:
    """Bytes."""
    return Spelled(metavar="4G", parse=notation.parse_memory, convert=lambda value: _whole(value, 1, 2**63))


def several(kind: Kind, metavar: str) -> Spelled:
    """One or more values of a kind, with commas between them."""
    return Spelled(
        metavar=metavar,
        parse=lambda text: tuple(kind.read(part.strip()) for part in text.split(",")),
        convert=lambda value: tuple(
            kind.read(part) for part in (value if isinstance(value, (list, tuple)) else [value])
        ),
    )


def _whole(value: Any, low: int, high: int) -> int:
    number = -1
    if isinstance(value, str):
        # No number here has more than 18 digits: what is longer is a slip, and Python refuses to read it at all.
        number = int(value) if value.isascii() and value.isdigit() and len(value) <= 18 else -1
    elif not isinstance(value, bool) and hasattr(value, "__index__"):
        number = value.__index__()
    if not low <= number <= high:
        raise InputError(f"must be a whole number from {low} to {high}, got {value!r}; give one in between.")
    return number


def _frames(value: Any) -> tuple[int | Span, ...]:
    numbers = list(value) if hasattr(value, "__iter__") else [value]
    listed = ",".join(str(_whole(number, 0, 10**18)) for number in numbers)
    return notation.parse_frames(listed) if numbers else ()


def _insertions(value: Any) -> tuple[Insertion, ...]:
    if isinstance(value, Insertion):
        return (value,)
    found: list[Insertion] = []
    for entry in value:
        found += [entry] if isinstance(entry, Insertion) else notation.parse_insertions(str(entry))
    return tuple(found)


def _span(value: Any) -> Span:
    if isinstance(value, Span):
        return value
    if isinstance(value, (slice, range)):
        value = (value.start, value.stop)
    start, stop = value
    return notation.parse_span(":".join("" if end is None else str(end) for end in (start, stop)))


def _rational(value: Any) -> Fraction:
    # 29.97 stands for 30000/1001, and 2.5 for 5/2; the nearest binary fraction is what nobody means.
    return notation.parse_rate(repr(value) if isinstance(value, float) else str(Fraction(value)))
