"""Sizes are read from a few bytes, and what does not fit the memory is refused before it is decoded."""

import struct
import subprocess
import zlib

import cv2
import numpy as np
import pytest

from tests.test_place import OUTPUTS, write_to
from videorestore.errors import InputError, MediaReadError
from videorestore.media import decoder, open_source
from videorestore.media.images import read_image
from videorestore.media.pipe import ffmpeg
from videorestore.media.sizes import stated_size
from videorestore.run.memory import check_pictures


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "tif", "webp", "jp2", "pnm"])
@pytest.mark.parametrize("channels", [1, 3])
def test_images_say_their_size(tmp_path, suffix, channels):
    path = tmp_path / f"a.{suffix}"
    cv2.imwrite(str(path), np.random.default_rng(0).integers(0, 255, (130, 147, channels), dtype=np.uint8))
    assert stated_size(path) == (147, 130)
    assert read_image(str(path)).shape[:2] == (130, 147)


def test_what_stands_before_the_size_of_a_photo_is_passed_over(tmp_path):
    photo = cv2.imencode(".jpg", np.zeros((30, 47), np.uint8))[1].tobytes()
    notes = b"\xff\xe1\xff\xff" + b"\xff\xc0" * 32766 + b"\0"
    (tmp_path / "a.jpg").write_bytes(photo[:2] + notes * 3 + b"\xff\xff" + photo[2:])
    assert stated_size(tmp_path / "a.jpg") == (47, 30)


@pytest.mark.parametrize("name", [n for n in OUTPUTS if not n.endswith(("/", "npy"))])
def test_videos_say_their_size(tmp_path, name):
    write_to(f"{tmp_path}/{name}")
    assert stated_size(tmp_path / name) == (16, 12)


@pytest.mark.parametrize(
    "head", [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"\xff\xd8\xff", b"II*\0", b"MM\0*\0\0\0\x04"]
)
def test_files_that_end_too_soon_say_nothing(tmp_path, head):
    (tmp_path / "a").write_bytes(head)
    assert stated_size(tmp_path / "a") is None


def gif_bomb(size):
    frame = b"," + struct.pack("<HHHHB", 0, 0, size, size, 0) + b"\x02\x02\x4c\x01\x00"
    return (
        b"GIF89a" + struct.pack("<HHBBB", size, size, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff" + frame * 3 + b";"
    )


def png_bomb(size):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["gif", "folder", "pattern", "mask"])
def test_bombs_are_refused(tmp_path, kind):
    folder = tmp_path / "frames"
    folder.mkdir()
    (tmp_path / "a.gif").write_bytes(gif_bomb(16000))
    (folder / "1.png").write_bytes(png_bomb(16000))
    (folder / "notes.txt").write_text("no picture")
    names = {"gif": [f"{tmp_path}/a.gif"], "folder": [str(folder)], "pattern": [f"{folder}/*.png"]}
    names["mask"] = [f"{folder}/notes.txt", f"{folder}/1.png"]
    with pytest.raises(InputError, match="16000 x 16000"):
        check_pictures(names[kind], 2 << 30)
    with pytest.raises(InputError, match="16000 x 16000"):
        check_pictures(names[kind], 0)
    check_pictures(names[kind], 64 << 30)


@pytest.fixture
def never_decoded(monkeypatch):
    """Fails where OpenCV is given something to decode."""

    def decode(*_):
        raise AssertionError("decoded")

    for name in ("imdecode", "imreadmulti", "imdecodemulti"):
        monkeypatch.setattr(cv2, name, decode)


@pytest.mark.parametrize(
    "content",
    [
        png_bomb(8).replace(struct.pack(">I", 0) + b"IDAT", struct.pack(">I", 0x7FFFFFF0) + b"IDAT"),
        png_bomb(8)[:-12],
        b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 20000 +X 20000\n",
        b"P7\nWIDTH 20000\nHEIGHT 20000\nDEPTH 3\nMAXVAL 255\nENDHDR\n",
        b"",
    ],
    ids=["a chunk larger than the file", "cut off", "radiance", "pam", "empty"],
)
def test_what_is_not_whole_or_of_another_kind_is_not_decoded(tmp_path, content, never_decoded):
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(MediaReadError, match="must be an image that can be decoded"):
        read_image(str(tmp_path / "a.png"))


def test_a_large_second_page_is_refused_before_it_is_decoded(tmp_path, never_decoded):
    path = tmp_path / "a.tif"
    pages = [np.zeros((8, 8), np.uint8), np.zeros((900, 700), np.uint8)]
    assert cv2.imwritemulti(str(path), pages)
    assert stated_size(path) == (700, 900)
    with pytest.raises(MediaReadError, match=r"page 1 of .* is 700 x 900"):
        open_source(path)


def test_a_picture_on_the_way_that_is_far_larger_is_not_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(decoder, "_FULL_HD", 96 * 96)
    clips = b""
    for size, count in ((64, 12), (640, 2)):
        words = [
            ffmpeg(),
            "-v",
            "error",
            "-f",
            "lavfi",
            "-i",
            f"color=gray:s={size}x{size}",
            "-frames:v",
            str(count),
        ]
        words += ["-c:v", "libx264", "-preset", "ultrafast", "-f", "h264", "-"]
        clips += subprocess.run(words, capture_output=True, check=True).stdout
    (tmp_path / "a.264").write_bytes(clips)
    with open_source(tmp_path / "a.264") as source:
        assert len(source.index()) == 12
        assert any("gave no frame" in loss for loss in source.index().losses)
