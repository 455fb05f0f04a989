"""Rendered scenes for the curve's tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def scenes() -> ModuleType:
    path = Path(__file__).resolve().parents[2] / "scripts" / "scenes.py"
    spec = importlib.util.spec_from_file_location("scenes", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def pan(scenes):
    """A camera gliding over a texture, 36 frames."""
    frames = scenes.pan(36, 36, 44, step=0.7)
    frames.flags.writeable = False
    return frames


@pytest.fixture(scope="session")
def turning(scenes):
    """A disc that turns once: a closed curve of 36 frames."""
    frames = scenes.disc(36, 32)
    frames.flags.writeable = False
    return frames
