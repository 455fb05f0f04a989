"""A long clip is foretold by some stretches of it."""

from __future__ import annotations

import numpy as np
import pytest

import videorestore as vr
from videorestore.media import open_source
from videorestore.plan import sample
from videorestore.request import Span
from videorestore.request.verbs import DenoiseOptions, FillOptions
from videorestore.run import film as run_film
from videorestore.run.perform import perform


@pytest.fixture(autouse=True)
def fewer(monkeypatch):
    monkeypatch.setattr(sample, "STRETCHES", 4)
    monkeypatch.setattr(sample, "LENGTH", 12)


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """120 frames, a key frame every 10."""
    path = str(tmp_path_factory.mktemp("long") / "film.mkv")
    rng = np.random.default_rng(3)
    ramp = np.linspace(40, 200, 64)[None, None, :, None] + np.zeros((120, 48, 1, 1))
    frames = np.clip(ramp + rng.normal(0, 12, (120, 48, 64, 1)), 0, 255).astype(np.uint8)
    vr.write(frames, path, codec="h264", encoder_args="-g 10")
    return path


def test_stretches_come_from_all_over_the_film_and_no_index_is_made(film):
    with open_source(film) as source:
        found = sample.sampled(source, DenoiseOptions(), 4 << 30)
        assert found is not None and found.total == 120
        assert len(found.index()) == sample.STRETCHES * sample.LENGTH
        assert source._index is None
        seen = [frame.planes[0] for frame in found.frames()]
    with open_source(film) as source:
        all_frames = [frame.planes[0].tobytes() for frame in source.frames()]
    places = [all_frames.index(picture.tobytes()) for picture in seen]
    assert places == sorted(set(places)) and places[0] == 0 and places[-1] >= 90


def test_where_single_frames_are_named_all_are_looked_at(film):
    with open_source(film) as source:
        assert sample.sampled(source, FillOptions(), 4 << 30) is None
        assert sample.sampled(source, DenoiseOptions(span=Span(start=0, stop=110)), 4 << 30) is None


def test_what_is_foretold_by_a_sample_is_near_what_is_foretold_by_all(film, monkeypatch):
    # What the plan takes is measured, and depends on the day.
    monkeypatch.setattr(run_film, "cpu_seconds", lambda: 0.0)

    def told():
        return perform(
            "denoise", film, film + ".out.mkv", DenoiseOptions(dry_run=True, jobs=2, model="motion")
        ).record

    part = told()
    assert part["looked_at"] == 48 and part["n_frames"] == 120
    monkeypatch.setattr(sample, "LONG", 100)
    whole = told()
    assert "looked_at" not in whole and whole["n_frames"] == 120
    for key in "time_s", "memory_mb", "disk_mb":
        assert part["estimate"][key] == pytest.approx(whole["estimate"][key], rel=0.25), key
