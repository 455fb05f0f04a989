"""Readers: every property of a file arrives, and damage is told."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.media.makers import Make, decoded_by_ffmpeg, picture, tone
from videorestore.colour import to_rgb
from videorestore.errors import InputError, MediaReadError
from videorestore.media import open_source, read
from videorestore.media.pixels import layout_of, planes_of
from videorestore.media.video import VideoSource


def raw(source) -> np.ndarray:
    return np.concatenate(
        [np.ascontiguousarray(p).view(np.uint8).ravel() for f in source.frames() for p in f.planes]
    )


@pytest.mark.parametrize(
    ("name", "pix_fmt", "depth", "subsampling"),
    [
        ("p420.mkv", "yuv420p", 8, (1, 1)),
        ("p422.mkv", "yuv422p", 8, (1, 0)),
        ("p444.mkv", "yuv444p", 8, (0, 0)),
        ("p440.mkv", "yuv440p", 8, (0, 1)),
        ("p10.mkv", "yuv420p10le", 10, (1, 1)),
        ("p12.mkv", "yuv422p12le", 12, (1, 0)),
        ("p16.mkv", "yuv444p16le", 16, (0, 0)),
        ("gbrp10.mkv", "gbrp10le", 10, (0, 0)),
        ("gray.mkv", "gray", 8, (0, 0)),
        ("gray16.mkv", "gray16le", 16, (0, 0)),
        ("yuva.mkv", "yuva420p", 8, (1, 1)),
    ],
)
def test_native_samples(
    make: Make, name: str, pix_fmt: str, depth: int, subsampling: tuple[int, int]
) -> None:
    path = make(
        name,
        *picture("37x29", seconds="0.12"),
        "-c:v",
        "ffv1",
        "-slices",
        "1",
        "-level",
        "3",
        "-pix_fmt",
        pix_fmt,
    )
    with open_source(path) as source:
        assert (source.width, source.height) == (37, 29)
        assert source.info.format.depth == depth
        assert source.info.format.subsampling == subsampling
        assert source.info.format.alpha == ("a" in pix_fmt.removeprefix("gray"))
        if not pix_fmt.startswith("gbr"):
            np.testing.assert_array_equal(raw(source), decoded_by_ffmpeg(path, pix_fmt))


@pytest.mark.parametrize(
    "pix_fmt", ["rgb24", "bgr24", "bgra", "rgb48le", "nv12", "yuyv422", "uyvy422", "gbrap"]
)
def test_packed_samples_become_planes(make: Make, pix_fmt: str) -> None:
    path = make(
        f"packed_{pix_fmt}.nut", *picture("36x22", seconds="0.08"), "-c:v", "rawvideo", "-pix_fmt", pix_fmt
    )
    with open_source(path) as source:
        shown = np.stack([to_rgb(f)[..., :3] for f in source.frames()])
    wide = pix_fmt == "rgb48le"
    twin = decoded_by_ffmpeg(path, "rgb48le" if wide else "rgb24")
    twin = (twin.view(np.uint16) if wide else twin).reshape(shown.shape)
    tolerance = 400 if wide else 2
    assert np.abs(shown.astype(int) - twin.astype(int)).max() <= tolerance


@pytest.mark.parametrize(
    ("packed", "planar"), [("p010le", "yuv420p10le"), ("p210le", "yuv422p10le"), ("nv24", "yuv444p")]
)
def test_interleaved_chroma_is_taken_apart(packed: str, planar: str) -> None:
    wanted = layout_of(planar)
    layout = layout_of(packed)
    assert wanted is not None and layout is not None and layout.format == wanted.format
    grey = np.random.default_rng(1).integers(0, 255, (34, 38, 3), np.uint8)
    twin = av.VideoFrame.from_ndarray(grey, "rgb24").reformat(format=planar)
    for a, b in zip(planes_of(twin.reformat(format=packed), layout), planes_of(twin, wanted), strict=True):
        np.testing.assert_array_equal(a, b)


def test_bottom_up_rows(make: Make) -> None:
    path = make("raw.avi", *picture("30x21", seconds="0.12"), "-c:v", "rawvideo", "-pix_fmt", "bgr24")
    with open_source(path) as source:
        shown = np.stack([to_rgb(f) for f in source.frames()])
    np.testing.assert_array_equal(shown.ravel(), decoded_by_ffmpeg(path, "rgb24"))


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation_is_applied_once(make: Make, plain: Path, degrees: int) -> None:
    path = make(f"turned{degrees}.mp4", "-display_rotation", str(degrees), "-i", str(plain), "-c", "copy")
    with open_source(path) as source:
        assert (source.width, source.height) == ((48, 64) if degrees % 180 else (64, 48))
        assert source.facts()["rotation"] == 360 - degrees
        np.testing.assert_array_equal(raw(source), decoded_by_ffmpeg(path, "yuv420p"))


def test_mirroring_is_applied(make: Make, plain: Path) -> None:
    path = make("mirrored.mp4", "-display_rotation", "90", "-display_hflip", "-i", str(plain), "-c", "copy")
    with open_source(path) as source:
        np.testing.assert_array_equal(raw(source), decoded_by_ffmpeg(path, "yuv420p"))


def test_sample_aspect_ratio_turns_with_the_picture(make: Make) -> None:
    upright = make("sar.mp4", *picture(), "-vf", "setsar=4/3", "-c:v", "libx264")
    turned = make("sar_turned.mp4", "-display_rotation", "90", "-i", str(upright), "-c", "copy")
    assert open_source(upright).info.sar == Fraction(4, 3)
    assert open_source(turned).info.sar == Fraction(3, 4)


def test_colour_tags(make: Make) -> None:
    tags = [
        "-color_primaries",
        "bt2020",
        "-color_trc",
        "smpte2084",
        "-colorspace",
        "bt2020nc",
        "-color_range",
        "tv",
    ]
    labels = (
        "setparams=range=tv:color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,format=yuv420p10le"
    )
    path = make(
        "hdr.mp4", *picture(), "-vf", labels, "-c:v", "libx265", "-x265-params", "log-level=none", *tags
    )
    info = open_source(path).info
    assert (info.primaries, info.transfer, info.format.matrix) == ("bt2020", "smpte2084", "bt2020nc")
    assert info.matrix_known and not info.format.full_range and info.format.depth == 10


def test_unknown_matrix_is_assumed_by_size_and_said(plain: Path) -> None:
    info = open_source(plain).info
    assert info.format.matrix == "smpte170m"
    assert not info.matrix_known


def test_full_range(make: Make) -> None:
    path = make("full.mkv", *picture(), "-vf", "scale=out_range=pc,format=yuvj420p", "-c:v", "mjpeg")
    assert open_source(path).info.format.full_range


def test_variable_frame_rate_is_kept(make: Make) -> None:
    path = make(
        "vfr.mkv", *picture(seconds="0.8"), "-vf", "select='not(mod(n,3))+eq(n,1)',settb=1/1000", "-fps_mode",
        "passthrough", "-enc_time_base", "1/1000", "-c:v", "ffv1",
    )  # fmt: skip
    with open_source(path) as source:
        index = source.index()
        assert [int(t * 1000) for t in index.times] == [0, 40, 120, 240, 360, 480, 600, 720]
        assert index.durations[1] == Fraction(2, 25)
        assert source.info.vfr


def test_constant_rate_rounded_to_milliseconds_is_constant(make: Make) -> None:
    path = make("ntsc.mkv", *picture(rate="30000/1001", seconds="1"), "-c:v", "ffv1")
    with open_source(path) as source:
        source.index()
        assert source.info.fps == Fraction(30000, 1001)
        assert not source.info.vfr


def test_vp9_alpha(make: Make) -> None:
    path = make(
        "alpha.webm", *picture(), "-vf", "format=yuva420p,geq=lum='lum(X,Y)':a='X*4'", "-c:v", "libvpx-vp9",
        "-lossless", "1", "-auto-alt-ref", "0",
    )  # fmt: skip
    with open_source(path) as source:
        assert source.info.format.alpha
        frames = list(source.frames())
    assert len(frames) == 10
    np.testing.assert_array_equal(frames[3].planes[3][0], np.arange(64) * 4)


def test_streams_are_chosen(make: Make) -> None:
    path = make(
        "two.mkv", *picture("32x32", seconds="0.2"), *picture("64x64", rate="50", seconds="0.2"), "-map", "0", "-map",
        "1", "-c:v", "ffv1", "-disposition:v", "0", "-default_mode", "passthrough",
    )  # fmt: skip
    assert open_source(path).width == 64
    with open_source(path, stream=0) as source:
        assert (source.width, len(source.index())) == (32, 5)
    with open_source(path, stream=1) as source:
        assert (source.width, len(source.index())) == (64, 10)
    with pytest.raises(InputError, match="stream must be"):
        open_source(path, stream=7)


def test_bare_stream_without_times(make: Make, plain: Path) -> None:
    path = make("bare.264", "-i", str(plain), "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264")
    with open_source(path) as source:
        index = source.index()
    assert len(index) == 10
    assert all(b > a for a, b in zip(index.times, index.times[1:]))


def test_a_bare_stream_with_pictures_out_of_order_lacks_no_frame(make: Make) -> None:
    coded = ("-c:v", "mpeg1video", "-pix_fmt", "yuv420p", "-bf", "2", "-f", "mpeg1video")
    with open_source(make("bare.m1v", *picture(), *coded)) as source:
        times = source.index().times
    assert len({b - a for a, b in zip(times, times[1:])}) == 1


def test_first_time_is_relative_to_the_earliest_stream(make: Make) -> None:
    alone = make("late.mkv", "-itsoffset", "2", *picture(), "-c:v", "ffv1", "-avoid_negative_ts", "disabled")
    assert open_source(alone).index().times[0] == 0
    both = make(
        "late_video.mkv", "-itsoffset", "0.2", *picture(), *tone(), "-map", "0", "-map", "1", "-c:v", "ffv1",
        "-c:a", "flac",
    )  # fmt: skip
    assert open_source(both).index().times[0] == Fraction(1, 5)


def test_gif_delays(make: Make) -> None:
    path = make(
        "anim.gif",
        *picture("40x30", rate="10", seconds="0.6"),
        "-vf",
        "setpts='N*N*10/100/TB'",
        "-fps_mode",
        "passthrough",
    )
    with open_source(path) as source:
        index = source.index()
    gaps = [b - a for a, b in zip(index.times, index.times[1:])]
    assert gaps == [Fraction(k, 10) for k in (1, 3, 5, 7, 9)]
    assert not source.info.format.alpha


def test_one_frame(make: Make) -> None:
    path = make("one.mp4", *picture(), "-frames:v", "1", "-c:v", "libx264")
    with open_source(path) as source:
        index = source.index()
    assert len(index) == 1
    assert index.durations[0] == Fraction(1, 25)


def test_seeking_equals_sequential_decoding(make: Make) -> None:
    path = make(
        "long.mp4",
        *picture(seconds="4"),
        "-c:v",
        "libx264",
        "-g",
        "20",
        "-bf",
        "3",
        "-x264-params",
        "open-gop=1",
    )
    with open_source(path) as source:
        whole = list(source.frames())
        index = source.index()
        assert len(index.keys) > 2
        for start, stop in [(0, 3), (1, 2), (19, 22), (55, 61), (90, None), (99, 100), (100, 120), (7, 7)]:
            part = list(source.frames(start, stop))
            assert [f.index for f in part] == list(range(start, min(stop or 100, 100)))
            for frame in part:
                twin = whole[frame.index]
                assert (frame.time, frame.duration, frame.status) == (twin.time, twin.duration, twin.status)
                for a, b in zip(frame.planes, twin.planes):
                    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["seek.ts", "seek.mpg", "seek.mkv", "seek.webm", "seek.avi"])
def test_seeking_in_every_container(make: Make, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = {"seek.mpg": "mpeg2video", "seek.avi": "mpeg4", "seek.webm": "libvpx-vp9"}.get(name, "libx264")
    speed = ["-deadline", "realtime"] if name == "seek.webm" else []
    path = make(name, *picture(seconds="4"), "-c:v", codec, "-g", "12", *speed)
    with open_source(path) as source:
        whole = list(source.frames())
        monkeypatch.setattr(VideoSource, "_sequential", lambda *a: pytest.fail("decoded from the start"))
        for frame in source.frames(70, 75):
            np.testing.assert_array_equal(frame.planes[0], whole[frame.index].planes[0])


def test_seeking_does_not_decode_everything_before(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make("gops.mp4", *picture(seconds="4"), "-c:v", "libx264", "-g", "10")
    with open_source(path) as source:
        source.index()
        packets = []
        real = VideoSource._sequential

        def spied(self, stop=None):
            packets.append(stop)
            return real(self, stop)

        monkeypatch.setattr(VideoSource, "_sequential", spied)
        assert [f.index for f in source.frames(85, 88)] == [85, 86, 87]
        assert packets == []


def test_a_seek_that_lands_wrong_falls_back(make: Make, plain: Path) -> None:
    path = make("gops.mp4", *picture(seconds="4"), "-c:v", "libx264", "-g", "10")
    index = open_source(path).index()
    lying = pickle.loads(pickle.dumps(index))
    from dataclasses import replace

    lying = replace(lying, checks=tuple(0 for _ in lying.checks))
    with open_source(path) as source, open_source(path, index=lying) as doubting:
        for a, b in zip(source.frames(42, 47), doubting.frames(42, 47), strict=True):
            np.testing.assert_array_equal(a.planes[0], b.planes[0])


def test_an_index_from_elsewhere_saves_decoding(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = pickle.loads(pickle.dumps(open_source(plain).index()))
    monkeypatch.setattr(VideoSource, "_sequential", lambda *a: pytest.fail("decoded again"))
    assert len(open_source(plain, index=index).index()) == 10


def test_truncated_file_is_read_as_far_as_it_goes(make: Make, tmp_path: Path) -> None:
    whole = make("whole.mkv", *picture(seconds="2"), "-c:v", "libx264", "-g", "10")
    short = tmp_path / "short.mkv"
    short.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    with open_source(short) as source:
        index = source.index()
        assert 10 < len(index) < 50
        assert len(list(source.frames())) == len(index)
        assert any("cut off" in line for line in index.losses)


def test_whole_files_are_not_called_truncated(make: Make, plain: Path) -> None:
    avi = make("whole.avi", *picture(seconds="2"), "-c:v", "mpeg4")
    for path in (plain, avi, make("whole.mkv", *picture(seconds="2"), "-c:v", "libx264", "-g", "10")):
        assert open_source(path).index().losses == ()


def test_truncated_avi_is_told(make: Make, tmp_path: Path) -> None:
    whole = make("whole.avi", *picture(seconds="2"), "-c:v", "mpeg4")
    short = tmp_path / "short.avi"
    short.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert open_source(short).index().losses


def test_truncated_mp4_says_how_many_are_gone(make: Make, tmp_path: Path) -> None:
    whole = make("fast.mp4", *picture(seconds="2"), "-c:v", "libx264", "-g", "10", "-movflags", "+faststart")
    short = tmp_path / "short.mp4"
    short.write_bytes(whole.read_bytes()[: whole.stat().st_size * 6 // 10])
    with open_source(short) as source:
        index = source.index()
    assert 45 <= len(index) + index.lost <= 51
    assert index.lost > 0
    assert any("cut off" in line for line in index.losses)


def test_damaged_file_gives_the_same_frames_each_time(shared_data: Path) -> None:
    path = shared_data / "odd" / "decord_corrupted.mp4"
    with open_source(path) as source:
        index = source.index()
        first = [f.planes[0].copy() for f in source.frames()]
        second = [f.planes[0].copy() for f in source.frames()]
        late = [f.planes[0].copy() for f in source.frames(30, 40)]
    assert len(index) == 49
    assert index.lost == 1
    assert index.careful
    assert "corrupt" in index.statuses
    assert len(index.losses) == 2
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(first[30:40], late, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.mp4", b""),
        ("text.mkv", b"not a video at all\n" * 99),
        ("zero.avi", bytes(5000)),
        ("x.gif", b"GIF89a"),
    ],
)
def test_what_is_no_video_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(MediaReadError) as caught:
        open_source(path).index()
    assert "\n" not in str(caught.value)


def test_audio_only_is_refused(make: Make) -> None:
    path = make("sound.mp4", *tone(), "-c:a", "aac")
    with pytest.raises(MediaReadError, match="video"):
        open_source(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MediaReadError, match="must exist"):
        open_source(tmp_path / "nothing.mp4")


@pytest.mark.parametrize(
    "name", ["with space.mp4", "ünï ☃.mp4", "-dash.mp4", "100%d.mp4", "a:b.mp4", "[x].mp4"]
)
def test_names(plain: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).write_bytes(plain.read_bytes())
    monkeypatch.chdir(tmp_path)
    with open_source(name) as source:
        assert len(source.index()) == 10


def test_facts_are_fit_for_json(plain: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 4, 5), np.uint8))
    for path in (plain, tmp_path / "x.npy"):
        facts = json.loads(json.dumps(open_source(path).facts()))
        assert {"container", "width", "height", "depth", "streams"} <= facts.keys()


def test_read_gives_rgb(plain: Path) -> None:
    clip = read(plain)
    assert clip.frames.shape == (10, 48, 64, 3)
    assert clip.frames.dtype == np.uint8
    assert clip.times[1] == Fraction(1, 25)
    twin = decoded_by_ffmpeg(plain, "rgb24").reshape(clip.frames.shape)
    assert np.abs(clip.frames.astype(int) - twin.astype(int)).max() <= 1


def test_empty_packets_of_an_avi_are_no_loss(make: Make, tmp_path: Path) -> None:
    picked = ["-vf", "select='not(mod(n,5))'", "-fps_mode", "passthrough", "-c:v", "mpeg4"]
    whole = Path(make("paused.avi", *picture("64x48", seconds="4"), *picked))
    with open_source(str(whole)) as source:
        assert len(source.index()) == 20 and source.index().losses == ()
    cut = tmp_path / "cut.avi"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with open_source(str(cut)) as source:
        assert any("cut off" in line for line in source.index().losses)


@pytest.mark.parametrize("suffix", ["avi", "mkv"])
def test_titles_that_are_no_utf8(make: Make, tmp_path: Path, suffix: str) -> None:
    whole = make(f"titled.{suffix}", *picture(), "-metadata", "title=abXXcd")
    path = tmp_path / whole.name
    path.write_bytes(whole.read_bytes().replace(b"abXXcd", b"ab\xff\xfecd"))
    with open_source(str(path)) as source:
        title = source.facts()["metadata"]["title"]
    assert title.startswith("ab") and title.endswith("cd")
    assert title.encode("utf-8")
