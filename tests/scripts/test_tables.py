"""Tables of the benchmarks come into the documents at their places, and nowhere else."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from bench_parts import tables

PAGE = """# Title

<!-- bench scale.costs -->
old
<!-- end -->
kept
<!-- bench natural.denoising.clips -->
<!-- end -->
"""


def test_rows_and_nested_results_are_tables():
    assert (
        tables.table([{"a": 1.23456, "b": "x"}, {"a": 2}]) == "| a | b |\n|---|---|\n| 1.23 | x |\n| 2 |  |"
    )
    rows = tables.rows_of({"help": {"ms": {"wall": 30.0, "cpu": 20.0}}, "limit": 5})
    assert rows == [{"what": "help", "ms wall": 30.0, "ms cpu": 20.0}, {"what": "limit", "value": 5}]


def test_only_places_of_what_was_measured_are_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert tables.altered(PAGE) == ["scale.costs"]
    written = tables.write("scale", {"costs": [{"fast": 1.0}]}, [page], "Measured today.")
    text = page.read_text(encoding="utf-8")
    assert written == ["scale.costs"] and "old" not in text and "\nkept\n" in text
    assert "<!-- bench scale.costs -->\n| fast |\n|---|\n| 1 |\n\nMeasured today.\n<!-- end " in text
    assert tables.altered(text) == [] and tables.altered(text.replace("| 1 |", "| 2 |")) == ["scale.costs"]
    assert text.endswith("<!-- bench natural.denoising.clips -->\n<!-- end -->\n")
    # Written again it is the same, and deeper keys are followed.
    assert tables.write("scale", {"costs": [{"fast": 1.0}]}, [page], "Measured today.") == ["scale.costs"]
    assert page.read_text(encoding="utf-8") == text
    assert tables.write("natural", {"denoising": {"clips": [{"psnr": 30.5}]}}, [page], "Now.") == [
        "natural.denoising.clips"
    ]


def test_the_line_below_says_when_and_on_what(tmp_path):
    machine = {"cores": 2, "processor": "x86_64", "system": "Linux", "python": "3.11.7"}
    said = tables.source(machine, "2026-11-17", tmp_path)
    assert said == "Measured 2026-11-17, no commit known, 2 cores (x86_64), Linux, Python 3.11.7."


def test_no_figure_stands_in_the_documents_that_no_run_wrote():
    root = Path(__file__).resolve().parents[2]
    readme = (root / "README.md").read_text(encoding="utf-8")
    architecture = (root / "videorestore" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    guide = [page.read_text(encoding="utf-8") for page in sorted((root / "scripts" / "guide").glob("*.md"))]
    for text in (readme, architecture, *guide):
        assert tables.altered(text) == []
    assert len(guide) > 8 and any("<!-- bench natural.denoising.rows -->" in text for text in guide)
    for text in (readme, *guide):
        assert not re.findall(r"[-+]?[0-9][0-9.]* (?:dB|CPU s)\b", tables.outside(text))


def test_sums_tell_held_out_clips_apart():
    rows = [
        {"noise": "a", "held out": "", "lead": 1.0, "auto over better": 0.0, "covers": 0.95, "fast": 2.0},
        {"noise": "a", "held out": "yes", "lead": 3.0, "auto over better": -0.1, "covers": 0.9, "fast": 4.0},
        {"noise": "b", "held out": "", "lead": 5.0, "auto over better": 0.5, "covers": 0.97, "fast": 6.0},
    ]
    found = tables.summed(rows, "noise", extra={"mean of fast": "fast"})
    assert [(row["noise"], row["clips"]) for row in found] == [
        ("a", "all: 2"),
        ("a", "held out: 1"),
        ("b", "all: 1"),
    ]
    assert found[0]["mean lead, dB"] == "2.00" and found[0]["least lead"] == "1.00"
    assert found[0]["auto over the better model, least"] == "-0.10" and found[0]["mean of fast"] == "3.00"
    assert found[1]["95 % interval covers"] == "0.90 to 0.90"
