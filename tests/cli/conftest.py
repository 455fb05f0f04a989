"""A world for commands, and work that only pretends."""

from __future__ import annotations

import io
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from videorestore.cli.environment import Environment
from videorestore.cli.program import main
from videorestore.cli.status import ExitStatus


@dataclass
class Result:
    """What a command said and ended with."""

    status: ExitStatus
    out: str
    err: str


@dataclass
class Work:
    """Stands in for `videorestore.run.perform`."""

    outcome: Any = None
    error: BaseException | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def __call__(self, verb: str, source: str, output: str | None, options: Any, progress: Any) -> Any:
        self.calls.append((verb, source, output, options))
        for done in range(4):
            progress("reading", done, 3)
        if self.error is not None:
            raise self.error
        return self.outcome or types.SimpleNamespace(
            record={"verb": verb, "frames": []}, losses=(), clip=None, sd=None
        )


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Replace the work by one that pretends, without importing the real one."""
    pretended = Work()
    module = types.ModuleType("videorestore.run")
    module.perform = pretended  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "videorestore.run", module)
    return pretended


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., Result]:
    """Run a command line in a folder of its own."""

    def call(*args: str, terminal: bool = False, **variables: str) -> Result:
        out, err = io.StringIO(), io.StringIO()
        environment = Environment(
            stdout=out,
            stderr=err,
            stderr_is_terminal=terminal,
            cwd=str(tmp_path),
            variables=variables,
        )
        return Result(main(args, environment), out.getvalue(), err.getvalue())

    return call
