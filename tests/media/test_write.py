"""Writers: the picture comes out as it went in."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.media.makers import Make, copy_through, leftovers, picture, random_frame, same_planes, shape_of
from videorestore.clip import PixelFormat
from videorestore.media import (
    OutputShape,
    SinkOptions,
    open_sink,
    open_source,
)

LOSSLESS = SinkOptions(codec="ffv1")


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov", ".webm", ".avi"])
def test_every_container_keeps_frames_and_times(plain: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    done = copy_through(plain, out)
    assert done.n_frames == 10
    assert done.losses == ()
    with open_source(out) as source, open_source(plain) as origin:
        assert source.index().times == origin.index().times
        assert source.index().durations[-1] == origin.index().durations[-1]
        assert (source.width, source.height) == (origin.width, origin.height)
        for a, b in zip(source.frames(), origin.frames()):
            assert np.abs(a.planes[0].astype(int) - b.planes[0]).mean() < 3
    assert leftovers(tmp_path) == [out.name]


@pytest.mark.parametrize("suffix", [".mkv", ".mp4", ".webm"])
def test_the_same_frames_give_the_same_bytes(plain: Path, tmp_path: Path, suffix: str) -> None:
    first, second = (tmp_path / f"{name}{suffix}" for name in ("first", "second"))
    for target in (first, second):
        copy_through(plain, target)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("codec", ["x265", "vp9", "av1", "prores", "ffv1", "mpeg4", "h264"])
def test_codecs_by_name(plain: Path, tmp_path: Path, codec: str) -> None:
    out = tmp_path / ("out.mov" if codec == "prores" else "out.mkv")
    copy_through(plain, out, SinkOptions(codec=codec))
    with open_source(out) as source, open_source(plain) as origin:
        assert source.index().times == origin.index().times
        error = [np.abs(a.planes[0].astype(int) - b.planes[0]).mean() for a, b in zip(source.frames(), origin.frames())
                 if a.format.depth == 8]  # fmt: skip
        assert max(error, default=0) < 4


def test_variable_rate_is_exact_in_mp4(make: Make, tmp_path: Path) -> None:
    path = make(
        "vfr.mp4", *picture(seconds="0.8"), "-vf", "select='not(mod(n,3))+eq(n,1)',settb=1/90000", "-fps_mode",
        "passthrough", "-enc_time_base", "1/90000", "-c:v", "libx264", "-video_track_timescale", "90000",
    )  # fmt: skip
    out = tmp_path / "out.mp4"
    copy_through(path, out)
    with open_source(out) as source, open_source(path) as origin:
        assert source.index().times == origin.index().times
        assert source.index().durations == origin.index().durations
        assert source.info.vfr


def test_the_last_frame_keeps_its_duration_behind_reordered_frames(
    make: Make, tmp_path: Path, plain: Path
) -> None:
    with open_source(plain) as source:
        frames = list(source.frames())
        info = source.info
    times = [Fraction(k * k, 500) + Fraction(k, 25) for k in range(10)]
    shape = OutputShape(info=info, height=48, width=64, n_frames=10, fps=Fraction(20))
    for name in ("out.mp4", "out.mov", "out.mkv"):
        with open_sink(tmp_path / name, shape, SinkOptions(encoder_args="-bf 3 -b_strategy 0")) as sink:
            for k, (frame, time) in enumerate(zip(frames, times)):
                sink.write(frame.at(index=k, time=time, duration=Fraction(13, 250)))
        index = open_source(tmp_path / name).index()
        assert list(index.times) == times
        assert index.durations[-1] == Fraction(13, 250)


def test_ntsc_rate_is_exact_in_mp4(make: Make, tmp_path: Path) -> None:
    path = make("ntsc.mp4", *picture(rate="30000/1001", seconds="0.5"), "-c:v", "libx264")
    copy_through(path, tmp_path / "out.mp4")
    with open_source(tmp_path / "out.mp4") as source:
        assert source.index().times[1] == Fraction(1001, 30000)
        assert source.info.fps == Fraction(30000, 1001)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_ten_bit_stays_ten_bit(make: Make, tmp_path: Path, suffix: str) -> None:
    path = make("ten.mp4", *picture(), "-c:v", "libx264", "-pix_fmt", "yuv422p10le")
    copy_through(path, tmp_path / f"out{suffix}")
    info = open_source(tmp_path / f"out{suffix}").info
    assert (info.format.depth, info.format.subsampling) == (10, (1, 0))


def test_twelve_bit_takes_another_codec(make: Make, tmp_path: Path) -> None:
    path = make("twelve.mkv", *picture(), "-c:v", "ffv1", "-pix_fmt", "yuv420p12le")
    copy_through(path, tmp_path / "out.mp4")
    assert open_source(tmp_path / "out.mp4").info.format.depth == 12


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov", ".webm", ".avi"])
def test_odd_sizes_are_written_as_they_are(make: Make, tmp_path: Path, suffix: str) -> None:
    path = make(
        "odd.mkv", *picture("37x29"), "-c:v", "ffv1", "-pix_fmt", "yuv420p", "-slices", "1", "-level", "3"
    )
    done = copy_through(path, tmp_path / f"out{suffix}")
    with open_source(tmp_path / f"out{suffix}") as source:
        assert (source.width, source.height) == (37, 29)
        assert len(source.index()) == 10
    if suffix in (".mp4", ".mov"):
        assert any("odd size" in note for note in done.notes)


@pytest.mark.parametrize("size", ["354x291", "721x405", "1280x719"])
@pytest.mark.parametrize("kind", ["yuv420p", "yuv422p10le"])
def test_large_odd_sizes_lose_nothing_in_ffv1(make: Make, tmp_path: Path, size: str, kind: str) -> None:
    level = ("-level", "1", "-pix_fmt", kind)
    path = make(
        f"odd-{size}-{kind}.mkv",
        *picture(size, seconds="0.08"),
        "-vf",
        "noise=alls=60:allf=t",
        "-c:v",
        "ffv1",
        *level,
    )
    copy_through(path, tmp_path / "out.mkv", SinkOptions(codec="ffv1"))
    with open_source(path) as before, open_source(tmp_path / "out.mkv") as after:
        for one, other in zip(before.frames(), after.frames(), strict=True):
            assert all((a == b).all() for a, b in zip(one.planes, other.planes, strict=True))


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
@pytest.mark.parametrize("codec", ["h264", "ffv1", "vp9"])
def test_sample_aspect_ratio_is_kept(make: Make, tmp_path: Path, suffix: str, codec: str) -> None:
    path = make(
        "sar128.mp4", *picture(), "-vf", "setsar=128/117:max=1000", "-c:v", "libx264", "-pix_fmt", "yuv420p"
    )
    copy_through(path, tmp_path / f"out{suffix}", SinkOptions(codec=codec))
    assert open_source(tmp_path / f"out{suffix}").info.sar == Fraction(128, 117)


@pytest.mark.parametrize(
    ("suffix", "codec"), [(".mp4", None), (".mkv", "ffv1"), (".mkv", "x265"), (".webm", None)]
)
def test_colour_tags_are_kept(make: Make, tmp_path: Path, suffix: str, codec: str | None) -> None:
    labels = (
        "setparams=range=pc:color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,format=yuv420p10le"
    )
    path = make(
        "tags.mkv", *picture(), "-vf", f"scale=out_range=pc,{labels}", "-color_range", "pc", "-c:v", "ffv1"
    )
    copy_through(path, tmp_path / f"out{suffix}", SinkOptions(codec=codec))
    old, new = open_source(path).info, open_source(tmp_path / f"out{suffix}").info
    assert (new.primaries, new.transfer, new.format) == (old.primaries, old.transfer, old.format)
    assert new.format.full_range and new.matrix_known


def test_chroma_location_is_kept(make: Make, tmp_path: Path) -> None:
    path = make("topleft.mp4", *picture(), "-c:v", "libx265", "-x265-params", "log-level=none:chromaloc=2",
                "-pix_fmt", "yuv420p10le")  # fmt: skip
    assert open_source(path).info.chroma_location == "topleft"
    copy_through(path, tmp_path / "out.mp4")
    assert open_source(tmp_path / "out.mp4").info.chroma_location == "topleft"


def test_rotation_is_not_applied_twice(make: Make, plain: Path, tmp_path: Path) -> None:
    path = make("turned.mp4", "-display_rotation", "90", "-i", str(plain), "-c", "copy")
    copy_through(path, tmp_path / "out.mkv", LOSSLESS)
    with open_source(tmp_path / "out.mkv") as source, open_source(path) as origin:
        assert source.facts()["rotation"] == 0
        for a, b in zip(source.frames(), origin.frames(), strict=True):
            assert same_planes(a, b)


@pytest.mark.parametrize("suffix", [".webm", ".mkv", ".mov"])
def test_alpha_is_kept(make: Make, tmp_path: Path, suffix: str) -> None:
    path = make("alpha.mkv", *picture(), "-vf", "format=yuva420p,geq=lum='lum(X,Y)':a='X*4'", "-c:v", "ffv1")
    done = copy_through(path, tmp_path / f"out{suffix}")
    with open_source(tmp_path / f"out{suffix}") as source:
        assert source.info.format.alpha
        frame = next(source.frames())
        scale = 1 << (frame.format.depth - 8)
        assert np.abs(frame.planes[3][10] / scale - np.arange(64) * 4).max() < 8
    assert done.losses == ()


def test_alpha_that_cannot_be_kept_is_a_loss(make: Make, tmp_path: Path) -> None:
    path = make("alpha.mkv", *picture(), "-vf", "format=yuva420p,geq=lum='lum(X,Y)':a='X*4'", "-c:v", "ffv1")
    done = copy_through(path, tmp_path / "out.mp4")
    assert any(line.startswith("alpha") for line in done.losses)
    assert len(open_source(tmp_path / "out.mp4").index()) == 10


def test_one_frame(make: Make, tmp_path: Path) -> None:
    path = make("one.mp4", *picture(), "-frames:v", "1", "-c:v", "libx264")
    for name in ("out.mp4", "out.mkv", "out.gif", "out.npy", "out.tif", "out/"):
        copy_through(path, str(tmp_path) + "/" + name)
        assert len(open_source(tmp_path / name).index()) == 1


def test_notes_tell_of_lost_depth(tmp_path: Path) -> None:
    pixel = PixelFormat(model="rgb", depth=32)
    with open_sink(tmp_path / "out.mp4", shape_of(pixel)) as sink:
        for k in range(3):
            sink.write(random_frame(pixel, 18, 22, k))
    assert any("bit" in note for note in sink.notes)
    assert len(open_source(tmp_path / "out.mp4").index()) == 3


def test_frame_times_decide_not_their_order_of_numbers(tmp_path: Path) -> None:
    pixel = PixelFormat(model="grey")
    times = [Fraction(0), Fraction(1, 7), Fraction(1, 3), Fraction(2)]
    with open_sink(tmp_path / "out.mp4", shape_of(pixel, 4)) as sink:
        for k, time in enumerate(times):
            sink.write(replace(random_frame(pixel, 18, 22, k), time=time, duration=Fraction(1, 9)))
    index = open_source(tmp_path / "out.mp4").index()
    assert list(index.times) == times
    assert index.durations[-1] == Fraction(1, 9)


@pytest.mark.parametrize("suffix", [".mkv", ".webm", ".avi", ".ts"])
def test_frames_closer_together_than_the_container_counts_are_all_shown(tmp_path: Path, suffix: str) -> None:
    pixel = PixelFormat(model="yuv", subsampling=(1, 1), matrix="bt709")
    times = [Fraction(0), *(Fraction(1, 7) + Fraction(k, 300_000) for k in range(5)), Fraction(1)]
    with open_sink(tmp_path / f"out{suffix}", shape_of(pixel, 7)) as sink:
        for k, time in enumerate(times):
            sink.write(replace(random_frame(pixel, 18, 22, k), time=time, duration=Fraction(1, 300_000)))
    assert any("a moment later" in note for note in sink.notes)
    found = open_source(tmp_path / f"out{suffix}").index().times
    assert len(found) == 7 and all(b > a for a, b in zip(found, found[1:]))
    assert max(abs(a - b) for a, b in zip(found, times)) < Fraction(6, 1000)
