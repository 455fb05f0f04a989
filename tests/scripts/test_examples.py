"""The examples run, and what they print is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "scripts" / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_spiral() -> None:
    assert 0.935 < example("spiral").main() < 0.97


def test_turntable() -> None:
    ours, fade = example("turntable").main()
    assert ours < 0.8 * fade


def test_missing_frame() -> None:
    error, share = example("missing_frame").main()
    assert error < 0.2
    assert 0.9 < share < 0.98
