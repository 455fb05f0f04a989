"""The command gets onto a machine: as an image, and by pipx, where the tools for that are there and reach their network."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

import videorestore

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


def installed(done: subprocess.CompletedProcess[str], what: str) -> None:
    if done.returncode and re.search(
        r"[Cc]onnection|resolve|[Tt]imed? ?out|No matching distribution", done.stderr
    ):
        pytest.skip(f"{what} cannot reach its network here")
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The set-up, in a folder of its own, with a pip that only talks."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "scripts" / "bootstrap.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module.sys, "argv", ["bootstrap.py", "run"])
    return module


@pytest.mark.parametrize("status", [0, 3])
def test_the_set_up_is_quiet_unless_it_fails(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], status: int
) -> None:
    talk = f"import sys; print('forty lines'); print('a warning', file=sys.stderr); sys.exit({status})"
    monkeypatch.setattr(bootstrap, "make", lambda python: [sys.executable, "-c", talk])
    assert bootstrap.main() == (1 if status else 0)
    told = capfd.readouterr().err
    assert "setting up" in told
    assert ("a warning" in told) == ("forty lines" in told) == bool(status)


def test_docker_builds_an_image_that_answers() -> None:
    if shutil.which("docker") is None or run("docker", "info").returncode:
        pytest.skip("no Docker is running here")
    installed(
        run("docker", "build", "-q", "-f", "scripts/Dockerfile", "-t", "videorestore-test", "."), "Docker"
    )
    answer = run("docker", "run", "--rm", "videorestore-test", "--version")
    assert answer.stdout == f"videorestore {videorestore.__version__}\n"


def test_pipx_installs_a_command_that_answers(tmp_path: Path) -> None:
    if shutil.which("pipx") is None:
        pytest.skip("pipx is not installed here")
    homes = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    installed(run("pipx", "install", ".", **homes), "pipx")
    answer = run(str(tmp_path / "bin" / "videorestore"), "--version")
    assert answer.stdout == f"videorestore {videorestore.__version__}\n"


def test_the_image_takes_the_pinned_versions() -> None:
    text = (ROOT / "scripts" / "Dockerfile").read_text()
    pins = (ROOT / "scripts" / "requirements" / "run.txt").read_text()
    assert "--require-hashes -r /source/scripts/requirements/run.txt" in text and "--hash=sha256:" in pins


def test_a_script_that_lacks_packages_runs_again_in_the_environment(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python, called = tmp_path / "python", []
    monkeypatch.setattr(bootstrap, "ensure", lambda extra: python)
    monkeypatch.setattr(bootstrap.os, "execv", lambda *words: called.append(words))
    monkeypatch.setattr(bootstrap.sys, "argv", ["scripts/bench", "harm"])
    bootstrap.enter()
    assert not called
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda name: None)
    bootstrap.enter()
    assert called == [(python, [str(python), "scripts/bench", "harm"])]


def test_the_source_distribution_holds_all_that_a_checkout_holds(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    source, made = tmp_path / "source", tmp_path / "made"
    made.mkdir()
    strange = shutil.ignore_patterns(
        "__pycache__", "*.egg-info", ".git", ".*_cache", ".venv", ".hypothesis", "build"
    )
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitattributes", ".gitignore"):
        shutil.copy(ROOT / name, source)
    for name in ("videorestore", "tests", "assets", "scripts", ".ci", ".github"):
        shutil.copytree(ROOT / name, source / name, ignore=strange)
    held = {str(file.relative_to(source)) for file in source.rglob("*") if file.is_file()}
    build = f"from setuptools import build_meta; print(build_meta.build_sdist({str(made)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (archive,) = made.iterdir()
    with tarfile.open(archive) as packed:
        files = {member.name.partition("/")[2]: member for member in packed if member.isfile()}
    assert not held - set(files)
    assert not [name for name in files if "__pycache__" in name]
    assert files["scripts/dev"].mode & 0o100
