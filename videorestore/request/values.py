"""Values that options hold and that are no plain numbers or words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """Frames that are absent: ``count`` new ones after frame ``after``; None lets the program decide.

    ``after`` may be a time in seconds from the start: the frame that is shown then.
    """

    after: int | Fraction
    count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A half-open range of frames or of times; None is an open end."""

    start: int | Fraction | None = None
    stop: int | Fraction | None = None
    in_seconds: bool = False
