"""One declaration of an option is all that the command line, Python, completion and the resume key need."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from videorestore import api
from videorestore.cli.completion import script
from videorestore.cli.parser import Answer, Command, parse
from videorestore.errors import InputError
from videorestore.request import TABLE, Common, declare
from videorestore.request.declare import option, verb
from videorestore.request.kinds import File, Flag, words
from videorestore.run.identity import describe


@pytest.fixture
def toy() -> Iterator[str]:
    @verb(
        "polish",
        summary="make it shine",
        description="Make it shine.",
        synopsis="INPUT -o OUTPUT",
        examples=(("videorestore polish a.mkv -o b.mkv", "shiny"),),
    )
    @dataclass(frozen=True, slots=True, kw_only=True)
    class PolishOptions(Common):
        wax: str = option("soft", words("soft", "hard"), "which wax", group="wax")
        tin: str | None = option(None, File(metavar="FILE"), "where it is", group="wax", path="read")
        aloud: bool = option(False, Flag(), "sing meanwhile", group="wax", pixels=False)

    yield "polish"
    del TABLE["polish"]


def test_a_new_verb_needs_its_declaration_alone(toy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse([toy, "a.mkv", "-o", "b.mkv", "--wax", "hard", "--aloud"])
    assert isinstance(found, Command) and (found.options.wax, found.options.aloud) == ("hard", True)
    answer = parse([toy, "--help"])
    assert isinstance(answer, Answer) and "--wax soft|hard" in answer.text and "which wax" in answer.text
    for shell in ("bash", "zsh", "fish"):
        assert "polish" in script(shell) and "which wax" in script("fish")
    function = api.job(toy)
    assert inspect.signature(function).parameters["wax"].default == "soft"
    assert "which wax" in (function.__doc__ or "")
    with pytest.raises(InputError, match="wax: must be one of soft, hard"):
        function("a.mkv", wax="liquid")


def test_the_key_of_a_run_holds_what_changes_pixels(toy: str, tmp_path: Any) -> None:
    tin = tmp_path / "tin"
    tin.write_text("x")

    def key(**given: Any) -> dict[str, Any]:
        return describe(toy, "a.mkv", declare.read(toy, given), "1")

    assert key() == key(aloud=True, jobs=3, report="page.html")
    assert key() != key(wax="hard") and key() != key(tin=tin)
    before = key(tin=tin)
    tin.write_text("other")
    assert key(tin=tin) != before
    assert [name for name, _ in declare.paths(declare.read(toy, {"tin": tin}), "read")] == ["tin"]


def test_a_word_that_stands_for_no_file_is_no_path() -> None:
    assert not list(declare.paths(declare.read("inpaint", {"mask": "auto"})))


@pytest.mark.parametrize(
    ("verb_name", "given"),
    [
        ("denoise", {"sigma": "loud"}),
        ("denoise", {"sigma": [3]}),
        ("denoise", {"jobs": 0}),
        ("denoise", {"jobs": 1.5}),
        ("denoise", {"overwrite": "yes"}),
        ("denoise", {"range": 7}),
        ("denoise", {"crf": True}),
        ("upsample", {"fps": object()}),
        ("upsample", {"fps": 0}),
        ("upsample", {"factor": float("nan")}),
        ("inpaint", {"mask": 7}),
        ("fill", {"insert": 5}),
        ("fill", {"missing": 2.5}),
        ("restore", {"fps": 60, "factor": 2}),
        ("restore", {"factor": "1/2"}),
    ],
)
def test_wrong_values_from_python_are_input_errors(verb_name: str, given: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        declare.read(verb_name, given)
    assert ";" in str(caught.value) and "\n" not in str(caught.value)
