"""From steps to a planned restoration: which model, which pieces, which shape."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from videorestore.make.engines import MotionEngine
from videorestore.make.pipeline import CONTEXT, Restoration, Steps
from videorestore.make.window import spool_bytes
from videorestore.make.work import Shot, Slot
from videorestore.media.outputs import OutputShape
from videorestore.media.source import Source
from videorestore.media.streams import Span
from videorestore.plan.choose import Choice
from videorestore.plan.layout import ENOUGH, curve_layout, motion_layout
from videorestore.plan.noise import noise_facts
from videorestore.plan.pieces import plan_pieces
from videorestore.plan.scan import Scan
from videorestore.plan.timeline import by_factor, by_rate, retimed
from videorestore.request import Common


def identity_slots(scan: Scan) -> tuple[Slot, ...]:
    """The output has the frames and times of the input."""
    return tuple(
        Slot(time=t, duration=d, place=t, after=i, source=i)
        for i, t, d in zip(range(scan.start, scan.stop), scan.times, scan.durations)
    )


def renumber(slots: tuple[Slot, ...], start: int) -> tuple[Slot, ...]:
    """Slots made from the times of a range, with frame numbers of the whole source."""
    if start == 0:
        return slots
    return tuple(
        replace(s, after=s.after + start, source=None if s.source is None else s.source + start)
        for s in slots
    )


def rebase(slots: tuple[Slot, ...], origin: Fraction) -> tuple[Slot, ...]:
    """Slots whose output begins at 0; the place in the source stays."""
    return tuple(replace(s, time=s.time - origin) for s in slots)


def assemble(
    verb: str,
    source: Source,
    scan: Scan,
    steps: Steps,
    options: Common,
    choice: Choice,
    budget: int,
    findings: dict[str, Any] | None = None,
    losses: tuple[str, ...] = (),
) -> Restoration:
    """Cut the work into pieces and say what the output looks like."""
    engine = MotionEngine(options.quality)
    halo = CONTEXT
    if steps.denoises:
        halo += engine.denoise_reach
    if steps.masks is not None:
        halo += min(engine.inpaint_reach, steps.masks.reach)
    size = (source.height, source.width)
    making = any(s.source is None or s.source in steps.missing for s in steps.slots)
    planned = partial(
        motion_layout,
        *size,
        halo=halo,
        quality=options.quality,
        denoising=steps.denoises,
        mending=steps.masks is not None,
        making=making,
    )
    along = planned(budget=budget)
    if along.core < ENOUGH // 2 and options.max_memory > budget:
        # Rather one worker with long pieces than two that mostly read each other's surroundings.
        along = planned(budget=options.max_memory)
    # A curve wants long pieces: it may take the share of two.
    room = min(2 * budget, options.max_memory or 2 * budget)
    curve = curve_layout(*size, halo=halo, budget=room, spooled=steps.masks is None)
    pieces = plan_pieces(
        scan.shots, choice.models, steps.missing, core=along.core, curve_core=curve.core, halo=halo
    )
    layouts = {"motion": along, "curve": curve}
    cost = [
        (layouts[model_at(scan.shots, choice.models, p.start)], p.read_stop - p.read_start) for p in pieces
    ]
    slots = steps.slots
    if scan.start > 0:
        slots = rebase(slots, slots[0].time)
        steps = replace(steps, slots=slots)
    info = retimed(source.info, slots)
    return Restoration(
        verb=verb,
        pieces=pieces,
        shape=OutputShape(
            info=info,
            height=source.height,
            width=source.width,
            n_frames=len(slots),
            fps=info.fps,
        ),
        steps=steps,
        shots=scan.shots,
        models=choice.models,
        times=scan.index.times,
        findings={**facts_of(scan), **choice.findings, **(findings or {})},
        losses=(*decoding_losses(scan), *losses),
        span=span_of(scan),
        piece_bytes=max(layout.piece_bytes(frames) for layout, frames in cost),
        piece_disk=max(spool_bytes(*size, frames) if layout.on_disk else 0 for layout, frames in cost),
        side=along.side,
        on_disk=tuple(model for model, layout in layouts.items() if layout.on_disk),
    )


def model_at(shots: tuple[Shot, ...], models: tuple[str, ...], number: int) -> str:
    """The model of the shot that a frame belongs to."""
    return models[bisect_right(shots, number, key=lambda shot: shot[0]) - 1]


def span_of(scan: Scan) -> Span | None:
    """The part of the source's time that the output covers; None where it is all of it."""
    if scan.stop - scan.start == len(scan.index):
        return None
    return Span(start=scan.times[0], stop=scan.times[-1] + scan.durations[-1])


def facts_of(scan: Scan) -> dict[str, Any]:
    """What the record says of the input."""
    return {
        **noise_facts(scan.noises, scan.shots),
        "cuts": [c for c in scan.survey.cuts if scan.start < c < scan.stop],
    }


def decoding_losses(scan: Scan) -> tuple[str, ...]:
    """What was lost before we came."""
    lines = list(scan.index.losses)
    corrupt = [i for i, s in enumerate(scan.index.statuses) if s == "corrupt"]
    if corrupt:
        lines.append(
            f"the decoder marks {len(corrupt)} frames as corrupt: {', '.join(map(str, corrupt[:12]))}"
        )
    return tuple(lines)


def faster_slots(found: Scan, factor: Fraction | None, fps: Fraction | None) -> tuple[Slot, ...]:
    """Every frame of an output of another rate, at its exact time; exactly one of ``factor`` and ``fps`` is given."""
    if factor is not None:
        slots = by_factor(found.times, found.durations, factor)
    else:
        assert fps is not None
        slots = by_rate(found.times, found.durations, fps)
    return renumber(slots, found.start)
