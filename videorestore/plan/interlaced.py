"""What is made of fields, and when it is shown: planned shot by shot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import numpy as np

from videorestore.detect.fields import Fields, Verdict
from videorestore.fields.film import pictures
from videorestore.fields.split import FieldView
from videorestore.make.cost import COPYING
from videorestore.make.interlaced import HALO, FieldWise, Interlaced, Output
from videorestore.make.pipeline import Restoring
from videorestore.make.steps import Steps
from videorestore.make.tapes import Tape
from videorestore.make.whole import PORTION, Whole, WholeView
from videorestore.make.work import Piece, Shot
from videorestore.media.outputs import OutputShape
from videorestore.media.source import Source
from videorestore.plan.assemble import (
    assemble,
    decoding_losses,
    facts_of,
    flagged,
    identity_slots,
    span_of,
)
from videorestore.plan.choose import Choice
from videorestore.plan.layout import BASE, ENCODER, least_bytes
from videorestore.plan.pieces import cut_pieces
from videorestore.plan.scan import Scan
from videorestore.plan.timeline import retimed, steady_rate
from videorestore.request.common import Common, Quality
from videorestore.spatial.noise import Noise

SURELY = 0.99
"""Probability from which on a clip is treated as interlaced without being asked."""

CORE = 24
"""Most frames that a piece makes whole."""

CALMED = 0.8
"""Noise of whole frames over that of fields: the lines that are made are means of several. Best of 0.8 and 1 on a pan, by 0.1
to 0.3 dB."""

OWN = 0.75
"""Share of the noise of a whole frame that is of its own field's, where the other field has another: half of the lines, and half of what
the other half is made of."""

HELD, AT_HAND = 60, 1200
"""Bytes for each pixel of each frame of a piece, and for those fields that are at hand, at most."""

USUALLY = 0.35
"""Share of both that whole runs took (0.31 at 576i, less at 240i): for estimates."""


def outputs_of(
    found: Scan, judged: tuple[tuple[Shot, Verdict], ...], every: bool, rate: Fraction | None
) -> tuple[Output, ...]:
    """Every frame of the output; ``every`` field of an interlaced shot, or the first of each frame; ``rate`` is a steady one."""
    outputs: list[Output] = []
    times, durations = evened(found.index.times, found.index.durations)
    for (start, stop), verdict in judged:
        if verdict.kind == "telecined" and verdict.phases:
            outputs += _film(found, verdict, (start, stop), rate)
            continue
        for n in range(start, stop):
            if verdict.kind != "interlaced":
                outputs.append(Output(time=times[n], duration=durations[n], top=n, bottom=n))
                continue
            lead = verdict.order != "bff"
            length = durations[n] / 2 if every else durations[n]
            for k in range(2 if every else 1):
                top = lead == (k == 0)
                outputs.append(
                    Output(
                        time=times[n] + k * length,
                        duration=length,
                        top=n if top else None,
                        bottom=None if top else n,
                    )
                )
    return tuple(outputs)


def evened(
    times: tuple[Fraction, ...], durations: tuple[Fraction, ...]
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Times and durations of frames, even where they stay for three fields and two in turn: a disc tells pulldown by flags."""
    moved, n = list(times), 0
    while n + 3 < len(times):
        pair, stop = durations[n] + durations[n + 1], n
        in_turn = [round(10 * d / pair) for d in durations[n : n + 2]]
        # Six and four tenths of a pair in turn, within what the clock of a container rounds.
        while sorted(in_turn) == [4, 6] and stop < len(times):
            if abs(10 * durations[stop] / pair - in_turn[(stop - n) % 2]) > Fraction(1, 2):
                break
            stop += 1
        stop -= (stop - n) % 2
        if stop - n >= 4:
            step = (times[stop - 1] + durations[stop - 1] - times[n]) / (stop - n)
            moved[n:stop] = [times[n] + k * step for k in range(stop - n)]
        n = max(stop, n + 1)
    ends = [*moved[1:], times[-1] + durations[-1]]
    return tuple(moved), tuple(b - a for a, b in zip(moved, ends))


def _film(found: Scan, verdict: Verdict, shot: Shot, rate: Fraction | None) -> list[Output]:
    """The pictures of a telecined shot, evenly in time from its start on; the last stays until its end."""
    start, stop = shot
    way = verdict.way
    films = pictures(verdict, start)
    times, durations = found.index.times, found.index.durations
    end = times[stop - 1] + durations[stop - 1]
    if not films:
        return [Output(time=times[n], duration=durations[n], top=n, bottom=n) for n in range(start, stop)]
    per_picture = Fraction(way.period, len(set(way.tops) | set(way.bottoms)) if way.period > 1 else 1)
    # A container may round the times, so that those of a few frames tell the rate badly.
    step = per_picture * (1 / rate if rate else (end - times[start]) / (stop - start))
    places: list[Fraction] = []
    for picture in films:
        shown = times[min(picture.top, picture.bottom)]
        following = places[-1] + step if places else times[start]
        # The grid of the film holds, unless edits have brought it out of step with the sound.
        if shown - following > 2 * step:
            following = shown
        elif following - shown > 2 * step:
            following -= step / 2
        places.append(following)
    if places[-1] + step / 2 > end:
        # More pictures than there is time for: an edit leaves half of one more than it takes.
        places = [times[start] + k * (end - times[start]) / len(films) for k in range(len(films))]
    edges = [*places, end]
    return [
        Output(time=a, duration=b - a, top=p.top, bottom=p.bottom)
        for p, a, b in zip(films, edges[:-1], edges[1:])
    ]


def _pieces(
    shots: tuple[Shot, ...], budget: int, height: int, width: int
) -> tuple[tuple[Piece, ...], list[int]]:
    """Pieces, and the bytes that each of them takes."""
    pixels = height * width
    fixed = least_bytes(height, width) + AT_HAND * pixels
    core = int(max(4, min(CORE, (budget - fixed) // (HELD * pixels) - 2 * HALO)))
    pieces = cut_pieces(shots, core=core, halo=HALO)
    return pieces, [fixed + HELD * pixels * (p.read_stop - p.read_start) for p in pieces]


def _notes(judged: tuple[tuple[Shot, Verdict], ...], every: bool) -> list[str]:
    """The plan in words."""
    frames: dict[str, int] = {}
    for (a, b), verdict in judged:
        frames[verdict.kind] = frames.get(verdict.kind, 0) + b - a
    made = "a frame is made of every field" if every else "one frame is made of the two fields of each"
    words = {
        "interlaced": f"interlaced frames: {made}",
        "telecined": "frames with pulldown: the film's own frames are put together again",
        "progressive": "frames that are not interlaced: nothing to take apart",
    }
    return [f"{count} {words[kind]}" for kind, count in frames.items()]


def surely_interlaced(source: Source, found: Scan) -> bool:
    """Whether all of a clip is surely two fields a frame, in one order."""
    orders = {v.order for _, v in found.fields.shots if v.kind != "unknown"}
    return (
        not isinstance(source, (FieldView, WholeView))
        and found.fields.kinds == {"interlaced"}
        and not found.fields.seems("progressive")
        and len(orders) == 1
        and found.fields.whole.probability >= SURELY
    )


def by_flag(source: Source, found: Scan) -> Scan:
    """What was found, with the file believed where no pixel tells surely: flagged as interlaced, it is taken for that.

    Its order is that of the file, unless pixels seem to tell another.
    """
    order, fields = source.info.extra.get("field_order"), found.fields
    known = bool(fields.kinds) or fields.seems("progressive") or isinstance(source, FieldView)
    if known or order not in ("tff", "bff"):
        return found
    order = next((v.order for _, v in fields.shots if v.leans == "interlaced"), order)
    taken = Verdict(kind="interlaced", order=order, probability=SURELY)
    return replace(found, fields=Fields(shots=tuple((shot, taken) for shot, _ in fields.shots)))


def what_is_known(found: Scan) -> list[tuple[Shot, Verdict]]:
    """What each shot is taken for; still ones, of which nobody knows, for progressive: they are whole as they are."""
    still = Verdict(kind="progressive")
    return [
        (shot, v if v.kind != "unknown" else replace(v, kind=v.leans) if v.leans == "interlaced" else still)
        for shot, v in found.fields.shots
    ]


def surely_apart(source: Source, found: Scan) -> bool:
    """Whether each shot is surely of its kind, and some need their fields taken apart; what is unknown stays."""
    known = [v for _, v in found.fields.shots if v.kind != "unknown"]
    return (
        not isinstance(source, (FieldView, WholeView))
        and not found.fields.progressive
        and all(v.probability >= SURELY for v in known)
    )


def denoised(
    whole: Interlaced, source: Source, found: Scan, options: Common, budget: int
) -> Interlaced | Whole:
    """Plan that noise is removed from whole frames, where ``whole`` would remove it from the fields of each parity."""
    inner = whole.inner
    if inner is None or not inner.steps.denoises:
        return whole
    old = inner.steps
    idle = old.masks is None and old.gains is None and not old.makes_any
    whole = replace(whole, inner=None if idle else replace(inner, steps=replace(old, noises=())), calm=True)
    view = WholeView(source, whole, held=True)
    noises = tuple(
        None if n is None or shot[0] in old.brief else of_whole_frames(n, whole, shot)
        for n, shot in zip(old.noises, inner.shots)
    )
    seen = replace(
        found,
        index=view.index(),
        start=0,
        stop=len(whole.outputs),
        shots=tuple((whole.first_output(a), whole.first_output(b)) for a, b in whole.shots),
        fields=Fields(),
    )
    steps = Steps(
        slots=identity_slots(seen),
        noises=noises,
        strength=old.strength,
        keep_grain=old.keep_grain,
        quality=old.quality,
    )
    room = at_hand(source)
    choice = Choice(models=inner.models)
    after = assemble(whole.verb, view, seen, steps, options, choice, max(budget - room, room))
    return together(whole, after, source)


def of_whole_frames(noise: Noise, whole: Interlaced, shot: Shot) -> Noise:
    """The noise of the whole frames that are made of a shot, by that of its fields."""
    start, stop = (whole.first_output(n) for n in shot)
    if noise.fields:
        numbers = range(start, stop)
        course = tuple((float(k), _share(noise, whole.outputs[k])) for k in numbers)
    else:
        course = tuple((float(whole.first_output(int(n))), f) for n, f in noise.course)
    return replace(noise.scaled(CALMED), course=course, fields=())


def _share(noise: Noise, output: Output) -> float:
    """Noise of one whole frame over the usual one."""
    own, other = noise.fields if output.top is not None else noise.fields[::-1]
    drift = noise.at(output.anchor).sd / noise.sd
    return drift * float(np.sqrt(OWN * own**2 + (1.0 - OWN) * other**2))


def at_hand(source: Source) -> int:
    """Bytes that it takes to make whole frames for further work."""
    return (AT_HAND + HELD * (PORTION + 2 * HALO)) * source.height * source.width


def in_one(own: Sequence[int], more: int, fields: Restoring | None) -> tuple[int, ...]:
    """Bytes that a process most likely takes for its own pieces, more beside each, and the fields of either parity."""
    if fields is not None:
        # One process has the libraries once, and one encoder.
        more += 2 * (max(fields.likely_bytes) - BASE - ENCODER)
    return tuple(need + more for need in own)


def together(whole: Interlaced, after: Restoring, source: Source) -> Whole:
    """Whole frames and their restoration as one work."""
    fields = whole.inner
    megapixels = len(whole.outputs) * source.height * source.width / 1e6
    after = replace(after, reading=COPYING + sum(whole.piece_seconds()) / megapixels)
    return Whole(
        verb=whole.verb,
        pieces=after.pieces,
        shape=after.shape,
        findings=whole.findings,
        losses=whole.losses,
        span=whole.span,
        piece_bytes=after.piece_bytes + at_hand(source) + (0 if fields is None else 2 * fields.piece_bytes),
        likely_bytes=in_one(after.likely_bytes, at_hand(source), fields),
        piece_disk=after.piece_disk + (0 if fields is None else 2 * fields.piece_disk),
        fields=whole,
        inner=after,
    )


def whole_frames(
    verb: str,
    source: Source,
    found: Scan,
    judged: Sequence[tuple[Shot, Verdict]],
    rate: Literal["field", "frame"],
    quality: Quality,
    budget: int,
    inner: Restoring | None = None,
) -> Interlaced:
    """Plan progressive frames, of fields that ``inner`` restores first."""
    every = rate == "field"
    outputs = outputs_of(found, tuple(judged), every, steady_rate(source.info))
    if found.start > 0:
        origin = outputs[0].time
        outputs = tuple(replace(o, time=o.time - origin) for o in outputs)
    shots = found.shots
    pieces, needs = _pieces(shots, budget, source.height, source.width)
    need, least = max(needs), least_bytes(source.height, source.width)
    notes = _notes(tuple(judged), every)
    findings = {**facts_of(found), "fields": found.fields.record(), "plan": notes}
    if inner is not None:
        shots, pieces = inner.shots, inner.pieces
        need += 2 * inner.piece_bytes
        findings |= inner.findings
        findings["plan"] = [*notes, *inner.findings.get("plan", [])]
    orders = [next(v.order for (a, b), v in judged if a <= start < b) for start, _ in shots]
    info = retimed(flagged(source.info, "progressive"), outputs)
    return Interlaced(
        verb=verb,
        pieces=pieces,
        shape=OutputShape.of(source, len(outputs), info),
        outputs=outputs,
        shots=shots,
        first=tuple(int(order == "bff") for order in orders),
        quality=quality,
        findings=findings,
        inner=inner,
        losses=decoding_losses(found.index),
        span=span_of(found),
        piece_bytes=need,
        likely_bytes=in_one([round(least + USUALLY * (n - least)) for n in needs], 0, inner),
        piece_disk=0 if inner is None else 2 * inner.piece_disk,
    )


def field_wise(source: Source, found: Scan, inner: Restoring, tape: Tape | None = None) -> FieldWise:
    """Plan frames that stay interlaced, by a plan for the fields of one parity; dropouts of a ``tape`` are filled first."""
    info = flagged(inner.shape.info, found.fields.whole.order or "tff")
    shape = replace(inner.shape, info=info, height=source.height)
    return FieldWise(
        verb=inner.verb,
        pieces=inner.pieces,
        shape=shape,
        findings={**inner.findings, "fields": found.fields.record()},
        losses=inner.losses,
        span=inner.span,
        piece_bytes=2 * inner.piece_bytes,
        likely_bytes=in_one([BASE + ENCODER] * len(inner.pieces), 0, inner),
        piece_disk=2 * inner.piece_disk,
        inner=inner,
        tape=tape,
    )
