"""``deinterlace``: whole progressive frames from fields, the film's own frames from pulldown."""

from __future__ import annotations

from videorestore.detect.fields import Verdict
from videorestore.fields.split import FieldView
from videorestore.make.interlaced import Interlaced
from videorestore.make.steps import Steps
from videorestore.make.work import Progress, Shot, silent
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, identity_slots
from videorestore.plan.choose import choose
from videorestore.plan.interlaced import by_flag, whole_frames
from videorestore.plan.scan import Scan, frames_with_nan, scan
from videorestore.request.verbs import DeinterlaceOptions


def verdicts(found: Scan, options: DeinterlaceOptions) -> tuple[tuple[Shot, Verdict], ...]:
    """What each shot is taken for."""
    if options.order == "auto":
        return found.fields.settled()
    asked = Verdict(kind="interlaced", order=options.order)
    return tuple((shot, asked) for shot in found.shots)


def plan(source: Source, options: DeinterlaceOptions, budget: int, progress: Progress = silent) -> Interlaced:
    """Plan ``deinterlace``: what each shot is, what is made of it."""
    found = by_flag(source, scan(source, options.span, progress, brief=True, rough=options.dry_run))
    judged = verdicts(found, options)
    inner = None
    if frames_with_nan(source, found):
        # Values that are NaN are made first, in the fields of each parity.
        view = FieldView(source, 0)
        choice = choose(view, found, options, "inpaint", found.noises, progress)
        steps = Steps(slots=identity_slots(found), quality=options.quality)
        inner = assemble("deinterlace", view, found, steps, options, choice, budget)
    return whole_frames("deinterlace", source, found, judged, options.rate, options.quality, budget, inner)
