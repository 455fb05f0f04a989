"""Sizes are read from a few bytes, and what does not fit the memory is refused before it is decoded."""

import struct
import zlib

import cv2
import numpy as np
import pytest

from tests.test_place import OUTPUTS, write_to
from videorestore.errors import InputError
from videorestore.media.sizes import stated_size
from videorestore.run.memory import check_pictures


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "tif", "webp"])
def test_images_say_their_size(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    cv2.imwrite(str(path), np.zeros((30, 47, 3), np.uint8))
    assert stated_size(path) in ((47, 30), *([None] if suffix == "webp" else []))


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
