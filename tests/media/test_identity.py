"""The identity path on real files: nothing lost, nothing invented."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from tests.media.makers import copy_through, same_planes
from videorestore.media import Excerpt, OutputShape, SinkOptions, open_sink, open_source
from videorestore.media.probe import open_input

# file -> frames, and losses where there are any. Long clips are copied in part.
ODD = {
    "decord_corrupted.mp4": (49, 2),
    "decord_unordered.mov": (4, 0),
    "decord_video_0.mov": (3, 0),
    "decord_video_90.mov": (3, 0),
    "decord_video_180.mov": (3, 0),
    "decord_video_270.mov": (3, 0),
    "exo_video_desks.3gp": (71, 0),
    "imageio_test.webm": (94, 0),
    "moviepy_no_duration.webm": (74, 0),
    "moviepy_transparent.webm": (150, 0),
    "moviepy_video_with_failing_audio.mp4": (280, 0),
    "rot180_vfr_fire2.mp4": (25, 0),
    "torchcodec_av1_video.mkv": (125, 0),
    "torchcodec_h264_10bits.mp4": (30, 0),
    "torchcodec_h265_10bits.mp4": (30, 0),
    "torchcodec_nasa_13013.mp4": (390, 0),
}
NATURAL = {
    "bus_qcif_raw.y4m": 75,
    "superres_car_raw.avi": 64,
    "traffic_48x48_raw.avi": 51,
    "foreman_cif_vp9.webm": 60,
    "foreman_cif_CI1_FT_B.264": 291,
    "tennis_sif.mp4": 150,
    "davis_car-turn.mp4": 81,
    "highway.mpg": 1700,
    "escalator.avi": 198,
}
FILES = [f"odd/{name}" for name in ODD] + [f"natural/{name}" for name in NATURAL]
# FFV1 takes its time: the copy has at most so many pixels; the index always sees the whole file.
PIXELS = 3_000_000


def sound(path: Path) -> list[list[tuple[float, bytes]]]:
    """Time and payload of every packet of every audio stream."""
    with open_input(str(path)) as container:
        streams = container.streams.audio
        found: dict[int, list[tuple[float, bytes]]] = {s.index: [] for s in streams}
        if streams:
            for packet in container.demux(*streams):
                if packet.size:
                    found[packet.stream_index].append((float(packet.pts * packet.time_base), bytes(packet)))
    return list(found.values())


@pytest.mark.parametrize("name", FILES)
def test_every_file_comes_back_bit_for_bit(shared_data: Path, tmp_path: Path, name: str) -> None:
    path, out = shared_data / name, tmp_path / "out.mkv"
    folder, file = name.split("/")
    count, losses = ODD[file] if folder == "odd" else (NATURAL[file], 0)
    with open_source(path) as source:
        index = source.index()
        assert len(index) == count
        assert len(index.losses) == losses
        stop = min(count, max(3, PIXELS // (source.width * source.height)))
        info = source.info
        shape = OutputShape(info=info, height=source.height, width=source.width, n_frames=stop, fps=info.fps)
        with open_sink(out, shape, SinkOptions(codec="ffv1"), streams_from=str(path)) as sink:
            for frame in source.frames(0, stop):
                sink.write(frame)
        assert sink.losses == ()
        with open_source(out) as copy:
            half_a_millisecond = Fraction(1, 2000)
            for a, b in zip(source.frames(0, stop), copy.frames(), strict=True):
                assert same_planes(a, b)
                assert abs(a.time - b.time) <= half_a_millisecond
                assert abs(a.duration - b.duration) <= 2 * half_a_millisecond
            new = copy.info
            assert (new.format, new.sar) == (info.format, info.sar)
            assert (new.primaries, new.transfer, new.matrix_known) == (
                info.primaries,
                info.transfer,
                info.matrix_known,
            )
    for old_stream, new_stream in zip(sound(path), sound(out), strict=True):
        assert [p for _, p in old_stream] == [p for _, p in new_stream]
        shift = old_stream[0][0] - new_stream[0][0]
        assert all(abs(a - b - shift) < 0.0021 for (a, _), (b, _) in zip(old_stream, new_stream))


def test_the_stated_stream_is_taken(shared_data: Path) -> None:
    path = shared_data / "odd" / "torchcodec_nasa_13013.mp4"
    for stream, count, width in ((0, 325, 320), (3, 390, 480)):
        with open_source(path, stream=stream) as source:
            assert (len(source.index()), source.width) == (count, width)


def test_the_variable_rate_clip_is_exact_in_mp4(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "odd" / "exo_video_desks.3gp"
    done = copy_through(path, tmp_path / "out.mp4")
    with open_source(path) as source, open_source(tmp_path / "out.mp4") as copy:
        assert copy.index().times == source.index().times
        assert copy.index().durations == source.index().durations
        assert copy.info.sar == Fraction(12, 11)
    assert done.losses == ()
    assert sound(tmp_path / "out.mp4") == sound(path)


def test_two_videos_two_sounds_two_subtitles(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "odd" / "torchcodec_nasa_13013.mp4"
    with open_source(path, stream=0) as source:
        info = source.info
        shape = OutputShape(info=info, height=source.height, width=source.width, n_frames=25, fps=info.fps)
        span = Excerpt(start=Fraction(0), stop=Fraction(1))
        with open_sink(tmp_path / "out.mp4", shape, streams_from=str(path), span=span) as sink:
            for frame in source.frames(0, 25):
                sink.write(frame)
    assert sink.losses == ()
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert sorted(s.type for s in container.streams) == ["audio"] * 2 + ["subtitle"] * 2 + ["video"] * 2
    with open_source(tmp_path / "out.mp4") as copy:
        assert (copy.width, len(copy.index())) == (320, 25)
