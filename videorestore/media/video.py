"""Video files through PyAV: streamed, exact in time, honest about damage."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore.clip import ClipInfo, Frame, Samples, Status
from videorestore.errors import MediaReadError
from videorestore.media import probe
from videorestore.media.decoder import DamagedStream, Decoder, Log, open_container
from videorestore.media.first_frames import conversion, facts_of, first_frames, readable_layout
from videorestore.media.header import (
    BARE,
    alpha_decoder,
    container_facts,
    stated_end,
    stated_order,
    stated_rates,
)
from videorestore.media.indexing import Tape
from videorestore.media.pixels import layout_of, planes_of
from videorestore.media.source import FrameIndex, Source
from videorestore.media.timing import Clock, Policy, choose_policy, rate_of

# Frames looked at to see whether their times increase; more where the format stores none, or wrong ones.
_MANY = 12
_FEW = 3
_SEEK_TRIES = 3

# Indexes found in this process, by file, size, time of change and stream: a file that is opened again is not
# decoded again.
_INDEXES: dict[Any, FrameIndex] = {}
_KEPT_INDEXES = 16

HELD = 80_000_000
"""Bytes of samples up to which a whole clip stays in memory once it was read: 25 frames of 1080p. It is read three times and
more, and a piece of so short a clip holds most of it anyway."""


class VideoSource(Source):
    """A video file or an animated GIF.

    Parameters
    ----------
    path : str
    stream : int, optional
        Number of the video stream in the file; the best one by default.
    index : FrameIndex, optional
        What another reader of the same file and stream found.
    fps : Fraction, optional
        Rate for files that store no times.
    """

    def __init__(
        self,
        path: str,
        *,
        stream: int | None = None,
        index: FrameIndex | None = None,
        fps: Fraction | None = None,
    ) -> None:
        self.path = path
        stat = os.stat(path)
        with open_container(path) as container:
            chosen = probe.choose_stream(container, stream)
            if chosen is None or chosen.codec_context is None:
                raise MediaReadError(
                    f"{path} must hold a video that can be decoded, found none; give a video file."
                )
            self.stream = int(chosen.index)
            self._key = (os.path.realpath(path), stat.st_size, stat.st_mtime_ns, self.stream, fps)
            self._tick = Fraction(chosen.time_base)
            self._promised = int(chosen.frames or 0)
            self._origin = probe.origin_of(container, chosen)
            self._container_facts = container_facts(container, chosen)
            self._rates = ([fps] if fps else []) + stated_rates(container, chosen)
            self._stated_end = stated_end(container, chosen)
            sar = chosen.sample_aspect_ratio
            order = stated_order(chosen)
            self._decoder = Decoder(path, self.stream, self._tick, alpha_decoder(chosen))
            trusted = container.format.name not in BARE
            counted = not trusted and chosen.start_time is None
        index = index or _INDEXES.get(self._key)
        self._index = index
        self._careful = index.careful if index is not None else False
        self._limit: tuple[int | None, Fraction | None] = (None, None)
        self._held: list[Frame] | None = None
        self._changes = False
        self._rate = self._rates[0] if self._rates else Fraction(25)
        looked = 1 if index is not None else _FEW if trusted else _MANY
        gif = self._container_facts["codec"] == "gif"
        first, stamps, self._opaque = first_frames(self._decoder, path, frames=looked, gif=gif)
        self._policy: Policy = index.policy if index is not None else choose_policy(stamps, counted=counted)
        self._turns, self._mirrored = probe.turns_of(first)
        self._coded = (first.width, first.height, first.format.name)
        sideways = self._turns % 2 == 1
        self.width, self.height = (first.height, first.width) if sideways else (first.width, first.height)
        facts = facts_of(first, self._opaque, self._turns, self.height)
        location = "unspecified"
        if facts["format"].subsampling != (0, 0) and not (self._turns or self._mirrored):
            location = probe.chroma_location_of(
                os.path.abspath(path), stat.st_size, stat.st_mtime_ns, self.stream
            )
        ratio = Fraction(sar) if sar else Fraction(1)
        facts["extra"] |= {
            "time_base": self._tick,
            "stream": self.stream,
            "codec": self._container_facts["codec"],
            **({"field_order": order} if facts["extra"]["interlaced"] and not self._turns else {}),
        }
        self._info = ClipInfo(
            **facts,
            chroma_location=location,
            sar=1 / ratio if sideways else ratio,
            fps=self._rates[0] if self._rates else None,
            path=path,
        )
        if index is not None:
            self._settle(index)

    # -- facts ---------------------------------------------------------------

    @property
    def info(self) -> ClipInfo:  # type: ignore[override]
        """Facts that are kept on writing; ``fps`` and ``vfr`` are exact once the index is known."""
        return self._info

    def facts(self) -> dict[str, Any]:
        """The facts of the file, fit for JSON."""
        info = self._info
        facts = dict(self._container_facts)
        facts |= {
            "stream": self.stream,
            "width": self.width,
            "height": self.height,
            "pix_fmt": self._coded[2],
            "depth": info.format.depth,
            "alpha": info.format.alpha,
            "matrix": info.format.matrix if info.matrix_known else "unknown",
            "primaries": info.primaries,
            "transfer": info.transfer,
            "range": ("full" if info.format.full_range else "limited")
            if info.extra["range_known"]
            else "unknown",
            "chroma_location": info.chroma_location,
            "sar": f"{info.sar.numerator}:{info.sar.denominator}",
            "rotation": -90 * self._turns % 360,
            "mirrored": self._mirrored,
            "interlaced": info.extra["interlaced"],
            "times_from": {"pts": "stamps", "dts": "decoding stamps", "rate": "frame rate"}[self._policy],
        }
        return facts

    def index(self) -> FrameIndex:
        """All times and statuses; decodes the whole file the first time, then cached."""
        if self._index is None:
            for _ in self._sequential():
                pass
        assert self._index is not None
        return self._index

    def index_up_to(self, frames: int | None = None, seconds: Fraction | None = None) -> FrameIndex:
        """See `Source.index_up_to`."""
        if self._index is None and not (frames is None and seconds is None):
            self._limit = frames, seconds
            for _ in self._sequential():
                pass
        return self.index()

    # -- frames --------------------------------------------------------------

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Frames ``start`` to ``stop`` (half-open) in the order of display.

        From the start of the file frames stream without any index; a later start makes the index first.
        """
        if stop is not None and stop <= start:
            return
        if self._held is not None:
            yield from self._held[start:stop]
            return
        done = start
        if start > 0:
            for frame in self._sought(start, stop):
                yield frame
                done += 1
            if done > start and (stop is None or done >= min(stop, len(self.index()))):
                return
            if done >= len(self.index()):
                return
        for frame in self._sequential(stop):
            if frame.index >= done:
                yield frame

    def glimpses(self, count: int, length: int) -> list[Frame]:
        """``count`` stretches of ``length`` frames from all over the file, numbered through; makes no index.

        Each begins at a key frame, or where one before it ended; there are fewer of them where there are few of these.
        """
        seconds = Fraction(self._container_facts.get("header_duration_s") or 0)
        step, seen = 1 / self._rate, set[int]()
        found: list[Frame] = []
        for k in range(count):
            log, left, passed = Log(), length, 0
            mark = round((self._origin + seconds * k / count) / self._tick)
            for item in self._decoder.pictures(log, careful=False, strict=False, seek=mark):
                # What a key frame leaves to be shown before it needs frames that were not read.
                if item.pts is None or item.pts < min(log.keys, default=item.pts + 1):
                    continue
                if item.pts in seen:
                    passed += 1
                    continue
                if not left or passed > length:
                    break
                seen.add(item.pts)
                left -= 1
                status: Status = "corrupt" if item.corrupt else "good"
                at = len(found)
                found.append(self._frame(self._planes(item.picture), at, at * step, step, status))
        return found

    def _sought(self, start: int, stop: int | None) -> Iterator[Frame]:
        """Frames after a seek for as long as they prove to be the same as in sequential decoding.

        A seek may land late, or in the middle of a group of pictures; then an earlier key frame is tried.
        """
        index = self.index()
        stop = len(index) if stop is None else min(stop, len(index))
        if self._policy != "pts" or len(index.checks) != len(index) or start >= stop:
            return
        keys = [k for k in index.keys if 0 < k <= start]
        for key in keys[: -_SEEK_TRIES - 1 : -1]:
            number = start
            for frame in self._after_seek(index, key, start, stop):
                yield frame
                number += 1
            if number > start:
                return

    def _after_seek(self, index: FrameIndex, key: int, start: int, stop: int) -> Iterator[Frame]:
        number = start
        wanted = index.marks[start]
        for item in self._decoder.pictures(Log(), careful=self._careful, strict=False, seek=index.marks[key]):
            if number == start and (item.pts is None or item.pts < wanted):
                continue
            if number >= stop or item.pts != index.marks[number]:
                return
            planes = self._planes(item.picture)
            if _check(planes) != index.checks[number]:
                return
            yield self._frame(
                planes, number, index.times[number], index.durations[number], index.statuses[number]
            )
            number += 1

    def _sequential(self, stop: int | None = None) -> Iterator[Frame]:
        """All frames from the first; when the end is reached, the index is known."""
        delivered, room = 0, HELD
        held: list[Frame] = []
        while True:
            log = Log()
            try:
                for frame in self._recorded(log, stop):
                    if frame.index >= delivered:
                        delivered += 1
                        room -= sum(plane.nbytes for plane in frame.planes)
                        if room >= 0:
                            held.append(frame)
                        else:
                            held.clear()
                        yield frame
                index = self._index
                if held and index is not None and index.whole and len(held) == len(index):
                    self._held = held
                return
            except DamagedStream:
                self._careful, room = True, -1

    def _recorded(self, log: Log, stop: int | None) -> Iterator[Frame]:
        tape = Tape(log=log, clock=Clock(self._policy, self._tick, self._origin, 1 / self._rate))
        known = self._index
        held: tuple[tuple[Samples, ...], Fraction] | None = None
        for item in self._decoder.pictures(log, careful=self._careful, strict=not self._careful):
            number = len(tape.times)
            planes = self._planes(item.picture)
            time = tape.add(item, _check(planes) if known is None else None)
            if held is not None:
                yield self._frame(held[0], number - 1, held[1], time - held[1], tape.statuses[number - 1])
                if stop is not None and number >= stop:
                    return
                if known is None and self._beyond(number, time - tape.times[0]):
                    self._settle(self._make_index(tape, self._last_duration(tape, whole=False), whole=False))
                    return
            if known is not None and not known.whole and number == len(known):
                return
            held = planes, time
        if held is None:
            raise MediaReadError(
                f"{self.path} must hold at least one frame that can be decoded, found none; check the file."
            )
        final = self._last_duration(tape)
        self._settle(known or self._make_index(tape, final))
        yield self._frame(held[0], len(tape.times) - 1, held[1], final, tape.statuses[-1])

    def _beyond(self, number: int, time: Fraction) -> bool:
        """Whether a frame lies behind all that anyone asked for."""
        frames, seconds = self._limit
        return (frames is not None and number >= frames) or (seconds is not None and time >= seconds)

    def _last_duration(self, tape: Tape, *, whole: bool = True) -> Fraction:
        """How long the last frame stays: what the file says, else as long as usual."""
        times, stamp = tape.times, tape.last_duration
        if whole and self._stated_end is not None and self._policy == "pts":
            # Matroska stores no duration of single frames and MP4 those of decoding, but both the end of a stream.
            rest = self._stated_end - self._origin - times[-1]
            if 0 < rest <= 4 * max([b - a for a, b in zip(times, times[1:])], default=rest):
                return rest
        if stamp > 1 and self._policy != "rate":
            return stamp * self._tick
        if self._policy != "rate" and len(times) > 1:
            gaps = sorted(b - a for a, b in zip(times, times[1:]))
            return gaps[len(gaps) // 2]
        return 1 / self._rate

    def _make_index(self, tape: Tape, final: Fraction, *, whole: bool = True) -> FrameIndex:
        if whole:
            empties = self._container_facts["container"] == "avi"
            tape.note_end(self._promised, probe.missing_bytes(self.path) if self.path else 0, empties=empties)
        if self._changes:
            tape.log.notes.append(
                "the size or format changes on the way; all frames are brought to the first one's"
            )
        if self._policy == "rate":
            known = "stated" if self._rates else "assumed"
            tape.log.notes.append(f"the file stores no frame times; {known} rate {self._rate} fps is used")
        return tape.index(final, careful=self._careful, policy=self._policy, whole=whole)

    def _settle(self, index: FrameIndex) -> None:
        self._index = index
        if self._key not in _INDEXES and index.whole:
            while len(_INDEXES) >= _KEPT_INDEXES:
                _INDEXES.pop(next(iter(_INDEXES)))
            _INDEXES[self._key] = index
        fps, vfr = rate_of(index.times, index.durations, self._rates or [self._rate], self._tick)
        self._info = replace(self._info, fps=fps, vfr=vfr)

    # -- pictures ------------------------------------------------------------

    def _planes(self, picture: Any) -> tuple[Samples, ...]:
        """Upright planes in the format of the clip."""
        width, height, name = self._coded
        if (picture.width, picture.height, picture.format.name) != self._coded:
            # The stream changes its size or format on the way: players scale to the first one, and so do we.
            self._changes = True
            picture = picture.reformat(width=width, height=height, format=name)
        layout = layout_of(name)
        if layout is None:
            layout = readable_layout(picture.format)
            picture = picture.reformat(format=conversion(picture.format))
        planes = planes_of(picture, layout)
        if self._opaque and layout.format.alpha:
            planes = planes[:-1]
        if self._mirrored:
            planes = tuple(p[:, ::-1] for p in planes)
        if self._turns:
            planes = tuple(np.rot90(p, self._turns) for p in planes)
        return planes

    def _frame(
        self, planes: tuple[Samples, ...], number: int, time: Fraction, duration: Fraction, status: Status
    ) -> Frame:
        return Frame(
            planes=planes, format=self._info.format, index=number, time=time, duration=duration, status=status
        )


def _check(planes: tuple[Samples, ...]) -> int:
    """Checksum of every fourth line of every plane: enough to tell a picture from its neighbours."""
    value = 0
    for plane in planes:
        value = zlib.crc32(np.ascontiguousarray(plane[::4]).data, value)
    return value
