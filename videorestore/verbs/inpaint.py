"""``inpaint``: pixels that are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from videorestore.errors import InputError
from videorestore.fields.split import FieldView
from videorestore.make.masks import ArrayMasks, FoundMasks, MaskSource, NanMasks, check_size, load_masks
from videorestore.make.steps import Steps
from videorestore.make.work import Progress, Work, silent
from videorestore.media import open_source
from videorestore.media.source import Source
from videorestore.plan.assemble import assemble, identity_slots
from videorestore.plan.choose import Choice, choose
from videorestore.plan.interlaced import by_flag, field_wise, surely_interlaced
from videorestore.plan.scan import Scan, frames_with_nan, scan
from videorestore.plan.tapes import tape_of
from videorestore.request.verbs import InpaintOptions


def plan(source: Source, options: InpaintOptions, budget: int, progress: Progress = silent) -> Work:
    """Plan ``inpaint``: masks, model, pieces; or the places of loose frames."""
    if options.loose is not None and options.mask is not None:
        raise InputError("--loose and --mask are two jobs, got both; run inpaint twice, --mask first.")
    if options.loose is None:
        check_mask(source, options.mask)
    found = by_flag(source, scan(source, options.span, progress, rough=options.dry_run))
    if options.loose is not None:
        from videorestore.plan.loose import plan_loose

        return plan_loose(source, found, options, progress)
    fields = surely_interlaced(source, found)
    tape = None
    if fields and isinstance(options.mask, str) and options.mask == "auto":
        tape = tape_of(source, found.fields.settled(), progress)
    masks = find_masks(source, found, options.mask) if tape is None else None
    view = FieldView(source, 0) if fields else source
    if options.model == "auto" and masks is not None and not masks.heard:
        choice = Choice(models=("motion",) * len(found.shots), findings={"model": "motion"})
    else:
        choice = choose(view, found, options, "inpaint", found.noises, progress)
    steps = Steps(slots=identity_slots(found), masks=masks, quality=options.quality)
    work = assemble("inpaint", view, found, steps, options, choice, budget)
    return field_wise(source, found, work, tape) if fields else work


def check_mask(source: Source, mask: Any) -> None:
    """Refuse a mask that is not there or does not fit, before the clip is looked through."""
    if mask is None:
        if source.info.format.depth != 32:
            raise InputError(
                "inpaint must know which pixels are missing, got no --mask; give a mask, --mask auto, or an array with NaN."
            )
    elif not isinstance(mask, str):
        shape = np.shape(mask)
        if len(shape) not in (2, 3) or shape[-2:] != (source.height, source.width):
            raise InputError(
                f"mask must have shape ({source.height}, {source.width}) or (n, {source.height}, {source.width}) like the "
                f"clip, got {shape}; crop or resize the mask."
            )
    elif mask != "auto":
        with open_source(mask) as masks:
            check_size(masks, source.height, source.width)


def find_masks(source: Source, found: Scan, mask: Any) -> MaskSource:
    """The masks as the option says; without one, NaN marks missing pixels."""
    n = len(found.index)
    if mask is None:
        frames_with_nan(source, found)
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
    if bits.ndim == 3 and len(bits) != n:
        raise InputError(
            f"there must be one mask for each of the {n} frames, got {len(bits)}; give one for all or n."
        )
    if bits.all():
        raise InputError(
            "the mask must leave pixels to work from, everything is masked; True marks missing pixels."
        )
    return ArrayMasks.of(bits)
