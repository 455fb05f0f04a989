"""``kept`` means identical samples in the written file: the file is copied, or the word is another."""

import filecmp
import subprocess
from fractions import Fraction

import numpy as np
import pytest

import videorestore as vr
from tests.verbs.test_verbs import drifting
from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.media import SinkOptions, write
from videorestore.media.pipe import ffmpeg


@pytest.fixture
def film(tmp_path):
    """A clean clip as H.264 in Matroska."""
    frames = drifting(n=10, height=48, width=64)
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    step = Fraction(1, 25)
    clip = Clip(frames=frames, times=tuple(k * step for k in range(10)), durations=(step,) * 10, info=info)
    path = tmp_path / "film.mkv"
    write(clip, str(path), SinkOptions(codec="h264"))
    return path


def origins(record):
    return {frame["origin"] for frame in record["frames"]}


OPTIONS = {"denoise": "off", "deflicker": "off", "model": "motion", "jobs": 1}


def test_where_nothing_is_to_do_the_file_is_copied(film, tmp_path):
    output = tmp_path / "out.mkv"
    record = vr.restore(film, str(output), **OPTIONS).record
    assert origins(record) == {"kept"} and filecmp.cmp(film, output, shallow=False)
    assert any("copied as it is" in note for note in record["notes"])


@pytest.mark.parametrize(
    ("words", "name", "output"),
    [
        (["-c", "copy"], "film.mp4", "out.mkv"),
        (["-c", "copy"], "film.mp4", "out.mov"),
        (["-c", "copy"], "film.ts", "out.mp4"),
        (["-c:v", "libx265", "-x265-params", "log-level=none"], "film.mp4", "out.mkv"),
        (["-c:v", "mpeg2video", "-pix_fmt", "yuv420p", "-bf", "2"], "film.mpg", "out.mkv"),
        (["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"], "film.avi", "out.mkv"),
    ],
)
def test_where_nothing_is_to_do_the_stream_goes_into_another_container(film, tmp_path, words, name, output):
    source, written = tmp_path / name, tmp_path / output
    subprocess.run([ffmpeg(), "-v", "error", "-i", str(film), *words, str(source)], check=True)
    record = vr.restore(source, str(written), **OPTIONS).record
    assert origins(record) == {"kept"}
    assert any("10 of 10 frames were copied" in note for note in record["notes"])
    assert np.array_equal(vr.read(source).frames, vr.read(written).frames)


def test_what_players_of_mp4_refuse_is_not_copied_into_it(film, tmp_path):
    source, written = tmp_path / "film.avi", tmp_path / "out.mp4"
    words = ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p"]
    subprocess.run([ffmpeg(), "-v", "error", "-i", str(film), *words, str(source)], check=True)
    assert origins(vr.restore(source, str(written), **OPTIONS).record) == {"recoded"}
    assert vr.inspect(written).record["streams"][0]["codec"] == "h264"


@pytest.mark.parametrize("more", [{"crf": 20}, {"range": "2:8"}])
def test_frames_that_a_codec_changed_are_not_called_kept(film, tmp_path, more):
    output = tmp_path / "out.mkv"
    record = vr.restore(film, str(output), **OPTIONS, **more).record
    assert origins(record) == {"recoded"}
    assert any("coded anew (libx264, crf" in note for note in record["notes"])


def test_frames_in_a_lossless_file_are_kept(film, tmp_path):
    output = tmp_path / "out.mkv"
    record = vr.fill(film, str(output), missing="4", model="motion", codec="ffv1", jobs=1).record
    assert origins(record) == {"kept", "filled"}
    before, after = vr.read(film).frames, vr.read(output).frames
    assert all(np.array_equal(before[k], after[k]) for k in range(10) if k != 4)
