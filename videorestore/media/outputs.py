"""What an output is by its name, and whether it may be written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction

from videorestore.clip import ClipInfo
from videorestore.errors import InputError, MediaWriteError, OutputExistsError
from videorestore.media.containers import READ_ONLY, STILLS, WRITTEN, Container, container_of
from videorestore.media.encode import SinkOptions, check_codec
from videorestore.place import FRAME_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShape:
    """What the writer must know before the first frame arrives."""

    info: ClipInfo
    height: int
    width: int
    n_frames: int
    fps: Fraction | None


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
    target = path.rstrip("/") if kind.name == "folder" else path
    if not target:
        raise InputError("output must name a file or a folder, got the root folder; choose another.")
    _refuse_input(target, input_path)
    if kind.container is not None:
        check_codec(kind.container, options)
    folder = os.path.dirname(os.path.abspath(target))
    if not os.path.isdir(folder):
        raise MediaWriteError(f"the folder of the output must exist, {folder} does not; create it.")
    if os.path.lexists(target):
        _refuse_existing(target, kind, options)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise MediaWriteError(f"the folder of the output must be writable, {folder} is not; choose another.")


def _refuse_input(target: str, input_path: str | None) -> None:
    if input_path is None:
        return
    source, output = os.path.realpath(input_path), os.path.realpath(target)
    try:
        same = source == output or (os.path.exists(target) and os.path.samefile(input_path, target))
    except OSError:
        same = False
    if same or os.path.dirname(source) == output:
        raise InputError(f"output must not be the input, got {target!r} for both; choose another name.")


def _refuse_existing(target: str, kind: OutputKind, options: SinkOptions) -> None:
    if kind.name == "folder":
        if os.path.islink(target) or not os.path.isdir(target):
            found = "a link" if os.path.islink(target) else "a file"
            raise OutputExistsError(f"{target} must be a folder, it is {found}; choose another name.")
        entries = os.listdir(target)
        if not entries:
            return
        if not options.overwrite:
            raise OutputExistsError(
                f"{target}/ must not exist, it does; choose another name or overwrite it (-y)."
            )
        others = [name for name in entries if not FRAME_NAME.match(name)]
        if others:
            raise OutputExistsError(
                f"{target}/ must hold nothing but numbered PNG files to be overwritten, it holds {others[0]!r}; "
                "choose another name."
            )
        return
    if os.path.isdir(target):
        raise OutputExistsError(f"{target} must be a file, it is a folder; choose another name.")
    if not options.overwrite:
        raise OutputExistsError(
            f"{target} must not exist, it does; choose another name or overwrite it (-y)."
        )
