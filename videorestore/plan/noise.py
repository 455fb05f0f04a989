"""The noise of every shot: measured on a stretch of it, stated by the user, said in the record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from videorestore.clip import FloatArray
from videorestore.detect.drawn import drawn, equal_pixels
from videorestore.detect.noise import estimate_noise
from videorestore.detect.noise_blocks import share_of_noise
from videorestore.detect.quiet import lively_sd, quietest_sd, unmatched_sd
from videorestore.make.work import Progress, Shot, silent
from videorestore.plan.drift import SHORTEST, middle_of, with_drift
from videorestore.plan.look import shared_out
from videorestore.request.notation import runs_of
from videorestore.spatial.noise import Noise, is_monochrome

SIDE = 640
"""Pixels of a side from the middle of large frames that tell the noise well enough."""

BRIEF_SIDE = 320
"""Where the noise is not to be removed, a smaller part of the longest shot tells it well enough; so it does at other places of
a shot whose noise is known."""

QUIET, QUIET_CODED = 0.75, 0.35
"""The quietest blocks must show so much of the noise that differences between frames speak of; a codec takes some."""

LIVELY = 0.5
"""Share of coded noise that changes from frame to frame in a usual block."""

ONE_COLOUR = 8.0
"""Levels from the least to the most within a bar of one colour, in any channel: x264 at crf 14 leaves 4 in a blue one."""
CRUSHED, EQUAL = 20.0, 0.2
"""Noise stronger than what can vanish in blacks and whites that were cut off leaves less than this share of the pixels equal
to their neighbours: an eighth where all is black."""

GRAIN, SOFT, CELL = 4.0, 1 / 16, 8
"""Variance of noise (levels squared) in nearly all of the middle from which on margins with at most this share of it everywhere are
bars of blurred picture, and the side in pixels of what is compared. Set, not measured: a blur over three pixels leaves less."""

LOUDER = 1.3
"""Noise of the fields of one parity over that of the other from which on each has its own. Set, not measured: two measurements of the
same noise differ by less."""

UNKNOWN = Noise(sd=0.0, trustworthy=False)
"""Of a shot without a good frame."""


def measure_noises(
    read: Callable[[int, int, int], FloatArray],
    shots: tuple[Shot, ...],
    void: frozenset[int],
    *,
    brief: bool = False,
    rough: bool = False,
    fields: Callable[[int], bool] = lambda first: False,
    progress: Progress = silent,
) -> tuple[Noise, ...]:
    """Noise of every shot, from neighbouring good frames in its middle, and how it drifts in long ones.

    Parameters
    ----------
    read : callable
        From the first frame, the one behind the last and a side to pixels ``(n, h, w, c)`` from the middle.
    void : frozenset of int
        Frames that tell nothing.
    brief : bool
        The noise need not be known well: the longest shot speaks for all.
    rough : bool
        Nor need its course within a shot: each is measured once.
    fields : callable
        Whether what is read from a frame on is fields.
    """
    # What a measurement takes goes by the pixels that are looked at.
    side = BRIEF_SIDE if brief or rough else SIDE
    others = 0 if brief or rough else 2 * sum(b - a >= SHORTEST for a, b in shots)
    total = (1 if brief else len(shots)) * (side // BRIEF_SIDE) ** 2 + others
    done = 0

    def measure(stretches: Iterable[list[int]], side: int = BRIEF_SIDE) -> list[Noise]:
        nonlocal done
        found = []
        parts = ((np.nan_to_num(read(s[0], s[-1] + 1, side), nan=128.0), fields(s[0])) for s in stretches)
        for noise in shared_out(_doubted, parts):
            found.append(noise)
            done += (side // BRIEF_SIDE) ** 2
            progress("measuring the noise", min(done, total), total)
        return found

    progress("measuring the noise", 0, total)

    stretches: dict[Shot, list[int]] = {}
    for shot in sorted(shots, key=lambda shot: shot[0] - shot[1]):
        runs = runs_of([i for i in range(*shot) if i not in void])
        if runs:
            stretches[shot] = middle_of(max(runs, key=len))
            if brief:
                break
    found = dict(zip(stretches, measure(stretches.values(), side)))
    if brief:
        found = dict.fromkeys(shots, next(iter(found.values()), UNKNOWN))
    noises = tuple(found.get(shot, UNKNOWN) for shot in shots)
    common = usual_noise(noises, shots)
    measured = tuple(
        _borrowed(n, common)
        if not n.trustworthy
        else n
        if brief or rough
        else with_drift(n, shot, void, measure)
        for n, shot in zip(noises, shots)
    )
    progress("measuring the noise", total, total)
    return measured


def of_both_fields(tops: Sequence[Noise], bottoms: Sequence[Noise]) -> tuple[Noise, ...]:
    """The noise of shots by that of their top and of their bottom fields: theirs in common, with what each has of it."""
    return tuple(_in_common(top, bottom) for top, bottom in zip(tops, bottoms))


def _in_common(top: Noise, bottom: Noise) -> Noise:
    quiet, loud = sorted((top, bottom), key=lambda noise: noise.sd)
    if not loud.trustworthy or loud.sd <= LOUDER * quiet.sd or loud.low < quiet.high:
        return top
    usual = float(np.hypot(top.sd, bottom.sd) / np.sqrt(2.0))
    return replace(loud.scaled(usual / loud.sd), fields=(top.sd / usual, bottom.sd / usual))


def _borrowed(own: Noise, usual: Noise) -> Noise:
    """The usual noise for a shot that cannot tell its own, where what it shows has room for it."""
    return usual if usual.trustworthy and usual.low <= own.sd else own


def usual_noise(noises: Sequence[Noise], shots: Sequence[Shot]) -> Noise:
    """The noise of the middle one of all frames, ordered by their noise; of frames that can tell, if there are any."""
    some = [(n, b - a) for n, (a, b) in zip(noises, shots) if n.trustworthy]
    ranked = sorted(some or [(n, b - a) for n, (a, b) in zip(noises, shots)], key=lambda pair: pair[0].sd)
    if not ranked:
        return UNKNOWN
    total = np.cumsum([length for _, length in ranked])
    return ranked[int(np.searchsorted(total, total[-1] / 2, side="right"))][0]


def noise_facts(noises: Sequence[Noise], shots: Sequence[Shot]) -> dict[str, Any]:
    """What the record says: ``noise_sd``, ``noise_interval`` of the usual one, and ``noise`` shot by shot."""
    usual = usual_noise(noises, shots)
    return {
        "noise_sd": round(usual.sd, 3),
        "noise_interval": [round(usual.low, 3), round(usual.high, 3)],
        "noise": [_entry(noise, shot) for noise, shot in zip(noises, shots)],
    }


def _entry(noise: Noise, shot: Shot) -> dict[str, Any]:
    return {
        "start": shot[0],
        "stop": shot[1],
        "sd": round(noise.sd, 3),
        "interval": [round(noise.low, 3), round(noise.high, 3)],
        "per_channel": [round(v, 3) for v in noise.per_channel],
        "offset": round(noise.offset, 4),
        "slope": round(noise.slope, 5),
        "trustworthy": noise.trustworthy,
        "clipped": noise.clipped,
        "through_codec": noise.codec,
        "monochrome": noise.monochrome,
        **({"chroma_sd": round(noise.chroma_sd, 3)} if noise.chroma else {}),
        **({"fields": [round(f * noise.sd, 3) for f in noise.fields]} if noise.fields else {}),
        **({"course": [[int(k), round(f * noise.sd, 3)] for k, f in noise.course]} if noise.course else {}),
    }


def without_bars(frames: FloatArray) -> FloatArray:
    """The frames ``(n, h, w, c)`` without the rows and columns at their margins that never change or have one colour.

    Bars have no noise; a codec may leave traces of its own in coloured ones.
    """
    for axis in (1, 2):
        # Through the frames first: what is left of them is little.
        least, most = frames.min(axis=0).min(axis=2 - axis), frames.max(axis=0).max(axis=2 - axis)
        changes = (frames != frames[0]).any(axis=(0, 3 - axis, 3))
        shows = changes & ((most - least).max(axis=-1) > ONE_COLOUR)
        lines = np.flatnonzero(shows)
        if len(lines):
            frames = frames.take(np.arange(lines[0], lines[-1] + 1), axis=axis)
    return _without_soft(frames)


def _without_soft(frames: FloatArray) -> FloatArray:
    """The same without margins of blurred picture, as beside an upright clip in a wide frame: what was blurred lost its noise."""
    if len(frames) < 2 or min(frames.shape[1:3]) < 4 * CELL:
        return frames
    change = np.diff(frames.mean(axis=3, dtype=np.float32), axis=0)
    grain = np.square(np.diff(np.diff(change, axis=1), axis=2)).mean(axis=0) * (frames.shape[3] / 8)
    rows, columns = (length // CELL for length in grain.shape)
    cells = grain[: rows * CELL, : columns * CELL].reshape(rows, CELL, columns, CELL).mean(axis=(1, 3))
    for axis in (1, 2):
        # Of each row or column of cells nearly the least and nearly the most.
        least, most = np.quantile(cells, (0.1, 0.9), axis=2 - axis)
        middle = slice(len(least) * 7 // 16, len(least) * 9 // 16 + 1)
        usual = float(np.median(least[middle]))
        lines = np.flatnonzero(most > SOFT * usual)
        if usual > GRAIN and len(lines) > 2:
            # The outermost cells may be soft in part.
            first, last = int(lines[0]), int(lines[-1])
            cut = slice((first + 1) * CELL if first else 0, last * CELL if last + 1 < len(most) else None)
            frames = frames[:, cut] if axis == 1 else frames[:, :, cut]
    return frames


def _doubted(frames: FloatArray, fields: bool) -> Noise:
    """The noise of some frames, not to be trusted where single frames do not show it; of ``fields`` without their aliases."""
    frames = without_bars(frames)
    if drawn(frames):
        return Noise(sd=0.0, per_channel=(0.0,) * frames.shape[3], monochrome=is_monochrome(frames))
    noise = estimate_noise(frames)
    if fields:
        noise = noise.scaled(share_of_noise(frames))
    if noise.shape:
        # Its spectrum was looked for in single blocks already; the finest frequencies have little of it.
        return noise
    share = QUIET_CODED if noise.codec else QUIET
    shown = quietest_sd(frames, noise.sd) >= share * noise.sd
    if noise.sd > CRUSHED:
        shown = shown and float(np.mean([equal_pixels(frame).mean() for frame in frames])) < EQUAL
    if noise.codec:
        # What is frozen all over may as well be texture.
        shown = shown and lively_sd(frames) >= LIVELY * noise.sd
    if shown and not noise.clean:
        shown = unmatched_sd(frames, noise.sd) >= share * noise.sd
    return noise if shown else replace(noise, trustworthy=False)
