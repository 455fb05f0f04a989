"""``denoise``: the posterior mean of every frame."""

from __future__ import annotations

from typing import Any

from videorestore.make.pipeline import Restoration, Steps
from videorestore.make.work import Progress, silent
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, identity_slots
from videorestore.plan.choose import choose
from videorestore.plan.scan import scan
from videorestore.request.verbs import DenoiseOptions


def plan(source: Source, options: DenoiseOptions, budget: int, progress: Progress = silent) -> Restoration:
    """Plan ``denoise``: noise level, model, pieces."""
    found = scan(source, options.span, progress)
    # Whoever asks for it wants the noise removed that a codec hid, too.
    noise = found.noise.stated(options.sigma).to_remove()
    lost = found.lost
    if len(lost) == found.stop - found.start:
        lost = frozenset()
    choice = choose(source, found, options, "denoise", noise, progress)
    idle = options.strength == 0 or options.keep_grain == 1 or noise.sd <= 0
    steps = Steps(
        slots=identity_slots(found),
        noise=None if idle else noise,
        strength=options.strength,
        keep_grain=options.keep_grain,
        quality=options.quality,
        untouched=lost,
    )
    findings: dict[str, Any] = {"noise_sd": round(noise.sd, 3)}
    if options.sigma is not None:
        findings["noise"] = None  # stated, not estimated
    elif found.noise.assumed is not None:
        findings["noise_measured"] = round(found.noise.sd, 3)
    return assemble("denoise", source, found, steps, options, choice, budget, findings)
