"""``preview``: a few places of a clip under several settings, side by side, before the whole is run."""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import cv2
import numpy as np

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.make.engines import MotionEngine
from videorestore.make.work import Progress, silent
from videorestore.media import open_source
from videorestore.media.source import Source
from videorestore.plan.scan import Scan, expected_frames, index_for, read_pixels, scan
from videorestore.report.preview import Shown, write_preview
from videorestore.report.record import record_of
from videorestore.request import Span
from videorestore.request.verbs_looking import PreviewOptions
from videorestore.spatial.noise import Noise

SIDE = 384
"""Longest side of the part of a frame that is shown, in pixels of the clip: what one column of a page holds."""

AROUND = 12
"""Frames on each side of a place that are looked at: the noise of a moment is measured on as many."""

PLACES = (1 / 6, 1 / 2, 5 / 6)
FARTHEST = 1500
"""Where places are taken that nobody named: at these shares of the clip, or of its first frames, for frames are counted."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """A part of a frame with the same part of the frames around it: ``pixels`` (n, h, w, c), of which ``at`` is shown."""

    frame: int
    time_s: float
    corner: tuple[int, int]
    pixels: FloatArray
    at: int
    noise: Noise


def report(
    source: Any, output: str, options: PreviewOptions, progress: Progress = silent
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Write the page; gives the record."""
    started = time.monotonic()
    if not output.lower().endswith((".html", ".htm")):
        raise InputError(f"preview writes a page, OUTPUT must end in .html, got {output}; rename it.")
    settings = [(quality, strength) for quality in options.quality for strength in options.strength]
    shown: list[Shown] = []
    with open_source(source, stream=options.stream, fps=options.input_fps) as opened:
        spans = list(_spans(opened, options))
        size = opened.width, opened.height
    total = len(spans) * (len(settings) + 1)
    for number, (span, wanted) in enumerate(spans):
        done = number * (len(settings) + 1)
        progress("preview", done, total)
        # Each place counts frames as far as it lies, so each opens the clip anew.
        with open_source(source, stream=options.stream, fps=options.input_fps) as opened:
            part = _part_of(opened, *_found(opened, span, wanted))
        pictures = [("before", _eight_bit(part.pixels[part.at]))]
        for k, (quality, strength) in enumerate(settings, 1):
            pictures.append((f"{quality}, strength {strength:g}", _eight_bit(_made(part, quality, strength))))
            progress("preview", done + k, total)
        noise = round(part.noise.level, 3)
        shown.append(
            Shown(frame=part.frame, time_s=part.time_s, corner=part.corner, noise_sd=noise, pictures=pictures)
        )
    progress("preview", total, total)
    name = os.path.basename(source) if isinstance(source, str) else "clip"
    write_preview(output, name, size, shown, overwrite=options.overwrite)
    facts = {
        "output": output,
        "width": size[0],
        "height": size[1],
        "places": [{"frame": s.frame, "time_s": s.time_s, "noise_sd": s.noise_sd} for s in shown],
        "settings": [{"quality": quality, "strength": strength} for quality, strength in settings],
    }
    return record_of("preview", started, facts), ()


def _spans(source: Source, options: PreviewOptions) -> Iterator[tuple[Span, int | Fraction]]:
    """Stretches around the places that are shown, and these: frame numbers or seconds."""
    for entry in options.at or ():
        if isinstance(entry, Span):
            middle, half = Fraction(entry.start or 0), Fraction(1, 2)
            yield Span(start=max(Fraction(0), middle - half), stop=middle + half, in_seconds=True), middle
        else:
            yield Span(start=max(0, entry - AROUND), stop=entry + AROUND + 1), entry
    if options.at is None:
        count = expected_frames(source) or len(source.index())
        if count <= 2 * AROUND + 1:
            yield Span(start=0, stop=max(1, count)), count // 2
            return
        last = max(1, min(count, FARTHEST) - AROUND)
        for number in sorted({min(last - 1, int(share * last)) for share in PLACES}):
            yield Span(start=max(0, number - AROUND), stop=number + AROUND), number


def _found(source: Source, span: Span, wanted: int | Fraction) -> tuple[Scan, int]:
    """What is known of a stretch, as far as the clip goes, and the frame number of the place in it."""
    index = index_for(source, span)
    times, n = index.times, len(index)
    if isinstance(wanted, int):
        place, named = wanted, f"frames within 0:{n}, got {wanted}; count from 0."
        span = replace(span, stop=min(n, wanted + AROUND + 1))
    else:
        place = bisect_right(times, times[0] + wanted) - 1
        length = times[-1] + index.durations[-1] - times[0]
        named = f"times before the end at {float(length):.3f} s, got {float(wanted):g} s."
        place = n if wanted >= length else place
    if place >= n:
        raise InputError(f"--at must name {named}")
    return scan(source, span), place


def _part_of(source: Source, found: Scan, place: int) -> _Part:
    """The part of a frame that has most to see, with the frames of its shot around it; of the nearest frame with a picture."""
    good = [i for i in range(found.start, found.stop) if i not in found.void]
    if not good:
        raise InputError(
            f"frames {found.start} to {found.stop - 1} must hold a picture, none does; name another place with --at."
        )
    frame = min(good, key=lambda i: abs(i - place))
    number = next(k for k, (a, b) in enumerate(found.shots) if a <= frame < b)
    low, high = found.shots[number]
    reach = MotionEngine("best").denoise_reach + 2
    low, high = max(low, frame - reach), min(high, frame + reach + 1)
    numbers = [i for i in range(low, high) if i in set(good)]
    pixels = read_pixels(source, low, high)[[i - low for i in numbers]]
    at = numbers.index(frame)
    x, y = _busiest(pixels[at])
    part = np.ascontiguousarray(pixels[:, y : y + SIDE, x : x + SIDE])
    return _Part(
        frame=frame,
        time_s=round(float(found.index.times[frame]), 6),
        corner=(x, y),
        pixels=np.nan_to_num(part, nan=128.0),
        at=at,
        noise=found.noises[number].to_remove(),
    )


def _busiest(picture: FloatArray) -> tuple[int, int]:
    """Left and top of the part of a picture with most detail."""
    height, width = picture.shape[:2]
    grey = np.nan_to_num(picture).mean(axis=-1, dtype=np.float32)
    detail = cv2.boxFilter(np.abs(cv2.Laplacian(grey, cv2.CV_32F)), -1, (SIDE // 2, SIDE // 2))
    y, x = np.unravel_index(int(np.argmax(detail)), detail.shape)
    return max(0, min(width - SIDE, int(x) - SIDE // 2)), max(0, min(height - SIDE, int(y) - SIDE // 2))


def _made(part: _Part, quality: Any, strength: float) -> FloatArray:
    if part.noise.sd <= 0 or strength == 0:
        return np.asarray(part.pixels[part.at], np.float32)
    clean, _, _ = MotionEngine(quality).denoise(part.pixels, part.noise, strength, part.at, part.at + 1)
    return np.asarray(clean[0], np.float32)


def _eight_bit(picture: FloatArray) -> Any:
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)
