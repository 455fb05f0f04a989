"""The first phase: words into one frozen command, without touching a file or importing anything heavy."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from videorestore import __version__
from videorestore.cli.arguments import add_options
from videorestore.cli.settings import dump, load
from videorestore.cli.status import UsageError
from videorestore.errors import InputError, OutputExistsError
from videorestore.request import TABLE, VERBS, Settings, Telling, Verb
from videorestore.request.declare import complete

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One thing to do.

    Attributes
    ----------
    verb : str
    input : str
    output : str or None
    inputs : tuple of str
        All of them, where there are several.
    options : object
        The verb's dataclass of `videorestore.request.verbs`.
    telling : Telling
    """

    verb: str
    input: str
    output: str | None
    options: Any
    telling: Telling
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Text that was asked for: help, version, a completion script."""

    text: str


class _Shown(Exception):
    """Carries help out of argparse, which would exit by itself."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Parser(argparse.ArgumentParser):
    """argparse that neither prints nor exits."""

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ").rstrip(".")
        required = message.removeprefix("the following arguments are required: ")
        if required != message:
            raise UsageError(f"{required} must be given, got none; write {self.usage}.")
        remedy = "" if ";" in message else f"; see '{self.prog} --help'"
        raise UsageError(f"{message}{remedy}.")

    def print_help(self, file: Any = None) -> None:
        raise _Shown(self.format_help())


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=_width())


def parse(args: Sequence[str], place: Callable[[str], str] = str) -> Command | Answer:
    """Read a command line.

    Parameters
    ----------
    args : sequence of str
        Without the program's name.
    place : callable
        Gives the path under which a settings file is opened.

    Raises
    ------
    UsageError
        One line with the remedy.
    """
    if not args:
        raise UsageError(
            f"a verb must follow, got nothing; write videorestore VERB INPUT, verbs are {_listed()}."
        )
    first = args[0]
    if first in ("-h", "--help", "help"):
        if len(args) > 1 and args[1] in VERBS:
            return Answer(build(args[1]).format_help())
        return Answer(overview())
    if first in ("--version", "-V"):
        return Answer(f"videorestore {__version__}\n")
    if first == "--completion" or first.startswith("--completion="):
        return _completion(first, args[1:])
    if first not in VERBS:
        raise UsageError(_unknown(first))
    rest = list(args[1:])
    written = _write_settings(first, rest, place) if "--write-config" in " ".join(rest) else None
    return written or _parse_verb(first, rest, place)


def build(name: str, *, raw: bool = False) -> Parser:
    """The parser of one verb; ``raw`` leaves values as they are written."""
    verb = TABLE[name]
    parser = Parser(
        prog=f"videorestore {name}",
        usage=f"videorestore {name} {verb.synopsis} [options]",
        description=verb.description,
        epilog=_epilog(verb),
        formatter_class=_Formatter,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    add_options(parser, verb, raw=raw)
    return parser


def overview() -> str:
    """Help of the program as a whole."""
    width = max(map(len, VERBS))
    lines = [
        "usage: videorestore VERB INPUT -o OUTPUT [options]",
        "",
        "Restore video with an electrostatic Gaussian process: remove noise, make missing",
        "frames and pixels, raise the frame rate, put frames in order, and say how sure it is.",
        "",
        "verbs:",
        *(f"  {name:<{width}}  {TABLE[name].summary}" for name in VERBS),
        "",
        "INPUT is a video file, an animated GIF, a folder of images, a multi-page TIFF or a .npy array.",
        "OUTPUT is chosen by its name: .mp4 .mkv .mov .webm .avi .ts .gif, folder/ (PNG), .tif, .npy.",
        "Several INPUTs go into one folder/. A - stands for y4m from or to a pipe.",
        "",
        "options:",
        "  -h, --help            this text; 'videorestore VERB --help' has the options and examples of a verb",
        "  --version             the version",
        "  --completion SHELL    print a completion script for bash, zsh or fish",
        "",
        "examples:",
        *(f"  {TABLE[name].examples[0][0]}" for name in VERBS),
        "",
        "exit status: 0 done; 1 failed; 2 wrong usage; 3 input cannot be read; 4 output exists;",
        "  5 done, but part of the input was lost or refused; 130 interrupted; 143 terminated.",
    ]
    return "\n".join(lines) + "\n"


def _parse_verb(name: str, args: list[str], place: Callable[[str], str]) -> Command | Answer:
    parser = build(name)
    writes = TABLE[name].writes
    try:
        found, extra = parser.parse_known_args(_glue(args, parser))
    except _Shown as shown:
        return Answer(shown.text)
    if extra and (not writes or any(word.startswith("-") and word != "-" for word in extra)):
        raise UsageError(_unexpected(extra, parser))
    given = vars(found)
    chosen = Settings(**{key: given.pop(key) for key in Settings.__dataclass_fields__ if key in given})
    if chosen.config is not None:
        given = {**load(chosen.config, place(chosen.config), name), **given}
    telling = Telling(**{key: given.pop(key) for key in Telling.__dataclass_fields__ if key in given})
    source, output = given.pop("input"), given.pop("output", None)
    for name_ in (source, output, *extra):
        if name_ == "":
            raise UsageError("a file name must not be empty, got ''; check the variable that it came from.")
    if TABLE[name].writes and output is None:
        raise UsageError(f"-o OUTPUT must be given, got none; write videorestore {name} {source} -o OUTPUT.")
    if extra and not (str(output).endswith(("/", os.sep)) or os.path.isdir(place(str(output)))):
        raise UsageError(
            f"-o must name a folder when there are {1 + len(extra)} inputs ({source} to {extra[-1]}), "
            f"got {output}; end it with a slash, and quote names with spaces (--json takes no name: it prints)."
        )
    try:
        options = complete(TABLE[name].options, given)
    except InputError as error:
        raise UsageError(str(error)) from error
    return Command(
        verb=name, input=source, output=output, options=options, telling=telling, inputs=(source, *extra)
    )


def _write_settings(name: str, args: list[str], place: Callable[[str], str]) -> Answer | None:
    """Write what is given into a settings file, where that is asked for; nothing else is done then."""
    parser = build(name, raw=True)
    for action in parser._actions:
        if not action.option_strings:
            action.nargs = "*"
    try:
        found, extra = parser.parse_known_args(_glue(args, parser))
    except (_Shown, UsageError):
        return None
    given = vars(found)
    target = given.pop("write_config", None)
    if target is None or any(word.startswith("-") for word in extra):
        return None
    # A settings file is for what one always wants: neither these files nor a dry run.
    own = "input", "output", "other", "config", "dry_run"
    given = {key: value for key, value in given.items() if key not in own}
    try:
        with open(place(target), "x", encoding="utf-8") as file:
            file.write(dump(name, given))
    except FileExistsError as error:
        raise OutputExistsError(
            f"--write-config must name a new file, got {target}, which exists; choose another name."
        ) from error
    except OSError as error:
        raise UsageError(
            f"--write-config must name a file that can be written, got {target} ({error.strerror}); choose another."
        ) from error
    return Answer(f"{target}: give it back with videorestore {name} INPUT ... --config {target}\n")


def _glue(args: list[str], parser: Parser) -> list[str]:
    """Let options take the next word even when it starts with a dash, as getopt does."""
    actions = {text: action for action in parser._actions for text in action.option_strings}
    result: list[str] = []
    words = iter(range(len(args)))
    for place in words:
        word = args[place]
        if word == "--":
            return result + args[place:]
        action = actions.get(word)
        following = args[place + 1] if place + 1 < len(args) else None
        takes_value = action is not None and action.nargs is None
        if action is not None and takes_value and following is not None and following not in (*actions, "--"):
            longest = max(action.option_strings, key=len)
            result.append(f"{longest}={following}")
            next(words)
        else:
            result.append(word)
    return result


def _completion(first: str, rest: Sequence[str]) -> Answer:
    from videorestore.cli.completion import script

    shell = first.partition("=")[2] or (rest[0] if rest else "")
    if shell not in SHELLS:
        raise UsageError(f"--completion must name bash, zsh or fish, got {shell!r}; write --completion bash.")
    return Answer(script(shell))


def _unknown(first: str) -> str:
    if first.startswith("-"):
        return f"a verb must come first, got {first!r}; write videorestore VERB INPUT, verbs are {_listed()}."
    near = _nearest(first, VERBS)
    advice = f"did you mean {near}?" if near else "see videorestore --help."
    return f"the verb must be one of {_listed()}, got {first!r}; {advice}"


def _unexpected(extra: list[str], parser: Parser) -> str:
    word = extra[0]
    if word.startswith("-"):
        if os.path.lexists(word):
            return f"a file name that starts with a dash must be written ./{word}, got {word}; write it so."
        name = word.partition("=")[0]
        known = [
            text for action in parser._actions for text in action.option_strings if text.startswith("--")
        ]
        near = _nearest(name, known)
        return f"options must be known, got {name}; " + (
            f"did you mean {near}?" if near else f"see '{parser.prog} --help'."
        )
    return f"there must be no more names, got {word!r}; quote names with spaces, and give the result with -o."


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1)
    return found[0] if found else None


def _listed() -> str:
    return ", ".join(VERBS)


def _epilog(verb: Verb) -> str:
    lines = ["examples:"]
    for command, meaning in verb.examples:
        lines += [f"  {command}", f"      {meaning}"]
    return "\n".join(lines)


def _width() -> int:
    try:
        columns = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        columns = 100
    return max(60, min(columns, 110)) - 2
