"""The work of one piece: mend, denoise, fill and interpolate, in this order, on the frames of one shot.

Damage goes first, because it would spread. Frames without content are left out of everything and made
last, from cleaned neighbours; so are new frames between old ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from videorestore import colour, pulse
from videorestore.clip import FloatArray, Frame, Mask
from videorestore.make.beyond import beyond
from videorestore.make.cost import (
    COPYING,
    DENOISING,
    INTERPOLATING,
    LOOKED_AT,
    LOOKING,
    MENDING,
    STARTING,
    SURROUNDINGS,
)
from videorestore.make.engines import Engine, engine_for
from videorestore.make.masks import MaskSource
from videorestore.make.mending import add_sd, mend_on_disk, missing_values
from videorestore.make.spool import Patched, Spool
from videorestore.make.tiles import SIDE, overlap
from videorestore.make.window import Window, portions, read_window, wants_disk
from videorestore.make.work import Made, Origin, Piece, Progress, Shot, Slot, Work, silent
from videorestore.media.source import Source
from videorestore.request import Quality
from videorestore.spatial.noise import Noise

DOUBT = 30.0
"""Mean sd (0..255 scale) of a made frame above which nothing supports the guess."""

STEADY = (1.0, 0.0)
"""Gain and offset of a frame that does not flicker."""

BRIEF = "the shot is too short for a fit: left as it is"

CONTEXT = 2
"""Frames on each side of a piece that the trajectories of new frames run through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What is to be done with a clip.

    Attributes
    ----------
    slots : tuple of Slot
        Every frame of the output.
    missing : frozenset of int
        Source frames whose content is worthless and is made anew.
    untouched : frozenset of int
        Source frames whose content is worthless and stays: nothing is learnt from them.
    masks : MaskSource or None
        Where damaged pixels are.
    noises : tuple of (Noise or None)
        Of every shot; None leaves the noise in.
    strength : float
    keep_grain : float
        Share of what denoising takes away that is given back.
    quality : {"fast", "default", "best"}
    gains : mapping from frame number to (gain, offset), or None
        Correction of flicker, before everything else.
    brief : frozenset of int
        Frames of shots that are too short for a fit: what has content passes as it is.
    """

    slots: tuple[Slot, ...]
    missing: frozenset[int] = frozenset()
    untouched: frozenset[int] = frozenset()
    masks: MaskSource | None = None
    noises: tuple[Noise | None, ...] = ()
    strength: float = 1.0
    keep_grain: float = 0.0
    quality: Quality = "default"
    gains: Mapping[int, tuple[float, float]] | None = None
    brief: frozenset[int] = frozenset()

    @property
    def denoises(self) -> bool:
        """Whether noise is removed anywhere."""
        return any(noise is not None for noise in self.noises)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration(Work):
    """A planned restoration of a clip, as pieces.

    Attributes
    ----------
    shots : tuple of (start, stop)
    models : tuple of str
        "curve" or "motion" for each shot.
    side : int
        Side of the parts in which large frames are denoised along motion.
    on_disk : tuple of str
        Models whose frames are kept on disk while they are worked on, where there are many.
    scratch : str or None
        Folder for frames that are better kept on disk; None keeps all in memory.
    """

    steps: Steps
    shots: tuple[Shot, ...]
    models: tuple[str, ...]
    times: tuple[Fraction, ...]
    side: int = SIDE
    on_disk: tuple[str, ...] = ()
    scratch: str | None = None

    @property
    def holds_shots(self) -> bool:
        """A curve holds a whole shot."""
        return "curve" in self.models

    @property
    def source_times(self) -> tuple[Fraction, ...]:
        """Where nothing needs to be done the output is the source."""
        return self.times

    @property
    def mask_file(self) -> str | None:
        """The file or folder that masks are read from on the way, if there is one."""
        return None if self.steps.masks is None else self.steps.masks.file

    def placed(self, scratch: str, mask_file: str | None) -> Restoration:
        """See `Work.placed`."""
        steps = self.steps
        if steps.masks is not None and mask_file is not None:
            steps = replace(steps, masks=steps.masks.moved(mask_file))
        return replace(self, steps=steps, scratch=scratch)

    def output_counts(self) -> list[int]:
        """How many frames each piece gives."""
        edges = [self._first_slot(p.start) for p in self.pieces[1:]]
        return [b - a for a, b in zip([0, *edges], [*edges, len(self.steps.slots)])]

    def _first_slot(self, number: int) -> int:
        """Place of the first slot at or after a source frame; slots come in the order of the source."""
        return bisect_left(self.steps.slots, number, key=lambda slot: slot.after)

    def seconds(self) -> float:
        """Estimated CPU time in seconds."""
        pixels = self.shape.height * self.shape.width
        made = sum(p.stop - p.start for p in self.pieces)
        total = COPYING * len(self.steps.slots)
        parts = overlap(self.shape.height, self.shape.width, self.side)
        for p in (p for p in self.pieces if self._noise(p) is not None):
            own = p.stop - p.start
            around = p.read_stop - p.read_start - own
            total += DENOISING[self.steps.quality] * (own + SURROUNDINGS * around) * parts
        if self.steps.masks is not None:
            total += MENDING * made
        fresh = sum(s.source is None or s.source in self.steps.missing for s in self.steps.slots)
        total += INTERPOLATING * fresh
        return STARTING + LOOKING * made * min(pixels, LOOKED_AT) / 1e6 + total * pixels / 1e6

    def make(self, source: Source, piece: Piece, progress: Progress = silent) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        if piece.start in self.steps.brief:
            filling = replace(self.steps, noises=(), masks=None, gains=None, brief=frozenset())
            for made in replace(self, steps=filling).make(source, piece, progress):
                yield replace(made, notes=(*made.notes, BRIEF)) if made.origin == "kept" else made
            return
        slots = list(self.steps.slots[self._first_slot(piece.start) : self._first_slot(piece.stop)])
        if not self._touches(piece, slots):
            yield from self._pass_through(source, piece, slots)
            return
        model = self.models[self._shot(piece)]
        engine = engine_for(model, self.steps.quality, self.side)
        searched, mended, denoised = self._shares(piece, slots)
        with pulse.part(0.0, searched):
            window = self._read(source, piece, model)
        if not window.numbers:
            yield from self._without_support(source, piece, slots)
            return
        around = CONTEXT if self._makes_new(slots) else 0
        with pulse.part(searched, mended):
            self._mend(window, engine, piece, around)
        with pulse.part(mended, denoised):
            self._denoise(window, engine, piece, around)
        for k, made in enumerate(self._deliver(source, window, engine, piece, slots), 1):
            pulse.at(denoised + (1.0 - denoised) * k / len(slots))
            yield made

    def _shares(self, piece: Piece, slots: list[Slot]) -> tuple[float, float, float]:
        """Shares of the time of a piece after which damage is found, mended, and noise removed; for progress only."""
        steps = self.steps
        search = MENDING if steps.masks is not None else 0.0
        denoise = DENOISING[steps.quality] if self._noise(piece) is not None else 0.0
        fresh = sum(s.source is None or s.source in steps.missing for s in slots) / max(1, len(slots))
        total = COPYING + search + denoise + INTERPOLATING * fresh
        return 0.9 * search / total, search / total, (search + denoise) / total

    def _shot(self, piece: Piece) -> int:
        """Number of the shot that a piece belongs to."""
        return bisect_right(self.shots, piece.start, key=lambda shot: shot[0]) - 1

    def _noise(self, piece: Piece) -> Noise | None:
        """What noise is removed from a piece."""
        return self.steps.noises[self._shot(piece)] if self.steps.noises else None

    def _touches(self, piece: Piece, slots: list[Slot]) -> bool:
        steps = self.steps
        return (
            self._noise(piece) is not None
            or steps.gains is not None
            or self._makes_new(slots)
            or (steps.masks is not None and steps.masks.touches(piece.start, piece.stop))
        )

    def _makes_new(self, slots: list[Slot]) -> bool:
        return any(s.source is None or s.source in self.steps.missing for s in slots)

    @staticmethod
    def _pass_through(source: Source, piece: Piece, slots: list[Slot]) -> Iterator[Made]:
        for frame, slot in zip(source.frames(piece.start, piece.stop), slots):
            yield _kept(frame, slot)

    def _read(self, source: Source, piece: Piece, model: str) -> Window:
        steps = self.steps
        frames = piece.read_stop - piece.read_start
        on_disk = (
            self.scratch is not None
            and model in self.on_disk
            and (model == "motion" or wants_disk(source.height, source.width, frames))
        )
        window = read_window(
            source,
            piece,
            skip=steps.missing | steps.untouched,
            gains=steps.gains,
            scratch=self.scratch if on_disk else None,
            exact=steps.masks is not None,
        )
        window.noise = self._noise(piece)
        if steps.masks is not None and window.numbers:
            found = steps.masks.read(window.numbers, window.pixels)
            window.masks = found.masks | missing_values(window.pixels)
            window.spots = found.spots
        return window

    def _core(self, window: Window, piece: Piece, margin: int) -> tuple[int, int]:
        """Positions of the good frames that the piece needs, with a margin on both sides."""
        low = max(0, window.position(piece.start) - margin)
        high = min(len(window.numbers), window.position(piece.stop) + margin)
        return low, high

    def _mend(self, window: Window, engine: Engine, piece: Piece, around: int) -> None:
        if window.masks is None or not window.masks.any():
            window.masks = None
            return
        reach = engine.denoise_reach if window.noise is not None else 0
        low, high = self._core(window, piece, around + reach)
        if isinstance(window.pixels, Spool):
            assert self.scratch is not None
            window.pixels, window.sd = mend_on_disk(
                engine, window.pixels, window.masks, low, high, self.side, self.scratch
            )
            return
        mended, sd = engine.inpaint(window.pixels, window.masks, low, high)
        window.pixels[low:high] = mended
        window.sd = np.zeros_like(window.pixels)
        window.sd[low:high] = sd

    def _denoise(self, window: Window, engine: Engine, piece: Piece, around: int) -> None:
        if window.noise is None:
            return
        low, high = self._core(window, piece, around)
        if isinstance(window.pixels, (Spool, Patched)):
            window.pixels, window.sd, window.x = self._denoise_on_disk(window, engine, low, high)
            return
        clean, sd, window.x = engine.denoise(window.pixels, window.noise, self.steps.strength, low, high)
        window.pixels[low:high] = clean
        del clean
        if window.sd is None:
            window.sd = np.zeros_like(window.pixels)
        np.maximum(window.sd[low:high], sd, out=window.sd[low:high])

    def _denoise_on_disk(
        self, window: Window, engine: Engine, low: int, high: int
    ) -> tuple[Patched, Patched, FloatArray | None]:
        assert self.scratch is not None and window.noise is not None
        clean, sd, x = engine.denoise_on_disk(
            window.pixels, window.noise, self.steps.strength, low, high, self.scratch
        )
        if window.sd is not None:
            add_sd(sd, window.sd, low)
        return Patched(window.pixels, clean, low), Patched(None, sd, low), x

    def _deliver(
        self, source: Source, window: Window, engine: Engine, piece: Piece, slots: list[Slot]
    ) -> Iterator[Made]:
        fresh = [s for s in slots if s.source is None or s.source in self.steps.missing]
        made = self._make_fresh(source, window, engine, piece, fresh)
        if fresh and window.x is None:
            # The curve is fitted when the first new frame is asked for, and the old ones want their x too.
            made = chain([next(made)], made)
        for slot in slots:
            if slot.source is not None and slot.source in self.steps.untouched:
                yield _kept(window.natives.nearest(slot.source), slot)
            elif slot.source is not None and slot.source not in self.steps.missing:
                yield self._finish(window, slot)
            else:
                yield next(made)

    def _finish(self, window: Window, slot: Slot) -> Made:
        """A source frame, changed as little as possible."""
        assert slot.source is not None
        like = window.natives.nearest(slot.source)
        place = window.position(slot.source)
        mask = None if window.masks is None else window.masks[place]
        mended = mask is not None and bool(mask.any())
        lit = (self.steps.gains or {}).get(slot.source, STEADY) != STEADY
        changed = window.noise is not None or lit
        x = None if window.x is None else float(window.x[place])
        if not mended and not changed:
            return replace(_kept(like, slot), x=x)
        keep = None if changed or mask is None else ~mask
        picture = window.pixels[place]
        sd = None if window.sd is None else window.sd[place]
        if self.steps.keep_grain and window.noise is not None:
            picture, sd = self._with_grain(picture, sd, like, mask, window.noise)
        frame = colour.native(picture, like, keep=keep)
        if lit and not mended and window.noise is None and _equal(frame, like):
            return replace(_kept(like, slot), x=x)
        # Flicker is damage of the whole frame: its correction is no denoising.
        origin: Origin = "mended" if mended or window.noise is None else "denoised"
        spots = window.spots[place] if window.spots else ()
        return Made(
            frame=_timed(frame, slot), origin=origin, source=slot.source, x=x, sd_map=sd, deflickered=lit,
            damage=spots,
        )  # fmt: skip

    def _with_grain(
        self, clean: FloatArray, sd: FloatArray | None, like: Frame, mask: Mask | None, noise: Noise
    ) -> tuple[FloatArray, FloatArray | None]:
        """A part of the noise given back, but where the pixels were damaged; its error is at most the sum of both."""
        share = self.steps.keep_grain
        gain, offset = (self.steps.gains or {}).get(like.index, STEADY)
        noisy = colour.working(like) * np.float32(gain) + np.float32(offset)
        given = np.isfinite(noisy) if mask is None else np.isfinite(noisy) & ~mask[..., None]
        mixed = np.where(given, clean + share * (noisy - clean), clean).astype(np.float32)
        if sd is None:
            return mixed, sd
        wider = (1 - share) * sd + share * noise.level
        return mixed, np.where(given, wider, sd).astype(np.float32)

    def _make_fresh(
        self, source: Source, window: Window, engine: Engine, piece: Piece, slots: list[Slot]
    ) -> Iterator[Made]:
        """New frames, the ones between two good frames of this shot together; see `beyond` for the ends."""
        if not slots:
            return
        clock = np.array([float(self.times[i]) for i in window.numbers])
        inner = [s for s in slots if clock[0] <= float(s.place) <= clock[-1]]
        interpolator = engine.interpolator(window.pixels, clock, len(inner)) if inner else None
        if interpolator is not None and window.x is None:
            window.x = interpolator.known_x
        results: dict[Fraction, tuple[FloatArray, FloatArray, float | None]] = {}
        waiting = iter(portions(inner, clock, window.pixels.shape))
        places = {s.place for s in inner}
        for slot in slots:
            if interpolator is not None and slot.place in places and slot.place not in results:
                results.clear()
                portion = next(waiting)
                new = interpolator.at(np.array([float(s.place) for s in portion]))
                for k, s in enumerate(portion):
                    results[s.place] = new.frames[k], new.sd[k], None if new.x is None else float(new.x[k])
                del new
            origin: Origin = "interpolated" if slot.source is None else "filled"
            like = window.natives.nearest(slot.after)
            if slot.place in results:
                picture, sd, x = results[slot.place]
                doubtful = float(np.mean(sd)) > DOUBT
                notes = ("nothing supports this frame: its sd is very large",) if doubtful else ()
                frame = colour.native(picture, like)
                yield Made(
                    frame=_timed(frame, slot), origin=origin, source=slot.source, x=x, sd_map=sd,
                    notes=notes, doubtful=doubtful,
                )  # fmt: skip
                continue
            yield self._make_beyond(source, window, slot, like, origin, piece, clock)

    def _make_beyond(
        self,
        source: Source,
        window: Window,
        slot: Slot,
        like: Frame,
        origin: Origin,
        piece: Piece,
        clock: FloatArray,
    ) -> Made:
        """Beyond the good frames of a shot: the nearer of the frames beside a cut, or what motion makes of the nearest."""
        following = piece.stop
        if slot.source is None and following < len(self.times) and slot.after == following - 1:
            frame = colour.native(window.pixels[len(window.numbers) - 1], like)
            if self.times[following] - slot.place < slot.place - self.times[slot.after]:
                frame = next(iter(source.frames(following, following + 1)))
            error, note, doubtful = DOUBT, "cut: the nearer frame is repeated", False
        else:
            order = range(len(clock)) if float(slot.place) < clock[0] else range(len(clock) - 1, -1, -1)
            near = list(order)[:3]
            pace = abs(clock[near[1]] - clock[near[0]]) if len(near) > 1 else 1.0
            steps = abs(float(slot.place) - clock[near[0]]) / max(pace, 1e-9)
            made = beyond([window.pixels[k] for k in near], steps)
            frame = colour.native(made.frame, like)
            error = DOUBT if made.sd is None else float(made.sd)
            how = "motion is taken to go on" if made.moved else "the nearest is repeated"
            note = f"no frame on the other side: {how}"
            doubtful = not made.moved or error > DOUBT
        sd = np.full(window.pixels.shape[1:], error, np.float32)
        return Made(
            frame=_timed(frame, slot),
            origin=origin,
            source=slot.source,
            sd_map=sd,
            notes=(note,),
            doubtful=doubtful,
        )

    def _without_support(self, source: Source, piece: Piece, slots: list[Slot]) -> Iterator[Made]:
        """A piece without one good frame in reach is passed through and flagged."""
        frames = {f.index: f for f in source.frames(piece.start, piece.stop)}
        note = "no good frame in reach: left as it is"
        for slot in slots:
            yield Made(
                frame=_timed(frames[slot.after], slot),
                origin="kept" if slot.source is not None else "interpolated",
                source=slot.source,
                notes=(note,),
                doubtful=True,
            )


def _timed(frame: Frame, slot: Slot) -> Frame:
    return frame.at(index=frame.index, time=slot.time, duration=slot.duration)


def _equal(one: Frame, two: Frame) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.planes, two.planes))


def _kept(frame: Frame, slot: Slot) -> Made:
    return Made(frame=_timed(frame, slot), origin="kept", source=slot.source)
