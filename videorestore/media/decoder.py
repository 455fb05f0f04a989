"""Packets to pictures through PyAV, with an account of what was lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from videorestore.errors import MediaReadError
from videorestore.media import probe

_MESSAGES = 20
_OUTPUT_CORRUPT = 8  # AV_CODEC_FLAG_OUTPUT_CORRUPT: damaged frames are shown and marked, not hidden
_FLUSHES = 64
_FULL_HD = 1920 * 1088
_LARGER = 4
"""Pixels of a picture, and how many times as many as that, or as the file states, one on the way may have: recordings change
between SD and HD, and what pretends to be larger still would only fill the memory."""


class DamagedStream(Exception):
    """A strict decoder met damage; threads would make the pixels that follow a matter of luck."""


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """A picture as it leaves the decoder, with the stamps of the file."""

    picture: Any
    pts: int | None
    dts: int | None
    duration: int
    corrupt: bool


class Log:
    """What happened while decoding.

    Attributes
    ----------
    packets : int
        Packets read.
    keys : set of int
        Presentation stamps of the packets at which decoding can start.
    lost : int
        Packets that gave no picture.
    losses, notes : list of str
    """

    def __init__(self) -> None:
        self.packets = 0
        self.lost = 0
        self.keys: set[int] = set()
        self.losses: list[str] = []
        self.notes: list[str] = []

    def lose(self, message: str, count: int = 1) -> None:
        """Note a loss; of very many only the first are told."""
        self.lost += count
        if len(self.losses) < _MESSAGES:
            self.losses.append(message)
        elif len(self.losses) == _MESSAGES:
            self.losses.append("more of the same was left out")


def reason(error: BaseException) -> str:
    """One line of an error of PyAV."""
    text = str(getattr(error, "strerror", None) or error or type(error).__name__)
    return text.splitlines()[0] if text.strip() else type(error).__name__


def open_container(path: str) -> Any:
    """Open a file for demuxing; what FFmpeg cannot open is a `MediaReadError`."""
    import av

    if probe.is_list(path):
        raise MediaReadError(
            f"{path} must hold a video itself, it is a list of other files; give these, or join them with ffmpeg first."
        )
    try:
        return probe.open_input(path)
    except (av.error.FFmpegError, ValueError, OSError, MemoryError) as error:
        raise MediaReadError(
            f"{path} must be a video that FFmpeg can read, got: {reason(error)}; check the file."
        ) from error


class Decoder:
    """One video stream of a file; each run of `pictures` is independent of the others.

    Parameters
    ----------
    path : str
    stream : int
    tick : Fraction
        Unit of the stream's stamps.
    codec : str or None
        Decoder to use instead of FFmpeg's own choice.
    """

    def __init__(self, path: str, stream: int, tick: Fraction, codec: str | None) -> None:
        self._path = path
        self._stream = stream
        self._tick = tick
        self._codec = codec

    def pictures(
        self, log: Log, *, careful: bool, strict: bool, seek: int | None = None
    ) -> Iterator[Decoded]:
        """Pictures in the order of display.

        Parameters
        ----------
        log : Log
            Takes the losses.
        careful : bool
            One thread: the same pixels each time, even where the file is damaged.
        strict : bool
            Raise `DamagedStream` at the first loss.
        seek : int, optional
            Start at the key frame at or before this stamp.
        """
        import av

        container = open_container(self._path)
        try:
            stream = container.streams[self._stream]
            decoder = stream.codec_context
            if self._codec:
                decoder = av.CodecContext.create(self._codec, "r")
                decoder.extradata = stream.codec_context.extradata
            decoder.thread_type = "NONE" if careful else "AUTO"
            if careful:
                decoder.thread_count = 1
            decoder.flags |= _OUTPUT_CORRUPT
            stated = stream.codec_context.width * stream.codec_context.height
            decoder.options = {**decoder.options, "max_pixels": str(_LARGER * max(stated, _FULL_HD))}
            if seek is not None:
                container.seek(seek, stream=stream, backward=True)
            for packet in self._packets(container.demux(stream), log, strict):
                yield from self._decoded(decoder, packet, log, strict)
            yield from self._flushed(decoder, log, strict)
        except av.error.FFmpegError as error:
            # A codec without a decoder, a seek that is refused.
            if strict:
                raise DamagedStream from error
            log.lose(f"decoding stopped: {reason(error)}")
        finally:
            container.close()

    def _packets(self, packets: Iterator[Any], log: Log, strict: bool) -> Iterator[Any]:
        import av

        try:
            for packet in packets:
                if packet.size == 0 and packet.dts is None:
                    return
                log.packets += 1
                if packet.is_keyframe and packet.pts is not None:
                    log.keys.add(packet.pts)
                yield packet
        except (av.error.FFmpegError, ValueError) as error:
            if strict:
                raise DamagedStream from error
            log.lose(f"reading stopped early: {reason(error)}")

    def _decoded(self, decoder: Any, packet: Any, log: Log, strict: bool) -> Iterator[Decoded]:
        import av

        try:
            pictures = decoder.decode(packet)
        except (av.error.FFmpegError, ValueError, EOFError) as error:
            if strict:
                raise DamagedStream from error
            at = f" at {float(packet.pts * self._tick):.3f} s" if packet.pts is not None else ""
            log.lose(f"packet {log.packets - 1}{at} gave no frame: {reason(error)}")
            return
        for picture in pictures:
            yield _seen(picture, strict)

    def _flushed(self, decoder: Any, log: Log, strict: bool) -> Iterator[Decoded]:
        """The pictures that the decoder still holds back at the end."""
        import av

        for _ in range(_FLUSHES):
            try:
                pictures = decoder.decode(None)
            except EOFError:
                return
            except (av.error.FFmpegError, ValueError) as error:
                if strict:
                    raise DamagedStream from error
                log.lose(f"the end of the stream gave no frame: {reason(error)}")
                continue
            for picture in pictures:
                yield _seen(picture, strict)
            return


def _seen(picture: Any, strict: bool) -> Decoded:
    corrupt = bool(picture.is_corrupt)
    if corrupt and strict:
        raise DamagedStream
    return Decoded(picture, picture.pts, picture.dts, picture.duration or 0, corrupt)
