"""The other streams of the source on their way into a file, with chapters, attachments and metadata."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from videorestore.errors import MediaWriteError
from videorestore.media import probe, streams
from videorestore.media.containers import Container, codecs_of
from videorestore.media.packets import PacketFeed

KNOWN = ("video", "audio", "subtitle", "attachment")
"""Types of streams that are missed wherever they are lost."""


@dataclass(slots=True, kw_only=True)
class Muxed:
    """What was put into a file, to be checked against what comes out.

    Attributes
    ----------
    times : list of Fraction
    end : Fraction
        Time at which the last frame ends.
    tick : Fraction
        Unit of time of the file.
    counts : dict
        Packets of each other stream, by its number in the output.
    uncompressed : set of int
        Numbers of the streams whose packets are not counted.
    delays : dict
        Seconds before zero at which another stream begins, by its number in the output.
    types : list of str
        Types of all streams in order.
    notes, losses : list of str
    """

    times: list[Fraction]
    end: Fraction
    tick: Fraction
    counts: dict[int, int] = field(default_factory=dict)
    uncompressed: set[int] = field(default_factory=set)
    delays: dict[int, Fraction] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """What else of the source goes into the output.

    Attributes
    ----------
    path : str or None
        The file that audio, subtitles, chapters, attachments and metadata come from.
    span : Excerpt or None
        Part of that file which the output covers; None is all of it.
    metadata : bool
        False leaves it out.
    without : frozenset of int
        Numbers of streams of that file which are left out.
    """

    path: str | None
    span: streams.Excerpt | None = None
    metadata: bool = True
    without: frozenset[int] = frozenset()


class Companions:
    """Adds what comes with the film to an output.

    Parameters
    ----------
    others : Others
    container : Container
        Of the output.
    muxed : Muxed
        Takes notes of what was added and what was lost.
    part : str
        Name of the output, from which temporary files get theirs.
    stack : contextlib.ExitStack
        Closes and removes what was opened and made.
    """

    def __init__(
        self, others: Others, container: Container, muxed: Muxed, part: str, stack: contextlib.ExitStack
    ) -> None:
        self._others = others
        self._path = others.path or ""
        self._container = container
        self._muxed = muxed
        self._part = part
        self._stack = stack

    def add(self, output: Any, main: Any, stream: int) -> list[PacketFeed]:
        """Add all of it; gives the feeds of the packets.

        Parameters
        ----------
        output : av.container.OutputContainer
        main : av.stream.Stream
            The film in the output.
        stream : int
            Number of the film in the source; negative where not known.
        """
        source = self._open()
        if source is None:
            return []
        if not 0 <= stream < len(source.streams):
            best = probe.choose_stream(source, None)
            if best is None:
                return []
            stream = best.index
        origin = probe.origin_of(source, source.streams[stream])
        if self._others.metadata:
            output.metadata.update(streams.kept_metadata(dict(source.metadata)))
            main.metadata.update(streams.kept_metadata(dict(source.streams[stream].metadata)))
        self._add_chapters(output, streams.shifted_chapters(source, origin, self._others.span))
        feeds = self._add_streams(output, source, stream, origin)
        self._begin_at_zero(feeds)
        return feeds

    def _open(self) -> Any:
        import av

        if not os.path.isfile(self._path):
            return None
        try:
            return self._stack.enter_context(probe.open_input(self._path))
        except (av.error.FFmpegError, OSError, ValueError):
            # Arrays, images: nothing to copy from.
            return None

    def _add_chapters(self, output: Any, chapters: list[dict[str, Any]]) -> None:
        if chapters and self._container.chapters:
            output.set_chapters(chapters)
        elif chapters:
            self._muxed.losses.append(
                f"{len(chapters)} chapters: left out, {self._container.name} has none; use .mkv"
            )

    def _add_streams(self, output: Any, source: Any, main: int, origin: Fraction) -> list[PacketFeed]:
        import av

        copied: dict[int, Any] = {}
        feeds: list[PacketFeed] = []
        own = self._container.codecs
        supported = set(codecs_of(self._container) if own else output.supported_codecs)
        for plan in streams.plan_companions(source, main, self._container, supported):
            if plan.index in self._others.without:
                continue
            if plan.action == "leave":
                if plan.type in KNOWN or self._carries(plan.index):
                    self._muxed.losses.append(plan.describe())
                continue
            template = source.streams[plan.index]
            try:
                if plan.action == "attach":
                    output.add_attachment(*streams.attachment_of(self._path, template))
                    self._muxed.types.append(plan.type)
                    continue
                if plan.action == "copy":
                    stream = copied[plan.index] = output.add_stream_from_template(template, opaque=True)
                else:
                    converted = self._converted(plan, origin)
                    stream = output.add_stream_from_template(converted.streams[0], opaque=True)
                    feeds.append(PacketFeed(converted, {0: stream}, origin, self._others.span))
                    self._muxed.notes.append(plan.describe())
            except (av.error.FFmpegError, ValueError, StopIteration, MediaWriteError) as error:
                self._muxed.losses.append(
                    f"{plan.type} stream {plan.index} ({plan.codec}): left out, {str(error)[:200]}"
                )
                continue
            self._label(stream, template, plan)
        if copied:
            feeds.insert(0, PacketFeed(source, copied, origin, self._others.span))
        return feeds

    def _carries(self, stream: int) -> bool:
        """Whether a stream of data has any; cameras announce some that they never write."""
        import av

        try:
            with probe.open_input(self._path) as source:
                return any(packet.size for packet in source.demux(source.streams[stream]))
        except (av.error.FFmpegError, OSError, ValueError):
            return True

    def _converted(self, plan: streams.Companion, origin: Fraction) -> Any:
        """A stream encoded again, in a file of its own that is removed at the end."""
        import av

        temporary = f"{self._part}.stream{plan.index}"
        self._stack.callback(Path(temporary).unlink, missing_ok=True)
        streams.convert(self._path, plan, temporary, origin)
        return self._stack.enter_context(av.open(f"file:{os.path.abspath(temporary)}"))

    def _label(self, stream: Any, template: Any, plan: streams.Companion) -> None:
        if self._others.metadata:
            stream.metadata.update(streams.kept_metadata(dict(template.metadata)))
        # A second video must not be taken for the restored one.
        stream.disposition = int(template.disposition) & (~1 if plan.type == "video" else ~0)
        self._muxed.types.append(plan.type)
        if plan.type == "audio" and plan.action == "copy" and plan.codec.startswith("pcm_"):
            self._muxed.uncompressed.add(stream.index)

    def _begin_at_zero(self, feeds: list[PacketFeed]) -> None:
        """See to streams that begin before the film where the container cannot store that."""
        if self._container.before_zero == "stored":
            return
        for feed in feeds:
            if self._others.span is None:
                self._muxed.delays |= feed.lead_in(keep=self._container.before_zero == "said")
            else:
                feed.only_whole_packets()
