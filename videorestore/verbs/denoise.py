"""``denoise``: the posterior mean of every frame."""

from __future__ import annotations

from videorestore.fields.split import FieldView
from videorestore.make.interlaced import FieldWise
from videorestore.make.pipeline import Restoring
from videorestore.make.steps import Steps
from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, identity_slots
from videorestore.plan.choose import choose
from videorestore.plan.interlaced import by_flag, field_wise, surely_interlaced
from videorestore.plan.noise import noise_facts
from videorestore.plan.scan import scan
from videorestore.request.verbs import DenoiseOptions


def plan(
    source: Source, options: DenoiseOptions, budget: int, progress: Progress = silent
) -> Restoring | FieldWise:
    """Plan ``denoise``: noise level, model, pieces."""
    found = by_flag(source, scan(source, options.span, progress, rough=options.dry_run))
    if surely_interlaced(source, found):
        inner = plan(FieldView(source, 0), options, budget, progress)
        assert isinstance(inner, Restoring)
        return field_wise(source, found, inner)
    # Whoever asks for it wants the noise removed that a codec hid, too.
    noises = tuple(n.stated(options.sigma).to_remove() for n in found.noises)
    lost = found.lost
    if len(lost) == found.stop - found.start:
        lost = frozenset()
    idle = options.strength == 0 or options.keep_grain == 1
    steps = Steps(
        slots=identity_slots(found),
        noises=tuple(None if idle or n.sd <= 0 else n for n in noises),
        strength=options.strength,
        keep_grain=options.keep_grain,
        quality=options.quality,
        untouched=lost,
    )
    choice = choose(source, found, options, "denoise", noises, progress, steps=steps)
    findings = noise_facts(noises, found.shots)
    if options.sigma is None and found.noise.assumed is not None:
        findings["noise_measured"] = round(found.noise.sd, 3)
    return assemble("denoise", source, found, steps, options, choice, budget, findings)
