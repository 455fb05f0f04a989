"""Killed, restarted, same pixels; the same with two workers, with a cluster, and after a full disk."""

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.media import SinkOptions, read, write

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["--factor", "2", "--model", "motion", "--quality", "fast", "--codec", "ffv1", "--progress", "none"]
SMALL = ["--max-memory", "40M"]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """Ninety small frames of a texture that drifts to and fro."""
    rng = np.random.default_rng(0)
    canvas = np.kron(rng.integers(40, 220, (24, 40, 3)), np.ones((4, 4, 1)))
    path = 30 + 30 * np.sin(np.arange(90) / 12)
    frames = np.stack([canvas[int(k) // 2 : int(k) // 2 + 48, int(k) : int(k) + 64] for k in path]).astype(
        np.uint8
    )
    times = tuple(Fraction(k, 25) for k in range(90))
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    path = tmp_path_factory.mktemp("resume") / "in.mkv"
    write(
        Clip(frames=frames, times=times, durations=(Fraction(1, 25),) * 90, info=info),
        path,
        SinkOptions(codec="ffv1"),
    )
    return path


def command(clip, output, *more):
    return [
        sys.executable,
        "-m",
        "videorestore",
        "upsample",
        str(clip),
        "-o",
        str(output),
        *OPTIONS,
        *SMALL,
        *more,
    ]


def run(clip, output, *more):
    done = subprocess.run([*command(clip, output, *more), "--json"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def undisturbed(clip, tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "out.mkv"
    record = run(clip, output, "--jobs", "1")
    assert [f["origin"] for f in record["frames"][:3]] == ["kept", "interpolated", "kept"]
    assert not output.with_name("out.mkv.work").exists()
    return np.asarray(read(output).frames)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the run never came this far"
        time.sleep(0.01)


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


def test_cluster_gives_the_same_pixels_though_a_worker_dies(clip, undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed (extra: cluster)")
    del distributed
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    address_file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
        + ["--no-dashboard", "--scheduler-file", str(address_file)],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    workers = []
    try:
        # The file is there before it is whole.
        wait_for(lambda: address_file.exists() and address_file.read_text().rstrip().endswith("}"))
        address = json.loads(address_file.read_text())["address"]
        for _ in range(2):
            workers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1"]
                    + ["--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)],
                    env=environment,
                    stderr=subprocess.DEVNULL,
                )
            )
        output = tmp_path / "out.mkv"
        folder = tmp_path / "out.mkv.work"
        process = subprocess.Popen(command(clip, output, "--cluster", address), cwd=ROOT)
        wait_for(lambda: process.poll() is not None or any(folder.glob("0*.json")))
        workers[0].kill()
        assert process.wait(timeout=120) == 0
        assert np.array_equal(np.asarray(read(output).frames), undisturbed)
    finally:
        for worker in workers:
            worker.kill()
        scheduler.kill()
