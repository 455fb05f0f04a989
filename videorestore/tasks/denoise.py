"""``denoise``: the posterior mean of every frame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from videorestore.media.source import Source
from videorestore.spatial.noise import Noise
from videorestore.tasks.assemble import assemble, identity_slots
from videorestore.tasks.choose import choose
from videorestore.tasks.options import DenoiseOptions
from videorestore.tasks.pipeline import Restoration, Steps
from videorestore.tasks.scan import scan
from videorestore.tasks.work import Progress, silent


def stated_noise(measured: Noise, sigma: float | None) -> Noise:
    """The measured noise, brought to the level that the user states."""
    if sigma is None:
        return measured
    if measured.sd > 0 and sigma > 0:
        return replace(measured.scaled(sigma / measured.sd), assumed=None)
    return Noise.white(sigma)


def plan(source: Source, options: DenoiseOptions, budget: int, progress: Progress = silent) -> Restoration:
    """Plan ``denoise``: noise level, model, pieces."""
    found = scan(source, options.span, progress)
    # Whoever asks for it wants the noise removed that a codec hid, too.
    noise = stated_noise(found.noise, options.sigma).to_remove()
    lost = found.lost
    if len(lost) == found.stop - found.start:
        lost = frozenset()
    choice = choose(source, found, options, "denoise", noise, progress)
    idle = options.strength == 0 or noise.sd <= 0
    steps = Steps(
        slots=identity_slots(found),
        noise=None if idle else noise,
        strength=options.strength,
        quality=options.quality,
        untouched=lost,
    )
    findings: dict[str, Any] = {"noise_sd": round(noise.sd, 3)}
    if options.sigma is not None:
        findings["noise"] = None  # stated, not estimated
    return assemble("denoise", source, found, steps, options, choice, budget, findings)
