"""Say what is there and what is wrong; nothing is changed."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

from videorestore import colour
from videorestore.make.work import Progress, silent
from videorestore.media import open_source
from videorestore.media.source import FrameIndex, Source
from videorestore.plan.findings import find
from videorestore.plan.scan import chosen, scan
from videorestore.report import crops
from videorestore.report.advice import findings
from videorestore.report.page import PageBuilder
from videorestore.report.pictures import eight_bit
from videorestore.report.record import plain, record_of
from videorestore.request.verbs_looking import InspectOptions

PICTURES = 60
"""Frames shown on the page: those with something wrong first, the others at even steps."""


def report(
    source: Any, options: InspectOptions, progress: Progress = silent
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Inspect a clip.

    Returns
    -------
    record : dict
        Facts of the file and findings; see `facts` and `videorestore.plan.findings.find`.
    losses : tuple of str
        What of the file could not be read.
    """
    started = time.monotonic()
    with open_source(source, stream=options.stream, fps=options.input_fps) as opened:
        seen = scan(opened, options.span, progress)
        index, start, stop = seen.index, seen.start, seen.stop
        name = source if isinstance(source, str) else None
        record: dict[str, Any] = {"input": name, **facts(opened, index, start, stop)}
        for key, value in find(opened, seen, progress).items():
            # Frames that the decoder complained of and those that look broken are one list.
            record[key] = sorted({*record.get(key, []), *value}) if key == "corrupt" else value
        record["summary"] = findings(plain(record))
        record = record_of("inspect", started, record)
        if options.report:
            _page(opened, record, start, stop, progress).write(
                options.report, record, overwrite=options.overwrite
            )
    return record, index.losses


def facts(source: Source, index: FrameIndex, start: int = 0, stop: int | None = None) -> dict[str, Any]:
    """The facts of a file, by decoding it.

    Parameters
    ----------
    source : Source
    index : FrameIndex
    start, stop : int
        The frames that were asked for.

    Returns
    -------
    dict
        ``n_frames`` (decoded), ``fps``, ``vfr``, ``duration_s``, ``first_time_s``, ``corrupt``, ``missing``, ``lost``,
        ``messages`` and what the file says of itself: container, streams, size, depth, colour, rotation.
    """
    stop = len(index) if stop is None else stop
    statuses = index.statuses[start:stop]
    times, durations = index.times[start:stop], index.durations[start:stop]
    steps = [float(later - earlier) for earlier, later in zip(times, times[1:])]
    gathered: dict[str, Any] = {
        **source.facts(),
        "width": source.width,
        "height": source.height,
        "n_frames": sum(status != "missing" for status in statuses),
        "fps": _rate(times, durations) if source.info.vfr else source.info.fps,
        "duration_s": float(times[-1] + durations[-1] - times[0]),
        "first_time_s": float(times[0]),
        "corrupt": [start + k for k, status in enumerate(statuses) if status == "corrupt"],
    }
    if source.info.vfr:
        gathered["vfr"] = True
        gathered["interval_s"] = {"min": min(steps), "max": max(steps)} if steps else None
    if start:
        gathered["first_frame"] = start
    missing = [start + k for k, status in enumerate(statuses) if status == "missing"]
    if missing:
        gathered["missing"] = missing
    if index.lost:
        gathered["lost"] = index.lost
    if index.messages:
        gathered["messages"] = list(index.messages)
    return gathered


def _rate(times: tuple[Fraction, ...], durations: tuple[Fraction, ...]) -> Fraction | None:
    whole = times[-1] + durations[-1] - times[0]
    return Fraction(len(times)) / whole if whole > 0 else None


def _page(source: Source, record: dict[str, Any], start: int, stop: int, progress: Progress) -> PageBuilder:
    """Pictures of what is wrong, and of the clip at even steps."""
    wrong: dict[int, str] = {}
    for key, state in (
        ("duplicates", "repeated"),
        ("black", "black"),
        ("missing", "missing"),
        ("corrupt", "corrupt"),
    ):
        wrong |= {int(number): state for number in record.get(key, [])}
    for entry in record.get("damage", []):
        wrong.setdefault(int(entry.get("frame", -1)), "damaged")
    bad = sorted(number for number in wrong if start <= number < stop and wrong[number] != "missing")
    bad = bad[:: max(1, -(-len(bad) // (PICTURES // 2)))]
    step = max(1, -(-(stop - start) // (PICTURES - len(bad))))
    shown = {*bad, *range(start, stop, step)}
    closer = crops.chosen(record.get("damage", []))
    every = sorted(shown | {int(entry["frame"]) for entry in closer})
    builder = PageBuilder()
    cut: dict[int, crops.Crop] = {}
    for done, frame in enumerate(chosen(source, every)):
        picture = eight_bit(colour.to_rgb(frame))
        for place, entry in enumerate(closer):
            if int(entry["frame"]) == frame.index:
                cut[place] = crops.Crop.of(entry, picture)
        if frame.index in shown:
            builder.add_picture(
                frame.index - start,
                after=picture,
                origin=wrong.get(frame.index, "good"),
                time_s=round(float(frame.time), 6),
            )
        progress("page", done + 1, len(every))
    builder.crops = [cut[place] for place in sorted(cut)]
    return builder
