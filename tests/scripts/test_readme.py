"""What README shows runs as it stands: its Python, and the commands of its recipes."""

import glob
import io
import re
import shlex
from pathlib import Path

import cv2
import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_verbs import drifting
from videorestore.cli.environment import Environment
from videorestore.cli.program import main

README = Path(__file__).resolve().parents[2] / "README.md"
TABLE = re.findall(r"^\| (?!---|you have).*", README.read_text(encoding="utf-8").split("## Against")[0], re.M)
RECIPES = re.findall(r"`(videorestore [^`]+)`", "\n".join(TABLE))
SNIPPETS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


@pytest.mark.parametrize("code", SNIPPETS)
def test_snippets_of_the_readme(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frames = drifting(n=12, height=32, width=40)
    vr.write(frames, "night.mov")
    at = np.linspace(0, 3, 20)[:, None]
    names = {
        "frames": frames,
        "Y": np.sin(at + np.arange(6)) + np.random.default_rng(0).normal(0, 0.05, (20, 6)),
    }
    exec(compile(code, "README.md", "exec"), names)
    assert {"vr"} <= set(names)


def test_the_recipes_of_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    clip = drifting(n=14, height=32, width=40)
    noisy = np.clip(clip + rng.normal(0, 12, clip.shape), 0, 255).astype(np.uint8)
    frozen = clip.copy()
    frozen[6] = 0
    woven = clip[::2].copy()
    woven[:, 1::2] = clip[1::2, 1::2]
    inputs = {"film.mp4": frozen, "tape.avi": woven, "night.mov": noisy, "in.mp4": clip, "turn/": clip[:6],
              "in.mkv": drifting(n=124, height=32, width=40, step=0.2), "a.mkv": clip, "b.mkv": noisy,
              "shuffled/": clip[rng.permutation(len(clip))]}  # fmt: skip
    for name, frames in inputs.items():
        vr.write(frames, name)
    logo = np.zeros((32, 40), np.uint8)
    logo[4:9, 28:36] = 255
    assert cv2.imwrite("logo.png", logo)
    for recipe in RECIPES:
        words = [w for word in shlex.split(recipe)[1:] for w in (sorted(glob.glob(word)) or [word])]
        said = io.StringIO()
        status = main([*words, "--progress", "none"], Environment(stdout=io.StringIO(), stderr=said))
        assert status in (0, 5), f"{recipe}: {said.getvalue()}"
        made = words[words.index("-o") + 1] if "-o" in words else None
        assert made is None or Path(made).exists()


def test_there_is_something_to_run():
    assert SNIPPETS and len(RECIPES) >= 13
