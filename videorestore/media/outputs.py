"""What an output is by its name, and whether it may be written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction

from videorestore.clip import ClipInfo
from videorestore.errors import InputError, OutputExistsError
from videorestore.media.containers import READ_ONLY, STILLS, WRITTEN, Container, container_of
from videorestore.media.encode import SinkOptions, check_codec
from videorestore.media.source import Source
from videorestore.place import FRAME_NAME
from videorestore.request.targets import check_place

GIF_TICK = Fraction(1, 100)
"""Seconds: what a GIF counts time in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShape:
    """What the writer must know before the first frame arrives."""

    info: ClipInfo
    height: int
    width: int
    n_frames: int
    fps: Fraction | None

    @classmethod
    def of(cls, source: Source, n_frames: int, info: ClipInfo | None = None) -> OutputShape:
        """Frames of the size of a source, with its facts or others."""
        info = info or source.info
        return cls(info=info, height=source.height, width=source.width, n_frames=n_frames, fps=info.fps)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputKind:
    """What is written under a name: a video in a ``container``, or "gif", "folder", "tiff", "npy"."""

    name: str
    suffix: str
    container: Container | None = None


def kind_of(path: str) -> OutputKind:
    """The kind of an output by its name; an unknown suffix is wrong usage."""
    suffix = os.path.splitext(path)[1].lower()
    if path.endswith((os.sep, "/")) or (os.path.isdir(path) and suffix not in WRITTEN):
        return OutputKind(name="folder", suffix="")
    container = container_of(suffix)
    if container is not None:
        return OutputKind(name=container.name, suffix=container.suffixes[0], container=container)
    if suffix in STILLS:
        return OutputKind(name=STILLS[suffix], suffix=suffix)
    if suffix in READ_ONLY:
        raise InputError(
            f"output must be of a kind that keeps what is made, {suffix} is read but not written; "
            f"write {READ_ONLY[suffix]}, with --codec prores or ffv1 where it must be kept without loss."
        )
    raise InputError(f"output must end in {' '.join(WRITTEN)} or / for a folder, got {path!r}; rename it.")


def check_output(path: str, options: SinkOptions, input_path: str | None) -> None:
    """Refuse an output before any work is done.

    Parameters
    ----------
    path : str
    options : SinkOptions
    input_path : str or None
        What is read; it is never written to.
    """
    kind = kind_of(path)
    folder = kind.name == "folder"
    if folder and not path.rstrip("/"):
        raise InputError("output must name a file or a folder, got the root folder; choose another.")
    # In an empty folder there is nothing to lose.
    free = folder and os.path.isdir(path) and not os.listdir(path)
    check_place(path, [input_path] if input_path else [], overwrite=options.overwrite or free)
    if kind.container is not None:
        check_codec(kind.container, options)
    if folder and os.path.lexists(path.rstrip("/")):
        _refuse_folder(path.rstrip("/"))


def _refuse_folder(target: str) -> None:
    """Refuse to overwrite a folder that holds more than a result of ours."""
    if os.path.islink(target) or not os.path.isdir(target):
        found = "a link" if os.path.islink(target) else "a file"
        raise OutputExistsError(f"{target} must be a folder, it is {found}; choose another name.")
    others = [name for name in os.listdir(target) if not FRAME_NAME.match(name)]
    if others:
        raise OutputExistsError(
            f"{target}/ must hold nothing but numbered PNG files to be overwritten, it holds {others[0]!r}; "
            "choose another name."
        )
