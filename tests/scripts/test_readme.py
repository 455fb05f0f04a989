"""What README shows in Python runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_verbs import drifting

README = Path(__file__).resolve().parents[2] / "README.md"
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


def test_there_is_something_to_run():
    assert SNIPPETS
