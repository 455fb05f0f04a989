"""Declared options as arguments of a parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from videorestore.errors import InputError
from videorestore.request import Telling, Verb
from videorestore.request.declare import Option, declared
from videorestore.request.kinds import File, Flag, Kind, Times

INPUT = Option(
    kind=File(metavar="INPUT"), help="video file, GIF, folder of images, multi-page TIFF or .npy", path="read"
)
OUTPUT = Option(
    kind=File(metavar="OUTPUT"),
    help="by its name: .mp4 .mkv .mov .webm .avi .gif, folder/ (PNG), .tif, .npy",
    group="output",
    flags=("-o", "--output"),
    path="written",
)


def add_options(parser: argparse.ArgumentParser, verb: Verb) -> dict[str, Option]:
    """Add what a verb takes; defaults are left out, for they belong to the dataclasses. Gives them by destination."""
    known = {"input": INPUT}
    for name, option in declared(verb.options).items():
        if option.group == OUTPUT.group and verb.writes:
            known.setdefault("output", OUTPUT)
        known[name] = option
    known |= declared(Telling)
    groups: dict[str, Any] = {"": parser}
    for name, option in known.items():
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        _add(groups[option.group], name, option)
    return known


def _add(group: Any, name: str, option: Option) -> None:
    kind = option.kind
    if not option.flags:
        group.add_argument(name, metavar=option.metavar, type=reader(kind), help=option.help)
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
            *option.flags, dest=name, metavar=option.metavar, type=reader(kind), help=option.help
        )


def reader(kind: Kind) -> Callable[[str], Any]:
    """How argparse reads a value."""

    def read(text: str) -> Any:
        try:
            return kind.read(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read
