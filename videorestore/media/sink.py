"""One door to every kind of output."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from videorestore.clip import Frame
from videorestore.errors import InputError, MediaWriteError, VideoRestoreError
from videorestore.media.companions import Muxed, Others
from videorestore.media.containers import Container
from videorestore.media.encode import SinkOptions
from videorestore.media.gif import write_gif
from videorestore.media.groups import Groups
from videorestore.media.mux import mux
from videorestore.media.outputs import OutputKind, OutputShape, check_output, kind_of
from videorestore.media.reels import Splice
from videorestore.media.segments import Segment, SegmentWriter, load_segment, segment_frames
from videorestore.media.stills import ArrayWriter, FolderWriter, StillWriter, TiffWriter
from videorestore.media.streams import Excerpt, stream_names
from videorestore.media.target import write_error
from videorestore.media.verify import verify
from videorestore.place import part_folder, publish

_STILL_WRITERS: dict[str, type[StillWriter]] = {
    "folder": FolderWriter,
    "tiff": TiffWriter,
    "npy": ArrayWriter,
}


class Sink:
    """An output being written, one frame after the other. Use as a context manager.

    Leaving the block without an error verifies the result and gives it its name; with an error nothing remains.

    Attributes
    ----------
    losses : tuple of str
        What of the source could not be kept; known after `close`.
    notes : tuple of str
        What a user should know.
    """

    def __init__(
        self,
        path: str,
        shape: OutputShape,
        options: SinkOptions,
        streams_from: str | None,
        span: Excerpt | None,
    ) -> None:
        self.path = path
        self.losses: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self._shape = shape
        self._options = options
        self._streams_from = streams_from
        self._span = span
        self._kind = kind_of(path)
        self._stack = contextlib.ExitStack()
        try:
            self._folder = self._stack.enter_context(part_folder(path))
            self._writer: StillWriter | SegmentWriter
            if self._kind.name in _STILL_WRITERS:
                self._writer = _STILL_WRITERS[self._kind.name](self._whole, shape)
            else:
                self._writer = SegmentWriter(os.path.join(self._folder, "frames"), path, shape, options)
        except OSError as error:
            self._stack.close()
            raise write_error(error) from error
        except BaseException:
            self._stack.close()
            raise
        self._open = True

    @property
    def _whole(self) -> str:
        return os.path.join(self._folder, f"whole{self._kind.suffix}")

    def write(self, frame: Frame) -> None:
        """Add the next frame, in the order of display."""
        try:
            self._writer.write(frame)
        except OSError as error:
            raise write_error(error) from error

    def close(self) -> None:
        """Finish, verify, and give the output its name."""
        if not self._open:
            return
        try:
            if isinstance(self._writer, StillWriter):
                if self._writer.count == 0:
                    raise MediaWriteError(
                        "there must be at least one frame to write, got none; check the range."
                    )
                self._writer.finish()
                publish(self._whole, self.path.rstrip("/"), overwrite=self._options.overwrite)
            else:
                self.losses, self.notes = join_segments(
                    [self._writer.close()],
                    self.path,
                    self._shape,
                    self._options,
                    others=Others(path=self._streams_from, span=self._span),
                    folder=self._folder,
                )
        except OSError as error:
            self.abort()
            raise write_error(error) from error
        except BaseException:
            self.abort()
            raise
        self._open = False
        self._stack.close()

    def abort(self) -> None:
        """End without a result and leave nothing behind."""
        if not self._open:
            return
        self._open = False
        self._writer.abort()
        self._stack.close()

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def open_sink(
    path: str | os.PathLike[str],
    shape: OutputShape,
    options: SinkOptions | None = None,
    *,
    streams_from: str | None = None,
    span: Excerpt | None = None,
) -> Sink:
    """Start writing an output in one pass.

    Parameters
    ----------
    path : path
        Its name decides what is written: ``.mp4 .mkv .mov .webm .avi .gif .tif .npy`` or ``folder/``.
    shape : OutputShape
    options : SinkOptions, optional
    streams_from : str, optional
        The file that audio, subtitles, chapters, attachments and metadata are copied from.
    span : Excerpt, optional
        Part of that file which the output covers; all of it by default.
    """
    options = options or SinkOptions()
    name = os.fspath(path)
    check_output(name, options, streams_from)
    return Sink(name, shape, options, streams_from, span)


def join_segments(
    segments: Sequence[Segment | str],
    output: str,
    shape: OutputShape,
    options: SinkOptions | None = None,
    *,
    others: Others | None = None,
    folder: str | None = None,
    copied: str | Groups | None = None,
    before: Callable[[], None] = lambda: None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Join segments into OUTPUT without encoding again, verify it, give it its name.

    Parameters
    ----------
    segments : sequence of Segment or path
        In the order of the output; they stay where they are.
    output : str
    shape, options
        As for `open_sink`, and the same as for the segments.
    others : Others, optional
        What is copied beside the pictures; nothing by default.
    folder : str, optional
        A folder of ours beside ``output`` to write in; one is made and removed without it.
    copied : str or Groups, optional
        A file that becomes OUTPUT as it is instead, or what of the source is copied where its groups can be.
    before : callable
        Called when all is read and written, before OUTPUT gets its name: what it raises ends the work.

    Returns
    -------
    losses, notes : tuple of str
    """
    if folder is None:
        with part_folder(output) as own:
            return join_segments(
                segments, output, shape, options, others=others, folder=own, copied=copied, before=before
            )
    options = options or SinkOptions()
    loaded = [s if isinstance(s, Segment) else load_segment(s) for s in segments]
    if not loaded:
        raise InputError("there must be at least one segment to join, got none; write one first.")
    kind = kind_of(output)
    losses = list(dict.fromkeys(line for s in loaded for line in s.losses)) if kind.container else []
    notes = list(dict.fromkeys(line for s in loaded for line in s.notes)) if kind.container else []
    part = os.path.join(folder, f"whole{kind.suffix}")
    _remove(part)
    try:
        if isinstance(copied, str):
            shutil.copyfile(copied, part)
            _sync(part)
            losses, notes = [], ["nothing had to be done: the file was copied as it is"]
        elif kind.container is not None:
            film = _Film(loaded, part, kind.container, shape)
            found, told = film.join(others or Others(path=None), losses, copied)
            losses, notes = losses + found, notes + told
        elif kind.name == "gif":
            notes += write_gif(loaded, part, shape)
        else:
            _join_stills(loaded, part, kind, shape)
        before()
        publish(part, output.rstrip("/"), overwrite=options.overwrite)
    except OSError as error:
        _remove(part)
        raise write_error(error) from error
    except BaseException:
        _remove(part)
        raise
    return tuple(losses), tuple(notes)


@dataclass(frozen=True, slots=True)
class _Film:
    """Segments that become a video file."""

    segments: list[Segment]
    part: str
    container: Container
    shape: OutputShape

    def join(
        self, others: Others, known: Sequence[str], groups: Groups | None
    ) -> tuple[list[str], list[str]]:
        """Write and verify the file, with groups of the source or without; gives losses and notes."""
        alpha = self.shape.info.format.alpha and not any(line.startswith("alpha:") for line in known)
        if groups is not None:
            try:
                splice = groups.splice([segment.path for segment in self.segments])
                if groups.copied:
                    told = self._joined(others, alpha, splice)
                    groups.verify(self.part)
                    return told
            except VideoRestoreError as error:
                groups.copied.clear()
                _remove(self.part)
                losses, notes = self._joined(others, alpha, None)
                reason = str(error).partition(";")[0]
                return losses, [*notes, f"groups of pictures of the source could not be copied: {reason}"]
        return self._joined(others, alpha, None)

    def _joined(self, others: Others, alpha: bool, splice: Splice | None) -> tuple[list[str], list[str]]:
        """With all that comes with the film, or as much of it as can be written."""

        def join(others: Others) -> tuple[Muxed, list[str]]:
            muxed = mux(
                self.segments,
                self.part,
                self.container,
                self.shape.info,
                self.shape.fps,
                others,
                alpha=alpha,
                splice=splice,
            )
            return muxed, verify(self.part, muxed, self.container)

        lost: list[str] = []
        try:
            muxed, found = join(others)
        except VideoRestoreError as error:
            if others.path is None:
                raise
            # What came with the film must not cost the film: it is tried with less.
            less, lost = _less(others, join, self.container, error)
            muxed, found = join(less)
        _sync(self.part)
        return [*lost, *found, *muxed.losses], muxed.notes


def _less(
    everything: Others, join: Callable[[Others], Any], container: Container, first: VideoRestoreError
) -> tuple[Others, list[str]]:
    """What comes with the film as far as it can be written, and what cannot; streams are tried one by one."""

    def reason(others: Others) -> str:
        try:
            join(others)
        except VideoRestoreError as error:
            return str(error)
        return ""

    assert everything.path is not None
    bare = replace(everything, metadata=False)
    untitled = f"title and other metadata: left out, they cannot be written to {container.name} ({first})"
    if not reason(bare):
        return bare, [untitled]
    names = stream_names(everything.path)
    alone = {n: reason(replace(bare, without=frozenset(names) - {n})) for n in names}
    bad = frozenset(n for n in names if alone[n])
    lost = [
        f"{names[n]}: left out, it cannot be written to {container.name} ({alone[n]})" for n in sorted(bad)
    ]
    if not reason(less := replace(everything, without=bad)):
        return less, lost
    if not reason(less := replace(bare, without=bad)):
        return less, [*lost, untitled]
    return Others(path=None), [
        f"all but the pictures: left out, they cannot be written to {container.name} ({first})"
    ]


def _join_stills(segments: list[Segment], part: str, kind: OutputKind, shape: OutputShape) -> None:
    writer = _STILL_WRITERS[kind.name](part, shape)
    try:
        for segment in segments:
            for frame in segment_frames(segment):
                writer.write(frame)
        writer.finish()
    except BaseException:
        writer.abort()
        raise


def _sync(path: str) -> None:
    """On the disk before it gets its name: a power cut leaves the old file or the whole new one."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _remove(path: str) -> None:
    """What an earlier try left in our own folder."""
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)
