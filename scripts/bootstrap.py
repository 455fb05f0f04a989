"""Set up the project's virtual environment on first use; afterwards only say where its Python is.

Standard library only: this runs on a machine that has nothing but Python 3.11+ and pip.

    python3 scripts/bootstrap.py run|dev     prints the path of the environment's Python on stdout
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".venv"
REQUIREMENTS = ROOT / "scripts" / "requirements"
SIZE = {"run": 890, "dev": 1040}
"""MB on disk, as `du` counts them."""


def enter() -> None:
    """Run the script that calls this again by the environment's Python, unless this one has what it needs."""
    if importlib.util.find_spec("cv2") is None:
        sys.stdout.flush()
        status, python = prepared("dev")
        if python is None:
            sys.exit(status)
        os.execv(python, [str(python), *sys.argv])


def main() -> int:
    status, python = prepared(sys.argv[1] if len(sys.argv) > 1 else "run")
    if python is not None:
        print(python)
    return status


def prepared(extra: str) -> tuple[int, Path | None]:
    """A status to end with, and the environment's Python where it could be set up; else why not is said."""
    if sys.version_info < (3, 11):  # noqa: UP036 (an old Python must learn why)
        say(
            f"error: Python must be 3.11 or newer, found {sys.version.split()[0]}; set PYTHON=/path/to/python3.11."
        )
        return 1, None
    try:
        return 0, ensure(extra)
    except subprocess.CalledProcessError as error:
        say(error.stdout or "")
        say(
            f"error: the set-up must succeed, got status {error.returncode}; see the lines above, then run this again."
        )
        return 1, None


def ensure(extra: str) -> Path:
    """The environment's Python, after installing what ``extra`` ("run" or "dev") needs."""
    python = FOLDER / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if any(stamp(kind).exists() for kind in {extra, "dev"}) and python.exists():
        return python
    started = time.monotonic()
    say(f"setting up {FOLDER.name}, only the first time: about {SIZE[extra]} MB on disk, a minute or two ...")
    pip = [str(python), "-m", "pip"]
    if not python.exists() or not works([*pip, "--version"]):
        pip = make(python)
    install = [*pip, "install", "--quiet", "--disable-pip-version-check"]
    # Versions and hashes are pinned; the project itself is built by the setuptools that was installed with them.
    steps = (
        ["--require-hashes", "--requirement", str(requirements(extra))],
        ["--no-deps", "--no-build-isolation", "--editable", str(ROOT)],
    )
    for step in steps:
        # stdout belongs to the path that is printed at the end; what pip says is of use where it fails.
        subprocess.run(
            [*install, *step], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    stamp(extra).touch()
    say(f"set up in {time.monotonic() - started:.0f} s")
    return python


def make(python: Path) -> list[str]:
    """Make the environment and return the command that runs pip on it."""
    if works([sys.executable, "-m", "venv", "--clear", str(FOLDER)]):
        return [str(python), "-m", "pip"]
    # Some systems ship Python without ensurepip: take the pip that is outside.
    subprocess.run(
        [sys.executable, "-m", "venv", "--clear", "--without-pip", str(FOLDER)], check=True, stdout=sys.stderr
    )
    return [sys.executable, "-m", "pip", "--python", str(python)]


def works(command: list[str]) -> bool:
    """Does a command end with 0?"""
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def requirements(extra: str) -> Path:
    """What is installed, with hashes; ``scripts/pin`` writes it."""
    return REQUIREMENTS / f"{extra}.txt"


def stamp(extra: str) -> Path:
    """A file that says: installed, with just these requirements."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + requirements(extra).read_bytes())
    return FOLDER / f".ready-{extra}-{digest.hexdigest()[:12]}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
