"""``upsample``: new frames between the old ones."""

from __future__ import annotations

from videorestore.errors import InputError
from videorestore.media.source import Source
from videorestore.tasks.assemble import assemble, renumber
from videorestore.tasks.choose import choose
from videorestore.tasks.options import UpsampleOptions
from videorestore.tasks.pipeline import Restoration, Steps
from videorestore.tasks.scan import Scan, scan
from videorestore.tasks.timeline import Slot, by_factor, by_rate
from videorestore.tasks.work import Progress, silent


def new_slots(found: Scan, options: UpsampleOptions) -> tuple[Slot, ...]:
    """Every frame of the output, at its exact time."""
    if options.factor is not None:
        slots = by_factor(found.times, found.durations, options.factor)
    else:
        assert options.fps is not None
        slots = by_rate(found.times, found.durations, options.fps)
    return renumber(slots, found.start)


def plan(source: Source, options: UpsampleOptions, budget: int, progress: Progress = silent) -> Restoration:
    """Plan ``upsample``: output times, model, pieces."""
    # Without denoising the noise only widens the intervals of the self-test.
    found = scan(source, options.span, progress, brief=options.denoise != "on")
    if found.stop - found.start < 2:
        raise InputError("upsample needs two frames to put new ones between, got 1; give more frames.")
    choice = choose(source, found, options, "interpolate", found.noise, progress)
    steps = Steps(
        slots=new_slots(found, options),
        noise=found.noise if options.denoise == "on" and found.noise.sd > 0 else None,
        quality=options.quality,
        untouched=found.lost,
    )
    return assemble("upsample", source, found, steps, options, choice, budget)
