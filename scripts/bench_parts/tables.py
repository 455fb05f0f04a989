"""Results of the benchmarks as Markdown tables, and their places in the documents.

A document says where a result belongs by a pair of comments, ``<!-- bench startup.startup -->`` and
``<!-- end -->``: section, part and, after further dots, keys of the result. What stands between them is written
by ``scripts/bench ... --write`` alone, with the day, the commit and the machine; the second comment then carries a
digest of it, so that a figure that no run wrote is found (`altered`).
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PLACE = re.compile(
    r"(<!-- bench (?P<name>[\w.]+) -->\n)(?P<text>.*?)<!-- end(?: (?P<digest>[0-9a-f]+))? -->", re.DOTALL
)
DIGITS = 16
"""Hexadecimal digits of a digest: an edit by hand cannot meet them by chance."""


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table; a key that a row lacks is an empty cell."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def shown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows with two decimals, which is what a table can bear."""
    return [{k: f"{v:.2f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def summed(
    rows: Sequence[Mapping[str, Any]], by: str, *, extra: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """For each value of a column the lead over the best peer, once over all clips and once over those held out.

    Parameters
    ----------
    rows : sequence of mappings
        With "lead", "held out" and, where they were measured, "auto over better" and "covers".
    by : str
        The column whose values are told apart.
    extra : mapping, optional
        Further means: their titles, and the columns that they are taken from.
    """
    found = []
    for kind in dict.fromkeys(row[by] for row in rows):
        for title, only in (("all", False), ("held out", True)):
            own = [row for row in rows if row[by] == kind and (row["held out"] or not only)]
            if not own:
                continue
            line: dict[str, Any] = {by: kind, "clips": f"{title}: {len(own)}"}
            line["mean lead, dB"] = sum(row["lead"] for row in own) / len(own)
            line["least lead"] = min(row["lead"] for row in own)
            line |= {name: sum(row[key] for row in own) / len(own) for name, key in (extra or {}).items()}
            if "auto over better" in own[0]:
                line["auto over the better model, least"] = min(row["auto over better"] for row in own)
            if "covers" in own[0]:
                covers = [row["covers"] for row in own]
                line["95 % interval covers"] = f"{min(covers):.2f} to {max(covers):.2f}"
            found.append(line)
    return shown(found)


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


def digest(text: str) -> str:
    """What the closing comment of a place carries of its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def altered(document: str) -> list[str]:
    """Names of the places of a document whose text no run wrote; a place that is still empty is in order."""
    return [m["name"] for m in PLACE.finditer(document) if m["text"] and m["digest"] != digest(m["text"])]


def outside(document: str) -> str:
    """A document without its places."""
    return PLACE.sub("", document)


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
        if not result or not isinstance(result, (Mapping, list, str)):
            return found[0]
        written.append(found["name"])
        if isinstance(result, str):
            # A part that prints a table has it stand as one.
            shown = result if result.startswith("|") else f"```\n{result}\n```"
        else:
            shown = table(rows_of(result))
        text = f"{shown}\n\n{said}\n"
        return f"{found[1]}{text}<!-- end {digest(text)} -->"

    for document in documents:
        before = document.read_text(encoding="utf-8")
        after = PLACE.sub(fill, before)
        if after != before:
            document.write_text(after, encoding="utf-8")
    return written
