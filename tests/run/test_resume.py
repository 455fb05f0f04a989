"""Killed, restarted, same pixels; the same with two workers and after a full disk."""

import os
import signal
import subprocess

import numpy as np
import pytest

from tests.run.jobs import ROOT, command, run, wait_for
from videorestore.media import read
from videorestore.run.store import WorkFolder


@pytest.mark.parametrize("pieces", [1, 2])
def test_killed_and_resumed(clip, undisturbed, tmp_path, pieces):
    output = tmp_path / "out.mkv"
    folder = tmp_path / "out.mkv.work"
    process = subprocess.Popen(command(clip, output, "--jobs", "1"), cwd=ROOT, start_new_session=True)
    wait_for(lambda: process.poll() is not None or len(list(folder.glob("0*.json"))) >= pieces)
    assert process.poll() is None, "the run was too quick to be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    stamps = {p.name: p.stat().st_mtime_ns for p in folder.glob("0*.json")}
    run(clip, output, "--jobs", "2")
    assert stamps, "nothing was kept of the first run"
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)
    assert not folder.exists()


@pytest.mark.parametrize("all_of_them", [False, True])
def test_interrupted_leaves_no_output_and_says_130(clip, tmp_path, all_of_them):
    output = tmp_path / "out.mkv"
    folder = tmp_path / "out.mkv.work"
    process = subprocess.Popen(
        command(clip, output, "--jobs", "2"),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(lambda: process.poll() is not None or any(folder.glob("0*.json")))
    if all_of_them:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    else:
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1
    assert not output.exists() and folder.exists()


def test_other_options_start_anew(clip, tmp_path, undisturbed):
    output = tmp_path / "out.mkv"
    folder = tmp_path / "out.mkv.work"
    other = WorkFolder(str(output))
    other.open({}, resume=True)
    other.release()
    (folder / "000000.json").write_text("[]")
    run(clip, output, "--jobs", "2")
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of eight megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=8M", "none", str(disk)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can be mounted by root only")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_full_disk_stops_the_run_and_room_lets_it_go_on(clip, undisturbed, small_disk, jobs):
    output, folder = small_disk / "out.mkv", small_disk / "out.mkv.work"
    process = subprocess.Popen(
        command(clip, output, "--jobs", str(jobs)), cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: process.poll() is not None or any(folder.glob("0*.json")))
    ballast = small_disk / "ballast"
    with pytest.raises(OSError), ballast.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(1 << 12))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1, errors
    assert errors.startswith("error: ") and errors.count("\n") == 1
    done = {p.name for p in folder.glob("0*.json")}
    assert done and not output.exists()
    ballast.unlink()
    run(clip, output, "--jobs", str(jobs))
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)


def test_a_disk_that_is_too_small_is_told_before_any_work(clip, small_disk):
    (small_disk / "ballast").write_bytes(bytes(7_500_000))
    done = subprocess.run(
        command(clip, small_disk / "out.mkv"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "must have about" in done.stderr, done.stderr
    assert [p.name for p in small_disk.iterdir()] == ["ballast"]


def test_a_folder_that_was_interrupted_before_it_was_made_is_let_go(tmp_path):
    """A signal may come at any moment; what Python deletes must not print a second error."""
    WorkFolder.__new__(WorkFolder).release()
