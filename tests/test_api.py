"""The Python functions take what the command line takes, and Python's own values."""

from __future__ import annotations

import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import videorestore as vr
from videorestore.request import TABLE, Insertion, Span


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the work was asked for; it only pretends."""
    seen: list[tuple[Any, ...]] = []

    def perform(verb: str, source: Any, output: Any, options: Any, progress: Any) -> Any:
        seen.append((verb, source, output, options))
        return types.SimpleNamespace(record={"verb": verb}, losses=("a frame",), clip="clip", sd="sd")

    module = types.ModuleType("videorestore.run")
    module.perform = perform  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, "videorestore.run", module)
    return seen


def test_every_verb_is_a_function_that_gives_a_restoration(calls: list[tuple[Any, ...]]) -> None:
    needed = {"upsample": {"factor": 2}}
    for verb in ("restore", "denoise", "fill", "inpaint", "upsample", "reorder", "inspect"):
        clip, sd, record = getattr(vr, verb)("in.mkv", **needed.get(verb, {}))
        assert (clip, sd, record) == ("clip", "sd", {"verb": verb, "losses": ["a frame"]})
        assert calls[-1][:3] == (verb, "in.mkv", None)
    assert vr.compare("a.mkv", "b.mkv").record["verb"] == "compare" and calls[-1][3].other == "b.mkv"


@pytest.mark.parametrize(
    ("verb", "given", "field", "expected"),
    [
        ("denoise", {"sigma": "auto"}, "sigma", None),
        ("denoise", {"sigma": 20}, "sigma", 20.0),
        ("denoise", {"range": "10:20"}, "span", Span(start=10, stop=20)),
        ("denoise", {"range": (10, 20)}, "span", Span(start=10, stop=20)),
        ("denoise", {"range": slice(10, None)}, "span", Span(start=10)),
        ("denoise", {"range": range(3, 5)}, "span", Span(start=3, stop=5)),
        (
            "denoise",
            {"range": ("1s", "2.5s")},
            "span",
            Span(start=Fraction(1), stop=Fraction(5, 2), in_seconds=True),
        ),
        ("denoise", {"max_memory": "2G"}, "max_memory", 2 << 30),
        ("denoise", {"fresh": True}, "resume", False),
        ("denoise", {"report": Path("x.html")}, "report", "x.html"),
        ("fill", {"missing": "7,50-51"}, "missing", (7, 50, 51)),
        ("fill", {"missing": [51, 7, 50]}, "missing", (7, 50, 51)),
        ("fill", {"missing": np.array([3, 4])}, "missing", (3, 4)),
        ("fill", {"missing": 7}, "missing", (7,)),
        ("fill", {"missing": "auto"}, "missing", None),
        ("fill", {"insert": "5@50"}, "missing", ()),
        (
            "fill",
            {"insert": ["5@50", "?@80"]},
            "insert",
            (Insertion(after=50, count=5), Insertion(after=80, count=None)),
        ),
        ("fill", {"insert": Insertion(after=1, count=2)}, "insert", (Insertion(after=1, count=2),)),
        ("upsample", {"factor": 2}, "factor", Fraction(2)),
        ("upsample", {"factor": 2.5}, "factor", Fraction(5, 2)),
        ("upsample", {"fps": "60000/1001"}, "fps", Fraction(60000, 1001)),
        ("upsample", {"fps": 29.97}, "fps", Fraction(30000, 1001)),
        ("inpaint", {"mask": Path("m.png")}, "mask", "m.png"),
    ],
)
def test_values(
    calls: list[tuple[Any, ...]], verb: str, given: dict[str, Any], field: str, expected: Any
) -> None:
    getattr(vr, verb)("in.mkv", **given)
    assert getattr(calls[-1][3], field) == expected


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("denoise", {"sgima": 3}),
        ("denoise", {"missing": 3}),
        ("denoise", {"sigma": -1}),
        ("fill", {"missing": "x"}),
        ("fill", {"missing": [-1]}),
        ("upsample", {}),
        ("upsample", {"factor": 0.5}),
        ("denoise", {"range": (5, 2)}),
    ],
)
def test_wrong_options_are_errors_of_ours(
    calls: list[tuple[Any, ...]], verb: str, given: dict[str, Any]
) -> None:
    with pytest.raises(vr.VideoRestoreError):
        getattr(vr, verb)("in.mkv", **given)
    assert not calls


def test_a_mask_may_be_an_array(calls: list[tuple[Any, ...]]) -> None:
    mask = np.zeros((4, 4), bool)
    vr.inpaint(np.zeros((3, 4, 4, 3), np.uint8), mask=mask)
    assert calls[-1][3].mask is mask


def test_the_command_line_and_python_know_the_same_options() -> None:
    from videorestore.cli.parser import build

    for verb, words in TABLE.items():
        fields = set(words.options.__dataclass_fields__)
        told = {
            "json",
            "progress",
            "quiet",
            "verbose",
            "traceback",
            "help",
            "input",
            "output",
            "config",
            "write_config",
        }
        offered = {action.dest for action in build(verb)._actions} - told
        assert offered == fields, verb


def test_a_clip_prints_as_one_line(tmp_path: Path) -> None:
    vr.write(np.zeros((4, 6, 8, 3), np.uint8), tmp_path / "a.npy")
    shown = repr(vr.read(tmp_path / "a.npy"))
    assert shown.startswith("Clip(4 frames of 8 x 6, 3 channels of uint8, 25 fps") and "\n" not in shown


def test_messages_speak_python(tmp_path: Path) -> None:
    frames = np.zeros((4, 6, 8, 3), np.uint8)
    vr.write(frames, tmp_path / "a.npy")
    vr.write(frames, tmp_path / "b.npy")
    with pytest.raises(vr.OutputExistsError, match="overwrite=True") as caught:
        vr.denoise(tmp_path / "a.npy", tmp_path / "b.npy")
    assert " -y" not in str(caught.value)
    with pytest.raises(vr.InputError, match="a path, a Clip or an array, got int"):
        vr.denoise(3)  # type: ignore[arg-type]
    with pytest.raises(vr.InputError, match="either factor or fps"):
        vr.upsample(tmp_path / "a.npy")


def test_reading_and_writing(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 8, 3)).astype(np.uint8)
    vr.write(pixels, tmp_path / "a.npy")
    clip = vr.read(tmp_path / "a.npy")
    np.testing.assert_array_equal(clip.frames, pixels)
    assert clip.times[1] - clip.times[0] == Fraction(1, 25)
    with pytest.raises(vr.OutputExistsError):
        vr.write(pixels, tmp_path / "a.npy")
    vr.write(pixels, tmp_path / "a.npy", overwrite=True)
    with pytest.raises(vr.MediaReadError):
        vr.read(tmp_path / "nowhere.mkv")
