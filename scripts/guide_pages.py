"""Build the user's guide: static pages from `scripts/guide/*.md`, the options of every verb, and the docstrings.

    scripts/dev docs [FOLDER]      writes FOLDER/index.html and its pages (build/guide by default)

The pages need no network and no script. Only this much of Markdown is understood: headings, paragraphs, lists, tables,
indented and fenced code, ``code``, **bold**, [links](page.md) and ![pictures](name.png) that lie beside them; lines that are comments are left out.
"""

from __future__ import annotations

import html
import inspect
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROSE = Path(__file__).resolve().parent / "guide"
TITLES = {
    "index": "videorestore",
    "recipes": "Recipes",
    "verbs": "The verbs and their options",
    "strength": "How much noise to remove",
    "record": "How to read the record",
    "trust": "What the sd means, and when to trust a frame",
    "limits": "Limits, with examples",
    "measured": "What was measured",
    "python": "From Python",
    "model": "The electroGP alone",
    "reference": "The Python names",
}
"""Pages in the order of reading."""

STYLE = """
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; color: #222; background: #fff }
nav { font-size: .9rem; border-bottom: 1px solid #ccc; padding-bottom: .6rem } nav a { margin-right: .9rem }
pre { background: #f4f4f2; padding: .7rem; overflow-x: auto } code { font: .88em/1.45 ui-monospace, monospace }
img { max-width: 100% } table { border-collapse: collapse; display: block; overflow-x: auto; font-size: .92rem } td, th { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } pre { background: #262626 } a { color: #8ab4f8 } }
"""


def inline(text: str) -> str:
    """Code, bold and links of one line."""
    parts = re.split(r"(`+)(.+?)\1", text)
    out = []
    for k in range(0, len(parts), 3):
        plain = html.escape(parts[k], quote=False)
        plain = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", plain)
        plain = re.sub(r"!\[([^\]]+)\]\(([^)\s]+)\)", r'<img src="\2" alt="\1">', plain)
        out.append(re.sub(r"\[([^\]]+)\]\(([^)\s]+?)(?:\.md)?\)", _link, plain))
        if k + 2 < len(parts):
            out.append(f"<code>{html.escape(parts[k + 2], quote=False)}</code>")
    return "".join(out)


def _link(found: re.Match[str]) -> str:
    target = found[2]
    return (
        f'<a href="{target if ":" in target or target.startswith("#") else target + ".html"}">{found[1]}</a>'
    )


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Kinds and lines of the blocks of a page, comments left out."""
    lines = [line for line in text.splitlines() if not line.startswith("<!--")]
    k = 0
    while k < len(lines):
        line = lines[k]
        start = k
        if not line.strip():
            k += 1
            continue
        if line.startswith("```"):
            k = next((j for j in range(k + 1, len(lines)) if lines[j].startswith("```")), len(lines)) + 1
            named = line[3:].strip()
            yield "code" if named in ("", "text") else named, lines[start + 1 : k - 1]
            continue
        kind = _kind(line)
        k += 1
        while k < len(lines) and lines[k].strip() and kind != "heading" and _goes_on(kind, lines[k]):
            k += 1
        yield kind, lines[start:k]


def _kind(line: str) -> str:
    for kind, pattern in (("heading", r"#+ "), ("list", r"[-*] "), ("table", r"\|"), ("code", r"    ")):
        if re.match(pattern, line):
            return kind
    return "text"


def _goes_on(kind: str, line: str) -> bool:
    other = _kind(line)
    return other == kind or (kind == "list" and line.startswith("  ")) or (kind == "text" and other == "code")


def rendered(text: str) -> str:
    """A page's Markdown as HTML."""
    return "\n".join(_BLOCKS.get(kind, _code)(lines) for kind, lines in blocks(text))


def _heading(lines: list[str]) -> str:
    level, _, words = lines[0].partition(" ")
    name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return f'<h{len(level)} id="{name}">{inline(words)}</h{len(level)}>'


def _list(lines: list[str]) -> str:
    items = re.split(r"\n[-*] ", "\n" + "\n".join(lines))[1:]
    return "<ul>" + "".join(f"<li>{inline(' '.join(item.split()))}</li>" for item in items) + "</ul>"


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("| "))] for line in lines]
    rows = [row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    tags = ["th", *["td"] * (len(rows) - 1)]
    body = "".join(
        "<tr>" + "".join(f"<{tag}>{inline(c.replace(chr(92) + '|', '|'))}</{tag}>" for c in row) + "</tr>"
        for tag, row in zip(tags, rows)
    )
    return f"<table>{body}</table>"


def _code(lines: list[str]) -> str:
    indent = min((len(s) - len(s.lstrip()) for s in lines if s.strip()), default=0)
    return "<pre><code>" + html.escape("\n".join(s[indent:] for s in lines), quote=False) + "</code></pre>"


_BLOCKS: dict[str, Callable[[list[str]], str]] = {
    "heading": _heading,
    "list": _list,
    "table": _table,
    "text": lambda lines: f"<p>{inline(' '.join(lines))}</p>",
}


def verbs_page() -> str:
    """What the prose and ``--help`` say of every verb: the help stands at the end of the verb's part."""
    from videorestore.cli.parser import build
    from videorestore.request.verbs import TABLE

    os.environ["COLUMNS"] = "82"  # what the width of a page holds
    first, *parts = re.split(r"^## ", (PROSE / "verbs.md").read_text(encoding="utf-8"), flags=re.M)
    shown = [first.rstrip()]
    for part in parts:
        name = part.partition("\n")[0].strip()
        shown.append(f"## {part.rstrip()}\n\n```text\n{build(name).format_help().rstrip()}\n```")
    left = set(TABLE) - {part.partition("\n")[0].strip() for part in parts}
    if left:
        raise ValueError(
            f"verbs.md must tell of every verb, misses {', '.join(sorted(left))}; add a part each."
        )
    return "\n\n".join(shown)


def reference_page() -> str:
    """Signatures and docstrings of the public names."""
    import videorestore

    parts = ["# The Python names"]
    for name in videorestore.__all__:
        thing = getattr(videorestore, name)
        if name.startswith("__") or not callable(thing):
            continue
        parts.append(f"## {name}\n\n```text\n{_signature(name, thing)}\n\n{inspect.getdoc(thing) or ''}\n```")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for method, code in inspect.getmembers(thing, inspect.isfunction):
                if not method.startswith("_") and code.__module__.startswith("videorestore"):
                    shown = _signature(f"{name}.{method}", code)
                    parts.append(f"```text\n{shown}\n\n{inspect.getdoc(code) or ''}\n```")
    return "\n\n".join(parts)


def _signature(name: str, thing: Callable[..., object]) -> str:
    """A call with its defaults; the types stand in the docstring."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    plain = [
        each.replace(
            annotation=each.empty,
            default=... if inspect.isfunction(each.default) else each.default,
        )
        for each in found.parameters.values()
        if each.name != "self"
    ]
    called = found.replace(parameters=plain, return_annotation=found.empty)
    return textwrap.fill(f"{name}{called}", 90, subsequent_indent="    ", break_long_words=False)


def build(folder: Path) -> list[Path]:
    """Write all pages; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"verbs": verbs_page, "reference": reference_page}
    links = "".join(f'<a href="{name}.html">{title}</a>' for name, title in TITLES.items())
    written = []
    for name, title in TITLES.items():
        text = made[name]() if name in made else (PROSE / f"{name}.md").read_text(encoding="utf-8")
        page = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style><nav>{links}</nav>\n{rendered(text)}\n</html>\n"
        )
        written.append(folder / f"{name}.html")
        written[-1].write_text(page, encoding="utf-8")
    for picture in PROSE.glob("*.png"):
        shutil.copy(picture, folder)
    return written


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    if any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit("usage: scripts/dev docs [FOLDER]   (build/guide)")
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "guide"
    print(*build(target), sep="\n")
