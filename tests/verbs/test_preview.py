"""A page with places under several settings."""

import json
import re

import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_verbs import drifting


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    frames = drifting(n=40)
    frames = np.clip(frames + np.random.default_rng(1).normal(0, 10, frames.shape), 0, 255).astype(np.uint8)
    path = tmp_path_factory.mktemp("preview") / "noisy <b>.mkv"
    vr.write(frames, path, codec="ffv1")
    return path


def test_every_setting_stands_beside_what_was_there(noisy, tmp_path):
    page = tmp_path / "look.html"
    result = vr.preview(noisy, page, quality="fast", strength=[0, 1], at="20")
    assert [place["frame"] for place in result.record["places"]] == [20]
    assert 5 < result.record["places"][0]["noise_sd"] < 15
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"<figcaption>(.*?)</figcaption>", text) == [
        "before",
        "fast, strength 0",
        "fast, strength 1",
    ]
    pictures = re.findall(r'src="(data:image/png[^"]*)"', text)
    assert pictures[0] == pictures[1] != pictures[2]
    assert "<b>" not in text and "http:" not in text and "https:" not in text
    json.dumps(result.record)


def test_places_are_chosen_by_the_program(noisy, tmp_path):
    result = vr.preview(noisy, tmp_path / "look.html", quality="fast")
    assert len(result.record["places"]) == 3
    with pytest.raises(vr.OutputExistsError):
        vr.preview(noisy, tmp_path / "look.html", quality="fast", at=[20])


def test_the_frames_that_were_asked_for_are_shown_at_the_ends_too(noisy, tmp_path):
    result = vr.preview(noisy, tmp_path / "look.html", quality="fast", at="3,38,0.2s,1.5s")
    assert [place["frame"] for place in result.record["places"]] == [3, 38, 5, 37]


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("look.mkv", {}, "must end in .html"),
        ("look.html", {"quality": "superb"}, "must be one of fast"),
        ("look.html", {"strength": "1,99"}, "from 0 to 10"),
        ("look.html", {"at": "900"}, "at must name frames within 0:40, got 900"),
        ("look.html", {"at": "90s"}, r"at must name times before the end at 1\.600 s, got 90 s"),
    ],
)
def test_wrong_usage(noisy, tmp_path, name, given, words):
    with pytest.raises(vr.InputError, match=words):
        vr.preview(noisy, tmp_path / name, **given)
