"""The world around a command, handed in so that a test can hand in another."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Streams, folder and variables of one call.

    Attributes
    ----------
    stdout, stderr : TextIO
    stdout_is_terminal, stderr_is_terminal : bool
    cwd : str or None
        Folder that names are relative to; None is the process's own.
    variables : mapping
        Environment variables (``NO_COLOR``, ``TERM``).
    """

    stdout: TextIO
    stderr: TextIO
    stdout_is_terminal: bool = False
    stderr_is_terminal: bool = False
    cwd: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def system(cls) -> Environment:
        """The real one."""
        for stream in (sys.stdout, sys.stderr):
            # A name that the locale cannot spell must not end the run.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        return cls(
            stdout=sys.stdout,
            stderr=sys.stderr,
            stdout_is_terminal=sys.stdout is not None and sys.stdout.isatty(),
            stderr_is_terminal=sys.stderr is not None and sys.stderr.isatty(),
            variables=os.environ,
        )

    def path(self, name: str) -> str:
        """The name as the process must open it."""
        if self.cwd is None or os.path.isabs(name):
            return name
        joined = os.path.join(self.cwd, name)
        return joined
