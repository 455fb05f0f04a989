"""What comes with a film and cannot be written is left out and named; the film stays."""

import subprocess
from fractions import Fraction

import av
import numpy as np
import pytest

import videorestore as vr
from tests.media.makers import random_frame
from tests.test_place import PIXEL, SHAPE
from videorestore.errors import MediaWriteError
from videorestore.media import SinkOptions, open_sink, read, sink
from videorestore.media.pipe import ffmpeg


def write(path, source):
    with open_sink(path, SHAPE, SinkOptions(), streams_from=str(source)) as opened:
        for k in range(2):
            opened.write(random_frame(PIXEL, 12, 16, k))
    return opened.losses


@pytest.fixture
def source(tmp_path):
    write(tmp_path / "in.mkv", "")
    return tmp_path / "in.mkv"


def fragile_mux(broken):
    """Like `sink.mux`, but what ``broken`` says of the other streams cannot be written."""
    whole = sink.mux

    def fragile(segments, part, kind, info, fps, others, **more):
        if others.path and broken(others):
            raise MediaWriteError("the output must be writable, got: a broken header; check it.")
        return whole(segments, part, kind, info, fps, others, **more)

    return fragile


def test_a_title_that_breaks_the_container_is_left_out(tmp_path, source, monkeypatch):
    monkeypatch.setattr(sink, "mux", fragile_mux(lambda others: others.metadata))
    losses = write(tmp_path / "out.mkv", source)
    assert len(losses) == 1 and "left out" in losses[0] and "a broken header" in losses[0]
    assert len(read(tmp_path / "out.mkv").frames) == 2


def with_sounds(path, *words):
    """A file with a film and two sounds, number 1 and 2."""
    sounds = ["-f", "lavfi", "-i", "sine=duration=0.4", "-f", "lavfi", "-i", "sine=440:duration=0.4"]
    pictures = ["-f", "lavfi", "-i", "testsrc=size=32x24:duration=0.4"]
    maps = ["-map", "0", "-map", "1", "-map", "2", "-c:v", "ffv1", "-c:a", "flac"]
    subprocess.run([ffmpeg(), "-v", "error", *pictures, *sounds, *maps, *words, str(path)], check=True)


def test_streams_are_left_out_one_by_one(tmp_path, monkeypatch):
    with_sounds(tmp_path / "in.mkv", "-metadata", "title=kept")
    monkeypatch.setattr(sink, "mux", fragile_mux(lambda others: 1 not in others.without))
    losses = write(tmp_path / "out.mkv", tmp_path / "in.mkv")
    assert len(losses) == 1 and losses[0].startswith("audio stream 1 (flac): left out")
    with av.open(str(tmp_path / "out.mkv")) as made:
        assert [s.type for s in made.streams] == ["video", "audio"]
        assert made.metadata["title"] == "kept"


def test_where_no_stream_can_be_written_the_pictures_stay(tmp_path, monkeypatch):
    with_sounds(tmp_path / "in.mkv")
    monkeypatch.setattr(sink, "mux", fragile_mux(lambda others: True))
    losses = write(tmp_path / "out.mkv", tmp_path / "in.mkv")
    assert len(losses) == 1 and losses[0].startswith("all but the pictures: left out")
    assert len(read(tmp_path / "out.mkv").frames) == 2


@pytest.mark.parametrize("carries", [False, True])
def test_data_that_is_announced_and_never_comes_is_no_loss(tmp_path, carries):
    path = tmp_path / "in.ts"
    with av.open(str(path), "w") as made:
        film, data = made.add_stream("mpeg2video", 25), made.add_data_stream()
        film.width, film.height, film.pix_fmt = 32, 24, "yuv420p"
        for k in range(12):
            made.mux(film.encode(av.VideoFrame.from_ndarray(np.full((24, 32, 3), 20 * k, np.uint8), "rgb24")))
            packet = av.Packet(bytes(99))
            packet.stream, packet.time_base = data, Fraction(1, 90000)
            packet.pts = packet.dts = 3600 * k
            made.mux(packet)
        made.mux(film.encode())
    if not carries:
        # The table of the streams stays, the packets of the second one go.
        whole = path.read_bytes()
        packets = [whole[k : k + 188] for k in range(0, len(whole), 188)]
        path.write_bytes(b"".join(p for p in packets if int.from_bytes(p[1:3], "big") & 0x1FFF != 257))
    with av.open(str(path)) as found:
        data = next(stream for stream in found.streams if stream.type == "data")
        assert any(p.size and p.stream_index == data.index for p in found.demux()) == carries
    losses = write(tmp_path / "out.mkv", path)
    assert ["data stream" in loss for loss in losses] == [True] * carries


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
