"""Settings files: what one always wants, as TOML. Options of the command line come before those of the file."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from videorestore.cli.status import UsageError
from videorestore.errors import InputError
from videorestore.request import TABLE, Telling
from videorestore.request.declare import declared
from videorestore.request.kinds import Number, Whole


def load(name: str, path: str, verb: str) -> dict[str, Any]:
    """Options for a verb by field: those at the head of a file that it has, then those under ``[verb]``.

    Parameters
    ----------
    name : str
        As the user wrote it.
    path : str
        As the process must open it.
    verb : str
    """
    try:
        with open(path, "rb") as file:
            stored = tomllib.load(file)
    except OSError as error:
        raise UsageError(
            f"--config must name a file that can be read, got {name} ({error.strerror}); check it."
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(
            f'--config must name a TOML file, got {name} ({error}); write lines like quality = "best".'
        ) from error
    sections = {key: value for key, value in stored.items() if isinstance(value, dict)}
    general = {key: value for key, value in stored.items() if key not in sections}
    for section in sections:
        if section not in TABLE:
            raise UsageError(
                f"{name}: a section must be a verb, got [{section}]; use one of {', '.join(TABLE)}."
            )
    values: dict[str, Any] = {}
    for chosen, entries in ((None, general), (verb, sections.get(verb, {}))):
        for key, value in entries.items():
            found = _read(name, key, value, verb)
            if found is not None:
                values.update([found])
            elif chosen is not None or not any(_field(key, other) for other in TABLE):
                where = f"{verb} has no option" if chosen else "no verb has an option"
                raise UsageError(
                    f"{name}: every line must set an option, but {where} {key}; check the spelling."
                )
    return values


def dump(verb: str, given: dict[str, Any]) -> str:
    """A settings file with what was given on the command line, as it was written there."""
    lines = [f"# videorestore {verb} --config THIS_FILE", f"[{verb}]"]
    for field, value in given.items():
        option = declared(TABLE[verb].options).get(field) or declared(Telling)[field]
        if isinstance(option.kind, (Number, Whole)) and value not in option.kind.words:
            value = float(value) if "." in value or "e" in value.lower() else int(value)
        lines.append(f"{option.keyword} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _field(key: str, verb: str) -> tuple[str, Any] | None:
    keyword = key.replace("-", "_")
    for kind in (TABLE[verb].options, Telling):
        for field, option in declared(kind).items():
            if option.flags and keyword == option.keyword:
                return field, option
    return None


def _read(name: str, key: str, value: Any, verb: str) -> tuple[str, Any] | None:
    found = _field(key, verb)
    if found is None:
        return None
    field, option = found
    try:
        return field, option.kind.read(value)
    except InputError as error:
        raise UsageError(f"{name}: {key}: {error}") from error
