"""The world around a command, handed in so that a test can hand in another."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Streams, folder and variables of one call.

    Attributes
    ----------
    stdout, stderr : TextIO
    stdin : BinaryIO or None
        Read only where INPUT is ``-``.
    stderr_is_terminal : bool
    cwd : str or None
        Folder that names are relative to; None is the process's own.
    variables : mapping
        Environment variables (``NO_COLOR``, ``TERM``).
    """

    stdout: TextIO
    stderr: TextIO
    stdin: BinaryIO | None = None
    stderr_is_terminal: bool = False
    cwd: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def system(cls) -> Environment:
        """The real one."""
        out, err = _opened(sys.stdout), _opened(sys.stderr)
        return cls(
            stdout=out,
            stderr=err,
            stdin=None if sys.stdin is None else sys.stdin.buffer,
            stderr_is_terminal=err.isatty(),
            variables=os.environ,
        )

    def path(self, name: str) -> str:
        """The name as the process must open it."""
        if self.cwd is None or os.path.isabs(name):
            return name
        return os.path.join(self.cwd, name)


def _opened(stream: TextIO | None) -> TextIO:
    """A stream that can be written to, also where the shell closed it, and whatever a name is spelt with."""
    if stream is None:
        return open(os.devnull, "w")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream
