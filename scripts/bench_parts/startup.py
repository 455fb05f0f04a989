"""How long the command line takes to answer, against an empty Python.

    python scripts/bench_parts/startup.py [--quick]

The bound is 2x the time of ``python -c pass`` plus 150 ms on an idle machine; on a busy one the CPU time,
which others do not disturb, tells more. The best of several runs counts: noise only ever adds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
ALLOWANCE_S = 0.150
COMMANDS = {
    "help": ["-m", "videorestore", "--help"],
    "verb_help": ["-m", "videorestore", "denoise", "--help"],
    "usage_error": ["-m", "videorestore", "denoise", "in.mkv"],
    "import": ["-c", "import videorestore"],
}


def main(quick: bool = False) -> dict[str, Any]:
    """Measure.

    Parameters
    ----------
    quick : bool
        Fewer repeats.

    Returns
    -------
    dict
        Milliseconds of wall clock and CPU for each command, the bound, and whether each is within it.
    """
    repeats = 5 if quick else 25
    empty = _best(["-c", "pass"], repeats)
    bound = {kind: 2 * value + ALLOWANCE_S for kind, value in empty.items()}
    result: dict[str, Any] = {"python_pass_ms": _ms(empty), "bound_ms": _ms(bound)}
    for name, command in COMMANDS.items():
        best = _best(command, repeats)
        result[name] = {
            "ms": _ms(best),
            "within": best["wall"] <= bound["wall"],
            "cpu_within": best["cpu"] <= bound["cpu"],
        }
    return result


def _best(arguments: list[str], repeats: int) -> dict[str, float]:
    best = {"wall": float("inf"), "cpu": float("inf")}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(repeats):
        before, started = os.times(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, check=False)
        spent, after = time.perf_counter() - started, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        best = {"wall": min(best["wall"], spent), "cpu": min(best["cpu"], cpu)}
    return best


def _ms(seconds: dict[str, float]) -> dict[str, float]:
    return {kind: round(value * 1000, 1) for kind, value in seconds.items()}


if __name__ == "__main__":
    print(json.dumps(main("--quick" in sys.argv[1:]), indent=2))
