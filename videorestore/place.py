"""Names on the disk: taken only where they are free, given only to what is whole.

What is being written lies in a folder of its own, so that no name in it can belong to anybody else.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator

from videorestore.errors import OutputExistsError

FRAME_NAME = re.compile(r"\d+\.png$")
"""Files of a folder that was written here; all others are the user's."""

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES, errno.EINVAL}
"""What file systems answer that know no second name of a file."""

_TAKEN = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EISDIR}


@contextlib.contextmanager
def part_folder(output: str) -> Iterator[str]:
    """A new folder beside OUTPUT, ``OUTPUT.part`` where that name is free; gone after the block with all it holds."""
    target = os.path.abspath(output)
    folder = target + ".part"
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        folder = tempfile.mkdtemp(
            prefix=os.path.basename(target) + ".", suffix=".part", dir=os.path.dirname(target)
        )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(part: str, output: str, *, overwrite: bool) -> None:
    """Give a finished file or folder its name.

    Parameters
    ----------
    part : str
        In a folder that is ours, on the disk of ``output``.
    output : str
    overwrite : bool
        Replace what is there; of a folder only one with nothing but numbered pictures.

    Raises
    ------
    OutputExistsError
        There is something now that must not be replaced. The result is kept under another name.
    """
    try:
        if os.path.isdir(part):
            _place_folder(part, output, overwrite)
        elif overwrite:
            os.replace(part, output)
        else:
            rename_new(part, output)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        kept = _keep(part, output)
        raise OutputExistsError(
            f"{output} must not exist, it appeared during the run; it was left alone, the result is {kept}."
        ) from error


def rename_new(part: str, output: str) -> None:
    """Rename a file, or fail where the name is taken, in one step."""
    if os.name == "nt":
        os.rename(part, output)
        return
    try:
        os.link(part, output, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # The name is taken by an empty file of ours, which the whole one then replaces.
        os.close(os.open(output, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(part, output)
        return
    os.unlink(part)


def _place_folder(part: str, output: str, overwrite: bool) -> None:
    """A folder takes a name that is free, an empty folder's, or with ``overwrite`` that of one with pictures."""
    if not (overwrite and os.path.isdir(output)) or os.path.islink(output):
        os.rename(part, output)
        return
    old = f"{part}.old"
    os.rename(output, old)
    try:
        if not all(FRAME_NAME.match(name) for name in os.listdir(old)):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), output)
        os.rename(part, output)
    except BaseException:
        os.rename(old, output)
        raise
    for name in os.listdir(old):
        os.unlink(os.path.join(old, name))
    os.rmdir(old)


def _keep(part: str, output: str) -> str:
    """Move a result to a free name beside the one that is taken."""
    kept = output.rstrip("/") + ".part"
    move = os.rename if os.path.isdir(part) else rename_new
    while os.path.lexists(kept):
        kept = f"{output.rstrip('/')}.{os.urandom(4).hex()}.part"
    move(part, kept)
    return kept
