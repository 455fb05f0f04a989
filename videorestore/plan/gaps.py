"""Where whole frames are absent: holes in the times, and how many new frames a place gets."""

from __future__ import annotations

from typing import Any

from videorestore.make.work import Progress
from videorestore.media.source import Source
from videorestore.plan.count import count_absent
from videorestore.plan.moments import Place
from videorestore.plan.scan import Scan
from videorestore.plan.timeline import Gap, has_room, usual_step

LONGEST_GAP = 240
"""A hole in the times that is longer than this is a pause, not a loss."""


def time_gaps(found: Scan) -> tuple[Place, ...]:
    """Holes in the presentation times of a clip whose rate is otherwise even."""
    times = found.times
    if len(times) < 4:
        return ()
    step = usual_step(times, found.durations)
    gaps = []
    even = sum(abs((b - a) - step) * 10 <= step for a, b in zip(times[:-1], times[1:]))
    if even < 0.8 * (len(times) - 1):
        return ()
    for i, (a, b) in enumerate(zip(times[:-1], times[1:])):
        count = round((b - a) / step) - 1
        if 1 <= count <= LONGEST_GAP:
            gaps.append(Place(after=found.start + i, count=count))
    return tuple(gaps)


def resolve_insertions(
    source: Source, found: Scan, insertions: tuple[Place, ...], progress: Progress
) -> tuple[tuple[Gap, ...], list[dict[str, Any]], tuple[str, ...]]:
    """Counts of all insertions; ``?`` is estimated, with its probability."""
    gaps: list[Gap] = []
    record: list[dict[str, Any]] = []
    losses: list[str] = []
    for insertion in insertions:
        after = insertion.after
        if not found.start <= after < found.stop - 1:
            continue
        local = after - found.start
        entry: dict[str, Any] = {"after": after}
        if insertion.count is None:
            counted = count_absent(source, found, after, progress)
            count = counted.count
            entry |= {
                "count": count,
                "probability": round(counted.probability, 3),
                "probabilities": {str(k): round(p, 4) for k, p in counted.table.items()},
            }
        else:
            count = insertion.count
            entry["count"] = count
        record.append(entry)
        if any(after + 1 == a for a, _ in found.shots):
            losses.append(f"frame {after} is the last before a cut: the nearer frame is repeated there")
        if count:
            gaps.append(
                Gap(after=local, count=count, shift=not has_room(found.times, found.durations, local, count))
            )
    return tuple(gaps), record, tuple(losses)
