"""Where whole frames are absent: holes in the times, and how many new frames a place gets."""

from __future__ import annotations

from typing import Any

from videorestore.make.work import Progress
from videorestore.media.source import Source
from videorestore.plan.count import count_absent
from videorestore.plan.named import Place
from videorestore.plan.scan import Scan
from videorestore.plan.timeline import Gap, has_room

JUMPS = 0.6
"""Probability that frames were lost from which on ``restore`` puts new ones into a hole in the times."""


def time_gaps(found: Scan, least: float = 0.0) -> tuple[Place, ...]:
    """Holes in the times that mean lost frames with at least this probability.

    Only presentation times say so: the stamps of decoding count packets that hold no picture, too.
    """
    if found.index.policy != "pts":
        return ()
    return tuple(Place(after=h.after, count=h.count) for h in found.survey.holes if h.probability >= least)


def resolve_insertions(
    source: Source, found: Scan, insertions: tuple[Place, ...], progress: Progress
) -> tuple[tuple[Gap, ...], list[dict[str, Any]], tuple[str, ...]]:
    """Counts of all insertions; ``?`` is estimated, with its probability."""
    gaps: list[Gap] = []
    record: list[dict[str, Any]] = []
    losses: list[str] = []
    known = {hole.after: hole.probability for hole in found.survey.holes}
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
                "told": counted.told,
                "probabilities": {str(k): round(p, 4) for k, p in counted.table.items()},
            }
        else:
            count = insertion.count
            entry["count"] = count
            if after in known:
                entry["probability"] = known[after]
        record.append(entry)
        if any(after + 1 == a for a, _ in found.shots):
            losses.append(f"frame {after} is the last before a cut: the nearer frame is repeated there")
        if count:
            gaps.append(
                Gap(after=local, count=count, shift=not has_room(found.times, found.durations, local, count))
            )
    return tuple(gaps), record, tuple(losses)
