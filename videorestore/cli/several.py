"""One command on several files: each by itself, the next one after a failure, and a sum at the end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from videorestore.cli.console import Console
from videorestore.cli.environment import Environment
from videorestore.cli.parser import Command
from videorestore.cli.status import ExitStatus, ReaderGone, UsageError, status_of
from videorestore.errors import OutputExistsError
from videorestore.request import declare

Perform = Callable[[Command, Environment, Console], ExitStatus]


def each(command: Command, environment: Environment) -> list[Command]:
    """The commands that a command on several inputs stands for.

    OUTPUT is a folder; every result is called like its input. So are the pages and the sd maps in folders of theirs.
    """
    from videorestore.media.containers import WRITTEN

    assert command.output is not None
    for flag, name in _folders(command):
        if not (name.endswith(("/", os.sep)) or os.path.isdir(environment.path(name))):
            raise UsageError(
                f"{flag} must name a folder when there are {len(command.inputs)} inputs, got {name}; end it with a slash."
            )
    found: dict[str, Command] = {}
    for name in command.inputs:
        base = os.path.basename(name.rstrip("/" + os.sep))
        stem, suffix = os.path.splitext(base)
        if os.path.isdir(environment.path(name)):
            result = base + "/"
        else:
            # What is read but not written becomes Matroska.
            result = base if suffix.lower() in WRITTEN else f"{stem}.mkv"
        output = os.path.join(command.output, result)
        if output in found:
            raise UsageError(
                f"the inputs must have different names, got {found[output].input} and {name}; rename one of them."
            )
        named = {
            field: os.path.join(value, stem + (".html" if field == "report" else ".npy"))
            for field, value in declare.paths(command.options, "written")
        }
        found[output] = replace(
            command, input=name, inputs=(name,), output=output, options=replace(command.options, **named)
        )
    return list(found.values())


def perform_all(
    command: Command,
    environment: Environment,
    console: Console,
    perform: Perform,
    message: Callable[..., str],
) -> ExitStatus:
    """Run a command on every input; what is there already from an earlier run is left as it is."""
    commands = each(command, environment)
    dry = getattr(command.options, "dry_run", False)
    if not dry:
        for folder in {command.output, *(name for _, name in _folders(command))}:
            if folder:
                os.makedirs(environment.path(folder), exist_ok=True)
    done: list[str] = []
    there: list[str] = []
    failed: list[tuple[str, ExitStatus]] = []
    lossy: list[str] = []
    for number, one in enumerate(commands, 1):
        if not command.telling.quiet:
            console.note(f"{number}/{len(commands)}: {one.input}")
        try:
            if (
                not dry
                and not command.options.overwrite
                and os.path.lexists(environment.path(str(one.output)))
            ):
                there.append(one.input)
                console.note(f"{one.output} is there already and stays; -y makes it anew")
                continue
            status = perform(one, environment, console)
            (lossy if status is ExitStatus.LOSSES else done).append(one.input)
        except ReaderGone:
            raise
        except Exception as error:
            told = message(error)
            console.error(told if isinstance(error, OutputExistsError) else f"{one.input}: {told}")
            failed.append((one.input, status_of(error)))
    if not command.telling.quiet or failed:
        console.note(_sum(done, there, lossy, [name for name, _ in failed]))
    if failed:
        kinds = {status for _, status in failed}
        return kinds.pop() if len(kinds) == 1 and len(failed) == len(commands) else ExitStatus.FAILED
    return ExitStatus.LOSSES if lossy else ExitStatus.DONE


def _folders(command: Command) -> list[tuple[str, str]]:
    known = declare.declared(command.options)
    return [(known[field].flags[-1], name) for field, name in declare.paths(command.options, "written")]


def _sum(done: list[str], there: list[str], lossy: list[str], failed: list[str]) -> str:
    total = len(done) + len(there) + len(lossy) + len(failed)
    parts = [f"{len(done)} of {total} done"]
    for names, words in (
        (lossy, "done with losses"),
        (there, "there already"),
        (failed, "failed"),
    ):
        if names:
            parts.append(f"{len(names)} {words} ({', '.join(names)})")
    return "; ".join(parts)
