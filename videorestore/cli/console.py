"""What the user sees while it works: progress, warnings and errors, all on stderr."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from videorestore.cli.environment import Environment
from videorestore.cli.status import harmless

SILENCE_S = 20.0
"""After so long without news a log is told that the work goes on."""

RECENT_S, RECENT_SHARE = 60.0, 1 / 3
"""The rate is that of the last minute, of a long phase that of its last third, in time and in work: what was slow at the beginning
says nothing of the end, a phase has parts that go faster than others, and one pause is no rate."""

SETTLING_S, SETTLING_SHARE = 20.0, 1 / 8
"""Work comes in lumps, time does not: the time left is counted down, and brought to what the rate says within so many seconds, or
this share of the age of the phase or of what is left."""

APART = 2.0
"""Nor is more than so many times of what the rate says told, or less: after a pause a count down would take too long to forget it."""


class Meter:
    """How fast a phase goes and how long it still takes.

    Parameters
    ----------
    phase : str
    now : float
        Seconds of a clock that never goes back.
    """

    def __init__(self, phase: str, now: float) -> None:
        self.phase = phase
        self.started = now
        self.done = 0.0
        self.total = 0
        # A resumed phase starts above 0; what was done before must not flatter the rate.
        self._seen: list[tuple[float, float]] = []
        self._first = math.inf
        self._told: tuple[float, float] | None = None  # when, and the time left by then

    def update(self, done: float, total: int, now: float | None = None) -> None:
        """Take note of where the phase stands."""
        at = self.started if now is None else now
        if not self._seen:
            self._seen.append((self.started, done))
        elif done > self.done:
            self._seen.append((at, done))
        self._first = min(self._first, done)
        recent = at - max(RECENT_S, RECENT_SHARE * (at - self.started))
        enough = done - RECENT_SHARE * (done - self._first)
        while len(self._seen) > 2 and self._seen[1][0] <= recent and self._seen[1][1] <= enough:
            del self._seen[0]
        self.done, self.total = done, total
        left = self.left(at)
        self._told = None if left is None else (at, left)

    def rate(self, now: float) -> float | None:
        """Units per second of late; None before there is anything to say."""
        if not self._seen:
            return None
        made, spent = self.done - self._seen[0][1], now - self._seen[0][0]
        return made / spent if made > 0 and spent > 0 else None

    def left(self, now: float) -> float | None:
        """Seconds to the end of the phase."""
        rate = self.rate(now)
        if rate is None or self.total <= 0:
            return None
        left = max(self.total - self.done, 0) / rate
        if self._told is None or self.whole:
            return left
        at, told = self._told
        settling = min(SETTLING_S, SETTLING_SHARE * min(now - self.started, left))
        expected = min(max(told - (now - at), left / APART), left * APART)
        return max(0.0, left + (expected - left) * math.exp(-(now - at) / max(settling, 1e-9)))

    @property
    def whole(self) -> bool:
        return 0 < self.total <= self.done


class Writer:
    """A stream whose reader may go away: what cannot be told is not told, and the work goes on."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._gone = False
        self._lock = threading.Lock()

    def line(self, text: str) -> None:
        with self._lock:
            if self._gone:
                return
            try:
                self._stream.write(harmless(text) + "\n")
                self._stream.flush()
            except (OSError, ValueError):
                self._gone = True


class Silent:
    """No progress, notes only; other ways of showing progress are made of it."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer

    def show(self, meter: Meter, now: float, *, new: bool) -> None:
        """The phase went on; ``new`` where it just began."""

    def note(self, text: str) -> None:
        """A line that stays."""
        self.writer.line(text)

    def close(self) -> None:
        """Leave the terminal tidy."""


class Plain(Silent):
    """Lines for a log: when a phase begins, every few seconds (rarer as it goes on), and when it ends."""

    _last = float("-inf")
    _ended: str | None = None

    def show(self, meter: Meter, now: float, *, new: bool) -> None:
        if new:
            self._ended = None
        interval = min(30.0, max(2.0, (now - meter.started) / 20))
        due = new or now - self._last >= interval or meter.whole
        if due and self._ended != meter.phase:
            self._last = now
            self.writer.line(describe(meter, now))
            if meter.whole:
                self._ended = meter.phase


class JsonLines(Silent):
    """One JSON object per line, for programs."""

    interval = 0.5
    _last = float("-inf")

    def show(self, meter: Meter, now: float, *, new: bool) -> None:
        if not (new or meter.whole or now - self._last >= self.interval):
            return
        self._last = now
        entry: dict[str, Any] = {"phase": meter.phase, "done": int(meter.done)}
        if meter.total > 0:
            entry |= {"total": meter.total, "share": round(meter.done / meter.total, 4)}
        for key, value in (("rate", meter.rate(now)), ("left_s", meter.left(now))):
            if value is not None:
                entry[key] = round(value, 3)
        entry["elapsed_s"] = round(now - meter.started, 3)
        self.writer.line(json.dumps(entry))

    def note(self, text: str) -> None:
        self.writer.line(json.dumps({"message": text}))


class Bar(Silent):
    """rich's bar on a terminal."""

    def __init__(self, writer: Writer, stream: TextIO, *, colour: bool) -> None:
        super().__init__(writer)
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[tail]}", markup=False),
            TimeElapsedColumn(),
            # The environment has decided already that this is a terminal.
            console=Console(file=stream, force_terminal=True, no_color=not colour, highlight=False),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task: Any = None
        self._progress.start()

    def show(self, meter: Meter, now: float, *, new: bool) -> None:
        total = meter.total if meter.total > 0 else None
        if new:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(meter.phase, total=total, tail="")
        self._progress.update(self._task, completed=meter.done, total=total, tail=_tail(meter, now))

    def note(self, text: str) -> None:
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()


class Console:
    """Progress and messages of one command.

    Parameters
    ----------
    environment : Environment
    progress : {"auto", "plain", "json", "none"}
    quiet : bool
    clock : callable
        Seconds; a test hands in its own.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        progress: str = "auto",
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._writer = Writer(environment.stderr)
        self._environment = environment
        self._kind = _kind(environment, "none" if quiet and progress == "auto" else progress)
        self._display: Silent | None = None
        self._meter: Meter | None = None
        self._calls = self._heard = 0
        self._closed = threading.Event()

    def progress(self, phase: str, done: float, total: int) -> None:
        """The callback that the work is given."""
        now = self._clock()
        meter = self._meter
        new = meter is None or meter.phase != phase
        if meter is None or new:
            meter = self._meter = Meter(phase, now)
        meter.update(done, total, now)
        self._calls += 1
        if self._display is None:
            self._display = self._open()
        self._display.show(meter, now, new=new)

    def still(self) -> None:
        """Say that a phase goes on though it has nothing new to tell: silence would look like a hang."""
        if self._meter is not None and self._display is not None:
            now = self._clock()
            self._display.note(
                f"{describe(self._meter, now)} (working for {spell(now - self._meter.started)})"
            )

    def _watch(self) -> None:
        """Break a long silence, in a thread of its own."""
        while not self._closed.wait(SILENCE_S):
            if self._calls == self._heard:
                self.still()
            self._heard = self._calls

    def note(self, text: str) -> None:
        """A line on stderr that stays."""
        text = harmless(text)
        if self._display is None:
            self._writer.line(text if self._kind != "json" else json.dumps({"message": text}))
        else:
            self._display.note(text)

    def close(self) -> None:
        """End the progress; messages can still be written."""
        self._closed.set()
        if self._display is not None:
            self._display.close()
            self._display = None

    def error(self, message: str) -> None:
        """The one line that a failure is told in."""
        self.close()
        self._writer.line("error: " + " ".join(message.split()))

    def lines(self, text: str) -> None:
        """A traceback."""
        self.close()
        self._writer.line(text.rstrip("\n"))

    def _open(self) -> Silent:
        if self._kind == "plain":
            self._closed.clear()
            threading.Thread(target=self._watch, daemon=True).start()
        if self._kind == "bar":
            return Bar(
                self._writer, self._environment.stderr, colour="NO_COLOR" not in self._environment.variables
            )
        return {"plain": Plain, "json": JsonLines, "none": Silent}[self._kind](self._writer)


def describe(meter: Meter, now: float) -> str:
    """A phase in one line: ``denoise: 120/400, 8.1/s, 34 s left``."""
    return f"{meter.phase}: {_tail(meter, now)}" if meter.done or meter.total > 0 else meter.phase


def spell(seconds: float) -> str:
    """A duration for people.

    >>> spell(75), spell(4000)
    ('1:15', '1:06:40')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _tail(meter: Meter, now: float) -> str:
    parts = [f"{int(meter.done)}/{meter.total}" if meter.total > 0 else f"{int(meter.done)}"]
    rate, left = meter.rate(now), meter.left(now)
    if rate is not None:
        parts.append(f"{rate:.3g}/s" if rate < 100 else f"{rate:.0f}/s")
    if left is not None and not meter.whole:
        parts.append(f"{spell(left)} left")
    return ", ".join(parts)


def _kind(environment: Environment, progress: str) -> str:
    if progress != "auto":
        return progress
    dumb = environment.variables.get("TERM") == "dumb"
    return "bar" if environment.stderr_is_terminal and not dumb else "plain"
