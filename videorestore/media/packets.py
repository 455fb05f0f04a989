"""Packets on their way into a file: those of the film with exact stamps, those of the other streams moved and cut."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

from videorestore.media.reels import Reel, Splice
from videorestore.media.streams import COVER, Excerpt


def video_packets(
    splice: Splice,
    times: list[Fraction],
    durations: list[Fraction],
    tick: Fraction,
    stream: Any,
) -> Iterator[tuple[float, Any]]:
    """Packets of all runs in the order of decoding with exact stamps; no two of ``times`` are the same in ticks.

    Frame ``k`` in the order of decoding is decoded at the time of frame ``k - delay`` in the order of display:
    this never comes after its own presentation, and it always increases.
    """
    stamps = [round(t / tick) for t in times]
    delay = max(run.reel.delay(run.start, run.stop) for run in splice.runs)
    step = max(1, stamps[1] - stamps[0]) if len(stamps) > 1 else 1
    first = 0
    number = 0
    feeds: dict[Reel, Iterator[tuple[int, Any]]] = {}
    for run in splice.runs:
        # A reel is gone through once: runs come in its order.
        feed = feeds.setdefault(run.reel, enumerate(run.reel.packets()))
        for local, packet in feed:
            if local < run.start:
                continue
            units = splice.units.get(run.reel.extradata)
            if units and packet.is_keyframe:
                packet = _prefixed(units, packet)
            place = first + run.reel.ranks[local] - run.start
            end = round((times[place] + durations[place]) / tick)
            following = stamps[place + 1] if place + 1 < len(stamps) else end
            packet.stream = stream
            packet.time_base = tick
            packet.pts = stamps[place]
            packet.dts = stamps[number - delay] if number >= delay else stamps[0] - (delay - number) * step
            packet.duration = max(1, following - stamps[place])
            yield float(packet.dts * tick), packet
            number += 1
            if local == run.stop - 1:
                break
        first += run.stop - run.start


def _prefixed(before: bytes, packet: Any) -> Any:
    """A key packet with something before its own bytes."""
    import av

    longer = av.Packet(before + bytes(packet))
    longer.is_keyframe = True
    return longer


class PacketFeed:
    """Packets of chosen streams of one file, moved in time, cut to a span.

    Parameters
    ----------
    container : av.container.InputContainer
    targets : dict
        Output stream for each input stream number.
    origin : Fraction
        Time in the file that becomes zero.
    span : Excerpt or None
    """

    def __init__(
        self, container: Any, targets: dict[int, Any], origin: Fraction, span: Excerpt | None
    ) -> None:
        self._container = container
        self._targets = targets
        self._origin = origin
        self._span = span
        self.counts: dict[int, int] = {stream.index: 0 for stream in targets.values()}
        self.broken: str | None = None
        self._held: list[Any] = []
        self._packets: Iterator[Any] | None = None
        self._lead: dict[int, Fraction] = {}
        self._floor: Fraction | None = None
        self._whole_packets = False

    def only_whole_packets(self) -> None:
        """Leave out sound that begins before the span: the container has no time before zero."""
        self._whole_packets = True

    def lead_in(self, *, keep: bool) -> dict[int, Fraction]:
        """Move streams that begin before zero to zero; gives by how much, by output stream.

        Parameters
        ----------
        keep : bool
            False drops what lies before zero instead.
        """
        # Sound out of Matroska, and Opus out of anything, brings its lead along: the muxer knows what to do.
        own = keep and "matroska" in self._container.format.name
        waiting = {
            i
            for i in self._targets
            if self._container.streams[i].type == "audio"
            and not own
            and not (keep and self._container.streams[i].codec_context.name == "opus")
        }
        self._packets = self._demuxed()
        for packet in self._packets:
            self._held.append(packet)
            index = packet.stream.index
            if index in waiting and packet.pts is not None:
                waiting.discard(index)
                begin = packet.pts * Fraction(packet.stream.time_base) - self._origin
                if begin < 0 and keep:
                    self._lead[index] = -begin
            if not waiting or len(self._held) > 2000:
                break
        self._floor = Fraction(0) if not keep else None
        return {self._targets[index].index: lead for index, lead in self._lead.items()}

    def _demuxed(self) -> Iterator[Any]:
        import av

        streams = [self._container.streams[index] for index in self._targets]
        if not streams:
            return
        try:
            for packet in self._container.demux(*streams):
                if packet.size or packet.dts is not None or packet.pts is not None:
                    yield packet
        except (av.error.FFmpegError, ValueError) as error:
            self.broken = str(error).splitlines()[0]

    def __iter__(self) -> Iterator[tuple[float, Any]]:
        """Pairs of (time in seconds, packet ready for the muxer)."""
        last: dict[int, int] = {}
        for packet in chain(self._held, self._packets or self._demuxed()):
            ready = self._moved(packet, last)
            if ready is not None:
                yield ready

    def _moved(self, packet: Any, last: dict[int, int]) -> tuple[float, Any] | None:
        """A packet on the output's timeline, stamped after the ``last`` of its stream; None where it is left out."""
        stream = packet.stream
        target = self._targets[stream.index]
        tick = Fraction(stream.time_base)
        if packet.pts is None:
            packet.pts = packet.dts if packet.dts is not None else last.get(stream.index, 0)
        if self._floor is not None and packet.pts * tick - self._origin < self._floor:
            return None
        offset = 0
        if not (stream.type == "video" and stream.disposition & COVER):
            if self._span is not None and not self._cut(packet, tick, self._span):
                return None
            start = self._span.start if self._span is not None else Fraction(0)
            lead = self._lead.get(stream.index, Fraction(0))
            offset = round((self._origin + start - lead) / tick)
        packet.pts -= offset
        decoded = packet.dts - offset if packet.dts is not None else packet.pts
        floor = last.get(stream.index)
        if floor is not None and decoded <= floor:
            # Muxers refuse stamps that do not increase; a slip of one unit is not audible.
            decoded = floor + 1
            packet.pts = max(packet.pts, decoded)
        last[stream.index] = decoded
        packet.dts = decoded
        packet.stream = target
        self.counts[target.index] += 1
        return float(decoded * tick), packet

    def _cut(self, packet: Any, tick: Fraction, span: Excerpt) -> bool:
        """Whether a packet is heard or seen within the span; what a subtitle has beyond it is cut off."""
        begin = packet.pts * tick - self._origin
        end = begin + (packet.duration or 0) * tick
        if begin >= span.stop or (end <= span.start and begin < span.start):
            return False
        if packet.stream.type != "subtitle":
            return not (self._whole_packets and begin < span.start)
        if end > span.stop:
            packet.duration = max(1, int((span.stop - begin) / tick))
        if begin < span.start:
            late = round((span.start - begin) / tick)
            packet.pts += late
            packet.duration = max(1, (packet.duration or 0) - late)
        return True
