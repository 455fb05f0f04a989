"""Coded pictures as they lie in a file: their order, where closed groups of them begin, and how those of two files join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

from videorestore.errors import MediaWriteError
from videorestore.media import probe
from videorestore.media.encoders import PARAMETER_SET, encoder_for

_IDR = {"h264": (0x1F, 0, (5,)), "hevc": (0x3F, 1, (19, 20))}
"""Pictures that nothing before them is needed for: mask and shift of the type in a unit's first byte, and the types."""

_SIDE_UNITS = {"h264": (6, 7, 8, 9), "hevc": (32, 33, 34, 35, 39)}
"""Units that may come before the picture in its packet: parameter sets, delimiters, remarks."""


@dataclass(frozen=True, slots=True)
class Run:
    """Pictures ``start`` to ``stop`` of a file, in the order of display."""

    reel: Reel
    start: int
    stop: int


class Reel:
    """The packets of one video stream.

    Parameters
    ----------
    path : str
    stream : int, optional
        Number of the stream in the file; its first video by default.

    Attributes
    ----------
    stamps : list of int
        Presentation times of the packets, in the order of decoding.
    ranks : list of int
        Place of each in the order of display.
    extradata : bytes
        What a decoder is told before the first packet.
    """

    def __init__(self, path: str, stream: int | None = None) -> None:
        import av

        self.path = path
        self.stream = stream
        self.stamps: list[int] = []
        self._keys: list[bool] = []
        try:
            with self.open() as container:
                film = self.film(container)
                context = film.codec_context
                self.codec = str(context.codec.canonical_name)
                self.extradata = bytes(context.extradata or b"")
                self.reordered = bool(context.has_b_frames)
                self.profile = str(context.profile or "")
                for packet in container.demux(film):
                    if packet.size and packet.pts is not None:
                        self.stamps.append(packet.pts)
                        self._keys.append(bool(packet.is_keyframe) and self._whole(bytes(packet)))
        except (av.error.FFmpegError, IndexError, OSError) as error:
            raise MediaWriteError(
                f"{path} must read back, it does not ({error}); try another codec."
            ) from error
        self.ranks = [0] * len(self.stamps)
        for rank, k in enumerate(sorted(range(len(self.stamps)), key=self.stamps.__getitem__)):
            self.ranks[k] = rank

    def __len__(self) -> int:
        return len(self.stamps)

    def open(self) -> Any:
        """The file."""
        return probe.open_input(self.path)

    def film(self, container: Any) -> Any:
        """The stream in the opened file."""
        return container.streams.video[0] if self.stream is None else container.streams[self.stream]

    def _whole(self, data: bytes) -> bool:
        """Whether a key picture can be decoded without any before it; one by which others recover cannot."""
        if self.codec not in _IDR:
            return True
        mask, shift, types = _IDR[self.codec]
        place = 0
        while place + 4 < len(data):
            kind = data[place + 4] >> shift & mask
            if kind not in _SIDE_UNITS[self.codec]:
                return kind in types
            place += 4 + int.from_bytes(data[place : place + 4], "big")
        return False

    @cached_property
    def closes(self) -> frozenset[int]:
        """Pictures before which the film can be cut off: all before them in decoding are before them in display."""
        before = accumulate(self.ranks, max, initial=-1)
        return frozenset(k for k, latest in enumerate(before) if latest == k - 1)

    @cached_property
    def opens(self) -> frozenset[int]:
        """Pictures with which the film can begin: they need none before them, nor does any that follows."""
        return frozenset(k for k in self.closes if k < len(self) and self._keys[k])

    def delay(self, start: int, stop: int) -> int:
        """By how many pictures a decoder is ahead of the display at most."""
        return max((k - self.ranks[k] for k in range(start, stop)), default=0)

    def packets(self) -> Iterator[Any]:
        """All of them in the order of decoding."""
        with self.open() as container:
            for packet in container.demux(self.film(container)):
                if packet.size and packet.pts is not None:
                    yield packet


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """Pictures of several files as one film.

    Attributes
    ----------
    runs : tuple of Run
        All pictures in order.
    header : bytes or None
        What decoders are told of all of them; None where that of the first file will do.
    units : dict
        What stands before every key picture, by the header of its file.
    """

    runs: tuple[Run, ...]
    header: bytes | None = None
    units: dict[bytes, bytes] = field(default_factory=dict)


def spliced(reels: Sequence[Reel], source: Reel, kept: Sequence[int | None]) -> Splice:
    """Whole groups of the source where all of their pictures are kept, between our own.

    Parameters
    ----------
    reels : sequence of Reel
        Of the segments, which hold every picture of the output.
    source : Reel
        In the same codec.
    kept : sequence of (int or None)
        For each picture of the output the one of the source that it must be equal to.
    """
    if tuple(kept) == tuple(range(len(source))):
        return Splice(runs=(Run(source, 0, len(source)),))
    runs = _runs(reels, source, kept)
    own = {run.reel.extradata for run in runs if run.reel is not source}
    encoder = encoder_for(source.codec)
    joining = encoder.joining if encoder is not None else ""
    if joining == "in band":
        units = _in_band if source.codec == "hevc" else bytes
        return Splice(runs=runs, units={header: units(header) for header in {source.extradata, *own}})
    if joining == "numbered" and len(own) == 1:
        return Splice(runs=runs, header=_joined_header(source.extradata, own.pop()))
    if joining == "plain" or not own:
        return Splice(runs=runs)
    raise MediaWriteError(f"{source.codec} must have headers that join, it has not")


def _runs(reels: Sequence[Reel], source: Reel, kept: Sequence[int | None]) -> tuple[Run, ...]:
    """Which pictures come from where."""
    places = [(reel, j) for reel in reels for j in range(len(reel))]
    ours = [j in reel.opens for reel, j in places] + [True]  # every segment begins with a whole picture
    copied: list[bool] = [False] * len(places)
    first = 0
    for _, items in groupby(enumerate(kept), key=lambda item: None if item[1] is None else item[1] - item[0]):
        stretch = list(items)
        stop = first + len(stretch)
        start_in_source = stretch[0][1]
        if start_in_source is not None:
            moved = start_in_source - first
            cuts = [k for k in range(first, stop + 1) if ours[k]]
            begin = min((k for k in cuts if k + moved in source.opens), default=stop)
            end = max((k for k in cuts if k + moved in source.closes), default=begin)
            copied[begin:end] = [True] * (end - begin)
        first = stop
    runs: list[Run] = []
    for k, (reel, j) in enumerate(places):
        number = kept[k] if copied[k] else None
        which, at = (reel, j) if number is None else (source, number)
        if runs and runs[-1].reel is which and runs[-1].stop == at:
            runs[-1] = Run(which, runs[-1].start, at + 1)
        else:
            runs.append(Run(which, at, at + 1))
    return tuple(runs)


def _joined_header(theirs: bytes, ours: bytes) -> bytes:
    """The parameter sets of two files of H.264, of which one has numbers of its own."""
    if ours[:1] != b"\x01" or theirs[:1] != b"\x01" or ours[4] & 3 != 3 or theirs[4] & 3 != 3:
        raise MediaWriteError("the source must describe its pictures in its header, it does not")
    (sets, pictures, rest), (more, own_pictures, _) = _avc_sets(theirs), _avc_sets(ours)
    taken = [*(_number(unit[4:]) for unit in sets), *(_number(unit[1:]) for unit in pictures)]
    if PARAMETER_SET in taken or len(sets) >= PARAMETER_SET:
        raise MediaWriteError(f"the source must leave the number {PARAMETER_SET} of its parameter sets free")
    head = bytes([1, max(theirs[1], ours[1]), theirs[2], max(theirs[3], ours[3]), 0xFF])
    sets, pictures = sets + more, pictures + own_pictures
    counted = bytes([0xE0 | len(sets)]), *map(_sized, sets), bytes([len(pictures)]), *map(_sized, pictures)
    return b"".join((head, *counted, rest))


def _sized(unit: bytes) -> bytes:
    return len(unit).to_bytes(2, "big") + unit


def _avc_sets(header: bytes) -> tuple[list[bytes], list[bytes], bytes]:
    """Sequence and picture parameter sets of an ``avcC``, and what follows them."""
    found: list[list[bytes]] = []
    place = 5
    for mask in (0x1F, 0xFF):
        count = header[place] & mask
        place += 1
        found.append([])
        for _ in range(count):
            size = int.from_bytes(header[place : place + 2], "big")
            found[-1].append(header[place + 2 : place + 2 + size])
            place += 2 + size
    return found[0], found[1], header[place:]


def _number(bits: bytes) -> int:
    """The first number of a parameter set, as H.264 writes numbers."""
    word = int.from_bytes(bits[:8].ljust(8, b"\0"), "big")
    zeros = 64 - word.bit_length()
    return (word >> (63 - 2 * zeros)) - 1


def _in_band(header: bytes) -> bytes:
    """Parameter sets of HEVC as units that stand before a key picture."""
    if header[:1] != b"\x01" or len(header) < 23 or header[21] & 3 != 3:
        raise MediaWriteError("the source must describe its pictures in its header, it does not")
    units, place = b"", 23
    for _ in range(header[22]):
        count = int.from_bytes(header[place + 1 : place + 3], "big")
        place += 3
        for _ in range(count):
            size = int.from_bytes(header[place : place + 2], "big")
            units += size.to_bytes(4, "big") + header[place + 2 : place + 2 + size]
            place += 2 + size
    return units
