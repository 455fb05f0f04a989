"""The file that a muxer writes, with errors that a user understands."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Any

from videorestore.errors import MediaWriteError

_NO_ROOM = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)


def write_error(error: OSError | ValueError) -> Exception:
    """A failure of the system as one of ours; our own errors pass through."""
    from videorestore.errors import VideoRestoreError

    if isinstance(error, VideoRestoreError):
        return error
    if getattr(error, "errno", None) in _NO_ROOM:
        return MediaWriteError(
            "there must be room for the output, the disk is full or a file size limit is reached; free some space."
        )
    reason = str(getattr(error, "strerror", None) or error or type(error).__name__).splitlines()[0]
    return MediaWriteError(f"the output must be writable, got: {reason}; check space, rights and container.")


class Target:
    """An output container; use as a context manager, then `finish`.

    Parameters
    ----------
    part : str
        File to write.
    container : str
        FFmpeg's name of the format.
    options : dict, optional
        Options of the muxer.
    """

    def __init__(self, part: str, container: str, options: dict[str, str] | None = None) -> None:
        self.container: Any = None
        self._part = os.path.abspath(part)
        self._format = container
        # Without random numbers and dates: the same frames give the same bytes.
        self._options = {"fflags": "+bitexact", **(options or {})}

    def __enter__(self) -> Target:
        import av

        self.container = av.open(f"file:{self._part}", "w", format=self._format, options=self._options)
        return self

    def finish(self) -> None:
        """Write the trailer."""
        container, self.container = self.container, None
        container.close()

    def __exit__(self, *exc: object) -> None:
        if self.container is not None:
            # Only after an error: the file is thrown away, so what the muxer still wants to write does not matter.
            with contextlib.suppress(Exception):
                self.container.close()
            self.container = None
