"""Names: what is there stays, whoever's it is and whenever it came."""

from __future__ import annotations

import errno
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.media.makers import random_frame
from videorestore.clip import ClipInfo, PixelFormat
from videorestore.errors import OutputExistsError
from videorestore.media import OutputShape, SinkOptions, open_sink, read
from videorestore.place import part_folder, publish

PIXEL = PixelFormat(model="rgb", depth=8)
SHAPE = OutputShape(
    info=ClipInfo(format=PIXEL, fps=Fraction(25)), height=12, width=16, n_frames=2, fps=Fraction(25)
)
OUTPUTS = ["out.mkv", "out.gif", "out.npy", "out.tif", "out/"]


def write_to(path: str, options: SinkOptions | None = None, meanwhile=lambda: None) -> None:
    with open_sink(path, SHAPE, options) as sink:
        for k in range(2):
            sink.write(random_frame(PIXEL, 12, 16, k))
        meanwhile()


def plant(place: Path, kind: str, treasure: Path) -> None:
    """Put a user's folder, file, or link to one of these at a place."""
    treasure.mkdir()
    (treasure / "thesis").write_text("years of work")
    if kind == "folder":
        place.mkdir()
        (place / "thesis").write_text("years of work")
    elif kind == "file":
        place.write_text("years of work")
    elif kind == "link to a folder":
        place.symlink_to(treasure)
    else:
        place.symlink_to(treasure / "thesis")


def unharmed(place: Path, kind: str, treasure: Path) -> bool:
    own = place / "thesis" if kind in ("folder", "link to a folder") else place
    return own.read_text() == (treasure / "thesis").read_text() == "years of work"


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("kind", ["folder", "file", "link to a folder", "link to a file"])
def test_what_is_called_like_an_unfinished_output_is_left_alone(tmp_path: Path, name: str, kind: str) -> None:
    output = f"{tmp_path}/{name}"
    place = Path(output.rstrip("/") + ".part")
    plant(place, kind, tmp_path / "treasure")
    write_to(output)
    assert unharmed(place, kind, tmp_path / "treasure")
    assert len(read(output).frames) == 2
    assert {p.name for p in tmp_path.iterdir()} == {name.rstrip("/"), place.name, "treasure"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_appears_during_the_run_is_left_alone(
    tmp_path: Path, name: str, overwrite: bool
) -> None:
    output = Path(f"{tmp_path}/{name}")
    folder = name.endswith("/") or overwrite

    def appear() -> None:
        if folder:
            output.mkdir()
        (output / "thesis" if folder else output).write_text("years of work")

    with pytest.raises(OutputExistsError, match="appeared during the run") as told:
        write_to(f"{tmp_path}/{name}", SinkOptions(overwrite=overwrite), appear)
    assert (output / "thesis" if folder else output).read_text() == "years of work"
    kept = next(p for p in tmp_path.iterdir() if p != output)
    assert str(kept) in str(told.value)
    whole = kept.rename(tmp_path / f"kept{output.suffix}")
    assert len(read(whole).frames) == 2


def test_overwriting_replaces_only_what_was_asked_for(tmp_path: Path) -> None:
    frames = {}
    for name in OUTPUTS:
        write_to(f"{tmp_path}/{name}")
        frames[name] = np.asarray(read(f"{tmp_path}/{name}").frames)
        write_to(f"{tmp_path}/{name}", SinkOptions(overwrite=True))
        np.testing.assert_array_equal(read(f"{tmp_path}/{name}").frames, frames[name])
    assert {p.name for p in tmp_path.iterdir()} == {name.rstrip("/") for name in OUTPUTS}
    (tmp_path / "linked").symlink_to(tmp_path / "out")
    with pytest.raises(OutputExistsError, match="it is a link"):
        write_to(f"{tmp_path}/linked/", SinkOptions(overwrite=True))
    assert len(read(tmp_path / "out").frames) == 2


def test_a_disk_without_second_names_gives_no_other_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **more: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    write_to(f"{tmp_path}/out.mkv")
    with pytest.raises(OutputExistsError), part_folder(f"{tmp_path}/out.mkv") as folder:
        part = Path(folder) / "whole"
        part.write_text("new")
        publish(str(part), f"{tmp_path}/out.mkv", overwrite=False)
    assert len(read(tmp_path / "out.mkv").frames) == 2
    assert {p.name for p in tmp_path.iterdir() if p.name != "out.mkv"}
