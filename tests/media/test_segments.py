"""Segments: encoded apart, joined without encoding again, the same frames at the same times."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.media.makers import Make, picture, random_frame, same_planes, tone
from videorestore import pulse
from videorestore.clip import ClipInfo, PixelFormat
from videorestore.errors import MediaWriteError
from videorestore.media import (
    OutputShape,
    SinkOptions,
    join_segments,
    load_segment,
    open_source,
    write_segment,
)
from videorestore.media.companions import Others


@pytest.mark.parametrize(
    ("name", "codec"),
    [("out.mp4", None), ("out.mkv", "ffv1"), ("out.mp4", "x265"), ("out.webm", None), ("out.avi", None)],
)
def test_joined_segments_hold_all_frames_at_their_times(
    make: Make, tmp_path: Path, name: str, codec: str | None
) -> None:
    path = make(
        "src.mp4", *picture(rate="30000/1001", seconds="1.2"), *tone("1.2"), "-c:v", "libx264", "-c:a", "aac"
    )
    options = SinkOptions(codec=codec)
    output = str(tmp_path / name)
    with open_source(path) as source:
        index = source.index()
        shape = OutputShape(
            info=source.info,
            height=source.height,
            width=source.width,
            n_frames=len(index),
            fps=source.info.fps,
        )
        cuts = [0, 11, 12, 25, len(index)]
        parts = []
        for k, (a, b) in enumerate(zip(cuts, cuts[1:])):
            segment = write_segment(
                source.frames(a, b), str(tmp_path / f"{k}.seg"), shape, options, output=output
            )
            assert load_segment(segment.path) == segment
            parts.append(segment.path)
        losses, _ = join_segments(parts, output, shape, options, others=Others(path=str(path)))
        whole = list(source.frames())
    assert losses == ()
    with open_source(output) as joined:
        times = joined.index().times
        assert len(times) == len(index)
        tolerance = Fraction(1, 1999) if name.endswith(("mkv", "webm")) else Fraction(0)
        assert max(abs(a - b) for a, b in zip(times, index.times)) <= tolerance
        for a, b in zip(joined.frames(), whole):
            assert np.abs(a.planes[0].astype(int) - b.planes[0]).mean() < 4
            if codec == "ffv1":
                assert same_planes(a, b)
    kept = {Path(part + end).name for part in parts for end in ("", ".times")}
    assert {p.name for p in tmp_path.iterdir()} == {name} | kept


@pytest.mark.parametrize("name", ["out.gif", "out.npy", "out.tif", "out/"])
def test_pictures_are_assembled_from_segments(tmp_path: Path, name: str) -> None:
    pixel = PixelFormat(model="rgb", depth=8)
    frames = [random_frame(pixel, 12, 14, k) for k in range(5)]
    shape = OutputShape(
        info=ClipInfo(format=pixel, fps=Fraction(25)), height=12, width=14, n_frames=5, fps=Fraction(25)
    )
    output = f"{tmp_path}/{name}"
    parts = [
        write_segment(frames[:2], str(tmp_path / "0.seg"), shape, SinkOptions(), output=output),
        write_segment(frames[2:], str(tmp_path / "1.seg"), shape, SinkOptions(), output=output),
    ]
    join_segments(parts, output, shape)
    with open_source(output) as source:
        found = list(source.frames())
    assert [f.time for f in found] == [f.time for f in frames]
    if name != "out.gif":
        assert all(same_planes(a, b) for a, b in zip(found, frames, strict=True))


def test_float_segments_keep_every_bit(tmp_path: Path) -> None:
    pixel = PixelFormat(model="grey", depth=32)
    frames = [random_frame(pixel, 12, 14, k) for k in range(4)]
    frames[1].planes[0][3, 4] = np.nan
    shape = OutputShape(
        info=ClipInfo(format=pixel, fps=Fraction(25)), height=12, width=14, n_frames=4, fps=Fraction(25)
    )
    output = str(tmp_path / "out.npy")
    parts = [
        write_segment(frames[:3], str(tmp_path / "0.seg"), shape, SinkOptions(), output=output).path,
        write_segment(frames[3:], str(tmp_path / "1.seg"), shape, SinkOptions(), output=output).path,
    ]
    join_segments(parts, output, shape)
    np.testing.assert_array_equal(np.load(output), np.stack([f.planes[0] for f in frames]))


def test_a_segment_appears_only_when_whole(tmp_path: Path) -> None:
    pixel = PixelFormat(model="rgb")
    shape = OutputShape(
        info=ClipInfo(format=pixel, fps=Fraction(25)), height=12, width=14, n_frames=5, fps=Fraction(25)
    )

    def broken():
        yield random_frame(pixel, 12, 14)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_segment(broken(), str(tmp_path / "0.seg"), shape, SinkOptions(), output="out.mkv")
    assert list(tmp_path.iterdir()) == []


def test_a_spoiled_segment_is_not_joined(tmp_path: Path) -> None:
    pixel = PixelFormat(model="rgb")
    shape = OutputShape(
        info=ClipInfo(format=pixel, fps=Fraction(25)), height=32, width=34, n_frames=5, fps=Fraction(25)
    )
    frames = [random_frame(pixel, 32, 34, k) for k in range(5)]
    path = tmp_path / "0.seg"
    write_segment(frames, str(path), shape, SinkOptions(codec="ffv1"), output="out.mkv")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(MediaWriteError):
        join_segments([str(path)], str(tmp_path / "out.mkv"), shape, SinkOptions(codec="ffv1"))
    with pytest.raises(MediaWriteError, match="whole"):
        load_segment(str(tmp_path / "1.seg"))
    assert not (tmp_path / "out.mkv").exists()


def test_the_bits_do_not_depend_on_the_cutting_of_time(tmp_path: Path) -> None:
    pixel = PixelFormat(model="yuv", subsampling=(1, 1), matrix="bt709", full_range=False)
    shape = OutputShape(
        info=ClipInfo(format=pixel, fps=Fraction(25)), height=32, width=34, n_frames=5, fps=Fraction(25)
    )
    frames = [random_frame(pixel, 32, 34, k) for k in range(5)]
    for name, shift in (("a", Fraction(0)), ("b", Fraction(7, 3))):
        moved = [replace(f, time=f.time + shift) for f in frames]
        write_segment(moved, str(tmp_path / name), shape, SinkOptions(), output="out.mp4")
    decoded = []
    for name in "ab":
        with open_source(tmp_path / name) as source:
            decoded.append([f.planes[0].copy() for f in source.frames()])
    np.testing.assert_array_equal(decoded[0], decoded[1])


def test_progress_goes_on_while_the_encoder_ends(tmp_path):
    frames = np.random.default_rng(0).integers(0, 255, (12, 120, 160, 3)).astype(np.uint8)
    heard = []
    with open_source(frames) as source, pulse.listening(heard.append):
        shape = OutputShape.of(source, 12)
        name = str(tmp_path / "0.seg")
        write_segment(source.frames(0, 12), name, shape, SinkOptions(), output="out.mkv", coding=0.4)
    assert heard == sorted(heard) and heard[-1] == 1.0
    assert any(0.6 <= share < 1.0 for share in heard)
