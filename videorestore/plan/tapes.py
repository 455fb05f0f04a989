"""What a tape has beside noise: how often it drops out, how many lines the switching of its heads tears, jitter, blended fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import Frame
from videorestore.detect.combs import TORN
from videorestore.detect.fields import Verdict
from videorestore.fields.dropouts import CLEAN, USUAL, Streak
from videorestore.fields.wear import blended, jitter, line_shifts, sharpness
from videorestore.make.tapes import SURELY, Tape, TapeView, surroundings
from videorestore.make.work import Progress, Shot, silent
from videorestore.media.source import Source

STRETCHES, LENGTH = 4, 12
"""Parts of a clip that tell how often it drops out, at even distances, and frames of each."""

FAR, LEVELS = 2.0, 3.0
"""Times, and levels more, by which torn lines differ from the fields around beyond any of those above them. Torn ones of four made
tapes had 3 to 12 times as much, the last lines of eight clean clips at most 1.5 times."""

TURNS = 20
"""Steps by which the rate of dropouts is found; each adds what the last one makes of every streak."""


def tape_of(
    source: Source,
    judged: Sequence[tuple[Shot, Verdict]],
    progress: Progress = silent,
    *,
    least: float = SURELY,
) -> Tape:
    """How the dropouts of the interlaced shots of a clip are to be found, by what parts of them show."""
    shots = [(shot, int(v.order == "bff")) for shot, v in judged if v.kind == "interlaced"]
    streaks: list[Streak] = []
    lines: list[NDArray[np.float32]] = []
    shifts: list[float | None] = []
    sharp: list[list[float | None]] = []
    pixels = 0
    stretches = list(_stretches(shots))
    for done, (start, stop, first) in enumerate(stretches):
        progress("looking for dropouts", done, len(stretches))
        sharp.append([])
        for frames in _threes(source.frames(start, stop)):
            for _, around in surroundings(frames, first):
                streaks += around.find()
                lines.append(around.strange())
                shifts.append(line_shifts(around))
                sharp[-1].append(sharpness(around))
                pixels += around.own[0].size
    torn = _torn(lines)
    if torn:
        streaks = [s for s in streaks if s.line < len(lines[0]) - torn]
    return Tape(
        shots=tuple(shot for shot, _ in shots),
        first=tuple(first for _, first in shots),
        rate=_rate(streaks, pixels),
        torn=torn,
        least=least,
        jitter=round(jitter(shifts), 2),
        blends=blended(sharp),
    )


def _stretches(shots: Sequence[tuple[Shot, int]]) -> Iterator[tuple[int, int, int]]:
    """Frames that are looked at, from one to another, and the parity of their first fields."""
    length = sum(b - a for (a, b), _ in shots)
    wanted = [int((k + 0.5) * length / STRETCHES) for k in range(STRETCHES)]
    before, taken = 0, 0
    for (a, b), first in shots:
        for place in wanted:
            if before <= place < before + b - a:
                start = max(a, taken, min(a + place - before - LENGTH // 2, b - LENGTH))
                stop = min(b, start + LENGTH)
                if stop - start >= 3:
                    yield start, stop, first
                    taken = stop
        before += b - a


def _threes(frames: Iterator[Frame]) -> Iterator[tuple[Frame, Frame, Frame]]:
    last: list[Frame] = []
    for frame in frames:
        last = [*last[-2:], frame]
        if len(last) == 3:
            yield last[0], last[1], last[2]


def _rate(streaks: Sequence[Streak], pixels: int) -> float:
    """Dropouts in a megapixel: as many as the streaks are likely ones, at that rate."""
    rate = USUAL
    for _ in range(TURNS):
        rate = max(CLEAN, sum(s.probability(rate) for s in streaks) / max(pixels / 1e6, 1.0))
    return round(rate, 3)


def _torn(lines: Sequence[NDArray[np.float32]]) -> int:
    """Lines at the bottom of a field that most fields show torn: stranger than any of those above them, by far."""
    if not lines:
        return 0
    usual = np.median(np.stack(lines), axis=0)
    most = round(TORN * len(usual))
    above = usual[-4 * most : -most] if most else usual
    limit = FAR * float(above.max()) + LEVELS if len(above) else np.inf
    torn = 0
    while torn < most and usual[len(usual) - 1 - torn] > limit:
        torn += 1
    return torn


def dropouts(source: Source, tape: Tape, progress: Progress = silent) -> Iterator[dict[str, Any]]:
    """The dropouts of a whole clip, for the record."""
    view = TapeView(source, tape)
    total = sum(b - a for a, b in tape.shots)
    done = 0
    for a, b in tape.shots:
        for frame in view.frames(a, b):
            progress("looking for dropouts", done, total)
            done += 1
            mended = view.mended.get(frame.index)
            for kind, box, probability in () if mended is None else mended.spots:
                yield {
                    "frame": frame.index,
                    "kind": kind,
                    "box": [int(v) for v in box],
                    "probability": probability,
                }


def tape_facts(tape: Tape) -> dict[str, Any]:
    """What is known of a tape, for the record: dropouts in a megapixel of fields, lines of a frame that are torn at the bottom, columns
    by which lines jitter (sd), fields after which the weights of blended ones come again."""
    facts = {
        "dropouts": round(tape.rate, 2) if tape.rate > CLEAN else 0,
        "head_switching": 2 * tape.torn,
        "line_jitter": tape.jitter,
        "blended_fields": tape.blends,
    }
    told = {name: value for name, value in facts.items() if value}
    return {"tape": told} if told else {}
