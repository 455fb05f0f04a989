"""Write `hashes.json` anew and say which cases changed; words restrict it to the cases that contain one of them."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.golden.cases import HASHES, cases, digest, machine, run, thumbnail


def write(words: list[str]) -> int:
    """Run the cases and keep what they give; returns how many changed."""
    old = json.loads(HASHES.read_text(encoding="utf-8")) if HASHES.exists() else {"cases": {}}
    known, changed = {}, 0
    for case in cases():
        if words and case.name in old["cases"] and not any(word in case.name for word in words):
            known[case.name] = old["cases"][case.name]
            continue
        with tempfile.TemporaryDirectory() as folder:
            frames = run(case, Path(folder))
        known[case.name] = {
            "shape": list(frames.shape),
            "sha256": digest(frames),
            "blocks": thumbnail(frames),
        }
        if old["cases"].get(case.name, {}).get("sha256") != known[case.name]["sha256"]:
            changed += 1
            print("changed:", case.name, flush=True)
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in known.items()]
    HASHES.write_text(
        '{"machine": ' + json.dumps(machine()) + ',\n"cases": {\n' + ",\n".join(lines) + "\n}}\n",
        encoding="utf-8",
    )
    return changed


if __name__ == "__main__":
    print(write(sys.argv[1:]), "of", len(cases()), "changed")
