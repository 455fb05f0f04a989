"""Results of the benchmarks as Markdown tables, and their places in the documents.

A document says where a result belongs by a pair of comments, ``<!-- bench startup.startup -->`` and
``<!-- end -->``: section, part and, after further dots, keys of the result. What stands between them is written
by ``scripts/dev bench ... --write`` alone, with the day, the commit and the machine.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PLACE = re.compile(r"(<!-- bench (?P<name>[\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table; a key that a row lacks is an empty cell."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def rows_of(result: Any) -> list[dict[str, Any]]:
    """A result as rows: a list of rows as it is, a mapping with one row for each of its entries."""
    if isinstance(result, Mapping):
        return [
            {"what": key, **(_flat(value) if isinstance(value, Mapping) else {"value": value})}
            for key, value in result.items()
        ]
    return [_flat(row) for row in result]


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose nested mappings are cells of their own, named by both keys."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat |= {f"{key} {inner}": cell for inner, cell in _flat(value).items()}
        else:
            flat[key] = value
    return flat


def source(machine: Mapping[str, Any], day: str, root: Path) -> str:
    """One line that says when, at which commit and on what the figures were taken."""
    said = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    commit = f"commit {said.stdout.strip()}" if said.returncode == 0 else "no commit known"
    return (
        f"Measured {day}, {commit}, {machine['cores']} cores ({machine['processor']}), "
        f"{machine['system']}, Python {machine['python']}."
    )


def write(section: str, results: Mapping[str, Any], documents: Sequence[Path], said: str) -> list[str]:
    """Put the results of a section into their places; returns the names of the places that were written.

    Parameters
    ----------
    section : str
    results : mapping
        By part. A place whose part was not measured stays as it is.
    documents : sequence of Path
    said : str
        The line below each table, see `source`.
    """
    written: list[str] = []

    def fill(found: re.Match[str]) -> str:
        first, *keys = found["name"].split(".")
        result: Any = results if first == section else None
        for key in keys:
            result = result.get(key) if isinstance(result, Mapping) else None
        if not result or not isinstance(result, (Mapping, list)):
            return found[0]
        written.append(found["name"])
        return f"{found[1]}{table(rows_of(result))}\n\n{said}\n{found[3]}"

    for document in documents:
        before = document.read_text(encoding="utf-8")
        after = PLACE.sub(fill, before)
        if after != before:
            document.write_text(after, encoding="utf-8")
    return written
