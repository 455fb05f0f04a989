"""``restore``: inspect, then fill what is missing, mend what is damaged, remove the noise that is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from videorestore.detect.fields import Verdict
from videorestore.errors import InputError
from videorestore.fields.split import FieldView
from videorestore.make.interlaced import FieldWise, Interlaced
from videorestore.make.masks import MaskSource
from videorestore.make.pipeline import Restoring
from videorestore.make.steps import Steps
from videorestore.make.tapes import SURELY, Tape, TapeView
from videorestore.make.whole import Whole, WholeView
from videorestore.make.work import Progress, Shot, silent
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, faster_slots, renumber
from videorestore.plan.choose import Purpose, choose
from videorestore.plan.dirt import SearchedMasks, dirt
from videorestore.plan.findings import dropped
from videorestore.plan.gaps import JUMPS, resolve_insertions, time_gaps
from videorestore.plan.interlaced import (
    at_hand,
    by_flag,
    denoised,
    field_wise,
    surely_apart,
    surely_interlaced,
    together,
    what_is_known,
    whole_frames,
)
from videorestore.plan.named import Place
from videorestore.plan.noise import noise_facts
from videorestore.plan.review import AcceptedMasks, Decisions, SparedMasks
from videorestore.plan.review import load as load_decisions
from videorestore.plan.review import read as read_list
from videorestore.plan.scan import Scan, frames_with_nan, scan
from videorestore.plan.tapes import tape_facts, tape_of
from videorestore.plan.timeline import check_raised, steady_rate, with_insertions
from videorestore.report.advice import left_of_tape
from videorestore.report.words import counted
from videorestore.request.notation import frames_in_words
from videorestore.request.verbs import RestoreOptions
from videorestore.spatial.noise import Noise

NOTHING = "nothing to do"
"""An empty plan in words."""

LEAST_NOISE = 3.0
"""Noise below this sd (0..255 scale) is hardly seen, and every good camera has some: it stays.

What a codec left must surely reach it: leaves that tremble look like coded noise.
"""


SHORTEST = 4
"""Frames that a trajectory runs through: a shorter shot is too short for a fit."""


def plan(
    source: Source, options: RestoreOptions, budget: int, progress: Progress = silent
) -> Restoring | FieldWise | Interlaced | Whole:
    """Plan ``restore`` from what is found; a clean clip has an empty plan."""
    check_raised(source.info.fps, options.fps)
    # Refused before the clip is looked at, which may take long.
    for option, path in (("--accept", options.accept), ("--reject", options.reject)):
        if path:
            read_list(option, path)
    seen = scan(source, options.span, progress, rough=options.dry_run)
    found = by_flag(source, seen)
    if surely_interlaced(source, found):
        if options.deinterlace == "auto" and not (seen.fields.kinds or seen.fields.seems("interlaced")):
            # The file alone tells of fields, which show no comb: they stay fields.
            options = replace(options, deinterlace="off")
        return of_fields(source, found, options, budget, progress)
    if options.deinterlace != "off" and surely_apart(source, found):
        return shot_by_shot(source, found, options, budget, progress)
    notes: list[str] = fields_left(source, found)
    accepted, rejected = decisions(source, found, options)
    missing = frames_to_fill(found, options, accepted, notes) - rejected.frames
    noises = noises_to_remove(found, options, notes)
    noisy = any(n is not None for n in noises)
    masks = pixels_to_mend(source, found, options, accepted, rejected, notes, progress)
    brief = shots_too_short(found, options, notes)
    faster = options.factor is not None or options.fps is not None
    job: Purpose = "denoise" if noisy else "interpolate"
    inserted: list[dict[str, Any]] = []
    losses: tuple[str, ...] = ()
    if faster:
        slots = faster_slots(found, options.factor, options.fps)
        notes.append(f"frame rate: {len(slots)} frames instead of {found.stop - found.start}")
    else:
        insertions = places_to_fill(found, options, accepted, rejected, notes)
        gaps, inserted, losses = resolve_insertions(source, found, insertions, progress)
        slots = renumber(
            with_insertions(found.times, found.durations, gaps, steady_rate(source.info)), found.start
        )
        if inserted:
            notes.append(f"fill: {sum(e['count'] for e in inserted)} frames are absent from the times")
    steps = Steps(
        slots=slots,
        missing=missing,
        untouched=(found.lost | found.blank) - missing - (accepted.damaged if accepted else frozenset()),
        masks=masks,
        noises=noises,
        strength=options.strength,
        keep_grain=options.keep_grain,
        quality=options.quality,
        gains=flicker_to_remove(source, found, missing, options, masks, notes),
        brief=brief,
    )
    choice = choose(source, found, options, job, found.noises, progress, steps=steps, between=faster)
    findings: dict[str, Any] = {"plan": notes or [NOTHING]}
    if noisy and options.sigma is not None:
        findings |= noise_facts([n.stated(options.sigma) for n in found.noises], found.shots)
    if inserted:
        findings["inserted"] = inserted
    lost = [entry for entry in dropped(found) if not {entry["after"]} & {e["after"] for e in inserted}]
    if lost:
        findings["dropped"] = lost
    work = assemble("restore", source, found, steps, options, choice, budget, findings)
    return replace(work, losses=(*work.losses, *losses))


def decisions(source: Source, found: Scan, options: RestoreOptions) -> tuple[Decisions | None, Decisions]:
    """What a person accepted, where he did, and what he rejected."""
    height = source.whole.height if isinstance(source, FieldView) else source.height
    counted = len(found.index) if found.index.whole else None

    def listed(option: str, path: str) -> Decisions:
        listed = load_decisions(option, path, n_frames=counted, height=height, width=source.width)
        return listed.within(found.start, found.stop)

    accepted = listed("--accept", options.accept) if options.accept else None
    return accepted, listed("--reject", options.reject) if options.reject else Decisions()


def pixels_to_mend(
    source: Source,
    found: Scan,
    options: RestoreOptions,
    accepted: Decisions | None,
    rejected: Decisions,
    notes: list[str],
    progress: Progress,
) -> MaskSource | None:
    """Where damage is: as a person accepted it, or as the program will find it, but for what a person rejected."""
    if options.mend != "auto":
        return None
    if accepted is not None:
        notes.append(f"mend: {counted(len(accepted.damage), 'place')} as accepted")
        return AcceptedMasks(damage=accepted.damage)
    if frames_with_nan(source, found) or isinstance(source, FieldView):
        return None  # dropouts of tapes are filled before
    masks = mended_by(dirt(source, found, progress), options, notes)
    return SparedMasks(inner=masks, damage=rejected.damage) if rejected.damage else masks


def mended_by(found: SearchedMasks, options: RestoreOptions, notes: list[str]) -> SearchedMasks:
    """The search that fits the film, or the one that is asked for, in words."""
    if options.least_probability is not None:
        chance = min(max(options.least_probability, 1e-6), 1 - 1e-6)
        notes.append(f"mend: damage with a probability of at least {options.least_probability:g} is mended")
        return replace(found, least_odds=float(np.log(chance / (1 - chance))))
    if found.dirty:
        notes.append("mend: the film is dirty, every frame is searched for dust, scratches and dropouts")
    elif found.drawn:
        notes.append("mend: the pictures are drawn, not filmed: no dust is sought")
    else:
        notes.append("mend: the film is not dirty, only what is surely damaged is mended")
    return found


def places_to_fill(
    found: Scan, options: RestoreOptions, accepted: Decisions | None, rejected: Decisions, notes: list[str]
) -> tuple[Place, ...]:
    """Where frames are absent: as a person accepted it, or by the times, but for what a person rejected."""
    if options.fill != "auto":
        return ()
    places = lost_by_time(found, notes)
    if accepted is not None:
        places = tuple(p for p in accepted.dropped if found.start <= p.after < found.stop - 1)
    spared = {place.after for place in rejected.dropped}
    return tuple(place for place in places if place.after not in spared)


def lost_by_time(found: Scan, notes: list[str]) -> tuple[Place, ...]:
    """Holes in the times over which the picture jumps by about as much, within a shot."""
    sure = [g for g in time_gaps(found, JUMPS) if all(g.after + 1 != a for a, _ in found.shots)]
    left = len(time_gaps(found)) - len(sure)
    if left:
        notes.append(
            f"left as they are: {counted(left, 'hole')} in the times over which the picture does not jump; "
            "fill puts frames there"
        )
    return tuple(sure)


def of_fields(
    source: Source, found: Scan, options: RestoreOptions, budget: int, progress: Progress
) -> FieldWise | Interlaced | Whole:
    """Restore the fields of each parity for themselves, then make whole frames of them, or leave them interlaced."""
    if options.factor is not None or options.fps is not None:
        raise InputError(
            "a higher frame rate needs whole pictures, found interlaced video; run videorestore deinterlace first."
        )
    if options.write_mask is not None and options.deinterlace != "off":
        raise InputError(
            "masks belong to frames as they are in the file, and those of interlaced video are taken apart; "
            "leave out --write-mask, or give --deinterlace off."
        )
    judged = found.fields.settled()
    tape = dropouts_to_fill(source, found, judged, options, progress)
    if tape is not None and tape.cut:
        source = TapeView(source, tape)
    view = FieldView(source, 0)
    inner = plan(view, options, budget, progress)
    if isinstance(inner, Restoring) and len(inner.steps.slots) != found.stop - found.start:
        # Lost frames cannot be put between fields: they are left out.
        inner = plan(view, replace(options, fill="off"), budget, progress)
    assert isinstance(inner, Restoring)
    inner = replace(inner, findings=with_tape(inner.findings, tape))
    if options.deinterlace == "off":
        return field_wise(source, found, inner, tape)
    rate: Literal["field", "frame"] = "frame" if options.deinterlace == "frame" else "field"
    whole = whole_frames("restore", source, found, judged, rate, options.quality, budget, inner)
    return denoised(replace(whole, tape=tape), source, found, options, budget)


def dropouts_to_fill(
    source: Source,
    found: Scan,
    judged: Sequence[tuple[Shot, Verdict]],
    options: RestoreOptions,
    progress: Progress,
) -> Tape | None:
    """How the dropouts of a tape are found, where they are to be."""
    if options.mend != "auto" or options.accept or frames_with_nan(source, found):
        return None
    _, rejected = decisions(source, found, options)
    least = SURELY if options.least_probability is None else options.least_probability
    tape = tape_of(source, judged, progress, least=least)
    spared = tuple((number, box) for number, _, box in rejected.damage)
    return replace(tape, spared=spared, bottom=options.head_switching)


def with_tape(findings: dict[str, Any], tape: Tape | None) -> dict[str, Any]:
    """Findings with what is known of a tape."""
    if tape is None:
        return findings
    notes = [note for note in findings["plan"] if note != NOTHING]
    notes.append("mend: dropouts are sought in every field and filled")
    if tape.torn:
        done = {"keep": "left as they are", "fill": "filled with those above", "crop": "cut off"}[tape.bottom]
        notes.append(f"head switching: the lowest {tape.cut or 2 * tape.torn} lines are {done}")
    facts = tape_facts(tape)
    return {**findings, **facts, "plan": [*notes, *left_of_tape(facts)]}


def shot_by_shot(
    source: Source, found: Scan, options: RestoreOptions, budget: int, progress: Progress
) -> Whole:
    """Undo pulldown and make frames of fields, in the shots that have them; then restore all frames."""
    judged = what_is_known(found)
    rate: Literal["field", "frame"] = "frame" if options.deinterlace == "frame" else "field"
    whole = whole_frames("restore", source, found, judged, rate, options.quality, budget)
    if any(verdict.kind == "interlaced" for _, verdict in judged):
        tape = dropouts_to_fill(source, found, judged, options, progress)
        whole = replace(whole, tape=tape, findings=with_tape(whole.findings, tape))
    # To look at them, frames made in one round will do; they are kept where they are small beside the memory there is.
    held = (
        len(whole.outputs) * source.height * source.width * source.info.format.dtype.itemsize <= budget // 8
    )
    view = WholeView(source, replace(whole, quality="fast"), held=held)
    inner = plan(view, replace(options, span=None), max(budget - at_hand(source), budget // 2), progress)
    assert isinstance(inner, Restoring)
    notes = [*whole.findings["plan"], *inner.findings["plan"]]
    whole = replace(
        whole, findings={**whole.findings, **inner.findings, "plan": notes}, calm=inner.steps.denoises
    )
    return together(whole, inner, source)


def fields_left(source: Source, found: Scan) -> list[str]:
    """What is said of fields that restore leaves as they are."""
    if isinstance(source, (FieldView, WholeView)):
        return []
    if not found.fields.progressive:
        kind = found.fields.record()["kind"]
        return [
            f"fields: the clip is {kind}; run videorestore deinterlace first, it is not sure or not one kind throughout"
        ]
    if found.fields.seems("interlaced"):
        return [
            "fields: the clip seems interlaced, which is not sure; where it combs, run videorestore deinterlace first"
        ]
    return []


def frames_to_fill(
    found: Scan, options: RestoreOptions, accepted: Decisions | None, notes: list[str]
) -> frozenset[int]:
    """Frames without content; repeats only where they are the exception."""
    if options.fill == "off":
        return frozenset()
    if accepted is not None:
        missing = frozenset(i for i in accepted.frames if found.start <= i < found.stop)
        if missing:
            notes.append(f"fill: {counted(len(missing), 'frame')} as accepted")
        return missing
    total = found.stop - found.start
    missing = found.worthless
    if found.survey.cadence:
        notes.append("fill: the repeated frames are taken for the film's rhythm and stay")
    if len(missing) >= total:
        notes.append("fill: no frame has content to fill from")
        return frozenset()
    if missing:
        notes.append(f"fill: {len(missing)} frames are black, broken, missing or frozen")
    return missing


def shots_too_short(found: Scan, options: RestoreOptions, notes: list[str]) -> frozenset[int]:
    """Frames of shots that nothing can be fitted to; who asks for denoising gets it there too."""
    if options.denoise == "on" or options.sigma is not None:
        return frozenset()
    short = frozenset(i for a, b in found.shots if b - a < SHORTEST for i in range(a, b))
    if short:
        notes.append(
            f"left as they are: frames {frames_in_words(sorted(short))}, in shots of fewer than {SHORTEST} "
            "frames, too short for a fit"
        )
    return short


def noises_to_remove(found: Scan, options: RestoreOptions, notes: list[str]) -> tuple[Noise | None, ...]:
    """The noise of every shot where denoising pays, else None."""
    wanted = options.denoise == "on" or options.sigma is not None

    def pays(noise: Noise) -> bool:
        least = noise.low if noise.codec else noise.sd
        return noise.sd > 0 and (wanted or (least >= LEAST_NOISE and noise.trustworthy))

    stated = [n.stated(options.sigma) for n in found.noises]
    noises = tuple(n if options.denoise != "off" and pays(n) else None for n in stated)
    there = [n.sd for n in noises if n is not None]
    if there:
        low, high = (f"{sd:.1f}" for sd in (min(there), max(there)))
        spread = low if low == high else f"{low} to {high}"
        some = f" from {len(there)} of {len(noises)} shots" if len(there) < len(noises) else ""
        notes.append(f"denoise: noise of sd {spread} (of 255) is removed{some}")
    return noises


def flicker_to_remove(
    source: Source,
    found: Scan,
    missing: frozenset[int],
    options: RestoreOptions,
    masks: MaskSource | None,
    notes: list[str],
) -> dict[int, tuple[float, float]] | None:
    """Gain and offset for every frame, where the brightness flickers and that is the film's fault.

    A candle, a screen or a storm light a scene just as unevenly as an old camera its film. Old films are known by
    their dirt, or by being black and white, and no film is drawn by a computer.
    """
    flicker = found.survey.flicker
    if not flicker["present"] or options.deflicker == "off":
        return None
    varies = f"deflicker: the brightness varies by {100 * float(flicker['sd']):.1f} %"
    old = source.info.format.colours == 1 or all(noise.monochrome for noise in found.noises)
    search = masks.inner if isinstance(masks, SparedMasks) else masks
    dirty, drawn = (search.dirty, search.drawn) if isinstance(search, SearchedMasks) else (False, False)
    if options.deflicker == "auto" and (drawn or not (old or dirty)):
        notes.append(f"{varies}, which may be the light of the scene: --deflicker on steadies it")
        return None
    notes.append(varies)
    return {
        found.start + k: (float(gain), float(offset))
        for k, (gain, offset) in enumerate(found.survey.gains)
        if found.start + k not in missing
    }
