"""Compare two clips frame by frame, aligned by time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from videorestore import colour
from videorestore.clip import Frame
from videorestore.detect.combs import narrow_directions, narrow_luma
from videorestore.detect.fields import judge_shot
from videorestore.errors import InputError
from videorestore.make.work import Progress, silent
from videorestore.media import open_source
from videorestore.media.source import FrameIndex, Source
from videorestore.report import score
from videorestore.report.page import PageBuilder
from videorestore.report.pictures import eight_bit
from videorestore.report.record import record_of
from videorestore.request.verbs_looking import CompareOptions

LOOKED_AT = 48
"""Frames at the start of each clip that tell whether it is interlaced: two seconds."""


def report(
    first: Any, options: CompareOptions, progress: Progress = silent
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """PSNR (RGB) and SSIM (luma) of two clips.

    Parameters
    ----------
    first : path, Clip or array
        What ``options.other`` is compared with.
    options : CompareOptions
    progress : callable

    Returns
    -------
    record : dict
        ``psnr`` from the squared error over all frames, ``psnr_mean`` and ``ssim`` as means over frames,
        ``frames`` with the figures of every pair, ``only_a`` and ``only_b`` for frames without a partner.
    losses : tuple of str
        What could not be read.
    """
    started = time.monotonic()
    second = options.other
    with open_source(first) as a, open_source(second) as b:
        if (a.height, a.width) != (b.height, b.width):
            raise InputError(
                f"the two clips must have the same size, got {a.width} x {a.height} and {b.width} x {b.height}; "
                "scale one of them first."
            )
        progress("read", 0, 0)
        index_a, index_b = a.index(), b.index()
        pairing = score.align(_from_start(index_a.times), _from_start(index_b.times))
        if not pairing.pairs:
            raise InputError(
                f"the two clips must share at least one time, got {len(index_a)} and {len(index_b)} frames "
                "without a partner; check that both are whole."
            )
        page = PageBuilder() if options.report else None
        frames = list(_score(a, b, index_a, pairing, page, progress))
        notes = _notes(a, b) if any(fact["mse"] > 0 for fact in frames) else []
        record: dict[str, Any] = {
            "input": _name(first),
            "other": _name(second),
            "width": a.width,
            "height": a.height,
            "fps": a.info.fps,
        }
        losses = _losses("A", index_a) + _losses("B", index_b)
    errors = [fact.pop("mse") for fact in frames]
    record |= {
        "psnr": round(score.psnr(float(np.mean(errors))), 4),
        "psnr_mean": round(float(np.mean([fact["psnr"] for fact in frames])), 4),
        "ssim": round(float(np.mean([fact["ssim"] for fact in frames])), 6),
        "identical": all(error == 0 for error in errors) and not (pairing.only_a or pairing.only_b),
        "n_frames": len(frames),
        "notes": notes or None,
        "only_a": list(pairing.only_a) or None,
        "only_b": list(pairing.only_b) or None,
        "frames": frames,
    }
    record = record_of("compare", started, record)
    if page is not None and options.report:
        page.write(options.report, record, overwrite=options.overwrite)
    return record, losses


def _score(
    a: Source,
    b: Source,
    index: FrameIndex,
    pairing: score.Alignment,
    page: PageBuilder | None,
    progress: Progress,
) -> Iterator[dict[str, Any]]:
    total = len(pairing.pairs)
    left = _wanted(a, {i for i, _ in pairing.pairs})
    right = _wanted(b, {j for _, j in pairing.pairs})
    for done, ((i, j), one, two) in enumerate(zip(pairing.pairs, left, right, strict=True)):
        picture, other = score.same_colours(colour.to_rgb(one), colour.to_rgb(two))
        error = score.mse(score.on_255(picture), score.on_255(other))
        fact = {
            "index": i,
            "other": j,
            "time_s": round(float(index.times[i]), 6),
            "mse": error,
            "psnr": round(score.psnr(error), 4),
            "ssim": round(score.ssim(_luma(picture), _luma(other)), 6),
        }
        if page is not None and page.wants(done):
            page.add_picture(done, before=eight_bit(picture), after=eight_bit(other))
        yield fact
        progress("compare", done + 1, total)


def _notes(a: Source, b: Source) -> list[str]:
    """What must be known of the figures: fields of two times cannot be compared with whole pictures."""
    kinds = {
        name: judge_shot(narrow_directions([narrow_luma(f) for f in islice(clip.frames(), LOOKED_AT)])).kind
        for name, clip in (("A", a), ("B", b))
    }
    apart = [name for name, kind in kinds.items() if kind in ("interlaced", "telecined")]
    if len(apart) != 1 or "unknown" in kinds.values():
        return []
    other = "B" if apart == ["A"] else "A"
    return [
        f"{apart[0]} is {kinds[apart[0]]}, {other} is progressive: lines of different times are compared; "
        f"run videorestore deinterlace on {apart[0]} first"
    ]


def _wanted(source: Source, numbers: set[int]) -> Iterator[Frame]:
    return (frame for frame in source.frames() if frame.index in numbers)


def _luma(picture: NDArray[Any]) -> NDArray[np.float32]:
    return score.luma(score.on_255(picture))


def _from_start(times: tuple[Fraction, ...]) -> list[Fraction]:
    """Seconds since the first frame: a clip that starts late shows the same pictures."""
    return [at - times[0] for at in times] if times else []


def _losses(name: str, index: FrameIndex) -> tuple[str, ...]:
    return tuple(f"{name}: {loss}" for loss in index.losses)


def _name(source: Any) -> str | None:
    return source if isinstance(source, str) else getattr(source, "path", None)
