"""A small job that is cut into many pieces, and how to run it."""

import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ["--factor", "2", "--model", "motion", "--quality", "fast", "--codec", "ffv1", "--progress", "none"]

SHORT_PIECES = """
from videorestore.cli.main import run
from videorestore.plan import layout
layout.MOTION_CORE = 4
run()
"""


def command(clip, output, *more):
    job = [sys.executable, "-c", SHORT_PIECES, "upsample", str(clip), "-o", str(output)]
    return [*job, *OPTIONS, *more]


def run(clip, output, *more):
    done = subprocess.run([*command(clip, output, *more), "--json"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the run never came this far"
        time.sleep(0.01)
