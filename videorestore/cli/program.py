"""One command in a given world, from words to exit status."""

from __future__ import annotations

from collections.abc import Sequence

from videorestore.cli.console import Console
from videorestore.cli.environment import Environment
from videorestore.cli.parser import Answer, parse
from videorestore.cli.status import ExitStatus, ReaderGone, Terminated, status_of, tell
from videorestore.errors import VideoRestoreError


def main(args: Sequence[str], environment: Environment) -> ExitStatus:
    """Run one command line.

    Parameters
    ----------
    args : sequence of str
        Without the program's name.
    environment : Environment
        Streams, folder and variables.
    """
    console = Console(environment, progress="none")
    try:
        command = parse(args, environment.path)
        if isinstance(command, Answer):
            tell(environment.stdout, command.text)
            return ExitStatus.DONE
        from videorestore.cli.commands import perform

        telling = command.telling
        console = Console(environment, progress=telling.progress, quiet=telling.quiet)
        if len(command.inputs) > 1:
            from videorestore.cli.several import perform_all

            return perform_all(command, environment, console, perform, _message)
        return perform(command, environment, console)
    except (Exception, KeyboardInterrupt, Terminated) as caught:
        error = _signal_behind(caught)
        console.close()
        if "--traceback" in args:
            import traceback

            console.lines("".join(traceback.format_exception(error)))
        if not isinstance(error, ReaderGone):
            console.error(_message(error))
        return status_of(error)
    finally:
        console.close()


def _signal_behind(error: BaseException) -> BaseException:
    """The signal that arrived while compiled code was returning, which Python then tells as a SystemError; else the error."""
    found: BaseException | None = error if isinstance(error, SystemError) else None
    while found is not None:
        if isinstance(found, (KeyboardInterrupt, Terminated)):
            return found
        found = found.__cause__
    return error


def _message(error: BaseException) -> str:
    """One line for an error, with the remedy."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted; the same command goes on from here."
    if isinstance(error, Terminated):
        return "terminated; the same command goes on from here."
    if isinstance(error, VideoRestoreError):
        return " ".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, MemoryError):
        return "memory must suffice, got none left; lower --max-memory or --jobs, or use --range."
    if isinstance(error, OSError) and error.strerror:
        place = f" ({error.filename})" if error.filename else ""
        return f"the system must allow it, got: {error.strerror}{place}; check space, rights and names."
    return f"this must not happen, got {type(error).__name__}: {error}; please report it with the output of --traceback."
