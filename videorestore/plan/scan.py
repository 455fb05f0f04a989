"""One look at the whole clip before any work: times, cuts, bad frames, noise."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from videorestore import colour
from videorestore.clip import FloatArray, Frame
from videorestore.detect.combs import NOTHING, SEEN, direction, narrow_luma
from videorestore.detect.cuts import with_gaps
from videorestore.detect.fields import Fields, judge_shots
from videorestore.detect.frames import Survey, judge
from videorestore.detect.measures import Measures
from videorestore.errors import InputError, MediaReadError
from videorestore.fields.split import FieldView
from videorestore.make.work import Progress, Shot, silent
from videorestore.media.source import FrameIndex, Source
from videorestore.plan.look import THUMBNAIL, brightness, looked_at, measured, small_picture
from videorestore.plan.noise import measure_noises, of_both_fields, usual_noise
from videorestore.plan.pieces import shots_between
from videorestore.request import Span
from videorestore.spatial.noise import Noise

JUMP = 8
"""Frames that are read in the time of one jump, at least."""

DOUBTFUL_NOISE = 3.0
"""What is taken for granted of noise that may be something else."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What a clip is like. Sets of frames are made once: they are asked for again and again, frame by frame.

    Attributes
    ----------
    index : FrameIndex
        Of the whole source.
    start, stop : int
        The frames that were asked for.
    survey : Survey
        Frame numbers in it are the source's.
    noises : tuple of Noise
        Of every shot.
    shots : tuple of (start, stop)
    fields : Fields
        Whether the frames are pictures or pairs of fields, shot by shot.
    """

    index: FrameIndex
    start: int
    stop: int
    survey: Survey
    noises: tuple[Noise, ...]
    shots: tuple[Shot, ...]
    fields: Fields = field(default_factory=Fields)

    @cached_property
    def noise(self) -> Noise:
        """The usual noise."""
        return usual_noise(self.noises, self.shots)

    @cached_property
    def sure_noise_sd(self) -> float:
        """Standard deviation of the strongest noise, as far as it is sure; smooth noise makes more of a spot than white."""
        return max(n.spot_sd if n.trustworthy else min(n.sd, DOUBTFUL_NOISE) for n in self.noises)

    @property
    def times(self) -> tuple[Fraction, ...]:
        """Times of the frames asked for."""
        return self.index.times[self.start : self.stop]

    @property
    def durations(self) -> tuple[Fraction, ...]:
        """Durations of the frames asked for."""
        return self.index.durations[self.start : self.stop]

    @cached_property
    def worthless(self) -> frozenset[int]:
        """Frames without content of their own: missing, broken, black within a shot, frozen."""
        return self.lost | self.frozen

    @cached_property
    def frozen(self) -> frozenset[int]:
        """Frames that repeat the one before by a fault, not by the film's rhythm."""
        return frozenset(self.survey.frozen)

    @cached_property
    def repeats(self) -> frozenset[int]:
        """Frames that repeat the one before, for whatever reason: nothing is learnt from them."""
        return frozenset(self.survey.duplicates)

    @cached_property
    def lost(self) -> frozenset[int]:
        """Frames whose picture is gone."""
        bad = {i for i in range(self.start, self.stop) if self.index.statuses[i] != "good"}
        return frozenset(bad | (set(self.survey.worthless) - self.frozen))

    @cached_property
    def void(self) -> frozenset[int]:
        """Frames that teach nothing: gone, black, white or repeated."""
        return self.lost | self.repeats | frozenset(self.survey.black) | self.blank

    @cached_property
    def blank(self) -> frozenset[int]:
        """White frames: flashes that stay as they are."""
        return frozenset(self.survey.white)


def frames_with_nan(source: Source, found: Scan) -> dict[int, bool]:
    """The frames asked for in which a value is NaN, as only floats can be, and whether all of it is.

    There must be something to learn from.
    """
    if source.info.format.depth != 32:
        return {}
    lacking: dict[int, bool] = {}
    for frame in source.frames(found.start, found.stop):
        where = [np.isnan(plane) for plane in frame.planes]
        if any(plane.any() for plane in where):
            lacking[frame.index] = all(plane.all() for plane in where)
    if sum(lacking.values()) == found.stop - found.start:
        raise InputError("the input must hold values to learn from, all are NaN; check the array.")
    return lacking


def index_for(source: Source, span: Span | None) -> FrameIndex:
    """The index of a source as far as a range needs it."""
    if span is None or span.stop is None or span.stop <= 0:
        return source.index()
    if span.in_seconds:
        return source.index_up_to(seconds=Fraction(span.stop))
    return source.index_up_to(frames=int(span.stop))


def resolve_span(span: Span | None, index: FrameIndex) -> tuple[int, int]:
    """Frame numbers of ``--range``; a range beyond the clip is wrong usage, but for a file that has lost its end."""
    n = len(index)
    if span is None:
        return 0, n
    if span.in_seconds:
        origin = index.times[0]
        low = Fraction(span.start or 0) + origin
        high = None if span.stop is None else Fraction(span.stop) + origin
        start = sum(t < low for t in index.times)
        stop = n if high is None else sum(t < high for t in index.times)
    else:
        start = int(span.start or 0)
        stop = n if span.stop is None else int(span.stop)
        if start < n < stop and index.losses:
            stop = n
    some = span.stop is None or span.stop > (span.start or 0)
    if start >= n and some and index.losses:
        raise MediaReadError(
            f"what --range names must be readable, frames 0:{n} are ({index.losses[0]}); name an earlier range."
        )
    if not 0 <= start < stop <= n:
        raise InputError(
            f"--range must name frames within 0:{n}, got {start}:{stop}; count from 0, the end is not included."
        )
    return start, stop


def scan(
    source: Source,
    span: Span | None = None,
    progress: Progress = silent,
    *,
    without: frozenset[int] = frozenset(),
    brief: bool = False,
    rough: bool = False,
) -> Scan:
    """Look at every frame once, small, and at a few in full.

    Parameters
    ----------
    without : frozenset of int
        Frames that are known to be worthless.
    brief : bool
        The noise need not be known well.
    rough : bool
        Nothing will be made, only foretold: the noise of each shot is measured once.
    """
    if span is None:
        measures, combs = _look(source, source.frames(), without, progress, expected_frames(source))
        index = source.index()
        if index.careful or len(measures) != len(index):
            # A damaged file: what was decoded before the damage showed need not be what comes by the index.
            measures, combs = _look(source, source.frames(), without, progress, len(index))
        start, stop = 0, len(index)
    else:
        progress("counting frames", 0, 0)
        index = index_for(source, span)
        start, stop = resolve_span(span, index)
        measures, combs = _look(source, source.frames(start, stop), without, progress, stop - start)
    found = _shifted(judge(measures, index.times[start:stop]), start)
    if source.info.extra.get("codec") == "gif":
        # Whoever drew it said of every picture how long it is shown.
        found = replace(found, holes=())
    gone = without | {i for i in range(start, stop) if index.statuses[i] != "good"}
    found = replace(found, cuts=tuple(with_gaps(found.cuts, gone)))
    shots = shots_between(found.cuts, start, stop)
    fields = judge_shots(combs, shots, start)
    found = _without_pulldown(found, fields)
    seen = Scan(index=index, start=start, stop=stop, survey=found, noises=(), shots=shots, fields=fields)

    # The comb of two times is no noise: where frames are pairs of fields, those of each parity are looked at.
    whole = source.whole if isinstance(source, FieldView) else source
    combed = isinstance(source, FieldView) or bool(fields.kinds & {"interlaced", "telecined"})

    def apart(first: int) -> bool:
        kind = next(v.kind for (a, b), v in fields.shots if a <= first < b)
        return isinstance(source, FieldView) or kind in ("interlaced", "telecined")

    def noises_of(parity: int, rough: bool) -> tuple[Noise, ...]:
        def read(first: int, end: int, side: int) -> FloatArray:
            return read_pixels(FieldView(whole, parity) if apart(first) else source, first, end, side=side)

        return measure_noises(
            read, shots, seen.void, brief=brief, rough=rough, fields=apart, progress=progress
        )

    noises = noises_of(0, rough)
    if combed and not brief:
        noises = of_both_fields(noises, noises_of(1, True))
    return replace(seen, noises=noises)


def expected_frames(source: Source) -> int:
    """How many frames a source will probably give, for progress only; 0 where nothing says it."""
    seconds = source.facts().get("header_duration_s")
    return round(float(seconds) * float(source.info.fps)) if seconds and source.info.fps else 0


def _look(
    source: Source, frames: Iterable[Frame], without: frozenset[int], progress: Progress, total: int
) -> tuple[Measures, NDArray[np.float64]]:
    """Measures of all frames, and which way their fields comb, ``(n - 1, SEEN)``.

    Those that are known to be bad show as a repeat and cannot be taken for a cut.
    """
    combs: list[NDArray[np.float64]] = []
    pixels = source.height * source.width

    def lumas() -> Iterator[tuple[Frame, FloatArray | None, FloatArray | None]]:
        before: FloatArray | None = None
        for k, frame in enumerate(frames):
            progress("looking for cuts and bad frames", k, total)
            good = frame.status == "good" and frame.index not in without
            luma = narrow_luma(frame) if good else None
            yield frame, before, luma
            before = luma

    def pictures() -> Iterator[FloatArray]:
        last: FloatArray | None = None
        for k, (comb, picture, good) in enumerate(looked_at(_seen, lumas(), pixels=pixels)):
            if k:
                combs.append(comb)
            last = picture if last is None or good else last
            yield last

    return measured(pictures()), np.array(combs).reshape(-1, SEEN)


def _seen(
    frame: Frame, before: FloatArray | None, luma: FloatArray | None
) -> tuple[NDArray[np.float64], FloatArray, bool]:
    """Which way two frames comb, a small picture of the second, and whether it is good: then it has a luma."""
    comb = NOTHING if luma is None or before is None else direction(before, luma)
    return comb, brightness(small_picture(frame, THUMBNAIL)), luma is not None


def _without_pulldown(found: Survey, fields: Fields) -> Survey:
    """The findings without what pulldown does: it repeats fields, and moves in uneven steps."""
    film = frozenset(
        i for (start, stop), v in fields.shots if v.kind == "telecined" for i in range(start, stop)
    )
    frozen = film & set(found.frozen)
    return replace(
        found,
        duplicates=tuple(i for i in found.duplicates if i not in film),
        frozen=tuple(i for i in found.frozen if i not in frozen),
        worthless=tuple(i for i in found.worthless if i not in frozen),
        dropped=tuple(d for d in found.dropped if d.after not in film),
    )


def _shifted(found: Survey, by: int) -> Survey:
    """The findings with frame numbers of the whole source."""
    if by == 0:
        return found

    def later(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(i + by for i in numbers)

    return replace(
        found,
        cuts=later(found.cuts),
        duplicates=later(found.duplicates),
        frozen=later(found.frozen),
        black=later(found.black),
        white=later(found.white),
        corrupt_suspects=later(found.corrupt_suspects),
        worthless=later(found.worthless),
        fades=tuple((a + by, b + by) for a, b in found.fades),
        dropped=tuple(replace(d, after=d.after + by) for d in found.dropped),
        holes=tuple(replace(d, after=d.after + by) for d in found.holes),
    )


def read_pixels(source: Source, start: int, stop: int, *, side: int | None = None) -> FloatArray:
    """Working pixels of a range, shape (n, h, w, c); ``side`` takes a central part of large frames."""
    return read_some(source, range(start, stop), side=side)


def read_some(source: Source, numbers: Sequence[int], *, side: int | None = None) -> FloatArray:
    """Working pixels of frames whose numbers rise, by one pass over them; see `read_pixels`."""
    pictures = [central_pixels(frame, side) for frame in chosen(source, numbers)]
    return np.stack(pictures)


def central_pixels(frame: Frame, side: int | None) -> FloatArray:
    """Working pixels of the middle of a frame, at most ``side`` high and wide; what is farther out is not computed."""
    if side is None or max(frame.height, frame.width) <= side:
        return colour.working(frame)
    lows = [max(0, (length - side) // 2) for length in (frame.height, frame.width)]
    rows, columns = (slice(a, min(n, a + side)) for a, n in zip(lows, (frame.height, frame.width)))
    return colour.working(frame, (rows, columns)).copy()


def chosen(source: Source, numbers: Sequence[int]) -> Iterator[Frame]:
    """Frames whose numbers rise: by one reading where they lie close together, by jumps where they do not.

    To jump to a frame is to read from the key frame before it, so that nothing is gained where there is none on the way.
    """
    keys = source.index().keys
    runs: list[list[int]] = []
    for number in numbers:
        last = runs[-1][-1] if runs else number
        between = bisect_right(keys, number) - bisect_right(keys, last) if keys else number - last > JUMP
        if runs and (number - last <= JUMP or not between):
            runs[-1].append(number)
        else:
            runs.append([number])
    for run in runs:
        wanted = set(run)
        yield from (frame for frame in source.frames(run[0], run[-1] + 1) if frame.index in wanted)
