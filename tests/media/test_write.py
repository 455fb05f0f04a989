"""Writers: what comes out is what went in, or nothing comes out."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.media.makers import Make, picture, random_frame, same_planes, tone
from videorestore.clip import ClipInfo, PixelFormat
from videorestore.errors import InputError, MediaWriteError, OutputExistsError
from videorestore.media import (
    OutputShape,
    SinkOptions,
    Span,
    check_output,
    copy_through,
    open_sink,
    open_source,
)

LOSSLESS = SinkOptions(codec="ffv1")


def packets(path: Path, kind: str) -> list[list[bytes]]:
    """Payloads of every stream of a type."""
    with av.open(f"file:{path}") as container:
        chosen = [s for s in container.streams if s.type == kind]
        found: dict[int, list[bytes]] = {s.index: [] for s in chosen}
        for packet in container.demux(*chosen):
            if packet.size:
                found[packet.stream_index].append(bytes(packet))
    return list(found.values())


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def shape_of(pixel: PixelFormat, n: int = 3, height: int = 18, width: int = 22, **facts) -> OutputShape:
    info = ClipInfo(format=pixel, fps=Fraction(25), **facts)
    return OutputShape(info=info, height=height, width=width, n_frames=n, fps=Fraction(25))


# -- the identity path ---------------------------------------------------------


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
    path = make("tags.mkv", *picture(), "-vf", f"scale=out_range=pc,{labels}", "-c:v", "ffv1")
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


# -- the other streams -----------------------------------------------------------


@pytest.fixture(scope="session")
def rich(make: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sounds, two subtitles, chapters, an attachment, metadata."""
    folder = tmp_path_factory.mktemp("rich")
    (folder / "s.srt").write_text(
        "1\n00:00:00,100 --> 00:00:00,900\nhello\n\n2\n00:00:01,000 --> 00:00:01,500\nworld\n"
    )
    (folder / "meta.txt").write_text(
        ";FFMETADATA1\ntitle=A title\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=one\n"
        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\ntitle=two\n"
    )
    (folder / "font.ttf").write_bytes(b"not really a font")
    return make(
        "rich.mkv", *picture(seconds="2"), *tone("2"), *tone("2", 880), "-i", str(folder / "s.srt"), "-i",
        str(folder / "meta.txt"), "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-map_metadata", "4",
        "-c:v", "libx264", "-c:a:0", "aac", "-c:a:1", "libmp3lame", "-c:s", "srt",
        "-metadata:s:a:0", "language=deu", "-metadata:s:a:1", "title=Second", "-disposition:a:1", "comment",
        "-attach", str(folder / "font.ttf"), "-metadata:s:t", "mimetype=font/ttf",
    )  # fmt: skip


def test_everything_is_copied_to_matroska(rich: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mkv"
    done = copy_through(rich, out)
    assert done.losses == () and done.notes == ()
    for kind in ("audio", "subtitle"):
        assert packets(out, kind) == packets(rich, kind)
    with av.open(str(out)) as new, av.open(str(rich)) as old:
        assert [c["metadata"]["title"] for c in new.chapters()] == ["one", "two"]
        assert [(c["start"], c["end"]) for c in new.chapters()] == [
            (c["start"], c["end"]) for c in old.chapters()
        ]
        assert new.metadata["title"] == "A title"
        assert new.streams.audio[0].metadata["language"] == "deu"
        assert new.streams.audio[1].metadata["title"] == "Second"
        assert [int(s.disposition) for s in new.streams.audio] == [
            int(s.disposition) for s in old.streams.audio
        ]
        assert bytes(new.streams.attachments[0].data) == b"not really a font"
        starts = [[p.pts for p in c.demux(c.streams.audio[0]) if p.size] for c in (new, old)]
        assert starts[0] == starts[1]


def test_mp4_takes_what_it_can_in_its_own_form(rich: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.mp4"
    done = copy_through(rich, out)
    assert packets(out, "audio") == packets(rich, "audio")
    with av.open(str(out)) as new:
        assert new.streams.subtitles[0].codec_context.name == "mov_text"
        assert [c["metadata"]["title"] for c in new.chapters()] == ["one", "two"]
        assert new.metadata["title"] == "A title"
    assert any("mov_text" in note for note in done.notes)
    assert any("attachment" in line for line in done.losses)


def test_webm_converts(rich: Path, tmp_path: Path) -> None:
    done = copy_through(rich, tmp_path / "out.webm")
    with av.open(str(tmp_path / "out.webm")) as new:
        assert [s.codec_context.name for s in new.streams.audio] == ["opus", "opus"]
        assert new.streams.subtitles[0].codec_context.name == "webvtt"
    assert len(done.notes) == 3


def test_avi_says_what_it_leaves_out(rich: Path, tmp_path: Path) -> None:
    done = copy_through(rich, tmp_path / "out.avi")
    assert len(packets(tmp_path / "out.avi", "audio")) == 2
    assert any("subtitle" in line for line in done.losses)
    assert any("chapters" in line for line in done.losses)


def test_sound_that_begins_before_zero(make: Make, tmp_path: Path) -> None:
    path = make("primed.mp4", *picture(seconds="1"), *tone("1"), "-c:v", "libx264", "-c:a", "aac")
    for name in ("out.mkv", "out.mp4", "again.mkv"):
        copy_through(
            tmp_path / "out.mkv" if name == "again.mkv" else path,
            tmp_path / name,
            LOSSLESS if "mkv" in name else None,
        )
        with av.open(str(tmp_path / name)) as new, av.open(str(path)) as old:
            times = [
                [float(p.pts * p.time_base) for p in c.demux(c.streams.audio[0]) if p.size]
                for c in (new, old)
            ]
            assert times[0][0] < 0
            np.testing.assert_allclose(times[0], times[1], atol=1.1e-3)
        assert open_source(tmp_path / name).index().times == open_source(path).index().times
        assert packets(tmp_path / name, "audio") == packets(path, "audio")


TRANSPORT = {
    "cam.ts": ["-c:v", "libx264", "-c:a", "aac"],
    "dvd.vob": ["-c:v", "mpeg2video", "-c:a", "ac3", "-f", "vob"],
    "studio.mxf": ["-c:v", "mpeg2video", "-ar", "48000", "-c:a", "pcm_s16le"],
}


@pytest.mark.parametrize("name", sorted(TRANSPORT))
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm"])
def test_broadcast_files(make: Make, tmp_path: Path, name: str, suffix: str) -> None:
    path = make(name, *picture(seconds="1"), *tone("1"), "-pix_fmt", "yuv420p", *TRANSPORT[name])
    out = tmp_path / f"out{suffix}"
    done = copy_through(path, out)
    assert done.losses == ()
    assert leftovers(tmp_path) == [out.name]
    with open_source(path) as source, open_source(out) as copy:
        tolerance = 0 if suffix == ".mp4" else Fraction(11, 10000)
        assert (
            max(abs(a - b) for a, b in zip(source.index().times, copy.index().times, strict=True))
            <= tolerance
        )
    if suffix != ".webm" and name != "studio.mxf":
        assert [len(p) for p in packets(out, "audio")] == [len(p) for p in packets(path, "audio")]
    assert len(packets(out, "audio")) == 1


def test_offset_between_sound_and_picture_is_kept(make: Make, tmp_path: Path) -> None:
    path = make(
        "late_picture.mkv",
        "-itsoffset",
        "0.2",
        *picture(),
        *tone(),
        "-map",
        "0",
        "-map",
        "1",
        "-c:v",
        "ffv1",
        "-c:a",
        "flac",
    )
    for name in ("out.mkv", "out.mp4"):
        copy_through(path, tmp_path / name)
        with open_source(tmp_path / name) as source:
            assert source.index().times[0] == Fraction(1, 5)


@pytest.mark.parametrize("name", ["out.mkv", "out.mp4", "out.avi", "out.webm"])
def test_a_part_of_the_source_takes_its_part_of_the_sound(make: Make, tmp_path: Path, name: str) -> None:
    path = make("sounding.mp4", *picture(seconds="2"), *tone("2"), "-c:v", "libx264", "-c:a", "aac")
    out = tmp_path / name
    with open_source(path) as source:
        index = source.index()
        span = Span(start=index.times[21], stop=index.times[31])
        shape = OutputShape(
            info=source.info, height=source.height, width=source.width, n_frames=10, fps=source.info.fps
        )
        with open_sink(out, shape, streams_from=str(path), span=span) as sink:
            for frame in source.frames(21, 31):
                sink.write(
                    frame.at(index=frame.index - 21, time=frame.time - span.start, duration=frame.duration)
                )
    assert sink.losses == ()
    assert open_source(out).index().times == tuple(t - span.start for t in index.times[21:31])
    with av.open(str(out)) as container:
        audio = [p for p in container.demux(container.streams.audio[0]) if p.size]
        seconds = sum(p.duration * p.time_base for p in audio)
        assert 0.33 < seconds < 0.48
        assert abs(float(audio[0].pts * audio[0].time_base)) < 0.04


def test_a_part_of_the_source_takes_its_part_of_the_chapters(make: Make, tmp_path: Path, rich: Path) -> None:
    with open_source(rich) as source:
        index = source.index()
        span = Span(start=index.times[20], stop=index.times[30])
        shape = OutputShape(
            info=source.info, height=source.height, width=source.width, n_frames=10, fps=source.info.fps
        )
        with open_sink(tmp_path / "out.mkv", shape, streams_from=str(rich), span=span) as sink:
            for frame in source.frames(20, 30):
                sink.write(
                    frame.at(index=frame.index - 20, time=frame.time - span.start, duration=frame.duration)
                )
    with av.open(str(tmp_path / "out.mkv")) as container:
        audio = [p for p in container.demux(container.streams.audio[0]) if p.size]
        assert 0.35 < len(audio) * 1024 / 44100 < 0.47
        assert abs(float(audio[0].pts * audio[0].time_base)) < 0.03
        chapters = container.chapters()
        assert [c["metadata"]["title"] for c in chapters] == ["one", "two"]
        assert [round(float(c["start"] * c["time_base"]), 3) for c in chapters] == [0.0, 0.2]


def test_second_video_stream_is_kept_but_not_chosen(make: Make, tmp_path: Path) -> None:
    path = make(
        "duo.mkv",
        *picture("32x32", seconds="0.2"),
        *picture("64x64", seconds="0.2"),
        "-map",
        "0",
        "-map",
        "1",
        "-c:v",
        "ffv1",
    )
    with open_source(path, stream=0) as source:
        copy_through(source, tmp_path / "out.mkv", LOSSLESS)
    with open_source(tmp_path / "out.mkv") as source:
        assert (source.width, source.stream) == (32, 0)
    with open_source(tmp_path / "out.mkv", stream=1) as source:
        assert source.width == 64


def test_chapters_of_mp4_are_no_loss(make: Make, tmp_path: Path, rich: Path) -> None:
    path = make("chapters.mp4", "-i", str(rich), "-map", "0:v", "-map_chapters", "0", "-c", "copy")
    for name in ("out.mp4", "out.mkv"):
        done = copy_through(path, tmp_path / name)
        assert done.losses == ()
        with av.open(str(tmp_path / name)) as new:
            assert [c["metadata"]["title"] for c in new.chapters()] == ["one", "two"]


def test_time_code_is_written_anew(make: Make, tmp_path: Path) -> None:
    path = make("code.mov", *picture(), "-timecode", "01:02:03:04", "-c:v", "libx264")
    assert copy_through(path, tmp_path / "out.mov").losses == ()
    with av.open(str(tmp_path / "out.mov")) as new:
        assert new.streams.video[0].metadata["timecode"] == "01:02:03:04"


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_cover_is_kept(make: Make, tmp_path: Path, suffix: str) -> None:
    cover = make("cover.jpg", *picture("32x32"), "-frames:v", "1")
    path = make(
        "covered.mp4", *picture(), "-i", str(cover), "-map", "0", "-map", "1", "-c:v:0", "libx264", "-c:v:1", "copy",
        "-disposition:v:1", "attached_pic",
    )  # fmt: skip
    assert copy_through(path, tmp_path / f"out{suffix}").losses == ()
    with av.open(str(tmp_path / f"out{suffix}")) as new:
        pictures = [s for s in new.streams.video if s.disposition & 0x400]
        assert [bytes(p) for p in new.demux(pictures[0]) if p.size] == [cover.read_bytes()]
    assert open_source(tmp_path / f"out{suffix}").width == 64


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_hdr_metadata_is_kept(make: Make, tmp_path: Path, codec: str) -> None:
    display = "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1)"
    path = make(
        "hdr10.mp4", *picture(), "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params",
        f"log-level=none:master-display={display}:max-cll=1000,400",
    )  # fmt: skip
    copy_through(path, tmp_path / "out.mp4", SinkOptions(codec=codec))
    extra = open_source(tmp_path / "out.mp4").info.extra
    assert (extra["mastering_display"], extra["content_light"]) == (display, "1000,400")


# -- refusals --------------------------------------------------------------------


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
from videorestore.media import SinkOptions, copy_through, open_source
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
