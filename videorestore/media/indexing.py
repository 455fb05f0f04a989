"""The index of a video file, noted down frame by frame while it is decoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from videorestore.clip import Status
from videorestore.media.decoder import Decoded, Log
from videorestore.media.source import FrameIndex
from videorestore.media.timing import Clock, Policy
from videorestore.request.notation import frames_in_words


@dataclass(slots=True, kw_only=True)
class Tape:
    """What is known of the frames so far; see `FrameIndex` for the names."""

    log: Log
    clock: Clock
    times: list[Fraction] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    checks: list[int] = field(default_factory=list)
    last_duration: int = 0

    def add(self, item: Decoded, check: int | None) -> Fraction:
        """Note the next frame, with its checksum where that is wanted; gives its time."""
        if item.pts in self.log.keys:
            self.keys.append(len(self.times))
        self.times.append(self.clock.place(item.pts, item.dts))
        self.statuses.append("corrupt" if item.corrupt else "good")
        self.marks.append(item.pts if item.pts is not None else -1)
        if check is not None:
            self.checks.append(check)
        self.last_duration = item.duration
        return self.times[-1]

    def note_end(self, promised: int, gone: int, *, empties: bool) -> None:
        """Say what is missing at the end of the file.

        Parameters
        ----------
        promised : int
            Frames by the header; 0 where it does not say.
        gone : int
            Bytes that are missing.
        empties : bool
            The container fills pauses with packets that hold nothing, and counts them as frames.
        """
        count = promised - self.log.packets
        if count > 0 and not gone and empties:
            self.log.notes.append(f"{count} empty packets: the frame before each stays on")
        elif count > 0:
            self.log.lose(
                f"the file promises {promised} frames; {count} are cut off and cannot be read", count
            )
        elif gone:
            self.log.lose(f"the file is cut off: {gone} bytes at its end are missing", 0)

    def index(self, final: Fraction, *, careful: bool, policy: Policy, whole: bool) -> FrameIndex:
        """The index; ``final`` is the duration of the last frame."""
        losses, notes = list(self.log.losses), list(self.log.notes)
        corrupt = [k for k, status in enumerate(self.statuses) if status == "corrupt"]
        if corrupt:
            losses.append(
                f"{len(corrupt)} of {len(self.times)} frames are corrupt: {frames_in_words(corrupt)}"
            )
        if self.clock.repaired:
            notes.append(f"{self.clock.repaired} frame times did not increase and were moved")
        if policy == "dts":
            notes.append(
                "presentation times are out of order or not stored; the order of decoding gives the times"
            )
        return FrameIndex(
            times=tuple(self.times),
            durations=(*(b - a for a, b in zip(self.times, self.times[1:])), final),
            statuses=tuple(self.statuses),
            lost=self.log.lost,
            messages=(*losses, *notes),
            losses=tuple(losses),
            marks=tuple(self.marks),
            keys=tuple(self.keys),
            checks=tuple(self.checks),
            careful=careful,
            policy=policy,
            whole=whole,
        )
