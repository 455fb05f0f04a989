"""The work of one piece: mend, denoise, fill and interpolate, in this order, on the frames of one shot.

Damage goes first, because it would spread. Frames without content are left out of everything and made
last, from cleaned neighbours; so are new frames between old ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from videorestore import pulse
from videorestore.make.cost import (
    COPYING,
    DELIVERING,
    DENOISING,
    ENCODING,
    ENCODING_EACH,
    FITTING,
    INTERPOLATING,
    ON_CURVE,
    SURROUNDINGS,
    company,
)
from videorestore.make.delivery import Delivery, kept, without_support
from videorestore.make.engines import CurveEngine, Engine, JointEngine, MotionEngine
from videorestore.make.mending import mend, missing_values
from videorestore.make.spool import Room
from videorestore.make.steps import Steps
from videorestore.make.tiles import SIDE, overlap
from videorestore.make.window import Window, read_window, wants_disk
from videorestore.make.work import Made, Piece, Shot, Slot, Work
from videorestore.media.source import Source
from videorestore.spatial.noise import Noise
from videorestore.spatial.stein import Divergence

BRIEF = "the shot is too short for a fit: left as it is"

CONTEXT = 2
"""Frames on each side of a piece that the trajectories of new frames run through."""


class Stages(NamedTuple):
    """CPU seconds of a piece, stage by stage, in their order."""

    read: float = 0.0
    search: float = 0.0
    mend: float = 0.0
    denoise: float = 0.0
    deliver: float = 0.0
    encode: float = 0.0

    def shares(self) -> tuple[float, float, float, float]:
        """Shares of the time until the encoder has all frames, after which they are read, searched, mended, and without noise."""
        whole = sum(self[:5]) or 1.0
        read, searched, mended, denoised = (sum(self[:k]) / whole for k in (1, 2, 3, 4))
        return read, searched, mended, denoised


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring(Work):
    """A planned restoration of a clip, as pieces.

    Attributes
    ----------
    shots : tuple of (start, stop)
    models : tuple of str
        "curve", "motion", or "mixed" of both in every place, for each shot.
    divergences : tuple of (Divergence or None)
        For each shot, where both remove noise.
    grains : tuple of float
        Sd of the noise of each shot.
    side : int
        Side of the parts in which large frames are denoised along motion.
    core : int
        Frames that are denoised along motion at once, where a piece is longer.
    on_disk : tuple of str
        Models whose frames are kept on disk while they are worked on, where there are many.
    scratch : str or None
        Folder for frames that are better kept on disk; None keeps all in memory.
    reading : float
        CPU seconds that it takes to make a megapixel of a frame ready, once it is decoded.
    keys : tuple of int
        Frames at which decoding can start.
    """

    steps: Steps
    shots: tuple[Shot, ...]
    models: tuple[str, ...]
    times: tuple[Fraction, ...]
    divergences: tuple[Divergence | None, ...] = ()
    grains: tuple[float, ...] = ()
    side: int = SIDE
    core: int = 1
    on_disk: tuple[str, ...] = ()
    scratch: str | None = None
    reading: float = COPYING
    keys: tuple[int, ...] = ()

    @property
    def holds_shots(self) -> bool:
        """A curve holds a whole shot."""
        return any(model != "motion" for model in self.models)

    @property
    def source_times(self) -> tuple[Fraction, ...]:
        """Where nothing needs to be done the output is the source."""
        return self.times

    @property
    def mask_file(self) -> str | None:
        """The file or folder that masks are read from on the way, if there is one."""
        return None if self.steps.masks is None else self.steps.masks.file

    def placed(self, scratch: str, mask_file: str | None) -> Restoring:
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

    def sources(self, piece: Piece) -> list[int | None]:
        """See `Work.sources`."""
        return [slot.source for slot in self._slots(piece)]

    def _slots(self, piece: Piece) -> tuple[Slot, ...]:
        return self.steps.slots[self._first_slot(piece.start) : self._first_slot(piece.stop)]

    @property
    def stays(self) -> tuple[range, ...]:
        """See `Work.stays`."""
        if self.steps.gains is not None:
            return ()
        found: list[range] = []
        going = False
        for piece in self.pieces:
            quiet = self._noise(piece) is None or piece.start in self.steps.brief
            for slot in self._slots(piece):
                number = slot.source
                if not quiet or number is None or number in self.steps.missing:
                    going = False
                    continue
                if going and found[-1].stop == number:
                    found[-1] = range(found[-1].start, number + 1)
                else:
                    found.append(range(number, number + 1))
                going = True
        return tuple(found)

    @property
    def cleans(self) -> bool:
        """See `Work.cleans`."""
        return self.steps.denoises

    def piece_seconds(self) -> list[float]:
        """See `Work.piece_seconds`."""
        return [self.seconds_of(piece) for piece in self.pieces]

    def seconds_of(self, piece: Piece) -> float:
        """Estimated CPU time of a piece."""
        return sum(self._stages(piece))

    def coding_share(self, piece: Piece) -> float:
        """See `Work.coding_share`."""
        return self._stages(piece).encode / self.seconds_of(piece)

    def _stages(self, piece: Piece) -> Stages:
        """Estimated CPU time of a piece, stage by stage."""
        from videorestore.curve.fill import NOISY

        parts = overlap(self.shape.height, self.shape.width, self.side)
        pixels, slots = self.shape.height * self.shape.width, self._slots(piece)
        own, read = self._good(piece.start, piece.stop), self._good(piece.read_start, piece.read_stop)
        millions = pixels / 1e6
        encode = (ENCODING * millions + ENCODING_EACH) * len(slots)
        if not self._touches(piece, slots):
            return Stages(read=self._reading(piece.start, piece.stop), encode=encode)
        shot = self._shot(piece)
        model = self.models[shot]
        fresh = sum(map(self.steps.makes, slots))
        search, mend = (0.0, 0.0) if self.steps.masks is None else self.steps.masks.seconds(pixels)
        deliver = (DELIVERING * len(slots) + INTERPOLATING * fresh) * millions
        noisy = self._noise(piece) is not None
        denoise = 0.0
        if noisy and model != "curve":
            worked = (own + SURROUNDINGS * (read - own)) * company(read)
            denoise += DENOISING[self.steps.quality] * worked * parts * millions
        if model != "motion":
            deliver += FITTING if fresh else 0.0
            # Where noise stays it is taken out all the same, so that frames can be made.
            if noisy or (fresh and self.grains and self.grains[shot] > NOISY):
                denoise += FITTING + ON_CURVE * read * millions
        return Stages(
            read=self._reading(piece.read_start, piece.read_stop),
            search=search * read,
            mend=mend * own,
            denoise=denoise,
            deliver=deliver,
            encode=encode,
        )

    def _good(self, start: int, stop: int) -> int:
        """How many of some frames have content."""
        return stop - start - sum(start <= number < stop for number in self.steps.missing)

    def _reading(self, start: int, stop: int) -> float:
        """CPU time until some frames are read, those from the last key frame on among them."""
        before = bisect_right(self.keys, start)
        decoded = stop - (self.keys[before - 1] if before else start)
        pixels = self.shape.height * self.shape.width
        return self.reading * (stop - start) * pixels / 1e6 + self.decoding * decoded

    def make(self, source: Source, piece: Piece) -> Iterator[Made]:
        """The frames of one piece, in output order."""
        if piece.start in self.steps.brief:
            filling = replace(self.steps, noises=(), masks=None, gains=None, brief=frozenset())
            for made in replace(self, steps=filling).make(source, piece):
                yield replace(made, notes=(*made.notes, BRIEF)) if made.origin == "kept" else made
            return
        slots = list(self._slots(piece))
        if not self._touches(piece, slots):
            yield from self._pass_through(source, piece, slots)
            return
        model = self.models[self._shot(piece)]
        engine = self._engine(piece)
        read, searched, mended, denoised = self._stages(piece).shares()
        with pulse.part(0.0, read):
            window = self._read(source, piece, model)
        with pulse.part(read, searched):
            self._search(window)
        if not window.numbers:
            yield from without_support(source, piece, slots)
            return
        around = CONTEXT if any(map(self.steps.makes, slots)) else 0
        with pulse.part(searched, mended):
            self._mend(window, engine, piece, around)
        with pulse.part(mended, denoised):
            self._denoise(window, engine, piece, around)
        delivery = Delivery(
            source=source, piece=piece, window=window, engine=engine, steps=self.steps, times=self.times,
            begun=denoised,
        )  # fmt: skip
        yield from delivery.frames(slots)

    def _engine(self, piece: Piece) -> Engine:
        motion = MotionEngine(self.steps.quality, self.side)
        shot = self._shot(piece)
        if self.models[shot] == "motion":
            return motion
        # Noise that is removed does not stay.
        grain = 0.0 if self._noise(piece) is not None or not self.grains else self.grains[shot]
        if self.models[shot] == "curve":
            return CurveEngine(grain)
        divergence = self.divergences[shot] if self.divergences else None
        return JointEngine(motion, self.core, divergence, grain)

    def _shot(self, piece: Piece) -> int:
        """Number of the shot that a piece belongs to."""
        return bisect_right(self.shots, piece.start, key=lambda shot: shot[0]) - 1

    def _noise(self, piece: Piece) -> Noise | None:
        """What noise is removed from a piece."""
        return self.steps.noises[self._shot(piece)] if self.steps.noises else None

    def _touches(self, piece: Piece, slots: Sequence[Slot]) -> bool:
        steps = self.steps
        return (
            self._noise(piece) is not None
            or steps.gains is not None
            or any(map(self.steps.makes, slots))
            or (steps.masks is not None and steps.masks.touches(piece.start, piece.stop))
        )

    @staticmethod
    def _pass_through(source: Source, piece: Piece, slots: list[Slot]) -> Iterator[Made]:
        for k, (frame, slot) in enumerate(zip(source.frames(piece.start, piece.stop), slots)):
            pulse.at(k / len(slots))
            yield kept(frame, slot)

    def _read(self, source: Source, piece: Piece, model: str) -> Window:
        steps, noise = self.steps, self._noise(piece)
        frames = piece.read_stop - piece.read_start
        on_disk = model in self.on_disk and (
            model == "motion" or wants_disk(source.height, source.width, frames)
        )
        window = read_window(
            source,
            piece,
            skip=steps.missing | steps.untouched,
            gains=steps.gains,
            room=Room(self.scratch if on_disk else None),
            folded=model == "motion" and steps.reads_once,
            exact=steps.masks is not None,
        )
        window.noise = None if noise is None else noise.of_frames(window.numbers)
        return window

    def _search(self, window: Window) -> None:
        if self.steps.masks is not None and window.numbers:
            found = self.steps.masks.read(window.numbers, window.pixels)
            window.masks = found.masks | missing_values(window.pixels)
            window.spots = found.spots

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
        window.put(*mend(engine, window.pixels, window.masks, low, high, self.side, window.room), low)

    def _denoise(self, window: Window, engine: Engine, piece: Piece, around: int) -> None:
        if window.noise is None:
            return
        low, high = self._core(window, piece, around)
        clean, sd, window.x = engine.denoise(
            window.pixels, window.noise, self.steps.strength, low, high, window.room
        )
        window.put(clean, sd, low)
