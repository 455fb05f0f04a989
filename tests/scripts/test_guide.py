"""The user's guide builds, its links lead somewhere, its examples run, and its recipes work as they are printed."""

from __future__ import annotations

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


@pytest.mark.parametrize("example", code_of(guide_pages.PROSE / "python.md", "python"))
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
    for name, frames in (("lapse", clean[:12]), ("turn", clean[:8])):
        vr.write(frames, f"{folder / name}/")
    pictures = sorted((folder / "lapse").glob("*.png"))
    pictures[5].unlink()
    vr.write((noisy[:8, ..., :1].astype(np.uint16) * 257), folder / "stack.tif")


def test_every_recipe_runs_as_printed(tmp_path):
    make_inputs(tmp_path)
    commands = [
        line.strip()
        for text in code_of(guide_pages.PROSE / "recipes.md", "code")
        for line in text.splitlines()
    ]
    assert len(commands) >= 8
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "videorestore"
        done = subprocess.run(
            [sys.executable, "-m", "videorestore", *words[1:], "--progress", "none"],
            cwd=tmp_path,
            env={**__import__("os").environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if "-o" in words:
            assert vr.read(str(tmp_path / words[words.index("-o") + 1])).frames.size
    assert len(vr.read(str(tmp_path / "lapse.mp4")).frames) == 12
    assert np.load(tmp_path / "sd.npy").shape[:3] == (8, 48, 64)
