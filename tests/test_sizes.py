"""Files and functions stay small enough to be read at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "videorestore"
LINES, FUNCTION_LINES, BRANCHES, PARAMETERS = 400, 70, 25, 8
"""Most lines of a file and of a function, most branches and most parameters of a function."""

BRANCHING = (
    *(ast.If, ast.For, ast.While, ast.IfExp, ast.BoolOp, ast.Try),
    *(ast.comprehension, ast.ExceptHandler),
)
FILES = sorted(PACKAGE.rglob("*.py"))


def too_large(text: str) -> list[str]:
    """What of a file is too large; kernels and constructors may have more parameters and lines."""
    found = []
    if len(text.splitlines()) > LINES:
        found.append(f"{len(text.splitlines())} lines")
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if any("kernel" in ast.unparse(decorator) for decorator in node.decorator_list):
            continue
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        branches = sum(isinstance(part, BRANCHING) for part in ast.walk(node))
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        parameters = len([name for name in names if name not in ("self", "cls")])
        if (
            lines > FUNCTION_LINES
            or branches > BRANCHES
            or (parameters > PARAMETERS and node.name != "__init__")
        ):
            found.append(f"{node.name}: {lines} lines, {branches} branches, {parameters} parameters")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_can_be_read_at_once(path: Path) -> None:
    assert too_large(path.read_text(encoding="utf-8")) == []


def test_what_is_too_large_is_seen() -> None:
    many = ", ".join(f"a{k}" for k in range(9))
    assert too_large(f"def f({many}): pass\n") == ["f: 1 lines, 0 branches, 9 parameters"]
    assert too_large(f"@kernel\ndef f({many}): pass\n") == []
    assert too_large("def f():\n" + "    if a: pass\n" * 26) == ["f: 27 lines, 26 branches, 0 parameters"]
    assert too_large("def f():\n" + "    a = 1\n" * 70) == ["f: 71 lines, 0 branches, 0 parameters"]
    assert too_large("a = 1\n" * 401) == ["401 lines"]
