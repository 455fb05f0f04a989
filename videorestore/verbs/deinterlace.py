"""``deinterlace``: whole progressive frames from fields, the film's own frames from pulldown."""

from __future__ import annotations

from videorestore.detect.fields import Verdict
from videorestore.make.interlaced import Interlaced
from videorestore.make.work import Progress, Shot, silent
from videorestore.media.source import Source
from videorestore.plan.interlaced import whole_frames
from videorestore.plan.scan import Scan, scan
from videorestore.request.verbs import DeinterlaceOptions


def verdicts(found: Scan, options: DeinterlaceOptions) -> tuple[tuple[Shot, Verdict], ...]:
    """What each shot is taken for."""
    if options.order == "auto":
        return found.fields.settled()
    asked = Verdict(kind="interlaced", order=options.order)
    return tuple((shot, asked) for shot in found.shots)


def plan(source: Source, options: DeinterlaceOptions, budget: int, progress: Progress = silent) -> Interlaced:
    """Plan ``deinterlace``: what each shot is, what is made of it."""
    found = scan(source, options.span, progress, brief=True)
    judged = verdicts(found, options)
    return whole_frames("deinterlace", source, found, judged, options.rate, options.quality, budget)
