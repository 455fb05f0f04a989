"""May these names be read and written? Asked before any work, with the standard library only."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterable

from videorestore.errors import InputError, MediaReadError, MediaWriteError, OutputExistsError


def check_input(name: str) -> None:
    """Refuse an input that is not there.

    Raises
    ------
    MediaReadError
    """
    if os.path.exists(name) or (glob.has_magic(name) and any(glob.iglob(name))):
        return
    found = "a link that leads nowhere" if os.path.lexists(name) else "nothing there"
    raise MediaReadError(f"{name} must exist, found {found}; check the name.")


def check_place(name: str, inputs: Iterable[str], *, overwrite: bool) -> None:
    """Refuse an output that would harm an input, is there already, or has no folder to stand in.

    Parameters
    ----------
    name : str
        File or folder to be made.
    inputs : iterable of str
        What is read meanwhile; never written to, also where overwriting is allowed.
    overwrite : bool

    Raises
    ------
    InputError, OutputExistsError, MediaWriteError
    """
    target = os.path.realpath(name)
    for source in inputs:
        pattern = glob.has_magic(source) and not os.path.exists(source)
        origin = os.path.realpath((os.path.dirname(source) or ".") if pattern else source)
        if _same(target, origin):
            raise InputError(
                f"INPUT and OUTPUT must differ, got {name} for both; choose another name for the result."
            )
        if os.path.isdir(target) and origin.startswith(target + os.sep):
            raise InputError(
                f"OUTPUT must not be a folder that holds INPUT, got {name}; choose another name for the result."
            )
    if os.path.lexists(name.rstrip("/\\") or name) and not overwrite:
        raise OutputExistsError(
            f"the output must not exist yet, got {name}; choose another name or overwrite it with -y."
        )
    parent = os.path.dirname(target)
    if not os.path.isdir(parent):
        raise MediaWriteError(
            f"the folder of the output must exist, got {parent}, which does not; make it first."
        )
    try:
        # Rights alone do not tell: read-only and made-up file systems refuse root, too.
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise MediaWriteError(
            f"the folder of the output must be writable, got {parent} ({error.strerror}); choose another or change its rights."
        ) from error
    if os.path.exists(target) and not (os.path.isfile(target) or os.path.isdir(target)):
        raise MediaWriteError(
            f"the output must be a file or a folder, got {name}, a device or a pipe; choose another name."
        )
    if os.path.isdir(target) and not _folder_like(name):
        raise MediaWriteError(
            f"the output must be a file, got the folder {name}; name a file, or end the name with a slash."
        )


def _same(first: str, second: str) -> bool:
    try:
        return os.path.samefile(first, second)
    except OSError:
        return first == second


def _folder_like(name: str) -> bool:
    return name.endswith(("/", os.sep)) or not os.path.splitext(name)[1]
