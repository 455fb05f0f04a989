"""``upsample``: new frames between the old ones."""

from __future__ import annotations

from videorestore.errors import InputError
from videorestore.make.pipeline import Restoring
from videorestore.make.steps import Steps
from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, faster_slots
from videorestore.plan.choose import choose
from videorestore.plan.interlaced import by_flag, surely_apart
from videorestore.plan.scan import scan
from videorestore.plan.timeline import check_raised
from videorestore.request.verbs import UpsampleOptions


def plan(source: Source, options: UpsampleOptions, budget: int, progress: Progress = silent) -> Restoring:
    """Plan ``upsample``: output times, model, pieces."""
    check_raised(source.info.fps, options.fps)
    # Without denoising the noise only widens the intervals of the self-test.
    found = scan(source, options.span, progress, brief=options.denoise != "on", rough=options.dry_run)
    seems = found.fields.seems("interlaced")
    if surely_apart(source, by_flag(source, found) if seems else found):
        raise InputError(
            "upsample needs whole pictures to put new ones between, found interlaced or telecined video; run videorestore "
            "deinterlace first."
        )
    if found.stop - found.start < 2:
        raise InputError("upsample needs two frames to put new ones between, got 1; give more frames.")
    choice = choose(source, found, options, "interpolate", found.noises, progress, between=True)
    steps = Steps(
        slots=faster_slots(found, options.factor, options.fps),
        noises=tuple(n if options.denoise == "on" and n.sd > 0 else None for n in found.noises),
        quality=options.quality,
        untouched=found.lost,
    )
    return assemble("upsample", source, found, steps, options, choice, budget)
