"""Writers: sound, subtitles, chapters and the rest come out as they went in."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from tests.media.makers import Make, copy_through, leftovers, packets, picture, tone
from videorestore.media import (
    Excerpt,
    OutputShape,
    SinkOptions,
    open_sink,
    open_source,
)

LOSSLESS = SinkOptions(codec="ffv1")


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
        span = Excerpt(start=index.times[21], stop=index.times[31])
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
        span = Excerpt(start=index.times[20], stop=index.times[30])
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


def test_hdr_becomes_hevc_unless_asked_otherwise(make: Make, tmp_path: Path) -> None:
    path = make(
        "pq.mkv", *picture(size="64x64"), "-vf", "setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc",
        "-pix_fmt", "yuv420p10le", "-c:v", "ffv1",
    )  # fmt: skip
    for name, codec, expected in (("out.mp4", None, "hevc"), ("own.mp4", "h264", "h264")):
        copy_through(path, tmp_path / name, SinkOptions(codec=codec))
        with av.open(str(tmp_path / name)) as new:
            assert new.streams.video[0].codec_context.name == expected
        assert open_source(tmp_path / name).info.transfer == "smpte2084"


def test_a_transport_stream_is_written(make: Make, tmp_path: Path) -> None:
    path = make("in.mp4", *picture(seconds="1"), *tone("1"), "-c:v", "libx264", "-c:a", "aac")
    done = copy_through(path, tmp_path / "out.ts")
    assert done.losses == () and leftovers(tmp_path) == ["out.ts"]
    with open_source(path) as source, open_source(tmp_path / "out.ts") as copy:
        pairs = zip(source.index().times, copy.index().times, strict=True)
        assert max(abs(a - b) for a, b in pairs) <= Fraction(1, 90_000)
    with av.open(str(path)) as old, av.open(str(tmp_path / "out.ts")) as new:
        leads = []
        for container in (old, new):
            begin = {kind: [] for kind in ("video", "audio")}
            for packet in container.demux():
                if packet.size and packet.pts is not None and packet.pts * packet.time_base >= 0:
                    begin[packet.stream.type].append(packet.pts * packet.time_base)
            leads.append(float(min(begin["audio"]) - min(begin["video"])))
        assert abs(leads[0] - leads[1]) < 0.025


def test_subtitles_end_with_the_range(rich: Path, tmp_path: Path) -> None:
    copied = tmp_path / "part.mkv"
    with open_source(rich) as source:
        index = source.index()
        stop = next(k for k, t in enumerate(index.times) if t >= Fraction(6, 5))
        shape = OutputShape(
            info=source.info, height=source.height, width=source.width, n_frames=stop, fps=source.info.fps
        )
        span = Excerpt(start=Fraction(0), stop=index.times[stop])
        with open_sink(str(copied), shape, LOSSLESS, streams_from=str(rich), span=span) as sink:
            for frame in source.frames(0, stop):
                sink.write(frame)
    with av.open(str(copied)) as new:
        shown = [
            (p.pts * p.time_base, p.duration * p.time_base)
            for p in new.demux(new.streams.subtitles[0])
            if p.size
        ]
    assert len(shown) == 2
    assert max(begin + length for begin, length in shown) <= span.stop + Fraction(1, 1000)


@pytest.mark.parametrize("name", ["out.vob", "out.dv", "out.mpg"])
def test_what_is_read_but_not_written_says_what_serves(tmp_path: Path, name: str) -> None:
    from videorestore.errors import InputError
    from videorestore.media.outputs import kind_of

    with pytest.raises(InputError, match="read but not written; write"):
        kind_of(str(tmp_path / name))
