"""Imports point one way, and asking for help loads nothing heavy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numpy", "numba", "sklearn", "cv2", "av", "scipy", "rich", "joblib", "dask", "imageio_ffmpeg")


def loaded_by(code: str) -> set[str]:
    """Which heavy modules a fresh Python has loaded after running some code."""
    probe = f"{code}\nimport sys\nprint('loaded:', *[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return set(done.stdout.rsplit("loaded:", 1)[1].split())


CALL = "import io\nfrom videorestore.cli.program import main\nfrom videorestore.cli.environment import Environment\nmain({}, Environment(stdout=io.StringIO(), stderr=io.StringIO()))"


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["denoise", "--help"],
        ["--version"],
        ["--completion", "bash"],
        ["denoise", "in.mkv"],
        ["denoise", "nowhere.mkv", "-o", "out.mkv"],
        ["fill", "a", "-o", "b", "--missing", "x"],
    ],
)
def test_help_and_usage_errors_load_nothing_heavy(args: list[str]) -> None:
    assert loaded_by(CALL.format(args)) == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import videorestore; dir(videorestore); videorestore.VideoRestoreError") == set()


def test_video_does_without_scikit_learn() -> None:
    rooms = "make.engines, curve.denoise, curve.place, curve.fill, plan.choose, order.reorder, verbs.restore"
    code = "; ".join(f"import videorestore.{room.strip()}" for room in rooms.split(","))
    assert "sklearn" not in loaded_by(code)


def test_every_public_name_is_there() -> None:
    import videorestore

    for name in videorestore.__all__:
        assert getattr(videorestore, name) is not None
    with pytest.raises(AttributeError):
        _ = videorestore.nothing_of_the_kind


def test_the_version_is_said_in_one_place() -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in settings["project"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "videorestore.__version__"}


def test_imports_point_one_way() -> None:
    pytest.importorskip("importlinter")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())",
        ],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
