"""What is wrong with a clip, as plain values for the record of ``inspect``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from videorestore import pulse
from videorestore.clip import Frame
from videorestore.make.spool import Unfolded
from videorestore.make.work import Piece, Progress, silent
from videorestore.media.source import Source
from videorestore.plan.choose import score_hidden
from videorestore.plan.interlaced import surely_interlaced
from videorestore.plan.look import small_picture
from videorestore.plan.noise import noise_facts
from videorestore.plan.pieces import cut_pieces
from videorestore.plan.scan import Scan, chosen, read_pixels
from videorestore.plan.tapes import dropouts, tape_facts, tape_of

DETECTION_BYTES = 10
DETECTION_BUDGET = 2 << 30
DETECTION_CORE = 48
"""Bytes for each pixel of each frame while damage is sought (samples, masks, reduced frames), and for a window in all; most frames
of a window."""

LEVEL_FRAMES = 8
"""Frames that tell how bright a clip is."""

LIKELY_LOST = 0.5
"""Probability below which a hole in the times is a pause, of which nothing is said."""

CURVE_FRAMES = 60
CURVE_SIDE = 160


def find(source: Source, seen: Scan, progress: Progress = silent) -> dict[str, Any]:
    """Noise, cuts, bad frames, lost frames, damage and flicker of a clip; frame numbers are the source's.

    Returns
    -------
    dict
        ``noise_sd``, ``noise_interval``, ``noise``, ``fields``, ``cuts``, ``fades``, ``duplicates``, ``black``, ``corrupt``,
        ``dropped``, ``damage``, ``flicker``, ``curve``.
    """
    survey = seen.survey
    found: dict[str, Any] = {
        **noise_facts(seen.noises, seen.shots),
        "fields": seen.fields.record(),
        "cuts": sorted(survey.cuts),
        "duplicates": sorted(survey.duplicates),
        "black": sorted(survey.black),
        "corrupt": sorted(survey.corrupt_suspects),
        "dropped": dropped(seen),
        **damage_found(source, seen, progress),
        "flicker": flicker(source, seen),
        "curve": curve(source, seen, progress),
    }
    if survey.cadence:
        found["cadence"] = survey.cadence
    if survey.fades:
        found["fades"] = [list(f) for f in survey.fades]
    return found


def dropped(seen: Scan) -> list[dict[str, Any]]:
    """Holes in the times where frames were lost, and jumps of the motion without one."""
    holes = seen.survey.holes if seen.index.policy == "pts" else ()
    entries = [
        {"after": d.after, "count": d.count, "probability": round(float(d.probability), 3), "by": by}
        for by, places in (("times", holes), ("motion", seen.survey.dropped))
        for d in places
        if d.probability >= LIKELY_LOST
    ]
    return sorted(entries, key=lambda e: int(str(e["after"])))


def flicker(source: Source, seen: Scan) -> dict[str, float | bool]:
    """``sd`` (relative), ``present`` and, where it is, ``rms`` on the 0..255 scale."""
    sd, present = float(seen.survey.flicker["sd"]), bool(seen.survey.flicker["present"])
    values: dict[str, float | bool] = {"sd": round(sd, 5), "present": present}
    if present:
        good = [i for i in range(seen.start, seen.stop) if i not in seen.void]
        some = good[:: -(-len(good) // LEVEL_FRAMES)]
        level = np.mean([np.nanmean(read_pixels(source, i, i + 1)) for i in some])
        values["rms"] = round(sd * float(level), 3)
    return values


def damage_found(source: Source, seen: Scan, progress: Progress = silent) -> dict[str, Any]:
    """``damage`` of all frames; of interlaced video the dropouts of its fields, and what else the ``tape`` has."""
    if not surely_interlaced(source, seen):
        return {"damage": list(damage(source, seen, progress))}
    tape = tape_of(source, seen.fields.settled(), progress, least=0.5)
    return {"damage": list(dropouts(source, tape, progress)), **tape_facts(tape)}


def damage(source: Source, seen: Scan, progress: Progress = silent) -> Iterator[dict[str, Any]]:
    """Damaged places of all frames, window by window."""
    from videorestore.detect.damage import REACH
    from videorestore.plan.dirt import dirt

    search = dirt(source, seen, progress)
    fitting = DETECTION_BUDGET // (source.height * source.width * DETECTION_BYTES) - 2 * REACH
    core = max(1, min(DETECTION_CORE, fitting))
    total = seen.stop - seen.start
    lost = seen.void
    pieces = cut_pieces(seen.shots, core=core, halo=REACH)
    for piece, held in windows(source, pieces if not search.drawn else ()):
        frames = [frame for frame in held if frame.index not in lost]
        numbers = [frame.index for frame in frames]
        if len(numbers) < 3:
            continue

        def tell(share: float, piece: Piece = piece) -> None:
            done = piece.start - seen.start + share * (piece.stop - piece.start)
            progress("looking for damage", done, total)

        with pulse.listening(tell):
            _, spots = search.search(Unfolded([_filled(frame) for frame in frames], {}))
        for spot in spots:
            number = numbers[spot.frame]
            if piece.start <= number < piece.stop:
                yield {
                    "frame": number,
                    "kind": spot.kind,
                    "box": [int(v) for v in spot.box],
                    "probability": round(spot.probability, 3),
                }
    progress("looking for damage", total, total)


def windows(source: Source, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, list[Frame]]]:
    """Pieces in their order with the frames that they may read, all by one reading."""
    held: deque[Frame] = deque()
    stream = iter(source.frames(pieces[0].read_start, pieces[-1].read_stop) if pieces else ())
    for piece in pieces:
        while held and held[0].index < piece.read_start:
            held.popleft()
        while not held or held[-1].index < piece.read_stop - 1:
            frame = next(stream, None)
            if frame is None:
                break
            held.append(frame)
        yield piece, [frame for frame in held if piece.read_start <= frame.index < piece.read_stop]


def _filled(frame: Frame) -> Frame:
    """The frame without NaN, which only floats can be."""
    if frame.format.depth != 32:
        return frame
    return replace(frame, planes=tuple(np.nan_to_num(plane, nan=0.5) for plane in frame.planes))


def curve(source: Source, seen: Scan, progress: Progress = silent) -> dict[str, Any] | None:
    """How well one latent curve explains the longest shot, by frames hidden from it.

    ``score`` is the share of the change over time that the curve predicts, noise aside.
    """
    shots = [[i for i in range(a, b) if i not in seen.void] for a, b in seen.shots]
    longest = max(shots, key=len)
    if len(longest) < 8:
        return None
    progress("does the clip lie on a curve", 0, 1)
    numbers = longest[:CURVE_FRAMES]
    frames = np.stack([small_picture(frame, CURVE_SIDE) for frame in chosen(source, numbers)])
    frames = np.nan_to_num(frames, nan=128.0)
    if (frames == frames[0]).all():
        return None  # a still picture has no curve
    clock = np.array([float(seen.index.times[i]) for i in numbers])
    trial = score_hidden(frames, clock, seen.noise, "curve")
    progress("does the clip lie on a curve", 1, 1)
    error = max(trial.squares["curve"] / trial.values - seen.noise.sd**2, 0.0)
    change = max(float(frames.var(axis=0).mean()) - seen.noise.sd**2, 1e-6)
    return {"psnr": round(trial.psnr("curve"), 2), "score": round(max(0.0, 1.0 - error / change), 3)}
