"""A real scheduler and real workers: one dies, one cannot see the input."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.run.jobs import ROOT, command, wait_for
from videorestore.errors import InputError, VideoRestoreError
from videorestore.media import SinkOptions, read
from videorestore.run import cluster
from videorestore.run.cluster import Ticket, sees, shipped_files
from videorestore.run.identity import fingerprint
from videorestore.run.piecework import Assignment
from videorestore.run.store import WorkFolder


def hidden(folder):
    """Words before a command that make it see an empty folder in place of this one; none where that cannot be."""
    if shutil.which("unshare") is None:
        return []
    hide = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs none \'{folder}\' && exec "$0" "$@"']
    tried = subprocess.run([*hide, "true"], capture_output=True, check=False)
    return hide if tried.returncode == 0 else []


@pytest.fixture
def scheduler(tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed (extra: cluster)")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    address_file = tmp_path / "scheduler.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        + ["--no-dashboard", "--scheduler-file", str(address_file)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    started = []
    try:
        # The file is there before it is whole.
        wait_for(lambda: address_file.exists() and address_file.read_text().rstrip().endswith("}"))
        address = json.loads(address_file.read_text())["address"]

        def worker(*before, **more):
            words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
            words += ["--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
            started.append(
                subprocess.Popen([*before, *words], env={**environment, **more}, stderr=subprocess.DEVNULL)
            )
            return started[-1]

        yield address, worker
    finally:
        for one in started:
            one.kill()
        process.kill()


def test_a_worker_dies_and_another_cannot_see_the_input(clip, undisturbed, tmp_path, scheduler):
    address, worker = scheduler
    far = tmp_path / "far"
    far.mkdir()
    mortal = worker()
    hide = hidden(clip.parent)
    worker(*hide, TMPDIR=str(far))
    output, folder = tmp_path / "out.mkv", tmp_path / "out.mkv.work"
    process = subprocess.Popen(command(clip, output, "--cluster", address), cwd=ROOT)
    try:
        wait_for(lambda: process.poll() is not None or any(folder.glob("0*.json")), 120)
        mortal.kill()
        wait_for(lambda: process.poll() is not None or not hide or any(far.rglob("complete")), 120)
        assert not hide or any(far.rglob("complete")), "nothing was shipped"
        assert process.wait(timeout=240) == 0
    finally:
        process.kill()
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)
    assert not list(far.rglob("input")), "what was shipped was left behind"


def test_workers_that_are_absent_or_of_another_version_are_refused(tmp_path, scheduler, monkeypatch):
    address, worker = scheduler
    monkeypatch.setattr(cluster, "PATIENCE", 1)
    with pytest.raises(InputError, match="must have a worker, none came"):
        cluster.check_cluster(address)
    other = tmp_path / "other" / "videorestore"
    shutil.copytree(ROOT / "videorestore", other, ignore=shutil.ignore_patterns("__pycache__"))
    with (other / "clip.py").open("a") as stream:
        stream.write("# changed\n")
    monkeypatch.setattr(cluster, "PATIENCE", 60)
    worker("env", "-C", str(other.parent), PYTHONPATH=str(other.parent))
    with pytest.raises(InputError, match=r"this very version of videorestore.*has another"):
        cluster.check_cluster(address)


def test_what_killed_workers_left_is_removed_and_nothing_else(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    gone = tmp_path / f"videorestore-{'a' * 32}-{ended.pid}"
    kept = [tmp_path / f"videorestore-{'b' * 32}-{os.getpid()}", tmp_path / f"videorestore-notes-{ended.pid}"]
    for folder in (gone, *kept):
        (folder / "input").mkdir(parents=True)
    cluster.sweep(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_what_is_shipped_is_for_no_other_eyes(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.tempfile, "gettempdir", lambda: str(tmp_path))
    cluster.receive("videorestore-x", "input/in.mkv", 0, b"secret")
    folder = cluster.shipped_folder("videorestore-x")
    assert folder.stat().st_mode & 0o077 == 0 and (folder / "input" / "in.mkv").read_bytes() == b"secret"
    cluster.forget("videorestore-x")
    folder.symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        cluster.receive("videorestore-x", "input/in.mkv", 0, b"secret")


def test_a_worker_trusts_only_the_very_input_and_plan(tmp_path):
    path = tmp_path / "in.bin"
    path.write_bytes(b"abc" * 1000)
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.path.mkdir()
    (folder.path / "plan").write_bytes(b"plan")
    assignment = Assignment(path=str(path), output=str(tmp_path / "out.mkv"), sink=SinkOptions())
    content = fingerprint(str(path))

    right = Ticket(name="x", content=content, plan=_digest(b"plan"), code="c")
    assert sees(assignment, right)
    assert not sees(assignment, Ticket(name="x", content=content, plan=_digest(b"another"), code="c"))
    path.write_bytes(b"abd" * 1000)
    assert not sees(assignment, right)
    path.unlink()
    assert not sees(assignment, right)


def test_folders_and_patterns_are_shipped_file_by_file(tmp_path):
    for name in ("a1.png", "a2.png", "note.txt"):
        (tmp_path / name).write_bytes(b"x")
    assert [name for _, name in shipped_files(str(tmp_path))] == [
        f"input/{tmp_path.name}/{name}" for name in ("a1.png", "a2.png", "note.txt")
    ]
    assert [name for _, name in shipped_files(str(tmp_path / "*.png"))] == ["input/a1.png", "input/a2.png"]
    assert shipped_files(str(tmp_path / "a1.png")) == [(Path(tmp_path / "a1.png"), "input/a1.png")]


def test_a_piece_that_travelled_is_complete(tmp_path):
    here, there = WorkFolder(str(tmp_path / "a.mkv")), WorkFolder(str(tmp_path / "b.mkv"))
    here.path.mkdir()
    there.path.mkdir()
    there.segment(3).write_bytes(b"frames")
    there.save_facts(3, [{"fact": 1}])
    here.adopt(3, there.give_away(3))
    assert here.done(3) and here.load_facts(3) == [{"fact": 1}]
    assert here.segment(3).read_bytes() == b"frames"
    assert not there.done(3)


def _digest(content):
    import hashlib

    return hashlib.sha256(content).hexdigest()


def test_a_scheduler_that_is_gone_is_told_in_one_line(tmp_path, monkeypatch):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.open({}, resume=True)
    (folder.path / "plan").write_bytes(b"{}")
    (tmp_path / "in.npy").write_bytes(b"")

    def lost(*args):
        raise RuntimeError("cancelled for reason: scheduler-connection-lost.\nPlease check")
        yield 0

    monkeypatch.setattr(cluster, "_client", lambda address: contextlib.nullcontext())
    monkeypatch.setattr(cluster, "_spread", lost)
    assignment = Assignment(
        path=str(tmp_path / "in.npy"), output=str(tmp_path / "out.mkv"), sink=SinkOptions()
    )
    with pytest.raises(VideoRestoreError, match="scheduler-connection-lost") as told:
        list(cluster.make_pieces(assignment, [0], folder, "tcp://127.0.0.1:1"))
    assert "goes on from here" in str(told.value) and "\n" not in str(told.value)
