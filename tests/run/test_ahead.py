"""Compiling ahead: a process of its own where nothing is compiled yet, none where it is, and it does not outlive us."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from videorestore.run import ahead


@pytest.fixture
def started(monkeypatch):
    """Processes that would compile; here they only wait."""
    processes = []

    def start():
        processes.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        return processes[-1]

    monkeypatch.setattr(ahead, "_start", start)
    yield processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("wanted", "compiled", "count"), [(True, False, 1), (True, True, 0), (False, False, 0)]
)
def test_it_starts_only_where_it_helps(monkeypatch, started, wanted, compiled, count):
    monkeypatch.setattr(ahead, "_compiled", lambda: compiled)
    with ahead.compiled_ahead(wanted):
        assert len(started) == count


def test_it_ends_with_the_block_even_after_an_error(monkeypatch, started):
    monkeypatch.setattr(ahead, "_compiled", lambda: False)
    with pytest.raises(RuntimeError), ahead.compiled_ahead(True):
        assert started[0].poll() is None
        raise RuntimeError
    assert started[0].poll() is not None


def test_what_is_compiled_is_seen_on_the_disk(monkeypatch, tmp_path):
    from videorestore.spatial import _kernels_patches

    stub = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)), __name__="restore_frame")
    monkeypatch.setattr(_kernels_patches, "restore_frame", stub)
    assert not ahead._compiled()
    (tmp_path / "_kernels_patches.restore_frame-320.py311.nbi").touch()
    assert ahead._compiled()


def test_a_machine_that_cannot_start_processes_compiles_as_it_goes(monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError("no more processes")

    monkeypatch.setattr(ahead.subprocess, "Popen", refuse)
    monkeypatch.setattr(ahead, "_compiled", lambda: False)
    with ahead.compiled_ahead(True):
        pass
