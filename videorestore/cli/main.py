"""The door: real streams, real signals, real exit.

Little is imported up here: signals must be in hand before anything else is loaded.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from types import FrameType
from typing import TextIO

from videorestore.cli.status import ExitStatus, Terminated

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_seen = [0]


def run() -> None:
    """The console entry."""
    try:
        for number in _SIGNALS:
            signal.signal(number, _handle)
        if "--traceback" not in sys.argv:
            sys.stderr = own_stderr(sys.stderr)
        from videorestore.cli.environment import Environment
        from videorestore.cli.program import main

        status = main(sys.argv[1:], Environment.system())
    except KeyboardInterrupt:
        status = ExitStatus.INTERRUPTED
    except Terminated:
        status = ExitStatus.TERMINATED
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    _discard_closed_streams()
    sys.exit(int(status))


def own_stderr(stream: TextIO | None) -> TextIO | None:
    """The same stream under a number of its own, and nobody under number 2: decoders in C chat there, and users get one line.

    Numbers that the shell left closed are taken, or the next file would have one, and be written into by whoever chats.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    warnings.simplefilter("ignore")
    if stream is None:
        return None
    own = open(os.dup(2), "w", buffering=1, encoding=stream.encoding, errors="backslashreplace")  # noqa: SIM115 - stays open
    nobody = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nobody, 2)
    os.close(nobody)
    return own


def _handle(number: int, frame: FrameType | None) -> None:
    """Raise into the main thread once; then what is under way is cleaned up, until the user insists."""
    _seen[0] += 1
    if _seen[0] == 1:
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated
    if _seen[0] >= 3:
        os._exit(ExitStatus.INTERRUPTED if number == signal.SIGINT else ExitStatus.TERMINATED)


def _discard_closed_streams() -> None:
    """Python flushes at exit and would complain about a pipe that is closed."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
