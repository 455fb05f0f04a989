"""One declaration for each option: a field of a dataclass that says how it is read, told and remembered.

The command line, the keywords of the Python functions, settings files, completion, help, the names that are checked
before the work, and the key by which an interrupted run is recognised all follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from inspect import get_annotations
from typing import Any, Literal, TypeVar

from videorestore.errors import InputError
from videorestore.request.kinds import File, Flag, Kind

Role = Literal["read", "written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What is known of an option besides its name and default.

    Attributes
    ----------
    kind : Kind
    help : str
    group : str
        Heading in the help; "" is a name that stands by itself, like INPUT.
    flags : tuple of str
        Spellings on the command line.
    keyword : str
        Name in Python and in a settings file.
    path : {"read", "written"} or None
        A file that must be there before the work, or one that is made.
    pixels : bool
        Another value makes other pixels: an interrupted run does not go on with it.
    """

    kind: Kind
    help: str
    group: str = ""
    flags: tuple[str, ...] = ()
    keyword: str = ""
    path: Role | None = None
    pixels: bool = True

    @property
    def metavar(self) -> str:
        return self.kind.metavar


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb as the user sees it.

    Attributes
    ----------
    options : type
        The dataclass of its options.
    summary, description : str
    synopsis : str
        The names that it takes.
    examples : tuple of (command, meaning)
    writes : bool
        It makes an OUTPUT.
    """

    options: Any
    summary: str
    description: str
    synopsis: str
    examples: tuple[tuple[str, str], ...]
    writes: bool = True


TABLE: dict[str, Verb] = {}
"""Every verb, in the order of the help."""

_Kind = TypeVar("_Kind")


def option(default: Any, kind: Kind, help: str, *, short: str = "", **more: Any) -> Any:
    """Declare an option: a dataclass field with all that is to be said of it; ``more`` as in `Option`."""
    return field(default=default, metadata={"option": Option(kind=kind, help=help, **more), "short": short})


def verb(name: str, **words: Any) -> Callable[[type[_Kind]], type[_Kind]]:
    """Declare a verb: put on the dataclass of its options; ``words`` as in `Verb`."""

    def register(options: type[_Kind]) -> type[_Kind]:
        TABLE[name] = Verb(options=options, **words)
        return options

    return register


def declared(options: Any) -> dict[str, Option]:
    """The options of a dataclass (or of a value of it) by field name; those of the verb itself come first."""
    kind = options if isinstance(options, type) else type(options)
    own = get_annotations(kind)
    found: dict[str, Option] = {}
    for entry in sorted(fields(kind), key=lambda entry: entry.name not in own):
        one: Option = entry.metadata["option"]
        keyword = one.keyword or entry.name
        flags = (f"--{keyword.replace('_', '-')}",) if one.group else ()
        short = entry.metadata["short"]
        found[entry.name] = replace(one, keyword=keyword, flags=(short, *flags) if short else flags)
    return found


def defaults(options: type) -> dict[str, Any]:
    """Default values by field name; what has none is left out."""
    return {
        entry.name: entry.default
        for entry in fields(options)  # type: ignore[arg-type]
        if entry.default is not MISSING
    }


def read(verb_name: str, given: Mapping[str, Any]) -> Any:
    """The options of a verb from keywords, whose values may be text or Python's own; None is the default.

    Raises
    ------
    InputError
        An option that the verb does not have, or a value that it cannot take.
    """
    kind = TABLE[verb_name].options
    known = {one.keyword: (name, one) for name, one in declared(kind).items()}
    standard = defaults(kind)
    values: dict[str, Any] = {}
    for key, value in given.items():
        opposite = next((name for name, (_, one) in known.items() if _opposite(one) == key), None)
        if opposite is not None:
            key, value = opposite, not value
        if key not in known:
            names = ", ".join(sorted(known))
            raise InputError(f"{verb_name} takes the options {names}, got {key}; check the spelling.")
        name, one = known[key]
        if value is None:
            values[name] = standard[name]
            continue
        try:
            values[name] = one.kind.read(value)
        except InputError as error:
            raise InputError(f"{key}: {error}") from error
    return complete(kind, values)


def complete(kind: Any, values: dict[str, Any]) -> Any:
    """A value of the options from what was given; a verb may draw conclusions from what was not."""
    concluded = getattr(kind, "concluded", None)
    return kind(**(concluded(values) if concluded else values))


def paths(options: Any, role: Role | None = None) -> Iterator[tuple[str, str]]:
    """Names of files among the values, with their fields: of all options, or of those with a role."""
    for name, one in declared(options).items():
        value = getattr(options, name)
        if one.path is None or role not in (None, one.path) or not isinstance(value, str) or not value:
            continue
        if not (isinstance(one.kind, File) and value in one.kind.words):
            yield name, value


def _opposite(one: Option) -> str | None:
    spelled = one.kind.opposite if isinstance(one.kind, Flag) else None
    return spelled.lstrip("-").replace("-", "_") if spelled else None
