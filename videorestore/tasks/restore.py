"""``restore``: inspect, then fill what is missing, mend what is damaged, remove the noise that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore.media.source import Source
from videorestore.spatial.noise import Noise
from videorestore.tasks.assemble import assemble, renumber
from videorestore.tasks.choose import choose
from videorestore.tasks.denoise import stated_noise
from videorestore.tasks.fill import resolve_insertions, time_gaps
from videorestore.tasks.masks import FoundMasks
from videorestore.tasks.options import RestoreOptions, UpsampleOptions
from videorestore.tasks.pipeline import Restoration, Steps
from videorestore.tasks.scan import Scan, read_pixels, scan
from videorestore.tasks.timeline import with_insertions
from videorestore.tasks.upsample import new_slots
from videorestore.tasks.work import Progress, silent

LEAST_NOISE = 1.2
"""Noise below this sd (0..255 scale) is not seen, and taking it away costs more than it gains."""

DIRTY = 0.5
SAMPLED_SHOTS = 3
SAMPLED_FRAMES = 12
"""A film is dirty from so many small spots per frame on, judged by stretches of its longest shots."""


def plan(source: Source, options: RestoreOptions, budget: int, progress: Progress = silent) -> Restoration:
    """Plan ``restore`` from what is found; a clean clip has an empty plan."""
    found = scan(source, options.span, progress)
    notes: list[str] = []
    missing = frames_to_fill(found, options, notes)
    noise = noise_to_remove(found, options, notes)
    masks = None
    if options.mend == "auto":
        dirty = dust_rate(source, found, progress) >= DIRTY
        masks = FoundMasks(noise_sd=found.noise.sd, dust=dirty)
        notes.append(
            f"mend: every frame is searched for {'dust, ' if dirty else ''}scratches, blotches and dropouts"
        )
    choice = choose(
        source, found, options, "denoise" if noise else "interpolate", found.noise, progress, avoid=missing
    )
    inserted: list[dict[str, Any]] = []
    losses: tuple[str, ...] = ()
    if options.factor is not None or options.fps is not None:
        faster = UpsampleOptions(factor=options.factor, fps=options.fps)
        slots = new_slots(found, faster)
        notes.append(f"frame rate: {len(slots)} frames instead of {found.stop - found.start}")
    else:
        insertions = time_gaps(found) if options.fill == "auto" else ()
        gaps, inserted, losses = resolve_insertions(source, found, insertions, progress)
        slots = renumber(with_insertions(found.times, found.durations, gaps), found.start)
        if inserted:
            notes.append(f"fill: {sum(e['count'] for e in inserted)} frames are absent from the times")
    gains = flicker_to_remove(found, missing, notes)
    steps = Steps(
        slots=slots,
        missing=missing,
        untouched=found.lost - missing,
        masks=masks,
        noise=noise,
        strength=options.strength,
        quality=options.quality,
        gains=gains,
    )
    findings: dict[str, Any] = {"plan": notes or ["nothing to do"]}
    if noise is not None:
        findings["noise_sd"] = round(noise.sd, 3)
    if inserted:
        findings["inserted"] = inserted
    if found.survey.dropped:
        findings["dropped"] = [
            {"after": d.after, "count": d.count, "probability": round(d.probability, 3)}
            for d in found.survey.dropped
        ]
    return assemble("restore", source, found, steps, options, choice, budget, findings, losses)


def frames_to_fill(found: Scan, options: RestoreOptions, notes: list[str]) -> frozenset[int]:
    """Frames without content; repeats only where they are the exception."""
    if options.fill == "off":
        return frozenset()
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


def dust_rate(source: Source, found: Scan, progress: Progress = silent) -> float:
    """Small spots per frame on a few stretches of the longest shots."""
    from videorestore.detect.damage import REACH, find_damage

    spots = frames = 0
    longest = sorted(found.shots, key=lambda shot: shot[0] - shot[1])[:SAMPLED_SHOTS]
    for k, (a, b) in enumerate(longest):
        progress("is the film dirty", k, len(longest))
        good = [i for i in range(a, b) if i not in found.void]
        middle = max(0, (len(good) - SAMPLED_FRAMES) // 2)
        numbers = good[middle : middle + SAMPLED_FRAMES]
        if len(numbers) <= 2 * REACH:
            continue
        pixels = np.stack([read_pixels(source, i, i + 1)[0] for i in numbers])
        last = len(numbers) - REACH
        _, damage = find_damage(
            np.nan_to_num(pixels, nan=128.0), noise_sd=found.noise.sd, start=REACH, stop=last
        )
        spots += sum(d.kind == "dust" for d in damage)
        frames += last - REACH
    return spots / frames if frames else 0.0


def noise_to_remove(found: Scan, options: RestoreOptions, notes: list[str]) -> Noise | None:
    """The noise model where denoising pays, else None."""
    if options.denoise == "off":
        return None
    noise = stated_noise(found.noise, options.sigma)
    wanted = options.denoise == "on" or options.sigma is not None
    if noise.sd <= 0 or (not wanted and (noise.sd < LEAST_NOISE or not noise.trustworthy)):
        return None
    notes.append(f"denoise: sd {noise.sd:.1f} of 255")
    return noise


def flicker_to_remove(
    found: Scan, missing: frozenset[int], notes: list[str]
) -> dict[int, tuple[float, float]] | None:
    """Gain and offset for every frame, where the brightness flickers."""
    flicker = found.survey.flicker
    if not flicker["present"]:
        return None
    notes.append(f"deflicker: the brightness varies by {100 * float(flicker['sd']):.1f} %")
    return {
        found.start + k: (float(gain), float(offset))
        for k, (gain, offset) in enumerate(found.survey.gains)
        if found.start + k not in missing
    }
