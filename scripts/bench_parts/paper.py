"""The paper's experiments as a section of the benchmark: what `scripts/reproduce` prints, part by part."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parent.parent
PARTS = ("simulations", "teapot", "shockwave")


def main(quick: bool = False) -> dict[str, Any]:
    """Run all parts; their figures go into a folder that is thrown away.

    Returns
    -------
    dict
        The printed tables, by part.
    """
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            command = [sys.executable, str(SCRIPTS / "reproduce"), part, "--out", folder]
            done = subprocess.run([*command, *(["--quick"] if quick else [])], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{part}: {done.stderr.strip()[-500:]}")
            results[part] = done.stdout.strip()
    return results


if __name__ == "__main__":
    for name, text in main("--quick" in sys.argv).items():
        print(f"\n## {name}\n\n{text}")
