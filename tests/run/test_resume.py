"""Killed, restarted, same pixels; the same with two workers and after a full disk."""

import os
import signal
import subprocess

import numpy as np
import pytest

from tests.run.jobs import ROOT, command, run, wait_for
from videorestore.media import read


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


def test_interrupted_leaves_no_output_and_says_130(clip, tmp_path):
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
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("error: interrupted") and errors.count("\n") == 1
    assert not output.exists() and folder.exists()


def test_other_options_start_anew(clip, tmp_path, undisturbed):
    output = tmp_path / "out.mkv"
    folder = tmp_path / "out.mkv.work"
    folder.mkdir()
    (folder / "run.json").write_text("{}")
    (folder / "000000.json").write_text("[]")
    run(clip, output, "--jobs", "2")
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)
