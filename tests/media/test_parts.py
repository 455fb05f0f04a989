"""Small parts of the media room, each on its own."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.media.makers import Make, picture, tone
from videorestore.clip import ClipInfo, PixelFormat
from videorestore.errors import InputError, MediaWriteError
from videorestore.media import SinkOptions, kind_of, open_source
from videorestore.media.containers import CONTAINERS, Container, codecs_of, container_of
from videorestore.media.encode import choose_encoder, choose_pix_fmt, plan_encoding
from videorestore.media.encoders import encoder_of, formats_of, packets_of
from videorestore.media.matroska import TrackFacts, amend
from videorestore.media.mux import time_base_for
from videorestore.media.pixels import ffmpeg_name, layout_of, pack, packed_size, pipeable
from videorestore.media.timing import Clock, choose_policy, rate_of

F = Fraction


# -- times -------------------------------------------------------------------------


def _container(suffix: str) -> Container:
    found = container_of(suffix)
    assert found is not None
    return found


def test_presentation_stamps_are_taken_where_they_increase() -> None:
    assert choose_policy([(0, 0), (1, None)]) == "pts"
    assert choose_policy([(1, 2), (4, 3), (3, 5)]) == "dts"
    assert choose_policy([(None, None), (None, None)]) == "rate"
    assert choose_policy([(3, 3), (3, 3)]) == "rate"


def test_a_step_in_stamps_that_a_reader_counted_is_no_gap() -> None:
    slipped = [(0, 1), (2, 2), (3, 3)]
    assert choose_policy(slipped, counted=True) == "dts" and choose_policy(slipped) == "pts"
    repeated = [(0, 1), (3, 3), (5, 6)]  # pictures shown for two fields and for three
    assert choose_policy(repeated, counted=True) == "pts"


def test_a_slip_is_moved_by_one_unit() -> None:
    clock = Clock("pts", F(1, 100), F(0), F(1, 25))
    assert [clock.place(p, None) for p in (0, 4, 4, 3, 12)] == [
        0,
        F(4, 100),
        F(5, 100),
        F(6, 100),
        F(12, 100),
    ]
    assert clock.repaired == 2


def test_a_new_origin_goes_on_at_the_usual_pace() -> None:
    clock = Clock("pts", F(1, 100), F(0), F(1, 25))
    assert [clock.place(p, None) for p in (0, 400, 0, 4)] == [0, 4, 4 + F(1, 25), 4 + F(2, 25)]


def test_missing_stamps_are_filled() -> None:
    clock = Clock("pts", F(1, 100), F(0), F(1, 25))
    assert [clock.place(p, None) for p in (0, None, 8)] == [0, F(1, 25), F(8, 100)]


def test_decoding_stamps_begin_at_zero() -> None:
    clock = Clock("dts", F(1, 15), F(0), F(1, 15))
    assert [clock.place(0, d) for d in (2, 3, 5)] == [0, F(1, 15), F(3, 15)]


def test_rates() -> None:
    even = [F(round(k * 1001 / 30), 1000) for k in range(300)]
    assert rate_of(even, [F(1, 30)], [F(30000, 1001)], F(1, 1000)) == (F(30000, 1001), False)
    gap = [F(k, 10) for k in range(50) if k != 30]
    assert rate_of(gap, [F(1, 10)], [F(10)], F(1, 1000)) == (F(10), False)
    loose = [F(0), F(1, 10), F(1, 4), F(1, 2)]
    assert rate_of(loose, [F(1, 2)], [F(10)], F(1, 1000)) == (F(4), True)
    assert rate_of([F(0)], [F(1, 5)], [], F(1, 1000)) == (F(5), False)


def test_time_bases_hold_every_time() -> None:
    times = [F(0), F(1, 7), F(1001, 30000)]
    base = time_base_for(times, _container(".mp4"), None)
    assert all((t / base).denominator == 1 for t in times)
    assert time_base_for(times, _container(".mkv"), None) == F(1, 1000)
    assert time_base_for([F(0), F(2, 15)], _container(".avi"), F(15)) == F(1, 15)
    wild = [F(1, p) for p in (101, 103, 107, 109, 113, 127, 131, 137)]
    assert time_base_for(wild, _container(".mp4"), None) < F(1, 1_000_000)


# -- formats -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "yuv420p",
        "yuv422p10le",
        "yuva444p12le",
        "gbrp",
        "gbrap16le",
        "gray",
        "gray14le",
        "ya8",
        "ya16le",
        "yuv440p",
    ],
)
def test_names_and_layouts_agree(name: str) -> None:
    layout = layout_of(name)
    assert layout is not None
    assert ffmpeg_name(layout.format) == name


def test_unknown_layouts_are_none() -> None:
    assert layout_of("pal8") is None
    assert layout_of("bayer_rggb8") is None
    assert layout_of("vaapi") is None


def test_big_endian_and_float() -> None:
    layout = layout_of("gbrpf32be")
    assert layout is not None and layout.big_endian and layout.format.depth == 32


def test_pack_puts_green_first() -> None:
    pixel = PixelFormat(model="rgb")
    planes = tuple(np.full((2, 2), v, np.uint8) for v in (1, 2, 3))
    out = bytearray(packed_size(pixel, 2, 2))
    pack(planes, pixel, out)
    assert bytes(out) == bytes([2] * 4 + [3] * 4 + [1] * 4)


def test_formats_that_do_not_exist_are_widened() -> None:
    assert pipeable(PixelFormat(model="yuv", depth=10, subsampling=(0, 1))).subsampling == (0, 0)
    assert pipeable(PixelFormat(model="grey", depth=10, alpha=True)).depth == 16
    plain = PixelFormat(model="yuv", depth=10, subsampling=(1, 1))
    assert pipeable(plain) == plain


@pytest.mark.parametrize(
    ("encoder", "pixel", "size", "name"),
    [
        ("libx264", PixelFormat(model="yuv", subsampling=(1, 1)), (48, 64), "yuv420p"),
        ("libx264", PixelFormat(model="yuv", subsampling=(1, 1)), (48, 63), "yuv444p"),
        ("libx264", PixelFormat(model="yuv", subsampling=(1, 1)), (47, 64), "yuv422p"),
        ("libx264", PixelFormat(model="yuv", depth=10, subsampling=(1, 0)), (48, 64), "yuv422p10le"),
        ("libx264", PixelFormat(model="yuv", depth=9, subsampling=(1, 1)), (48, 64), "yuv420p10le"),
        ("libx264", PixelFormat(model="rgb"), (48, 64), "yuv444p"),
        ("libx264", PixelFormat(model="grey"), (47, 63), "gray"),
        ("libx264", PixelFormat(model="grey"), (48, 64), "yuv420p"),
        ("libx265", PixelFormat(model="yuv", depth=12, subsampling=(1, 1)), (48, 64), "yuv420p12le"),
        ("libvpx-vp9", PixelFormat(model="yuv", subsampling=(1, 1), alpha=True), (48, 64), "yuva420p"),
        ("libvpx-vp9", PixelFormat(model="yuv", subsampling=(1, 1)), (47, 63), "yuv420p"),
        ("ffv1", PixelFormat(model="rgb", depth=12), (48, 64), "gbrp12le"),
        ("prores_ks", PixelFormat(model="yuv", subsampling=(1, 1)), (48, 64), "yuv422p10le"),
    ],
)
def test_pixel_format_of_an_encoder(
    encoder: str, pixel: PixelFormat, size: tuple[int, int], name: str
) -> None:
    assert choose_pix_fmt(encoder_of(encoder), pixel, *size) == name


def test_bad_encoder_arguments() -> None:
    info = ClipInfo(format=PixelFormat(model="rgb"))
    with pytest.raises(InputError, match="encoder_args"):
        plan_encoding(_container(".mkv"), info, 8, 8, None, SinkOptions(encoder_args='-x "'))


def test_kinds() -> None:
    assert kind_of("a.MP4").name == "mp4"
    assert kind_of("folder/").name == "folder"
    assert kind_of("x.tiff").name == "tiff"
    for name in ("noend", "a.txt", "a.mp3"):
        with pytest.raises(InputError):
            kind_of(name)


# -- Matroska ----------------------------------------------------------------------


def test_facts_in_a_matroska_header(make: Make, tmp_path: Path) -> None:
    path = make(
        "head.mkv", *picture(seconds="1"), *tone("1"), "-c:v", "ffv1", "-c:a", "aac", "-pix_fmt", "yuv420p"
    )
    copy = tmp_path / "copy.mkv"
    copy.write_bytes(path.read_bytes())
    amend(
        str(copy),
        {1: TrackFacts(aspect=F(1408, 1053), frame_duration=F(1, 25)), 2: TrackFacts(delay=F(1, 50))},
    )
    assert copy.stat().st_size == path.stat().st_size
    with open_source(copy) as source, open_source(path) as origin:
        # 64 x 48 pixels shown 1408 : 1053.
        assert source.info.sar == F(1408 * 48, 1053 * 64)
        for a, b in zip(source.frames(), origin.frames(), strict=True):
            np.testing.assert_array_equal(a.planes[0], b.planes[0])


def test_a_header_without_room_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.mkv"
    path.write_bytes(b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x80")
    with pytest.raises(MediaWriteError):
        amend(str(path), {1: TrackFacts(aspect=F(4, 3))})


REFUSED = [
    "-y", "other.mkv", "-f matroska other.mkv", "-i /etc/passwd", "-an", "-bf 3 other.mkv", "-report", "-vstats_file x",
    "-passlogfile x", "-stats x", "-pass 1", "-x264-params stats=x", "-x264-params bframes=2:dump-yuv=x", "-vf movie=x",
    "-x264-params cqm=/etc/passwd", "-x264opts 'st\"at\"s=x'", "-/bf x", "-bf", "-c:v copy", "-map 0", "-progress x",
]  # fmt: skip
ALLOWED = [
    "",
    "-bf 3 -b_strategy 0",
    "-preset slow -tune:v film",
    "-b:v 2M -maxrate 3M",
    "-x264-params keyint=5:ref=3",
]


@pytest.mark.parametrize("words", REFUSED)
def test_arguments_of_the_encoder_name_no_file(words: str) -> None:
    info = ClipInfo(format=PixelFormat(model="yuv", subsampling=(1, 1)), fps=Fraction(25))
    with pytest.raises(InputError, match="encoder_args"):
        plan_encoding(_container(".mkv"), info, 8, 8, None, SinkOptions(encoder_args=words))


@pytest.mark.parametrize("words", ALLOWED)
def test_options_of_the_encoder_reach_it(words: str) -> None:
    info = ClipInfo(format=PixelFormat(model="yuv", subsampling=(1, 1)), fps=Fraction(25))
    plan = plan_encoding(_container(".mkv"), info, 8, 8, None, SinkOptions(encoder_args=words))
    assert list(plan.arguments)[len(plan.arguments) - len(words.split()) :] == words.split()


@pytest.mark.parametrize(
    ("suffix", "more", "options", "wanted"),
    [
        (".mp4", {}, {}, "yuv420p"),
        (".mov", {"depth": 16}, {}, "yuv420p"),
        (".mp4", {}, {"pix_fmt": "yuv444p"}, "yuv444p"),
        (".mkv", {}, {}, "yuv444p"),
    ],
)
def test_pictures_become_what_every_player_shows(suffix, more, options, wanted):
    info = ClipInfo(format=PixelFormat(model="rgb", **more))
    made = plan_encoding(_container(suffix), info, 48, 64, Fraction(25), SinkOptions(**options))
    assert made.pix_fmt == wanted
    assert any("every player" in note for note in made.notes) is (wanted == "yuv420p")


def test_a_video_of_another_kind_and_an_odd_size_keep_theirs():
    video = ClipInfo(format=PixelFormat(model="rgb"), extra={"stream": 0})
    assert plan_encoding(_container(".mp4"), video, 48, 64, Fraction(25), SinkOptions()).pix_fmt == "yuv444p"
    odd = ClipInfo(format=PixelFormat(model="rgb"))
    assert plan_encoding(_container(".mp4"), odd, 48, 63, Fraction(25), SinkOptions()).pix_fmt == "yuv444p"


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda row: row.name)
def test_a_container_holds_what_its_encoders_make(container: Container) -> None:
    held = codecs_of(container)
    for name in container.encoders:
        encoder = encoder_of(name)
        assert encoder.name == name
        assert packets_of(encoder) in held
        assert formats_of(encoder)


def test_the_encoder_that_keeps_most_is_taken() -> None:
    def chosen(suffix: str, size: int = 64, **pixel: Any) -> str:
        info = ClipInfo(
            format=PixelFormat(**{"model": "yuv", "subsampling": (1, 1), "full_range": False, **pixel})
        )
        return choose_encoder(_container(suffix), info, size, size, SinkOptions()).name

    assert [chosen(s) for s in (".mp4", ".webm", ".avi", ".ts")] == [
        "libx264",
        "libvpx-vp9",
        "mpeg4",
        "libx264",
    ]
    assert chosen(".avi", model="rgb", subsampling=(0, 0)) == chosen(".avi", full_range=True) == "ffv1"
    assert chosen(".mp4", depth=12) == chosen(".mkv", depth=16) == "libx265"
    assert (
        chosen(".mp4", size=48, depth=12) == "libx264" and chosen(".mkv", size=48, depth=16) == "libvpx-vp9"
    )
    assert chosen(".mov", alpha=True, depth=16) == "prores_ks"
    assert (chosen(".mkv", alpha=True), chosen(".mkv", alpha=True, depth=10)) == ("libvpx-vp9", "ffv1")
