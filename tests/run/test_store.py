"""The work folder: whole pieces, one writer, the right run."""

import json
import os
from fractions import Fraction

import numpy as np
import pytest

import videorestore as vr
from videorestore.errors import InputError, MediaWriteError, OutputExistsError
from videorestore.request.verbs import DenoiseOptions, UpsampleOptions
from videorestore.run.identity import describe, fingerprint
from videorestore.run.store import WorkFolder


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "in.bin"
    path.write_bytes(bytes(range(256)) * 40)
    return path


def test_the_same_run_is_taken_up_and_another_one_is_not(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    first = describe("denoise", str(clip), DenoiseOptions(sigma=3.0), "1")
    assert folder.open(first, resume=True) == "new"
    folder.save_facts(0, [{"fact": 1}])
    assert folder.open(first, resume=True) == "resumed"
    assert folder.done(0) and folder.load_facts(0) == [{"fact": 1}]
    second = describe("denoise", str(clip), DenoiseOptions(sigma=4.0), "1")
    assert folder.open(second, resume=True) == "other"
    assert not folder.done(0)
    folder.save_facts(0, [])
    assert folder.open(second, resume=False) == "new"
    assert not folder.done(0)


def test_what_does_not_change_a_pixel_does_not_change_the_run(clip):
    plain = describe("upsample", str(clip), UpsampleOptions(factor=Fraction(2)), "1")
    other = UpsampleOptions(factor=Fraction(2), jobs=2, max_memory=10**9, report="page.html", overwrite=True)
    assert describe("upsample", str(clip), other, "1") == plain
    assert describe("upsample", str(clip), UpsampleOptions(factor=Fraction(3)), "1") != plain


@pytest.mark.parametrize("kind", ["file", "folder", "pattern"])
@pytest.mark.parametrize("place", [0, 5_000_000, -1])
def test_an_input_of_other_content_is_another_run(tmp_path, kind, place):
    """Also in the middle of a large file, and with its size and time kept."""
    file = tmp_path / "clip" / "a1.png"
    file.parent.mkdir()
    file.write_bytes(bytes(10_000_000))
    path = {"file": str(file), "folder": str(file.parent), "pattern": str(file.parent / "*.png")}[kind]
    before = fingerprint(path)
    facts = file.stat()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert fingerprint(path) != before


def test_two_writers_are_refused_until_the_first_is_done(tmp_path, clip):
    first, second = (WorkFolder(str(tmp_path / "out.mkv")) for _ in range(2))
    run = describe("denoise", str(clip), DenoiseOptions(), "1")
    first.open(run, resume=True)
    with pytest.raises(MediaWriteError, match=f"only one run may write this OUTPUT, process {os.getpid()}"):
        second.open(run, resume=True)
    with pytest.raises(MediaWriteError, match="only one run"):
        second.open(run, resume=False)
    assert first.path.exists()
    first.release()
    assert second.open(run, resume=True) == "resumed"


def test_the_number_of_a_dead_process_that_another_one_got_since_locks_nothing(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    run = describe("denoise", str(clip), DenoiseOptions(), "1")
    folder.open(run, resume=True)
    folder.release()
    (folder.path / "pid").write_text(str(os.getppid()))
    assert folder.open(run, resume=True) == "resumed"


def test_a_torn_note_is_another_run(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    run = describe("denoise", str(clip), DenoiseOptions(), "1")
    folder.open(run, resume=True)
    (folder.path / "run.json").write_text(json.dumps(run)[:20])
    assert folder.open(run, resume=True) == "other"


def test_facts_that_were_not_finished_do_not_count(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.open(describe("denoise", str(clip), DenoiseOptions(), "1"), resume=True)
    (folder.path / "000003.json.new").write_text("[")
    assert not folder.done(3)


def test_a_wrong_name_for_the_sd_maps_is_refused_before_any_work(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((3, 16, 16), np.uint8))
    with pytest.raises(InputError, match="output must end in"):
        vr.denoise(
            str(tmp_path / "in.npy"), output=str(tmp_path / "out.npy"), sd=str(tmp_path / "sd.blah"), jobs=1
        )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npy"]


def test_a_piece_whose_files_have_changed_does_not_count(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.open(describe("denoise", str(clip), DenoiseOptions(), "1"), resume=True)
    for index in range(5):
        folder.segment(index).write_bytes(bytes(100))
        folder.save_facts(index, [{"fact": index}])
    assert all(folder.done(index) for index in range(5))
    folder.segment(0).write_bytes(bytes(60))
    folder.segment(1).unlink()
    for path in (folder.facts_path(2), folder.segment(3)):
        damaged = bytearray(path.read_bytes())
        damaged[len(damaged) - 5] ^= 1
        path.write_bytes(damaged)
    assert [folder.done(index) for index in range(5)] == [False, False, False, False, True]
    folder.facts_path(3).write_bytes(folder.facts_path(4).read_bytes())
    assert not folder.done(3)  # another piece's facts vouch for that one's files


def test_a_plan_that_cannot_be_read_is_no_plan(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.open(describe("denoise", str(clip), DenoiseOptions(), "1"), resume=True)
    assert not folder.planned()
    (folder.path / "plan").write_bytes(b"\x80\x05 torn")
    assert not folder.planned()


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file", "link", "writable by all", "another's"])
@pytest.mark.parametrize("resume", [True, False])
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(tmp_path, clip, kind, resume):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    run = describe("denoise", str(clip), DenoiseOptions(), "1")
    target = tmp_path / "elsewhere"
    if kind == "file":
        folder.path.write_text("years of work")
    elif kind in ("folder", "empty folder", "link"):
        target.mkdir()
        (target / "thesis").write_text("years of work")
        folder.path.symlink_to(target) if kind == "link" else folder.path.mkdir(0o755)
        if kind == "folder":
            (folder.path / "thesis").write_text("years of work")
    else:
        folder.open(run, resume=True)
        folder.release()
        (folder.path / "thesis").write_text("years of work")
        if kind == "writable by all":
            folder.path.chmod(0o777)
        elif os.geteuid() == 0:
            os.chown(folder.path, 12345, 12345)
        else:
            pytest.skip("only root can make a folder of somebody else")
    before = sorted(p.name for p in folder.path.iterdir()) if folder.path.is_dir() else []
    with pytest.raises(OutputExistsError, match="must be free for the work of this run"):
        folder.open(run, resume=resume)
    assert (sorted(p.name for p in folder.path.iterdir()) if folder.path.is_dir() else []) == before
    assert kind != "link" or (target / "thesis").exists()


def test_a_folder_that_was_killed_before_its_mark_is_taken_up(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.path.mkdir(0o700)
    assert folder.open(describe("denoise", str(clip), DenoiseOptions(), "1"), resume=True) == "other"


def test_links_in_a_work_folder_are_not_followed(tmp_path, clip):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    run = describe("denoise", str(clip), DenoiseOptions(), "1")
    folder.open(run, resume=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    (folder.path / "link").symlink_to(tmp_path / "mine")
    folder.clear()
    folder.remove()
    assert (tmp_path / "mine" / "thesis").exists() and not folder.path.exists()


def test_a_run_that_is_killed_while_it_tidies_up_leaves_a_folder_that_is_known(tmp_path, monkeypatch):
    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.open({"a": 1}, resume=True)
    folder.save_facts(0, [])
    monkeypatch.setattr("videorestore.run.store.shutil.rmtree", lambda *_, **__: None)
    folder.remove()
    assert [path.name for path in folder.path.iterdir()] == ["videorestore-work"]
    assert WorkFolder(str(tmp_path / "out.mkv")).open({"a": 1}, resume=True) == "other"
