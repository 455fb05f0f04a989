"""Declared options as arguments of a parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from videorestore.errors import InputError
from videorestore.request import Settings, Telling, Verb
from videorestore.request.declare import Option, declared
from videorestore.request.kinds import File, Flag, Kind, Times

INPUT = Option(
    kind=File(metavar="INPUT"),
    help="video file, GIF, folder of images, multi-page TIFF, .npy, or - for y4m from a pipe",
    path="read",
)
OUTPUT = Option(
    kind=File(metavar="OUTPUT"),
    help="by its name: .mp4 .mkv .mov .webm .avi .ts .gif, folder/ (PNG; results of several inputs), .tif, .npy, - (y4m)",
    group="output",
    flags=("-o", "--output"),
    path="written",
)
PAGE = replace(OUTPUT, kind=File(metavar="PAGE.html"), help="the page that is written")


def add_options(parser: argparse.ArgumentParser, verb: Verb, *, raw: bool = False) -> dict[str, Option]:
    """Add what a verb takes; defaults are left out, for they belong to the dataclasses. Gives them by destination.

    ``raw`` reads the values, so that wrong ones are refused, but leaves them as they are written.
    """
    words = verb.synopsis.split()
    known = {"input": replace(INPUT, kind=File(metavar=words[0]))}
    output = PAGE if PAGE.metavar in words else OUTPUT
    for name, option in declared(verb.options).items():
        if option.group == OUTPUT.group and verb.writes:
            known.setdefault("output", output)
        known[name] = option
    known |= {**declared(Settings), **declared(Telling)}
    groups: dict[str, Any] = {"": parser}
    for name, option in known.items():
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        _add(groups[option.group], name, option, raw)
    return known


def _add(group: Any, name: str, option: Option, raw: bool) -> None:
    kind = option.kind
    if not option.flags:
        group.add_argument(name, metavar=option.metavar, type=reader(kind, raw), help=option.help)
    elif isinstance(kind, Times):
        group.add_argument(*option.flags, dest=name, action="count", help=option.help)
    elif isinstance(kind, Flag) and kind.opposite:
        either = group.add_mutually_exclusive_group()
        either.add_argument(*option.flags, dest=name, action="store_const", const=True, help=option.help)
        either.add_argument(
            kind.opposite,
            dest=name,
            action="store_const",
            const=False,
            help=f"the opposite of {option.flags[-1]}",
        )
    elif isinstance(kind, Flag):
        group.add_argument(*option.flags, dest=name, action="store_true", help=option.help)
    else:
        group.add_argument(
            *option.flags, dest=name, metavar=option.metavar, type=reader(kind, raw), help=option.help
        )


def reader(kind: Kind, raw: bool = False) -> Callable[[str], Any]:
    """How argparse reads a value."""

    def read(text: str) -> Any:
        try:
            value = kind.read(text)
            return text if raw else value
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read
