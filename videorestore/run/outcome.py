"""What came of a run, and the small steps that every way of running shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from videorestore import __version__
from videorestore.clip import Clip, FloatArray
from videorestore.make.work import Work
from videorestore.media import SinkOptions, open_source
from videorestore.media.source import Source
from videorestore.report.record import RecordBuilder
from videorestore.request import Common


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


def builder_for(verb: str, work: Work, started: float) -> RecordBuilder:
    shape = work.shape
    return RecordBuilder(
        version=__version__,
        verb=verb,
        width=shape.width,
        height=shape.height,
        fps=shape.fps,
        vfr=shape.info.vfr,
        started=started,
    )


def sink_options_of(options: Common) -> SinkOptions:
    return SinkOptions(
        codec=options.codec,
        crf=options.crf,
        pix_fmt=options.pix_fmt,
        encoder_args=options.encoder_args,
        overwrite=options.overwrite,
    )


def findings_of(work: Work, damage: list[dict[str, Any]]) -> dict[str, Any]:
    findings = dict(work.findings)
    if damage:
        findings["damage"] = damage
    return findings


def doubts(indices: list[int]) -> tuple[str, ...]:
    if not indices:
        return ()
    shown = ", ".join(map(str, indices[:12])) + (", ..." if len(indices) > 12 else "")
    return (f"{len(indices)} frames of the output are guesses that little supports: {shown}",)
