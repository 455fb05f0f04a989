"""Writers: what cannot be written whole leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.media.makers import Make, copy_through, leftovers, picture, random_frame, shape_of
from videorestore.clip import PixelFormat
from videorestore.errors import InputError, MediaWriteError, OutputExistsError
from videorestore.media import (
    SinkOptions,
    check_output,
    open_sink,
    open_source,
)


def test_an_existing_output_is_refused_before_any_work(plain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mkv"
    out.write_bytes(b"precious")
    with pytest.raises(OutputExistsError):
        copy_through(plain, out)
    assert out.read_bytes() == b"precious"
    copy_through(plain, out, SinkOptions(overwrite=True))
    assert len(open_source(out).index()) == 10


def test_missing_folder(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(MediaWriteError, match="must exist"):
        copy_through(plain, tmp_path / "no" / "out.mkv")


def test_input_is_not_the_output(plain: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.mp4"
    path.write_bytes(plain.read_bytes())
    (tmp_path / "link.mp4").symlink_to(path)
    for name in ("in.mp4", "link.mp4", "./in.mp4"):
        with pytest.raises(InputError, match="input"):
            check_output(str(tmp_path / name), SinkOptions(overwrite=True), str(path))
    assert path.read_bytes() == plain.read_bytes()


def test_unknown_suffix_and_codec(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must end in"):
        copy_through(plain, tmp_path / "out.xyz")
    with pytest.raises(InputError, match="encoder"):
        copy_through(plain, tmp_path / "out.mkv", SinkOptions(codec="nonsense"))
    with pytest.raises(InputError, match="pix_fmt"):
        copy_through(plain, tmp_path / "out.mkv", SinkOptions(pix_fmt="nonsense"))
    assert leftovers(tmp_path) == []


def test_an_encoder_error_shows_its_last_lines(plain: Path, tmp_path: Path) -> None:
    with pytest.raises(MediaWriteError, match="FFmpeg must") as caught:
        copy_through(plain, tmp_path / "out.mkv", SinkOptions(encoder_args="-profile:v nonsense"))
    assert "\n" not in str(caught.value)
    assert leftovers(tmp_path) == []


def test_a_codec_that_the_container_refuses(plain: Path, tmp_path: Path) -> None:
    for name, codec in (
        ("out.webm", "ffv1"),
        ("out.mov", "ffv1"),
        ("out.avi", "h264"),
        ("out.mp4", "rawvideo"),
    ):
        with pytest.raises(InputError, match="can hold"):
            check_output(str(tmp_path / name), SinkOptions(codec=codec), str(plain))
        with pytest.raises(InputError, match="can hold"):
            copy_through(plain, tmp_path / name, SinkOptions(codec=codec))
    assert leftovers(tmp_path) == []


def test_frames_too_small_for_a_codec_are_refused_before_the_first(tmp_path: Path) -> None:
    pixel = PixelFormat(model="grey")
    with pytest.raises(InputError, match="from 16 pixels a side on, got 12 x 40"):
        open_sink(tmp_path / "out.mkv", shape_of(pixel, 3, 40, 12), SinkOptions(codec="h265"))
    deep = PixelFormat(model="grey", depth=10)
    with pytest.raises(InputError, match="more than 8 bit from 64 pixels in width on, got 44 x 40"):
        open_sink(tmp_path / "out.mkv", shape_of(deep, 3, 40, 44), SinkOptions(codec="h265"))
    assert leftovers(tmp_path) == []


def test_encoder_arguments_arrive(plain: Path, tmp_path: Path) -> None:
    copy_through(plain, tmp_path / "a.mkv", SinkOptions(crf=45))
    copy_through(plain, tmp_path / "b.mkv", SinkOptions(crf=1, encoder_args="-preset ultrafast"))
    assert (tmp_path / "a.mkv").stat().st_size < (tmp_path / "b.mkv").stat().st_size
    copy_through(plain, tmp_path / "c.mkv", SinkOptions(pix_fmt="yuv444p"))
    assert open_source(tmp_path / "c.mkv").info.format.subsampling == (0, 0)


def test_a_folder_with_other_files_is_not_overwritten(plain: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    with pytest.raises(OutputExistsError):
        copy_through(plain, f"{folder}/", SinkOptions(overwrite=True))
    assert (folder / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize(
    "name", ["with space.mkv", "ünï ☃.mp4", "-dash.mkv", "100%d.mp4", "a:b.mkv", "[x]*.gif", "%d/"]
)
def test_names(plain: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    copy_through(plain, name)
    assert leftovers(tmp_path) == [name.rstrip("/")]
    assert len(open_source(name).index()) == 10


def test_an_error_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    pixel = PixelFormat(model="rgb")
    for name in ("out.mkv", "out.gif", "out.npy", "out.tif", "out/"):
        with pytest.raises(KeyboardInterrupt), open_sink(str(tmp_path) + "/" + name, shape_of(pixel)) as sink:
            sink.write(random_frame(pixel, 18, 22))
            raise KeyboardInterrupt
        assert leftovers(tmp_path) == []


def test_no_frame_is_an_error(tmp_path: Path) -> None:
    for name in ("out.mkv", "out.npy", "out/"):
        with (
            pytest.raises(MediaWriteError, match="at least one frame"),
            open_sink(str(tmp_path) + "/" + name, shape_of(PixelFormat(model="rgb"))),
        ):
            pass
        assert leftovers(tmp_path) == []


def test_times_must_increase(tmp_path: Path) -> None:
    pixel = PixelFormat(model="rgb")
    frame = random_frame(pixel, 18, 22)
    with (
        pytest.raises(MediaWriteError, match="increase"),
        open_sink(tmp_path / "out.mkv", shape_of(pixel)) as sink,
    ):
        sink.write(frame)
        sink.write(frame)
    assert leftovers(tmp_path) == []


def test_a_result_that_does_not_decode_gets_no_name(
    plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from videorestore.media import sink as module

    real = module.mux

    def spoiled(*args, **kwargs):
        muxed = real(*args, **kwargs)
        part = Path(args[1])
        data = bytearray(part.read_bytes())
        data[len(data) // 2 :] = b""
        part.write_bytes(bytes(data))
        return muxed

    monkeypatch.setattr(module, "mux", spoiled)
    with pytest.raises(MediaWriteError, match="must"):
        copy_through(plain, tmp_path / "out.mkv")
    assert leftovers(tmp_path) == []


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[3])
from videorestore.errors import MediaWriteError
from tests.media.makers import copy_through
from videorestore.media import SinkOptions, open_source
open_source(sys.argv[1]).index()
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
try:
    copy_through(sys.argv[1], sys.argv[2], SinkOptions(codec=sys.argv[5] or None))
except MediaWriteError as error:
    assert "\\n" not in str(error)
    print("refused:", error)
"""


@pytest.mark.parametrize("name", ["out.mkv", "out.mp4", "out.npy", "out.tif", "out.gif", "out/"])
def test_disk_full(make: Make, tmp_path: Path, name: str) -> None:
    path = make("big.mkv", *picture("160x120", seconds="0.4"), "-c:v", "ffv1")
    target = tmp_path / "target"
    target.mkdir()
    codec = "ffv1" if name == "out.mkv" else ""
    limit = "3000" if name in ("out/", "out.gif", "out.mp4") else "20000"
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), f"{target}/{name}", root, limit, codec],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "refused:" in done.stdout
    assert leftovers(target) == []
