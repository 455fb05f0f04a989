"""What goes wrong late is refused early, or leaves the finished pieces and says how to go on."""

import io
import os
import sys
from importlib import import_module

import numpy as np
import pytest

from videorestore.cli.environment import Environment
from videorestore.cli.program import main
from videorestore.errors import MediaWriteError
from videorestore.plan import layout
from videorestore.request.targets import check_place

film = import_module("videorestore.run.film")
piecework = import_module("videorestore.run.piecework")


@pytest.fixture
def command(tmp_path, monkeypatch):
    """A job of several pieces."""
    monkeypatch.setattr(layout, "MOTION_CORE", 4)
    pictures = np.random.default_rng(0).integers(0, 255, (1, 24, 32), dtype=np.uint8)
    np.save(tmp_path / "in.npy", np.concatenate([np.roll(pictures, k, axis=2) for k in range(12)]))

    def run(*more):
        world = Environment(stdout=io.StringIO(), stderr=io.StringIO(), cwd=str(tmp_path))
        words = ["fill", "in.npy", "-o", "out.mkv", "--missing", "10", "--model", "motion", "--jobs", "1"]
        return int(main([*words, "--progress", "none", *more], world)), world.stderr.getvalue()

    return run


def failing(monkeypatch, module, name, when):
    """A function of a module that fails as soon as ``when`` says so."""
    whole = getattr(module, name)

    def fails(*args, **more):
        if when(*args):
            raise MediaWriteError("FFmpeg must encode, it failed: no more; check codec.")
        return whole(*args, **more)

    monkeypatch.setattr(module, name, fails)
    return whole


@pytest.mark.parametrize("last", [True, False], ids=["codec in the last piece", "joining"])
def test_finished_pieces_are_kept_and_the_message_says_so(command, tmp_path, monkeypatch, last):
    module, name = (piecework, "write_segment") if last else (film, "join_segments")
    # The costliest piece, with the frame that is made, goes first; the third of the others comes last.
    whole = failing(monkeypatch, module, name, lambda frames, path, *_: not last or "000002" in str(path))
    status, told = command()
    assert status == 1 and "the same command goes on from here" in told and told.count("\n") == 1
    assert not (tmp_path / "out.mkv").exists()
    made = list((tmp_path / "out.mkv.work").glob("0*.json"))
    assert len(made) == (3 if last else 4)
    monkeypatch.setattr(module, name, whole)
    made_again = []
    failing(monkeypatch, piecework, "write_segment", lambda frames, path, *_: made_again.append(path))
    status, told = command()
    assert (status, told) == (0, "")
    assert len(made_again) == 4 - len(made)


@pytest.mark.parametrize(
    "words", [("--encoder-args", "-preset nosuch"), ("--codec", "vp9", "--pix-fmt", "yuv420p")]
)
def test_what_an_encoder_refuses_is_known_before_the_clip_is_looked_at(command, tmp_path, monkeypatch, words):
    fill = import_module("videorestore.verbs.fill")
    looked_at = []
    monkeypatch.setattr(fill, "scan", lambda *args, **more: looked_at.append(args) or 1 / 0)
    if "vp9" in words:
        failing(monkeypatch, import_module("videorestore.media.segments"), "write_segment", lambda *_: True)
    status, told = command(*words)
    assert status == 2 and "the encoder must take what is asked" in told and told.count("\n") == 1
    assert not looked_at and sorted(path.name for path in tmp_path.iterdir()) == ["in.npy"]


def test_what_is_no_file_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(MediaWriteError, match="a device or a pipe"):
        check_place(str(tmp_path / "pipe.mp4"), [], overwrite=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a folder that nobody may write to")
@pytest.mark.parametrize("option", ["--sd", "--report"])
def test_maps_and_pages_that_cannot_be_written_are_refused_before_the_work(command, tmp_path, option):
    status, told = command(option, "/proc/file.npy" if option == "--sd" else "/proc/file.html")
    assert status == 1 and "must be writable" in told
    assert not (tmp_path / "out.mkv.work").exists()


@pytest.mark.parametrize("words", [("upsample", "--fps", "120"), ("restore", "--factor", "8")], ids=" ".join)
def test_a_rate_that_the_output_cannot_count_is_refused_before_the_clip_is_looked_at(
    tmp_path, monkeypatch, words
):
    np.save(tmp_path / "in.npy", np.zeros((6, 24, 32), np.uint8))
    monkeypatch.setattr(film, "_planned", lambda *_: pytest.fail("the clip was looked at"))
    world = Environment(stdout=io.StringIO(), stderr=io.StringIO(), cwd=str(tmp_path))
    assert int(main([*words, "in.npy", "-o", "out.gif", "--progress", "none"], world)) == 2
    assert "at most 100 frames a second" in world.stderr.getvalue()
