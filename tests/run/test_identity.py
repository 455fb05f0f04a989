"""Pixels come from this input and from pieces that are as they were written, or there are none."""

from importlib import import_module

import numpy as np
import pytest

import videorestore as vr
from videorestore.errors import MediaReadError, MediaWriteError, VideoRestoreError
from videorestore.media.pipe import RawPipe

film = import_module("videorestore.run.film")


@pytest.fixture
def job(tmp_path):
    """A quick job, and the frames that it gives."""
    rng = np.random.default_rng(0)
    path = tmp_path / "in.npy"
    np.save(path, rng.integers(0, 255, (6, 16, 16), dtype=np.uint8))

    def run(name):
        vr.fill(str(path), output=str(tmp_path / name), missing="2", jobs=1)
        return np.load(tmp_path / name)

    return path, run


def after_making(monkeypatch, change, times=1):
    """Do something once the pieces are made, so many times."""
    make = film._make_these
    left = [times]

    def made(todo, planned, *rest):
        jobs = make(todo, planned, *rest)
        if left[0]:
            left[0] -= 1
            change(planned.folder)
        return jobs

    monkeypatch.setattr(film, "_make_these", made)


def flip(folder):
    path = folder.segment(0)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_a_piece_in_which_a_bit_has_flipped_is_made_anew(job, monkeypatch):
    _, run = job
    right = run("right.npy")
    after_making(monkeypatch, flip, 2)
    np.testing.assert_array_equal(run("out.npy"), right)
    after_making(monkeypatch, flip, 9)
    with pytest.raises(VideoRestoreError, match="must read back the same"):
        run("never.npy")


@pytest.mark.parametrize("change", ["edited", "cut off", "gone"])
def test_an_input_that_changes_during_the_run_gives_no_output(job, monkeypatch, tmp_path, change):
    path, run = job

    def spoil(folder):
        if change == "gone":
            path.unlink()
        else:
            content = bytearray(path.read_bytes())
            content[-3] ^= 1
            path.write_bytes(content if change == "edited" else content[:-100])

    after_making(monkeypatch, spoil)
    with pytest.raises(MediaReadError, match="it was changed"):
        run("out.npy")
    assert {p.name for p in tmp_path.iterdir()} <= {"in.npy"}


def test_an_input_that_changes_while_the_pieces_are_joined_gives_no_output(job, monkeypatch, tmp_path):
    """Sound and subtitles are read from it then, or it is copied as it is."""
    path, run = job
    join = film.join_segments

    def late(*segments, before, **rest):
        path.write_bytes(path.read_bytes()[:-1] + b"x")
        return join(*segments, before=before, **rest)

    monkeypatch.setattr(film, "join_segments", late)
    with pytest.raises(MediaReadError, match="it was changed"):
        run("out.npy")
    assert {p.name for p in tmp_path.iterdir()} == {"in.npy"}


@pytest.mark.parametrize("times", [1, 9])
def test_a_piece_whose_encoder_was_killed_is_made_anew(job, monkeypatch, times):
    """The encoder dies in the middle of a piece; where it always does, one line says so."""
    _, run = job
    right = run("right.npy")
    write, left = RawPipe.write, [times]

    def deadly(pipe, *rest):
        write(pipe, *rest)
        if left[0] and pipe.count == 3:
            left[0] -= 1
            pipe._process.kill()

    monkeypatch.setattr(RawPipe, "write", deadly)
    if times == 1:
        np.testing.assert_array_equal(run("out.npy"), right)
    else:
        with pytest.raises(MediaWriteError, match="ended by signal 9"):
            run("out.npy")
