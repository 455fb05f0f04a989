"""What may befall a work folder: another run, torn files, another input."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.run.jobs import ROOT, command, run, wait_for
from videorestore.media import read


def killed_after(clip, output, pieces):
    """A work folder that a run left behind when so many pieces were done."""
    folder = output.with_name(output.name + ".work")
    process = subprocess.Popen(command(clip, output, "--jobs", "1"), cwd=ROOT, start_new_session=True)
    wait_for(lambda: process.poll() is not None or len(list(folder.glob("0*.json"))) >= pieces)
    assert process.poll() is None, "the run was too quick to be killed"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return folder


def workers_of(pid):
    """Processes that make pieces for another one."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                if b"LokyProcess" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
            except OSError:
                continue
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are found by /proc")
def test_a_worker_is_killed_and_the_run_goes_on(clip, undisturbed, tmp_path):
    output = tmp_path / "out.mkv"
    folder = tmp_path / "out.mkv.work"
    process = subprocess.Popen(
        command(clip, output, "--jobs", "2"), cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: process.poll() is not None or (list(folder.glob("0*.json")) and workers_of(process.pid)))
    victims = workers_of(process.pid)
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    errors = process.communicate()[1]
    assert len(victims) == 1 and process.returncode == 0, errors
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)
    assert not folder.exists()


def test_torn_pieces_are_made_again(clip, undisturbed, tmp_path):
    output = tmp_path / "out.mkv"
    folder = killed_after(clip, output, 4)
    done = sorted(folder.glob("0*.json"))
    segment = done[0].with_suffix(".mkv")
    segment.write_bytes(segment.read_bytes()[:-100])
    done[1].write_bytes(b"\x00\xffgarbage")
    done[2].with_suffix(".mkv").unlink()
    kept = done[3].stat().st_mtime_ns
    record = run(clip, output, "--jobs", "2")
    assert kept and not record.get("losses")
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)
    assert not folder.exists()


def test_a_torn_plan_is_made_again(clip, undisturbed, tmp_path):
    output = tmp_path / "out.mkv"
    folder = killed_after(clip, output, 1)
    (folder / "plan").write_bytes((folder / "plan").read_bytes()[:40])
    run(clip, output, "--jobs", "1")
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)


def test_a_second_run_is_refused_and_the_first_goes_on(clip, undisturbed, tmp_path):
    output = tmp_path / "out.mkv"
    folder = tmp_path / "out.mkv.work"
    first = subprocess.Popen(command(clip, output, "--jobs", "1"), cwd=ROOT)
    wait_for(lambda: first.poll() is not None or (folder / "plan").exists())
    first.send_signal(signal.SIGSTOP)
    for more in ((), ("--fresh",), ("--quality", "default")):
        second = subprocess.run(
            command(clip, output, *more), cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert second.returncode == 1, second.stderr
        assert f"only one run may write this OUTPUT, process {first.pid} is at it" in second.stderr
    first.send_signal(signal.SIGCONT)
    assert first.wait() == 0
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)


@pytest.mark.parametrize("change", ["input", "options"])
def test_another_input_or_other_options_start_anew_and_say_so(clip, undisturbed, tmp_path, change):
    own = tmp_path / "own.mkv"
    own.write_bytes(clip.read_bytes())
    output = tmp_path / "out.mkv"
    folder = killed_after(own, output, 1)
    more = []
    if change == "input":
        # An empty element of Matroska: other content, the same frames.
        own.write_bytes(clip.read_bytes() + b"\xec\x81\x00")
    else:
        more = ["--seed", "3"]
    done = subprocess.run(
        [*command(own, output, *more), "--progress", "plain"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "other options or input than the interrupted run: starting anew" in done.stderr
    assert np.array_equal(np.asarray(read(output).frames), undisturbed)
    assert not folder.exists()
