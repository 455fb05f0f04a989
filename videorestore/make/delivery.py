"""The frames of a piece handed over in the order of the output: old ones changed as little as possible, new ones made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from videorestore import colour, pulse
from videorestore.clip import FloatArray, Frame, Mask
from videorestore.make.beyond import beyond
from videorestore.make.engines import Engine
from videorestore.make.steps import STEADY, Steps
from videorestore.make.window import Window, portions
from videorestore.make.work import Made, Origin, Piece, Slot, once
from videorestore.media.source import Source
from videorestore.spatial.noise import Noise

DOUBT = 30.0
"""Mean sd (0..255 scale) of a made frame above which nothing supports the guess."""


def timed(frame: Frame, slot: Slot) -> Frame:
    """A frame at its time in the output."""
    return frame.at(index=frame.index, time=slot.time, duration=slot.duration)


def kept(frame: Frame, slot: Slot) -> Made:
    """A source frame as it is."""
    return Made(frame=timed(frame, slot), origin="kept", source=slot.source)


def without_support(source: Source, piece: Piece, slots: list[Slot]) -> Iterator[Made]:
    """A piece without one good frame in reach is passed through and flagged."""
    frames = {f.index: f for f in source.frames(piece.start, piece.stop)}
    note = "no good frame in reach: left as it is"
    for slot in slots:
        yield Made(
            frame=timed(frames[slot.after], slot),
            origin="kept" if slot.source is not None else "interpolated",
            source=slot.source,
            notes=(note,),
            doubtful=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Delivery:
    """A piece whose frames are mended and denoised.

    Attributes
    ----------
    times : tuple of Fraction
        Of all frames of the source.
    """

    source: Source
    piece: Piece
    window: Window
    engine: Engine
    steps: Steps
    times: tuple[Fraction, ...]
    begun: float
    """Share of the time of the piece that has gone before; for progress only."""

    def _share(self, done: float) -> float:
        return self.begun + (1.0 - self.begun) * done

    def frames(self, slots: list[Slot]) -> Iterator[Made]:
        """One for each slot."""
        fresh = [s for s in slots if self.steps.makes(s)]
        made = self._make_fresh(fresh)
        if fresh and self.window.x is None:
            # The curve is fitted when the first new frame is asked for, and the old ones want their x too.
            made = chain([next(made)], made)
        for k, slot in enumerate(slots):
            if not fresh:
                pulse.at(self._share(k / len(slots)))
            if slot.source is not None and slot.source in self.steps.untouched:
                yield kept(self.window.natives.nearest(slot.source), slot)
            elif self.steps.makes(slot):
                yield next(made)
            else:
                yield self._finish(slot)

    def _finish(self, slot: Slot) -> Made:
        """A source frame, changed as little as possible."""
        window = self.window
        assert slot.source is not None
        like = window.natives.nearest(slot.source)
        place = window.position(slot.source)
        mask = None if window.masks is None else window.masks[place]
        mended = mask is not None and bool(mask.any())
        lit = self.steps.light(slot.source) != STEADY
        changed = window.noise is not None or lit
        x = None if window.x is None else float(window.x[place])
        if not mended and not changed:
            return replace(kept(like, slot), x=x)
        keep = None if changed or mask is None else ~mask
        sd = None if window.sd is None else window.sd[place]
        grain = window.noise if self.steps.keep_grain else None
        if place in window.samples and grain is None:
            frame = window.samples[place]
        else:
            picture = window.pixels[place]
            if grain is not None:
                picture, sd = self._with_grain(picture, sd, like, mask, grain)
            frame = colour.native(picture, like, keep=keep)
        if lit and not mended and window.noise is None and _equal(frame, like):
            return replace(kept(like, slot), x=x)
        # Flicker is damage of the whole frame: its correction is no denoising.
        origin: Origin = "mended" if mended or window.noise is None else "denoised"
        spots = window.spots[place] if window.spots else ()
        return Made(
            frame=timed(frame, slot), origin=origin, source=slot.source, x=x, sd_map=sd, deflickered=lit,
            damage=spots, mask=mask if mended else None,
        )  # fmt: skip

    def _with_grain(
        self, clean: FloatArray, sd: FloatArray | None, like: Frame, mask: Mask | None, noise: Noise
    ) -> tuple[FloatArray, FloatArray | None]:
        """A part of the noise given back, but where the pixels were damaged; its error is at most the sum of both."""
        share = self.steps.keep_grain
        gain, offset = self.steps.light(like.index)
        noisy = colour.working(like) * np.float32(gain) + np.float32(offset)
        given = np.isfinite(noisy) if mask is None else np.isfinite(noisy) & ~mask[..., None]
        mixed = np.where(given, clean + share * (noisy - clean), clean).astype(np.float32)
        if sd is None:
            return mixed, sd
        wider = (1 - share) * sd + share * noise.level
        return mixed, np.where(given, wider, sd).astype(np.float32)

    def _make_fresh(self, slots: list[Slot]) -> Iterator[Made]:
        """New frames, the ones between two good frames of this shot together; see `beyond` for the ends."""
        if not slots:
            return
        window = self.window
        clock = np.array([float(self.times[i]) for i in window.numbers])
        inner = [s for s in slots if clock[0] <= float(s.place) <= clock[-1]]
        interpolator = self.engine.interpolator(window.pixels, clock) if inner else None
        if interpolator is not None and window.x is None:
            window.x = interpolator.known_x
        results: dict[Fraction, tuple[FloatArray, FloatArray, float | None]] = {}
        waiting = iter(portions(inner, clock, window.pixels.shape))
        places = {s.place for s in inner}
        made = 0
        for slot in slots:
            if interpolator is not None and slot.place in places and slot.place not in results:
                results.clear()
                portion = next(waiting)
                shares = [self._share(n / len(inner)) for n in (made, made + len(portion))]
                made += len(portion)
                with pulse.part(*shares):
                    new = interpolator.at(np.array([float(s.place) for s in portion]))
                for k, s in enumerate(portion):
                    results[s.place] = new.frames[k], new.sd[k], None if new.x is None else float(new.x[k])
                del new
            if slot.place in results:
                yield self._between(slot, *results[slot.place])
            else:
                yield self._beyond(slot, clock)

    def _between(self, slot: Slot, picture: FloatArray, sd: FloatArray, x: float | None) -> Made:
        doubtful = float(np.mean(once(sd))) > DOUBT
        return Made(
            frame=timed(colour.native(picture, self.window.natives.nearest(slot.after)), slot),
            origin=_origin(slot),
            source=slot.source,
            x=x,
            sd_map=sd,
            notes=("nothing supports this frame: its sd is very large",) if doubtful else (),
            doubtful=doubtful,
        )

    def _beyond(self, slot: Slot, clock: FloatArray) -> Made:
        """Beyond the good frames of a shot: the nearer of the frames beside a cut, or what motion makes of the nearest."""
        pixels = self.window.pixels
        like = self.window.natives.nearest(slot.after)
        following = self.piece.stop
        if slot.source is None and following < len(self.times) and slot.after == following - 1:
            frame = colour.native(pixels[len(self.window.numbers) - 1], like)
            if self.times[following] - slot.place < slot.place - self.times[slot.after]:
                frame = next(iter(self.source.frames(following, following + 1)))
            error, note, doubtful = DOUBT, "cut: the nearer frame is repeated", False
        else:
            order = range(len(clock)) if float(slot.place) < clock[0] else range(len(clock) - 1, -1, -1)
            near = list(order)[:3]
            pace = abs(clock[near[1]] - clock[near[0]]) if len(near) > 1 else 1.0
            steps = abs(float(slot.place) - clock[near[0]]) / max(pace, 1e-9)
            made = beyond([pixels[k] for k in near], steps)
            frame = colour.native(made.frame, like)
            error = DOUBT if made.sd is None else float(made.sd)
            how = "motion is taken to go on" if made.moved else "the nearest is repeated"
            note = f"no frame on the other side: {how}"
            doubtful = not made.moved or error > DOUBT
        return Made(
            frame=timed(frame, slot),
            origin=_origin(slot),
            source=slot.source,
            sd_map=np.full(pixels.shape[1:], error, np.float32),
            notes=(note,),
            doubtful=doubtful,
        )


def _origin(slot: Slot) -> Origin:
    return "interpolated" if slot.source is None else "filled"


def _equal(one: Frame, two: Frame) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.planes, two.planes))
