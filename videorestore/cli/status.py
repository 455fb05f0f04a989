"""The exit status, in one place, and what leads to it."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TextIO

from videorestore.errors import (
    InputError,
    MediaReadError,
    OutputExistsError,
)


class ExitStatus(IntEnum):
    """What the shell is told."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREADABLE = 3
    EXISTS = 4
    LOSSES = 5
    INTERRUPTED = 130
    TERMINATED = 143


class UsageError(InputError):
    """The command line does not say what can be done."""


class Terminated(BaseException):
    """SIGTERM, raised into the main thread so that everything under way is cleaned up."""


class ReaderGone(Exception):
    """Nobody reads stdout any more. The result was not delivered, so the status is 1; nobody listens, so no word."""


_CONTROL = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")
"""What moves the cursor, changes colours or the direction of writing; ends of lines and tabs do not harm."""


def harmless(text: str) -> str:
    """Text in which titles and names of files cannot give orders to the terminal: such characters are spelt out."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def tell(stream: TextIO, text: str) -> None:
    """Write to stdout, harmless for a terminal, and see that it arrives.

    Raises
    ------
    ReaderGone
        The reader closed its end.
    """
    try:
        stream.write(harmless(text))
        stream.flush()
    except BrokenPipeError as error:
        raise ReaderGone from error


def status_of(error: BaseException) -> ExitStatus:
    """The exit status that an error ends with."""
    if isinstance(error, KeyboardInterrupt):
        return ExitStatus.INTERRUPTED
    if isinstance(error, Terminated):
        return ExitStatus.TERMINATED
    if isinstance(error, OutputExistsError):
        return ExitStatus.EXISTS
    if isinstance(error, MediaReadError):
        return ExitStatus.UNREADABLE
    if isinstance(error, InputError):
        return ExitStatus.USAGE
    return ExitStatus.FAILED
