"""``fill``: whole frames that are missing or worthless."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from videorestore.errors import InputError
from videorestore.fields.split import FieldView
from videorestore.make.interlaced import FieldWise
from videorestore.make.pipeline import Restoring
from videorestore.make.steps import Steps
from videorestore.make.work import Progress, silent
from videorestore.media.source import FrameIndex, Source
from videorestore.plan.assemble import assemble, renumber
from videorestore.plan.choose import choose
from videorestore.plan.gaps import resolve_insertions, time_gaps
from videorestore.plan.interlaced import by_flag, field_wise, surely_interlaced
from videorestore.plan.named import Place, frames_named, places_named
from videorestore.plan.scan import Scan, index_for, scan
from videorestore.plan.timeline import Gap, steady_rate, with_insertions
from videorestore.request.verbs import FillOptions


def plan(
    source: Source, options: FillOptions, budget: int, progress: Progress = silent
) -> Restoring | FieldWise:
    """Plan ``fill``: which frames are worthless, which are absent, and how many."""
    progress("counting frames", 0, 0)
    index = _index_naming(source, options)
    listed = None if options.missing is None else frames_named(options.missing, index)
    insertions = places_named(options.insert, index)
    check_numbers(listed, insertions, len(index))
    without = frozenset(listed or ())
    found = by_flag(source, scan(source, options.span, progress, without=without, rough=options.dry_run))
    if surely_interlaced(source, found):
        inner = plan(FieldView(source, 0), options, budget, progress)
        assert isinstance(inner, Restoring)
        return field_wise(source, found, inner)
    missing = worthless_frames(found, listed)
    if listed is None and not insertions:
        insertions = time_gaps(found)
    gaps, inserted, losses = resolve_insertions(source, found, insertions, progress)

    def to_do(missing: frozenset[int], gaps: tuple[Gap, ...]) -> Steps:
        slots = renumber(
            with_insertions(found.times, found.durations, gaps, steady_rate(source.info)), found.start
        )
        return Steps(slots=slots, missing=missing, untouched=found.lost - missing, quality=options.quality)

    steps = to_do(missing, gaps)
    choice = choose(source, found, options, "interpolate", found.noises, progress, steps=steps)

    def planned(steps: Steps, refused: tuple[str, ...]) -> Restoring:
        findings: dict[str, Any] = {"inserted": inserted} if inserted else {}
        work = assemble("fill", source, found, steps, options, choice, budget, findings)
        return replace(work, losses=(*work.losses, *losses, *refused))

    work = planned(steps, ())
    if options.max_sd is None:
        return work
    unsure = unsure_places(source, work, options.max_sd, progress)
    if not unsure:
        return work
    left = frozenset(missing - {i for i, s in unsure if s})
    kept = tuple(g for g in gaps if (g.after + found.start, False) not in unsure)
    lines = tuple(f"frame {i}: not filled, its sd would exceed {options.max_sd:g}" for i, _ in sorted(unsure))
    return planned(to_do(left, kept), lines)


def _index_naming(source: Source, options: FillOptions) -> FrameIndex:
    """The index as far as the range needs it, or all of it where something behind the range is named."""
    span = options.span
    named = [*(options.missing or ()), *(insertion.after for insertion in options.insert)]
    end = 0 if span is None or span.in_seconds else int(span.stop or 0)
    if all(isinstance(number, int) and number < end for number in named):
        return index_for(source, span)
    return source.index()


def unsure_places(
    source: Source, work: Restoring, max_sd: float, progress: Progress
) -> set[tuple[int, bool]]:
    """Places whose new frames would have a larger sd: (frame, True) to regenerate, (frame, False) to insert after."""
    places: set[tuple[int, bool]] = set()
    for piece in work.pieces:
        slots = [s for s in work.steps.slots if piece.start <= s.after < piece.stop]
        if all(s.source is not None and s.source not in work.steps.missing for s in slots):
            continue
        progress("judging what can be filled", piece.index, len(work.pieces))
        for slot, made in zip(slots, work.make(source, piece)):
            unsure = made.doubtful or (made.sd_map is not None and float(made.sd_map.mean()) > max_sd)
            if made.origin in ("filled", "interpolated") and unsure:
                places.add((slot.after, slot.source is not None))
    return places


def check_numbers(listed: tuple[int, ...] | None, insertions: tuple[Place, ...], n: int) -> None:
    """Frame numbers beyond the clip are wrong usage, found before any work."""
    beyond = [i for i in listed or () if not 0 <= i < n]
    if beyond:
        raise InputError(
            f"--missing must name frames of the clip (0 to {n - 1}), got {beyond[0]}; count from 0."
        )
    if listed is not None and len(set(listed)) >= n:
        raise InputError(f"some frames must be good to fill from, all {n} are missing; check --missing.")
    if insertions and n < 2:
        raise InputError(f"--insert needs two frames to put new ones between, got {n}; give more frames.")
    for insertion in insertions:
        if not 0 <= insertion.after < n - 1:
            raise InputError(
                f"--insert must name a frame with a successor (0 to {n - 2}), got {insertion.after}; count from 0."
            )


def worthless_frames(found: Scan, listed: tuple[int, ...] | None) -> frozenset[int]:
    """Frames to regenerate within the range."""
    total = found.stop - found.start
    if listed is None:
        missing = found.worthless
    else:
        missing = frozenset(i for i in listed if found.start <= i < found.stop)
    if missing and len(missing) >= total:
        raise InputError(
            f"some frames must be good to fill from, all {total} are missing; check --missing and --range."
        )
    return missing
