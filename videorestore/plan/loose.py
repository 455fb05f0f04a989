"""``inpaint --loose``: frames without known position, completed and put in their place in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from videorestore import colour
from videorestore.clip import FloatArray, Frame, Mask, PixelFormat, Samples
from videorestore.curve.fit import fit_shot
from videorestore.curve.place import Placed, place
from videorestore.errors import InputError, MediaReadError
from videorestore.make.work import Made, Origin, Piece, Progress, Slot, Work, silent
from videorestore.media.images import IMAGE_SUFFIXES, natural_key, read_image
from videorestore.media.outputs import OutputShape
from videorestore.media.source import Source
from videorestore.plan.assemble import decoding_losses, facts_of, rebase, renumber, span_of
from videorestore.plan.scan import Scan
from videorestore.plan.timeline import Gap, has_room, retimed, steady_rate, with_insertions
from videorestore.report.score import on_255
from videorestore.request.verbs import InpaintOptions

_MASK_SUFFIX = ".mask.png"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loose:
    """One loose frame: its name, its samples (RGB or grey) and what is missing of it."""

    name: str
    picture: Samples
    mask: Mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Completed:
    """A loose frame in its place: native samples, and what the record says of it."""

    name: str
    planes: tuple[Samples, ...]
    sd: FloatArray
    x: float
    regenerated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertions(Work):
    """The clip with completed loose frames in between.

    ``guests[k]`` is the loose frame at output place k.
    """

    slots: tuple[Slot, ...]
    guests: dict[int, Completed]
    x: dict[int, float]

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        return [sum(p.start <= s.after < p.stop for s in self.slots) for p in self.pieces]

    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        frames = {f.index: f for f in source.frames(piece.start, piece.stop)}
        for k, slot in enumerate(self.slots):
            if not piece.start <= slot.after < piece.stop:
                continue
            timed = frames[slot.after].at(index=k, time=slot.time, duration=slot.duration)
            if slot.source is not None:
                yield Made(frame=timed, origin="kept", source=slot.source, x=self.x.get(slot.source))
                continue
            guest = self.guests[k]
            frame = Frame(
                planes=guest.planes,
                format=timed.format,
                index=k,
                time=slot.time,
                duration=slot.duration,
            )
            origin: Origin = "mended" if guest.regenerated else "kept"
            yield Made(
                frame=frame, origin=origin, x=guest.x, sd_map=guest.sd, notes=(f"loose frame {guest.name}",)
            )


def plan_loose(
    source: Source, found: Scan, options: InpaintOptions, progress: Progress = silent
) -> Insertions:
    """Place and complete the loose frames."""
    assert options.loose is not None
    good = [i for i in range(found.start, found.stop) if i not in found.void]
    if len(good) < 3:
        raise InputError(
            f"loose frames need a clip of at least 3 good frames to be placed in, got {len(good)}."
        )
    loose = read_loose(options.loose, source)
    pixels = np.stack(
        [colour.working(f) for f in source.frames(found.start, found.stop) if f.index in set(good)]
    )
    clock = np.array([float(found.index.times[i]) for i in good])
    progress("fitting the curve", 0, 0)
    fit = fit_shot(pixels, times=clock)
    progress("placing loose frames", 0, len(loose))
    pictures = np.stack([on_255(one.picture) for one in loose])
    masks = np.stack([one.mask for one in loose])
    placed = place(pixels, fit, pictures, masks, method=options.placement, seed=options.seed)
    taken = sorted((p.index, p.x, k) for k, p in enumerate(placed) if not p.refused)
    after = {k: good[min(max(index, 1), len(good)) - 1] for index, _, k in taken}
    gaps = _gaps(found, [after[k] for *_, k in taken])
    slots = renumber(
        with_insertions(found.times, found.durations, gaps, steady_rate(source.info)), found.start
    )
    if found.start:
        slots = rebase(slots, slots[0].time)
    new = [k for k, s in enumerate(slots) if s.source is None]
    guests = {out: _complete(loose[k], placed[k], source.info.format) for out, (*_, k) in zip(new, taken)}
    entries = [
        {
            "name": loose[k].name,
            "index": out,
            "x": round(float(placed[k].x), 6),
            "x_sd": round(float(placed[k].x_sd), 8),
        }
        for out, (*_, k) in zip(new, taken)
    ]
    refused = [loose[k].name for k, p in enumerate(placed) if p.refused]
    findings: dict[str, Any] = {**facts_of(found), "model": "curve", "placed": entries}
    if refused:
        findings["refused"] = refused
    return Insertions(
        verb="inpaint",
        pieces=(
            Piece(index=0, start=found.start, stop=found.stop, read_start=found.start, read_stop=found.stop),
        ),
        shape=OutputShape.of(source, len(slots), retimed(source.info, slots)),
        slots=slots,
        guests=guests,
        x={i: float(v) for i, v in zip(good, fit.x, strict=True)},
        findings=findings,
        losses=(
            *decoding_losses(found.index),
            *(f"{name} fits nowhere and was left out" for name in refused),
        ),
        span=span_of(found),
    )


def _gaps(found: Scan, after: list[int]) -> tuple[Gap, ...]:
    counts = {i: after.count(i) for i in sorted(set(after))}
    return tuple(
        Gap(
            after=i - found.start,
            count=count,
            shift=not has_room(found.times, found.durations, i - found.start, count),
        )
        for i, count in counts.items()
    )


def _complete(loose: Loose, placed: Placed, form: PixelFormat) -> Completed:
    """The completed frame in the clip's format; seen pixels keep the samples of the loose frame."""
    zero = Frame(
        planes=colour.from_rgb(loose.picture, form),
        format=form,
        index=0,
        time=Fraction(0),
        duration=Fraction(0),
    )
    frame = colour.native(placed.frame, zero, keep=~loose.mask)
    return Completed(
        name=loose.name,
        planes=frame.planes,
        sd=np.asarray(placed.sd, np.float32),
        x=float(placed.x),
        regenerated=bool(loose.mask.any()),
    )


def read_loose(folder: str, source: Source) -> list[Loose]:
    """Loose frames of a folder, by name in the order of their numbers."""
    root = Path(folder)
    if not root.is_dir():
        raise MediaReadError(
            f"--loose must be a folder of images, got {folder}; put the loose frames into one."
        )
    names = [
        p
        for p in root.iterdir()
        if p.suffix.lower() in IMAGE_SUFFIXES and not p.name.lower().endswith(_MASK_SUFFIX)
    ]
    if not names:
        raise MediaReadError(f"--loose must hold images, found none in {folder}; check the folder.")
    return [_read_one(path, source) for path in sorted(names, key=lambda p: natural_key(p.name))]


def _read_one(path: Path, source: Source) -> Loose:
    image = read_image(str(path))
    size = (source.height, source.width)
    if image.shape[:2] != size:
        raise InputError(
            f"a loose frame must be {size[1]} x {size[0]} like the clip, {path.name} is "
            f"{image.shape[1]} x {image.shape[0]}; crop or resize it."
        )
    mask = np.zeros(size, bool)
    if image.shape[-1] in (2, 4):
        mask |= image[..., -1] == 0
        image = image[..., :-1]
    beside = path.with_name(path.stem + _MASK_SUFFIX)
    if beside.exists():
        drawn = read_image(str(beside))
        if drawn.shape[:2] != size:
            raise InputError(
                f"a mask must have the size of its frame, {beside.name} has not; crop or resize it."
            )
        colours = drawn[..., : 1 if drawn.shape[-1] < 3 else 3]
        mask |= colours.mean(axis=-1) > np.iinfo(drawn.dtype).max / 2
    if mask.all():
        raise InputError(f"a loose frame must show something, {path.name} is missing as a whole; remove it.")
    wanted = source.info.format.colours
    if wanted == 1 and image.shape[-1] == 3:
        image = np.rint(image.mean(axis=-1, keepdims=True)).astype(image.dtype)
    elif wanted == 3 and image.shape[-1] == 1:
        image = np.repeat(image, 3, axis=-1)
    return Loose(name=path.name, picture=np.ascontiguousarray(image), mask=mask)
