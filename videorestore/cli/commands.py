"""The second phase: do what a command says, and tell what came of it."""

from __future__ import annotations

import dataclasses
import json
import os
from itertools import pairwise
from typing import Any

from videorestore.cli import pipes
from videorestore.cli.console import Console
from videorestore.cli.environment import Environment
from videorestore.cli.parser import Command
from videorestore.cli.status import ExitStatus, UsageError, tell
from videorestore.request import declare
from videorestore.request.targets import check_input, check_place


def perform(command: Command, environment: Environment, console: Console) -> ExitStatus:
    """Run a command.

    Parameters
    ----------
    command : Command
    environment : Environment
    console : Console
        For progress and warnings.
    """
    pipes.check(command)
    with pipes.places(command, environment) as (source, output, given):
        options = _resolved(given, environment)
        _check(source, output, options)
        # Everything heavy is imported behind this line; wrong usage has been found before it.
        from videorestore.run import perform as work

        if command.telling.verbose and not command.telling.quiet:
            console.note(f"options: {options}")
        outcome = work(command.verb, source, output, options, console.progress)
    console.close()
    from videorestore.compiled import has_cache

    if not has_cache():
        console.note(
            "note: no folder for compiled code is writable, so every run compiles anew; "
            "set NUMBA_CACHE_DIR to a folder of yours."
        )
    record = _named(outcome.record, command, outcome.losses)
    for loss in outcome.losses:
        console.note("warning: " + " ".join(str(loss).split()))
    if command.telling.json:
        tell(environment.stdout, json.dumps(record, allow_nan=False) + "\n")
    elif not command.telling.quiet or not command.output:
        from videorestore.cli.summary import summary

        # Where the picture itself goes to stdout, words go to stderr.
        stream = environment.stderr if command.output == pipes.PIPE else environment.stdout
        tell(stream, summary(command.verb, record, verbose=command.telling.verbose))
    return ExitStatus.LOSSES if outcome.losses else ExitStatus.DONE


def _resolved(options: Any, environment: Environment) -> Any:
    """The options with file names as the process must open them."""
    return dataclasses.replace(
        options, **{field: environment.path(name) for field, name in declare.paths(options)}
    )


def _check(source: str, output: str | None, options: Any) -> None:
    """Names are looked at before any work: a wrong one must not cost an hour."""
    inputs = [source, *(name for _, name in declare.paths(options, "read"))]
    for name in inputs:
        check_input(name)
    made = list(declare.paths(options, "written"))
    outputs = [*([output] if output else []), *(name for _, name in made)]
    # One may be spelt in two ways, or lie in another that is a folder.
    places = sorted(os.path.join(os.path.realpath(name), "") for name in outputs)
    if any(after.startswith(before) for before, after in pairwise(places)):
        listed = " and ".join(f"--{field.replace('_', '-')}" for field, _ in made)
        raise UsageError(
            f"OUTPUT, {listed} must be different files, got one name twice or one within another; rename one of them."
        )
    for field, name in made:
        if field == "report" and (name.endswith(("/", os.sep)) or os.path.isdir(name)):
            raise UsageError(
                f"--report must name a file, got the folder {name}; add a name, such as page.html."
            )
    for name in outputs:
        # A dry run writes nothing, so only harm to the input is refused.
        check_place(name, inputs, overwrite=options.overwrite or getattr(options, "dry_run", False))


def _named(record: dict[str, Any], command: Command, losses: tuple[str, ...]) -> dict[str, Any]:
    """The record with the names as the user wrote them, and with what was lost."""
    record = dict(record)
    record["input"] = command.input
    if command.output is not None and not record.get("dry_run"):
        record["output"] = command.output
    if losses:
        record["losses"] = [" ".join(str(loss).split()) for loss in losses]
    return record
