"""The fuzzer sees what is bad, and takes a clear refusal for an answer."""

import importlib.util
import os
import signal
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("fuzzing", Path(__file__).parents[2] / "scripts" / "fuzzing.py")
fuzzing = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzzing)


def die(number):
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (lambda world: 2, ""),
        (lambda world: 9, "status 9"),
        (lambda world: die(signal.SIGKILL), "signal 9"),
        (lambda world: world.stderr.write("error: this must not happen, got X") and 1, "error: this must not happen, got X"),
    ],
)  # fmt: skip
def test_verdicts(tmp_path, monkeypatch, answer, seen):
    monkeypatch.setattr(fuzzing, "main", lambda words, world: answer(world))
    assert fuzzing.verdict(["inspect", "x"], tmp_path) == seen


def test_a_hang_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzzing, "PATIENCE", 0.2)
    monkeypatch.setattr(fuzzing, "main", lambda words, world: signal.pause())
    assert fuzzing.verdict(["inspect", "x"], tmp_path) == "hang"
