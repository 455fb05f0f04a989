"""How far the work at hand has come, told from inside it without handing anything down.

Whoever wants to know listens (`listening`). Work that has parts says which share of the whole each of them is
(`part`), and whoever goes through a list of things says how many are done (`counted`, `Marker`). Parts nest: a loop does
not know what it is a part of. Without a listener all of this costs nothing, and it never changes what is computed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Listener = Callable[[float], None]
_Item = TypeVar("_Item")


class _Here(threading.local):
    """Of each thread: who listens, and between which shares of the whole the work at hand lies."""

    listener: Listener | None = None
    low: float = 0.0
    high: float = 1.0


_here = _Here()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell ``listener`` the share that is done, from 0 to 1, of what this thread does meanwhile."""
    before = _here.listener, _here.low, _here.high
    _here.listener, _here.low, _here.high = listener, 0.0, 1.0
    try:
        yield
    finally:
        _here.listener, _here.low, _here.high = before


@contextmanager
def _between(low: float, high: float) -> Iterator[None]:
    """What is done meanwhile belongs to the part from ``low`` to ``high`` of the work at hand."""
    before = _here.low, _here.high
    width = before[1] - before[0]
    _here.low, _here.high = before[0] + low * width, before[0] + high * width
    try:
        yield
    finally:
        _here.low, _here.high = before


@contextmanager
def part(low: float, high: float) -> Iterator[None]:
    """What is done meanwhile is the part from ``low`` to ``high`` of the work at hand."""
    with _between(low, high):
        try:
            yield
        finally:
            at(1.0)


def within(low: float, high: float, items: Iterator[_Item]) -> Iterator[_Item]:
    """Things that are made as they are asked for; the making of all of them is the part from ``low`` to ``high``."""
    while True:
        with _between(low, high):
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def at(share: float) -> None:
    """So much of the work at hand is done."""
    if _here.listener is not None:
        _here.listener(_here.low + share * (_here.high - _here.low))


def counted(items: Sequence[_Item]) -> Iterator[_Item]:
    """Go through things that are equal parts of the work at hand."""
    count = max(1, len(items))
    for k, item in enumerate(items):
        with part(k / count, (k + 1) / count):
            yield item


class Marker:
    """Counts equal parts of the work at hand that any thread finishes; meanwhile nobody else in this thread counts."""

    def __init__(self, count: int) -> None:
        self._listener, self._low = _here.listener, _here.low
        self._width = (_here.high - _here.low) / max(1, count)
        self._done = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Marker:
        _here.listener = None
        return self

    def __exit__(self, *exc: object) -> None:
        _here.listener = self._listener

    def mark(self) -> None:
        """One more is done."""
        if self._listener is not None:
            with self._lock:
                self._done += 1
                self._listener(self._low + self._done * self._width)
