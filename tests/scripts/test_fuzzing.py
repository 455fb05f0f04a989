"""The fuzzer sees what is bad, and takes a clear refusal for an answer."""

import importlib.util
import os
import resource
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
        (lambda world: world.stderr.write("error: one line\n") and 2, ""),
        (lambda world: world.stderr.write("error: one line\nor two\n") and 2, "2 lines of error"),
        (lambda world: open(f"{world.cwd}/clip", "w").close() or 0, "an input was written to"),
        (lambda world: os.mkdir(f"{world.cwd}/out.mkv.part") or 0, "left behind: out.mkv.part"),
        (lambda world: os.mkdir(f"{world.cwd}/out") or 0, ""),
        (lambda world: (world.stderr.write("error\n") and os.mkdir(f"{world.cwd}/out")) or 3, "status 3 and OUTPUT do not go together"),
        (lambda world: bytearray(fuzzing.ALLOWED) and 0, "MB of memory"),
        (lambda world: 9, "status 9"),
        (lambda world: die(signal.SIGKILL), "signal 9"),
        (lambda world: world.stderr.write("error: this must not happen, got X") and 1, "error: this must not happen, got X"),
    ],
)  # fmt: skip
def test_verdicts(tmp_path, monkeypatch, answer, seen):
    (tmp_path / "clip").write_bytes(b"x")
    # The command starts out with what this process has.
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    monkeypatch.setattr(fuzzing, "ALLOWED", held + (100 << 20))
    monkeypatch.setattr(fuzzing, "main", lambda words, world: answer(world))
    words = ["fill", "x", "-o", "out"] if "OUTPUT" in seen else ["inspect", "x"]
    found = fuzzing.verdict(words, tmp_path)
    assert found.endswith(seen) if seen else not found


def test_a_hang_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzzing, "PATIENCE", 0.2)
    monkeypatch.setattr(fuzzing, "main", lambda words, world: signal.pause())
    assert fuzzing.verdict(["inspect", "x"], tmp_path) == "hang"
