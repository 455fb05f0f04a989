"""What a run may take: said before the work, and kept."""

import subprocess
import sys

from tests.run.jobs import ROOT, run


def test_a_limit_that_cannot_be_kept_is_refused_before_any_work(clip, tmp_path):
    words = [sys.executable, "-m", "videorestore", "denoise", str(clip), "-o", str(tmp_path / "out.mkv")]
    done = subprocess.run(
        [*words, "--max-memory", "40M"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("error: --max-memory must be at least about ") and "got 40M" in last
    assert not list(tmp_path.iterdir())
    # The clip was not even looked at.
    assert "looking" not in done.stderr and "measuring" not in done.stderr


def test_the_limit_is_kept(clip, tmp_path):
    record = run(clip, tmp_path / "out.mkv", "--max-memory", "600M", "--jobs", "2")
    assert 100 < record["peak_memory_mb"] < 630


def test_where_nothing_fits_the_least_that_would_is_said():
    from videorestore.plan.layout import MOTION_CORE, motion_layout

    size = {"halo": 5, "quality": "default"}
    least = motion_layout(720, 1280, budget=1, **size)
    need = least.piece_bytes(least.core + 10)
    enough = motion_layout(720, 1280, budget=need, **size)
    assert enough.piece_bytes(enough.core + 10) <= need
    easy = motion_layout(720, 1280, budget=64 << 30, **size)
    assert easy.core == MOTION_CORE and need < easy.piece_bytes(easy.core + 10) / 2
