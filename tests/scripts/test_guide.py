"""The user's guide builds, its links lead somewhere, its examples run, and its recipes work as they are printed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import videorestore as vr
from scripts import guide_pages
from tests.verbs.test_verbs import drifting
from videorestore.media.pipe import ffmpeg
from videorestore.request.verbs import TABLE

PAGES = sorted(guide_pages.PROSE.glob("*.md"))
ROOT = guide_pages.ROOT


def code_of(page: Path, kind: str) -> list[str]:
    return [
        "\n".join(lines)
        for found, lines in guide_pages.blocks(page.read_text(encoding="utf-8"))
        if found == kind
    ]


def commands_of(page: Path) -> list[str]:
    """All commands with a verb that a page prints, in its order: lines of code, and code within a sentence."""
    found = re.findall(
        r"^    (videorestore .+)$|`(videorestore [^`]+)`", page.read_text(encoding="utf-8"), re.M
    )
    commands = [(line or inner).strip() for line, inner in found]
    return [command for command in commands if command.split()[1] in TABLE and "--help" not in command]


def test_the_guide_builds_and_its_links_lead_somewhere(tmp_path):
    written = guide_pages.build(tmp_path)
    names = {page.name for page in written}
    assert names == {f"{name}.html" for name in guide_pages.TITLES}
    assert {f"{page.stem}.html" for page in PAGES} <= names
    for page in written:
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text and "http" not in re.sub(r"<pre>.*?</pre>", "", text, flags=re.S)
        for target in re.findall(r'href="([^"#]+)"', text):
            assert target in names, f"{page.name} leads to {target}"
        for picture in re.findall(r'src="([^"]+)"', text):
            assert (tmp_path / picture).read_bytes()[1:4] == b"PNG", f"{page.name} shows {picture}"
    assert (tmp_path / "strength.html").read_text().count("<img ") == 2
    verbs = (tmp_path / "verbs.html").read_text()
    for verb in TABLE:
        assert f'<h2 id="{verb}">' in verbs and f"<pre><code>usage: videorestore {verb} " in verbs
    assert "--sigma" in verbs
    assert (
        "<pre><code>ElectroGP.inverse_transform(x, return_std=False"
        in (tmp_path / "reference.html").read_text()
    )


def test_markdown_becomes_pages():
    text = "# A `b` <c>\n\n- one\n  more\n- **two**\n\n| a | b |\n|---|---|\n| 1 | `x|y` |\n\n    code <1>\n\nsee [x](record.md)"
    made = guide_pages.rendered(text)
    assert '<h1 id="a-b-c">A <code>b</code> &lt;c&gt;</h1>' in made
    assert "<li>one more</li><li><strong>two</strong></li>" in made and "<th>a</th>" in made
    assert "<pre><code>code &lt;1&gt;</code></pre>" in made and '<a href="record.html">x</a>' in made


@pytest.mark.parametrize("example", [code for page in PAGES for code in code_of(page, "python")])
def test_the_python_examples_run(example):
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def coded(frames: np.ndarray, path: Path, *words: str, fps: int = 25) -> None:
    """A file that FFmpeg makes of frames."""
    size = f"{frames.shape[2]}x{frames.shape[1]}"
    start = [
        ffmpeg(),
        "-v",
        "error",
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "-s",
        size,
        "-r",
        str(fps),
        "-i",
        "-",
    ]
    subprocess.run([*start, *words, str(path)], input=frames.tobytes(), check=True)


def make_inputs(folder: Path) -> None:
    """What the recipes are given."""
    rng = np.random.default_rng(0)
    clean = drifting(n=24)
    noisy = np.clip(clean + 12 * rng.standard_normal(clean.shape), 0, 255).astype(np.uint8)
    coded(noisy, folder / "tape.avi", "-vf", "tinterlace=interleave_top", "-c:v", "mjpeg",
          "-q:v", "2", fps=50)  # fmt: skip
    coded(drifting(n=24, step=2.5), folder / "disc.mpg", "-vf", "telecine=pattern=23", "-c:v", "mpeg2video",
          "-q:v", "2", "-r", "30000/1001", fps=24)  # fmt: skip
    coded(noisy[:10], folder / "night.mp4", "-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv420p")
    dusty = clean[:12].copy()
    for k in range(12):
        for y, x in rng.integers(4, 40, (2, 2)):
            dusty[k, y : y + 3, x : x + 4] = 255
    coded(dusty, folder / "dusty.mkv", "-c:v", "ffv1")
    coded(drifting(n=60, step=0.3), folder / "scan.mkv", "-c:v", "ffv1")
    coded(noisy, folder / "film.mp4", "-c:v", "libx264", "-crf", "12", "-pix_fmt", "yuv420p")
    for name, frames in (("lapse", clean[:12]), ("turn", clean[:8])):
        vr.write(frames, f"{folder / name}/")
    pictures = sorted((folder / "lapse").glob("*.png"))
    pictures[5].unlink()
    vr.write((noisy[:8, ..., :1].astype(np.uint16) * 257), folder / "stack.tif")


@pytest.fixture
def shell(tmp_path):
    """Runs a printed line as a shell would, in a folder that holds what the recipes are given."""
    folder, programs = tmp_path / "clips", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    make_inputs(folder)
    program = programs / "videorestore"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m videorestore "$@"\n')
    program.chmod(0o755)
    paths = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def run(line: str) -> Path:
        done = subprocess.run(
            ["sh", "-c", line],
            cwd=folder,
            env={**os.environ, **paths},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return folder

    return run


@pytest.mark.parametrize("page", [page for page in PAGES if commands_of(page)], ids=lambda page: page.stem)
def test_every_printed_command_runs(page, shell):
    for command in commands_of(page):
        folder = shell(command)
        words = shlex.split(command)
        if "-o" not in words or "--dry-run" in words:
            continue
        output = folder / words[words.index("-o") + 1]
        assert (
            output.read_text().startswith("<!") if output.suffix == ".html" else vr.read(output).frames.size
        )
    if page.stem == "recipes":
        assert len(commands_of(page)) >= 11
        assert len(vr.read(folder / "lapse.mp4").frames) == 12
        assert (
            len(vr.read(folder / "tape.mkv").frames) == 24 and len(vr.read(folder / "film.mkv").frames) == 24
        )
        assert np.load(folder / "sd.npy").shape[:3] == (8, 48, 64)
