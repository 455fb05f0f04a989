"""Groups of pictures of the source that go into the output as they are, packet by packet, and the proof that they did."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from videorestore.errors import MediaWriteError
from videorestore.media import probe
from videorestore.media.containers import Container, codecs_of, container_of
from videorestore.media.encode import Likeness, SinkOptions, plan_encoding
from videorestore.media.encoders import encoder_for
from videorestore.media.outputs import OutputShape
from videorestore.media.pipe import run_ffmpeg
from videorestore.media.reels import Reel, Splice, spliced
from videorestore.media.source import FrameIndex, Source
from videorestore.media.video import VideoSource

_PROFILES = {"Baseline": "baseline", "Constrained Baseline": "baseline", "Main": "main"}
"""Profiles of H.264 below the usual one, by their name in a file and the encoder's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """What the output has of the source's pictures.

    Attributes
    ----------
    path : str
        The source.
    stream : int
        Number of its film.
    index : FrameIndex
        Of its frames.
    kept : tuple of (int or None)
        For each frame of the output the one of the source that it must be equal to.
    copied : set of int
        Frames of the output that are copied; known when the output is joined.
    """

    path: str
    stream: int
    index: FrameIndex
    kept: tuple[int | None, ...]
    copied: set[int] = field(default_factory=set)

    def splice(self, segments: Sequence[str]) -> Splice:
        """Groups of the source between those of the segments."""
        source = Reel(self.path, self.stream)
        if sorted(source.stamps)[: len(self.index)] != list(self.index.marks):
            raise MediaWriteError("every packet of the source must be one of its frames, it is not so")
        splice = spliced([Reel(path) for path in segments], source, self.kept)
        first = 0
        for run in splice.runs:
            if run.reel is source:
                self.copied.update(range(first, first + run.stop - run.start))
            first += run.stop - run.start
        return splice

    def verify(self, path: str) -> None:
        """Decode the written file with both decoders that there are: every copied frame must be the source's.

        Where all are copied, no header was joined and one decoder says enough: FFmpeg's cannot read every source.
        """
        with VideoSource(path) as written:
            found = written.index().checks
        if [found[k] for k in self.copied] != [self.index.checks[self._from(k)] for k in self.copied]:
            raise MediaWriteError("copied frames must decode to those of the source, they do not")
        ours = _hashes(path, 0, len(self.kept) + 1)
        if len(self.copied) == len(ours) == len(self.kept):
            return
        theirs = _hashes(self.path, self.stream, max(map(self._from, self.copied)) + 1)
        if len(ours) != len(self.kept) or any(ours[k] != theirs[self._from(k)] for k in self.copied):
            raise MediaWriteError("copied frames must decode to those of the source, in FFmpeg they do not")

    def _from(self, number: int) -> int:
        source = self.kept[number]
        assert source is not None
        return source


def _hashes(path: str, stream: int, count: int) -> list[str]:
    """Sums of the first frames of a file as the FFmpeg binary decodes them."""
    words = [*probe.READING_WORDS, "-i", f"file:{os.path.abspath(path)}", "-map", f"0:{stream}"]
    words += ["-fps_mode", "passthrough", "-frames:v", str(count), "-f", "framemd5", "pipe:1"]
    lines = run_ffmpeg(words, "decode the result").splitlines()
    return [line.rpartition(",")[2].strip() for line in lines if not line.startswith("#")]


def own_coding(
    source: Source,
    container: Container,
    shape: OutputShape,
    options: SinkOptions,
    stays: Collection[range],
    usual_only: bool = False,
) -> SinkOptions:
    """Options by which frames are coded as the source's are, so that its other groups can be copied; else the same.

    Parameters
    ----------
    source : Source
    container : Container
        Of the output.
    shape : OutputShape
    options : SinkOptions
        Where these ask for a way of coding, they are followed.
    stays : collection of range
        Stretches of frames of the source that stay as they are, with nothing new in between.
    usual_only : bool, optional
        Leave the encoder that the output would have anyway.
    """
    asked = options.codec or options.crf is not None or options.pix_fmt or options.encoder_args
    if asked or source.path is None or not os.path.isfile(source.path) or not isinstance(source, VideoSource):
        return options
    facts, size = source.facts(), (source.height, source.width)
    encoder = encoder_for(facts["codec"])
    if encoder is None or not (encoder.joining or encoder.lossless) or facts["rotation"] or facts["mirrored"]:
        return options
    if container.free_clock or (encoder.joining == "in band" and not container.in_band):
        return options
    usual = plan_encoding(container, shape.info, shape.height, shape.width, shape.fps, options)
    same_kind = container_of(os.path.splitext(source.path)[1].lower()) == container
    same_encoder = encoder.name == usual.encoder
    if not (same_encoder or (same_kind and not usual_only)) or facts["codec"] not in codecs_of(container):
        return options
    like = replace(options, codec=encoder.name)
    own = plan_encoding(container, shape.info, shape.height, shape.width, shape.fps, like)
    if size != (shape.height, shape.width) or own.pix_fmt != facts["pix_fmt"].replace("yuvj", "yuv"):
        return options
    if encoder.lossless:
        return like
    reel = Reel(source.path, source.stream)
    # What is before a change can be copied up to it, what is behind it from the next group on.
    ends = sorted(reel.closes)
    keys: set[int] = set()
    for stretch in stays:
        if begins := reel.opens.intersection(stretch):
            keys |= {*begins, ends[bisect_right(ends, stretch.stop) - 1]}
    return replace(like, own=Likeness(_words(reel, encoder.own), frozenset(keys)))


def _words(reel: Reel, own: str) -> tuple[str, ...]:
    """How the source was coded, as far as its decoder must know."""
    words = own.split()
    if reel.codec == "h264" and reel.profile in _PROFILES:
        words += ["-profile:v", _PROFILES[reel.profile]]
    if reel.codec in ("h264", "hevc") and not reel.reordered:
        words += ["-bf", "0"]
    return tuple(words)
