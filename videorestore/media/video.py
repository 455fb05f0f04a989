"""Video files through PyAV: streamed, exact in time, honest about damage."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore.clip import ClipInfo, Frame, PixelFormat, Samples, Status
from videorestore.colour import assumed_matrix
from videorestore.errors import MediaReadError
from videorestore.media import probe
from videorestore.media.pixels import conversion_for, layout_of, planes_of
from videorestore.media.source import FrameIndex, Source
from videorestore.media.timing import Clock, choose_policy, rate_of

_PROBE_FRAMES = 12
_MESSAGES = 20
_OUTPUT_CORRUPT = 8  # AV_CODEC_FLAG_OUTPUT_CORRUPT: damaged frames are shown and marked, not hidden


class _Damage(Exception):
    """The fast decoder met damage; threads would make its pixels a matter of luck."""


@dataclass(frozen=True, slots=True, eq=False)
class _Decoded:
    picture: Any
    pts: int | None
    dts: int | None
    duration: int
    corrupt: bool


class _Log:
    """What happened while decoding, for the index."""

    def __init__(self) -> None:
        self.packets = 0
        self.lost = 0
        self.keys: set[int] = set()
        self.losses: list[str] = []
        self.notes: list[str] = []

    def lose(self, message: str, count: int = 1) -> None:
        self.lost += count
        if len(self.losses) < _MESSAGES:
            self.losses.append(message)
        elif len(self.losses) == _MESSAGES:
            self.losses.append("more of the same was left out")


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
        self._index = index
        self._careful = index.careful if index is not None else False
        self._opened: list[Any] = []
        self._opaque = False
        stat = os.stat(path)
        with self._open() as container:
            chosen = probe.choose_stream(container, stream)
            if chosen is None:
                raise MediaReadError(f"{path} must hold a video stream, found none; give a video file.")
            self.stream = int(chosen.index)
            self._alpha_decoder = chosen.metadata.get("alpha_mode") == "1" and chosen.codec_context.name in (
                "vp9",
                "vp8",
            )
            self._codec_alpha = "libvpx-vp9" if chosen.codec_context.name == "vp9" else "libvpx"
            self._tick = Fraction(chosen.time_base)
            self._promised = int(chosen.frames or 0)
            self._origin = probe.origin_of(container, chosen)
            self._container_facts = _container_facts(container, chosen)
            nominal = fps or _nominal_rate(container, chosen)
            sar = chosen.sample_aspect_ratio
            self._tagged_end = _tagged_duration(chosen.metadata)
        self._assumed_rate = nominal is None
        self._rate = nominal or Fraction(25)
        first = self._look(path)
        self._policy = "rate" if fps and choose_policy(first.stamps) == "rate" else choose_policy(first.stamps)
        self._turns, self._mirrored = first.turns
        self._coded = (first.width, first.height, first.name)
        self._opaque = first.opaque
        upright = self._turns % 2 == 0
        self.width, self.height = (
            (first.width, first.height) if upright else (first.height, first.width)
        )
        location = "unspecified"
        if first.format.subsampling != (0, 0) and not (self._turns or self._mirrored):
            location = probe.chroma_location_of(os.path.abspath(path), stat.st_size, stat.st_mtime_ns, self.stream)
        ratio = Fraction(sar) if sar else Fraction(1)
        extra = {
            "time_base": self._tick,
            "stream": self.stream,
            "range_known": first.range_known,
            "codec": self._container_facts["codec"],
            "interlaced": first.interlaced,
        }
        self._info = ClipInfo(
            format=_upright_format(first.format, upright, self.height),
            primaries=first.primaries,
            transfer=first.transfer,
            matrix_known=first.format.matrix != "unknown" or first.format.model != "yuv",
            chroma_location=location,
            sar=ratio if upright else 1 / ratio,
            fps=nominal,
            path=path,
            extra=extra,
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
            "range": ("full" if info.format.full_range else "limited") if info.extra["range_known"] else "unknown",
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

    def close(self) -> None:
        for container in self._opened:
            container.close()
        self._opened.clear()

    # -- frames --------------------------------------------------------------

    def frames(self, start: int = 0, stop: int | None = None) -> Iterator[Frame]:
        """Frames ``start`` to ``stop`` (half-open) in the order of display.

        From the start of the file frames stream without any index; a later start makes the index first.
        """
        if stop is not None and stop <= start:
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

    def _sought(self, start: int, stop: int | None) -> Iterator[Frame]:
        """Frames after a seek for as long as they prove to be the same as in sequential decoding."""
        index = self.index()
        stop = len(index) if stop is None else min(stop, len(index))
        key = max((k for k in index.keys if k <= start), default=0)
        if key == 0 or self._policy != "pts" or len(index.marks) != len(index) or start >= stop:
            return
        number = key
        for item in self._decode(_Log(), careful=self._careful, seek=index.marks[key], strict=False):
            if number == key and item.pts != index.marks[key]:
                if item.pts is None or item.pts > index.marks[key]:
                    return
                continue
            if number >= stop:
                return
            planes = self._planes(item.picture)
            corrupt: Status = "corrupt" if item.corrupt else "good"
            same = item.pts == index.marks[number] and corrupt == index.statuses[number]
            if not same or (number in (key, start) or number % 8 == 0) and _check(planes) != index.checks[number]:
                return
            if number >= start:
                yield self._frame(planes, number, index.times[number], index.durations[number], corrupt)
            number += 1

    def _sequential(self, stop: int | None = None) -> Iterator[Frame]:
        """All frames from the first; when the end is reached, the index is known."""
        delivered = 0
        while True:
            log = _Log()
            try:
                for frame in self._recorded(log, stop):
                    if frame.index >= delivered:
                        delivered += 1
                        yield frame
                return
            except _Damage:
                self._careful = True

    def _recorded(self, log: _Log, stop: int | None) -> Iterator[Frame]:
        clock = Clock(self._policy, self._tick, self._origin, 1 / self._rate)
        times: list[Fraction] = []
        marks: list[int] = []
        keys: list[int] = []
        checks: list[int] = []
        statuses: list[Status] = []
        known = self._index
        held: tuple[tuple[Samples, ...], Fraction] | None = None
        last_duration = 0
        for item in self._decode(log, careful=self._careful, strict=not self._careful):
            number = len(times)
            time = clock.place(item.pts, item.dts)
            times.append(time)
            statuses.append("corrupt" if item.corrupt else "good")
            marks.append(item.pts if item.pts is not None else -1)
            if item.pts in log.keys:
                keys.append(number)
            planes = self._planes(item.picture)
            if known is None:
                checks.append(_check(planes))
            last_duration = item.duration
            if held is not None:
                yield self._frame(held[0], number - 1, held[1], time - held[1], statuses[number - 1])
                if stop is not None and number >= stop:
                    return
            held = planes, time
        if held is None:
            raise MediaReadError(
                f"{self.path} must hold at least one frame that can be decoded, found none; check the file."
            )
        final = self._last_duration(times, last_duration)
        index = known or self._make_index(log, clock, times, final, statuses, marks, keys, checks)
        self._settle(index)
        yield self._frame(held[0], len(times) - 1, held[1], final, statuses[-1])

    def _last_duration(self, times: list[Fraction], stamp: int) -> Fraction:
        """How long the last frame stays: what the file says, else as long as usual."""
        if self._tagged_end is not None and self._policy == "pts":
            # Matroska stores no duration of single frames, but the end of each stream.
            rest = self._tagged_end - self._origin - times[-1]
            if 0 < rest <= 4 * max([b - a for a, b in zip(times, times[1:])], default=rest):
                return rest
        if stamp > 1 and self._policy != "rate":
            return stamp * self._tick
        if self._policy != "rate" and len(times) > 1:
            gaps = sorted(b - a for a, b in zip(times, times[1:]))
            return gaps[len(gaps) // 2]
        return 1 / self._rate

    def _make_index(
        self,
        log: _Log,
        clock: Clock,
        times: list[Fraction],
        final: Fraction,
        statuses: list[Status],
        marks: list[int],
        keys: list[int],
        checks: list[int],
    ) -> FrameIndex:
        if self._promised > log.packets:
            count = self._promised - log.packets
            log.lose(f"the file promises {self._promised} frames; {count} are cut off and cannot be read", count)
        corrupt = [k for k, s in enumerate(statuses) if s == "corrupt"]
        if corrupt:
            shown = ", ".join(map(str, corrupt[:12])) + (", ..." if len(corrupt) > 12 else "")
            log.losses.append(f"{len(corrupt)} of {len(times)} frames are corrupt: {shown}")
        if clock.repaired:
            log.notes.append(f"{clock.repaired} frame times did not increase and were moved")
        if self._policy == "dts":
            log.notes.append("presentation times are out of order; the order of decoding gives the times")
        if self._policy == "rate":
            known = "assumed" if self._assumed_rate else "stated"
            log.notes.append(f"the file stores no frame times; {known} rate {self._rate} fps is used")
        durations = (*(b - a for a, b in zip(times, times[1:])), final)
        return FrameIndex(
            times=tuple(times),
            durations=durations,
            statuses=tuple(statuses),
            lost=log.lost,
            messages=(*log.losses, *log.notes),
            losses=tuple(log.losses),
            marks=tuple(marks),
            keys=tuple(keys),
            checks=tuple(checks),
            careful=self._careful,
        )

    def _settle(self, index: FrameIndex) -> None:
        self._index = index
        fps, vfr = rate_of(index.times, index.durations, self._info.fps or self._rate, self._tick)
        self._info = replace(self._info, fps=fps, vfr=vfr)

    # -- decoding ------------------------------------------------------------

    def _open(self) -> Any:
        import av

        assert self.path is not None
        try:
            # "file:" keeps names such as "-x.mp4" or "a:b.mp4" from being read as options or protocols.
            return av.open(f"file:{os.path.abspath(self.path)}", metadata_errors="replace")
        except (av.error.FFmpegError, ValueError, OSError, MemoryError) as error:
            raise MediaReadError(
                f"{self.path} must be a video that FFmpeg can read, got: {_reason(error)}; check the file."
            ) from error

    def _decode(
        self, log: _Log, *, careful: bool, seek: int | None = None, strict: bool = True
    ) -> Iterator[_Decoded]:
        """Decoded pictures in the order of display; losses go to the log, or end a strict run."""
        import av

        container = self._open()
        self._opened.append(container)
        try:
            stream = container.streams[self.stream]
            decoder = stream.codec_context
            if self._alpha_decoder:
                decoder = av.CodecContext.create(self._codec_alpha, "r")
                decoder.extradata = stream.codec_context.extradata
            decoder.thread_type = "NONE" if careful else "AUTO"
            if careful:
                decoder.thread_count = 1
            decoder.flags |= _OUTPUT_CORRUPT
            if seek is not None:
                container.seek(seek, stream=stream, backward=True)
            packets = container.demux(stream)
            while True:
                try:
                    packet = next(packets)
                except StopIteration:
                    break
                except (av.error.FFmpegError, ValueError) as error:
                    if strict:
                        raise _Damage from error
                    log.lose(f"reading stopped early: {_reason(error)}")
                    break
                if packet.size == 0 and packet.dts is None:
                    break
                log.packets += 1
                if packet.is_keyframe and packet.pts is not None:
                    log.keys.add(packet.pts)
                yield from self._pictures(decoder, packet, log, strict)
            yield from self._flushed(decoder, log, strict)
        finally:
            container.close()
            if container in self._opened:
                self._opened.remove(container)

    def _pictures(self, decoder: Any, packet: Any, log: _Log, strict: bool) -> Iterator[_Decoded]:
        import av

        try:
            pictures = decoder.decode(packet)
        except (av.error.FFmpegError, ValueError) as error:
            if strict:
                raise _Damage from error
            at = f" at {float(packet.pts * self._tick):.3f} s" if packet.pts is not None else ""
            log.lose(f"packet {log.packets - 1}{at} gave no frame: {_reason(error)}")
            return
        for picture in pictures:
            yield self._seen(picture, strict)

    def _flushed(self, decoder: Any, log: _Log, strict: bool) -> Iterator[_Decoded]:
        import av

        for _ in range(64):
            try:
                pictures = decoder.decode(None)
            except EOFError:
                return
            except (av.error.FFmpegError, ValueError) as error:
                if strict:
                    raise _Damage from error
                log.lose(f"the end of the stream gave no frame: {_reason(error)}")
                continue
            for picture in pictures:
                yield self._seen(picture, strict)
            return

    def _seen(self, picture: Any, strict: bool) -> _Decoded:
        if picture.is_corrupt and strict:
            raise _Damage
        return _Decoded(
            picture,
            picture.pts,
            picture.dts,
            picture.duration or 0,
            bool(picture.is_corrupt),
        )

    # -- pictures ------------------------------------------------------------

    def _planes(self, picture: Any) -> tuple[Samples, ...]:
        """Upright planes in the format of the clip."""
        width, height, name = self._coded
        if (picture.width, picture.height, picture.format.name) != self._coded:
            # The stream changes its size or format on the way: players scale to the first one, and so do we.
            picture = picture.reformat(width=width, height=height, format=name)
        layout = layout_of(name)
        if layout is None:
            target, _ = _conversion(picture.format)
            picture = picture.reformat(format=target)
            layout = layout_of(target)
            assert layout is not None
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

    def _look(self, path: str) -> _First:
        """Decode the first frames: the decoder knows the format better than the header."""
        log = _Log()
        first: Any = None
        stamps: list[tuple[int | None, int | None]] = []
        opaque = False
        for item in self._decode(log, careful=True, strict=False):
            if first is None:
                first = item.picture
            stamps.append((item.pts, item.dts))
            if len(stamps) >= _PROBE_FRAMES:
                break
        if first is None:
            reason = f" ({log.losses[0]})" if log.losses else ""
            raise MediaReadError(
                f"{path} must hold at least one frame that can be decoded, found none{reason}; check the file."
            )
        layout = layout_of(first.format.name)
        if layout is None:
            layout = layout_of(_conversion(first.format)[0])
            assert layout is not None
        if layout.format.alpha and self._container_facts["codec"] == "gif":
            # GIF frames come with alpha whether or not the picture uses it.
            alphas = (planes_of(i.picture, layout)[-1] for i in self._decode(log, careful=True, strict=False))
            opaque = all(bool((a == 255).all()) for a in alphas)
        return _First(
            width=first.width,
            height=first.height,
            name=first.format.name,
            format=_tagged(replace(layout.format, alpha=layout.format.alpha and not opaque), first),
            stamps=tuple(stamps),
            turns=probe.turns_of(first),
            range_known=first.color_range in probe.RANGES or first.format.name.startswith("yuvj"),
            primaries=probe.PRIMARIES.get(first.color_primaries, "unknown"),
            transfer=probe.TRANSFERS.get(first.color_trc, "unknown"),
            interlaced=bool(first.interlaced_frame),
            opaque=opaque,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _First:
    width: int
    height: int
    name: str
    format: PixelFormat
    stamps: tuple[tuple[int | None, int | None], ...]
    turns: tuple[int, bool]
    range_known: bool
    primaries: str
    transfer: str
    interlaced: bool
    opaque: bool


def _tagged(pixel: PixelFormat, picture: Any) -> PixelFormat:
    """The layout's format with the matrix and range that the picture carries."""
    tagged_range = probe.RANGES.get(picture.color_range)
    if pixel.model == "rgb":
        return pixel
    full = pixel.full_range if tagged_range is None else tagged_range == "pc"
    matrix = probe.MATRICES.get(picture.colorspace, "unknown") if pixel.model == "yuv" else "unknown"
    return replace(pixel, full_range=full, matrix="unknown" if matrix == "gbr" else matrix)


def _upright_format(pixel: PixelFormat, upright: bool, height: int) -> PixelFormat:
    if pixel.model == "yuv" and pixel.matrix == "unknown":
        pixel = replace(pixel, matrix=assumed_matrix(height))
    sx, sy = pixel.subsampling
    return pixel if upright else replace(pixel, subsampling=(sy, sx))


def _conversion(form: Any) -> tuple[str, bool]:
    bits = max((c.bits for c in form.components), default=8)
    alpha = any(c.is_alpha for c in form.components)
    return conversion_for(form.name, len(form.components), bits, rgb=bool(form.is_rgb), alpha=alpha)


def _check(planes: tuple[Samples, ...]) -> int:
    """Checksum of every fourth line of every plane: enough to tell a picture from its neighbours."""
    value = 0
    for plane in planes:
        value = zlib.crc32(np.ascontiguousarray(plane[::4]).data, value)
    return value


def _reason(error: BaseException) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text).splitlines()[0]


def _nominal_rate(container: Any, stream: Any) -> Fraction | None:
    """The rate that the file states; a bare stream's default of its reader does not count."""
    own = stream.codec_context.framerate
    if container.format.name in ("h264", "hevc", "m4v", "mpegvideo", "obu", "ivf") and stream.start_time is None:
        return Fraction(own) if own and 0 < own <= 1000 else None
    for rate in (stream.average_rate, stream.base_rate, own):
        if rate and 0 < rate <= 100000:
            return Fraction(rate)
    return None


def _tagged_duration(metadata: dict[str, str]) -> Fraction | None:
    """End of a Matroska stream in seconds, from its DURATION tag."""
    found = re.match(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", metadata.get("DURATION", ""))
    if not found:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds)


def _container_facts(container: Any, stream: Any) -> dict[str, Any]:
    context = stream.codec_context
    facts: dict[str, Any] = {
        "container": container.format.name,
        "codec": context.codec.canonical_name,
        "streams": [probe.stream_facts(s) for s in container.streams],
        "chapters": len(container.chapters()),
        "metadata": dict(container.metadata),
    }
    if container.duration:
        facts["header_duration_s"] = container.duration / 1_000_000
    return facts
