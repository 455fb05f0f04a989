"""What comes with a film and cannot be written is left out and named; the film stays."""

import numpy as np
import pytest

import videorestore as vr
from tests.media.makers import random_frame
from tests.test_place import PIXEL, SHAPE
from videorestore.errors import MediaWriteError
from videorestore.media import SinkOptions, open_sink, read, sink


def write(path, source):
    with open_sink(path, SHAPE, SinkOptions(), streams_from=str(source)) as opened:
        for k in range(2):
            opened.write(random_frame(PIXEL, 12, 16, k))
    return opened.losses


@pytest.fixture
def source(tmp_path):
    write(tmp_path / "in.mkv", "")
    return tmp_path / "in.mkv"


@pytest.mark.parametrize("culprit", ["metadata", "streams"])
def test_a_companion_that_breaks_the_container_is_left_out(tmp_path, source, monkeypatch, culprit):
    whole = sink.mux

    def fragile(segments, part, kind, info, fps, others, *, alpha):
        if others.path and getattr(others, culprit):
            raise MediaWriteError("the output must be writable, got: a broken header; check it.")
        return whole(segments, part, kind, info, fps, others, alpha=alpha)

    monkeypatch.setattr(sink, "mux", fragile)
    losses = write(tmp_path / "out.mkv", source)
    assert len(losses) == 1 and "left out" in losses[0] and "a broken header" in losses[0]
    assert len(read(tmp_path / "out.mkv").frames) == 2


def test_what_is_wrong_with_the_pictures_themselves_is_an_error(tmp_path, source, monkeypatch):
    def broken(*args, **more):
        raise MediaWriteError("no room")

    monkeypatch.setattr(sink, "mux", broken)
    with pytest.raises(MediaWriteError, match="no room"):
        write(tmp_path / "out.mkv", source)
    assert not (tmp_path / "out.mkv").exists()


def test_a_page_that_cannot_be_written_does_not_cost_the_film(tmp_path):
    np.save(tmp_path / "in.npy", np.random.default_rng(0).integers(0, 255, (5, 16, 16), dtype=np.uint8))
    done = vr.fill(
        str(tmp_path / "in.npy"), output=str(tmp_path / "out.npy"), missing="2", jobs=1,
        report=str(tmp_path / "nowhere" / "page.html"),
    )  # fmt: skip
    assert any("page.html was not written" in loss for loss in done.record["losses"])
    assert len(np.load(tmp_path / "out.npy")) == 5
