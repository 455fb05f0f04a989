"""What tapes and discs come in: DV, MPEG-2 with its flags, captures with raw sound."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_deinterlace import interlaced, scene
from videorestore.media import open_source
from videorestore.media.pipe import ffmpeg
from videorestore.plan.scan import scan


def make(frames: np.ndarray, path: Path, rate: str, *words: str) -> None:
    """Grey frames ``(n, h, w, 1)`` with stereo sound as a file."""
    height, width = frames.shape[1:3]
    picture = ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{width}x{height}", "-r", rate, "-i", "-"]
    sound = ["-f", "lavfi", "-i", f"sine=440:r=48000:d={float(len(frames) / Fraction(rate)):.3f}"]
    command = [ffmpeg(), "-v", "error", *picture, *sound, "-ac", "2", *words, "-y", str(path)]
    subprocess.run(command, input=frames.tobytes(), check=True)


@pytest.mark.parametrize(
    ("name", "size", "rate", "pixels", "shape"),
    [
        ("tape.avi", (576, 720), "25", "yuv420p", Fraction(16, 15)),
        ("tape.mov", (480, 720), "30000/1001", "yuv411p", Fraction(8, 9)),
    ],
)
def test_dv(tmp_path, name: str, size: tuple[int, int], rate: str, pixels: str, shape: Fraction) -> None:
    small = scene(16)[..., 0]
    large = np.stack([cv2.resize(p, size[::-1], interpolation=cv2.INTER_CUBIC) for p in small])[..., None]
    path = tmp_path / name
    words = ["-pix_fmt", pixels, "-aspect", "4:3", "-c:v", "dvvideo", "-c:a", "pcm_s16le"]
    make(interlaced(large, 1), path, rate, *words)
    with open_source(str(path)) as source:
        found = scan(source, brief=True)
        assert (found.fields.whole.kind, found.fields.whole.order) == ("interlaced", "bff")
        assert len(found.index) == 8 and source.info.fps == Fraction(rate) and source.info.sar == shape


def test_raw_stereo_sound_of_an_avi_is_in_the_mp4(tmp_path) -> None:
    path = tmp_path / "capture.avi"
    make(interlaced(scene(24), 0), path, "25", "-c:v", "mjpeg", "-q:v", "2", "-c:a", "pcm_s16le")
    record = vr.fill(path, str(tmp_path / "out.mp4"), jobs=1).record
    assert record["fields"]["order"] == "tff" and not record.get("losses")
    facts = vr.inspect(tmp_path / "out.mp4").record
    assert facts["interlaced"] and [s["type"] for s in facts["streams"]] == ["video", "audio"]


def with_pulldown_flags(stream: bytes) -> bytes:
    """An MPEG-2 stream of film, one group of pictures, whose pictures are to be shown for three fields and two in turn."""
    data, place, picture = bytearray(stream), 0, 0
    while 0 <= (place := data.find(b"\x00\x00\x01", place)) < len(data) - 8:
        kind, extension = data[place + 3], data[place + 4] >> 4
        if kind == 0xB3:
            data[place + 7] = data[place + 7] & 0xF0 | 4  # 30000/1001 frames a second
        elif kind == 0x00:
            picture = data[place + 4] << 2 | data[place + 5] >> 6  # in the order of display
        elif kind == 0xB5 and extension == 1:
            data[place + 5] &= ~0x08  # no progressive sequence
        elif kind == 0xB5 and extension == 8:
            first, twice = ((1, 1), (0, 0), (0, 1), (1, 0))[picture % 4]
            data[place + 7] = data[place + 7] & 0x7D | first << 7 | twice << 1
            data[place + 8] |= 0x80  # a progressive frame
        place += 3
    return bytes(data)


def test_film_on_a_disc_has_its_own_rate(tmp_path) -> None:
    pictures, plain, flagged, disc = scene(24), tmp_path / "a.m2v", tmp_path / "b.m2v", tmp_path / "disc.vob"
    make(
        pictures,
        plain,
        "24000/1001",
        "-map",
        "0:v",
        "-c:v",
        "mpeg2video",
        "-q:v",
        "2",
        "-bf",
        "2",
        "-g",
        "60",
    )
    flagged.write_bytes(with_pulldown_flags(plain.read_bytes()))
    copy = [ffmpeg(), "-v", "error", "-i", str(flagged), "-c", "copy", "-f", "vob", str(disc)]
    subprocess.run(copy, check=True)
    with open_source(str(disc)) as source:
        assert len(set(source.index().durations)) > 1
    record = vr.deinterlace(disc, str(tmp_path / "out.mkv"), codec="ffv1", jobs=1).record
    assert len(record["frames"]) == 24 and Fraction(record["fps"]) == Fraction(24000, 1001)
    assert {f["origin"] for f in record["frames"]} == {"kept"}
