"""``inpaint``: pixels that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore.errors import InputError
from videorestore.make.masks import ArrayMasks, FoundMasks, MaskSource, NanMasks, load_masks
from videorestore.make.pipeline import Steps
from videorestore.make.work import Progress, Work, silent
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, identity_slots
from videorestore.plan.choose import choose
from videorestore.plan.scan import Scan, read_pixels, scan
from videorestore.request.verbs import InpaintOptions


def plan(source: Source, options: InpaintOptions, budget: int, progress: Progress = silent) -> Work:
    """Plan ``inpaint``: masks, model, pieces; or the places of loose frames."""
    if options.loose is not None and options.mask is not None:
        raise InputError("--loose and --mask are two jobs, got both; run inpaint twice, --mask first.")
    found = scan(source, options.span, progress)
    if options.loose is not None:
        from videorestore.plan.loose import plan_loose

        return plan_loose(source, found, options, progress)
    masks = find_masks(source, found, options.mask)
    choice = choose(source, found, options, "inpaint", found.noise, progress)
    steps = Steps(slots=identity_slots(found), masks=masks, quality=options.quality)
    return assemble("inpaint", source, found, steps, options, choice, budget)


def find_masks(source: Source, found: Scan, mask: Any) -> MaskSource:
    """The masks as the option says; without one, NaN marks missing pixels."""
    n = len(found.index)
    if mask is None:
        if source.info.format.depth != 32:
            raise InputError(
                "inpaint must know which pixels are missing, got no --mask; give a mask, --mask auto, or an array with NaN."
            )
        if not any(np.isfinite(read_pixels(source, i, i + 1)).any() for i in range(found.start, found.stop)):
            raise InputError(
                "the array must leave pixels to work from, everything is NaN; NaN marks missing pixels."
            )
        return NanMasks()
    if isinstance(mask, str):
        if mask == "auto":
            return FoundMasks(noise_sd=found.sure_noise_sd)
        return load_masks(
            mask,
            span=(found.start, found.stop),
            n_frames=n if found.index.whole else None,
            height=source.height,
            width=source.width,
        )
    bits = np.asarray(mask).astype(bool)
    shapes = [(source.height, source.width), (n, source.height, source.width)]
    if bits.shape not in shapes:
        raise InputError(
            f"mask must have shape {shapes[0]} or {shapes[1]} like the clip, got {bits.shape}; crop or resize the mask."
        )
    if bits.all():
        raise InputError(
            "the mask must leave pixels to work from, everything is masked; True marks missing pixels."
        )
    return ArrayMasks.of(bits)
