"""The file that a muxer writes, with errors that a user understands."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Any

from videorestore.errors import MediaWriteError, VideoRestoreError

_NO_ROOM = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)


def write_error(error: OSError | ValueError) -> Exception:
    """A failure of the system as one of ours; our own errors pass through."""
    if isinstance(error, VideoRestoreError):
        return error
    if getattr(error, "errno", None) in _NO_ROOM:
        return MediaWriteError(
            "there must be room for the output, the disk is full or a file size limit is reached; free some space."
        )
    reason = str(getattr(error, "strerror", None) or error or type(error).__name__).splitlines()[0]
    return MediaWriteError(f"the output must be writable, got: {reason}; check space, rights and container.")


@contextlib.contextmanager
def opened_target(part: str, container: str, options: dict[str, str]) -> Iterator[Any]:
    """An output container that is being written; its trailer is written at the end of the block.

    Parameters
    ----------
    part : str
        File to write.
    container : str
        FFmpeg's name of the format.
    options : dict
        Options of the muxer.
    """
    import av

    # Without random numbers and dates: the same frames give the same bytes.
    options = {"fflags": "+bitexact", **options}
    output = av.open(f"file:{os.path.abspath(part)}", "w", format=container, options=options)
    try:
        yield output
    except BaseException:
        # The file is thrown away, so what the muxer still wants to write does not matter.
        with contextlib.suppress(Exception):
            output.close()
        raise
    output.close()
