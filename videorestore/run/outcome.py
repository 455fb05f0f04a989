"""What came of a run, and the small steps that every way of running shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from videorestore.clip import Clip, FloatArray
from videorestore.make.work import Work
from videorestore.media import SinkOptions, open_source
from videorestore.media.source import Source
from videorestore.report.record import record_of
from videorestore.request import Common
from videorestore.request.notation import frames_in_words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What came of a run.

    Attributes
    ----------
    record : dict
    losses : tuple of str
        What could not be done or was lost; not empty means exit status 5.
    clip : Clip or None
        The result, where no OUTPUT was named.
    sd : ndarray or None, shape (n, h, w, c)
    """

    record: dict[str, Any]
    losses: tuple[str, ...] = ()
    clip: Clip | None = None
    sd: FloatArray | None = None


def opened_source(source: Any, options: Common) -> Source:
    return open_source(source, stream=options.stream, fps=options.input_fps)


def sink_options_of(options: Common) -> SinkOptions:
    return SinkOptions(
        codec=options.codec,
        crf=options.crf,
        pix_fmt=options.pix_fmt,
        encoder_args=options.encoder_args,
        overwrite=options.overwrite,
    )


def record_of_run(
    verb: str, work: Work, notes: Sequence[dict[str, Any]], started: float, *, workers: int = 1
) -> dict[str, Any]:
    """The record of a run from the notes of its frames; see `piecework.note_of`."""
    shape = work.shape
    spans = [(at := Fraction(note["time"]), at + Fraction(note["duration"])) for note in notes]
    facts: dict[str, Any] = {"width": shape.width, "height": shape.height, "fps": shape.fps}
    if shape.info.vfr:
        facts["vfr"] = True
    if spans:
        facts["duration_s"] = float(max(b for _, b in spans) - min(a for a, _ in spans))
    facts |= work.findings
    damage = [entry for note in notes for entry in note["damage"]]
    if damage:
        facts["damage"] = damage
    if notes:
        facts["frames"] = [note["fact"] for note in notes]
    return record_of(verb, started, facts, workers=workers)


def doubts(notes: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """What is said of frames that are guesses."""
    numbers = [note["fact"]["index"] for note in notes if note["doubtful"]]
    if not numbers:
        return ()
    many = len(numbers) > 1
    what = f"{len(numbers)} frames of the output are guesses" if many else "a frame of the output is a guess"
    return (f"{what} that little supports: {frames_in_words(numbers)}",)
