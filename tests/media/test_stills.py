"""Folders, TIFF files, arrays and GIFs: there and back."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.media.makers import copy_through, random_frame, same_planes
from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.errors import InputError, MediaReadError
from videorestore.media import OutputShape, SinkOptions, open_sink, open_source, read, write
from videorestore.media.images import natural_key


def arrays(dtype: str, channels: int, n: int = 3) -> np.ndarray:
    rng = np.random.default_rng(7)
    shape = (n, 11, 13) if channels == 0 else (n, 11, 13, channels)
    if dtype == "float32":
        return rng.random(shape, np.float32)
    return rng.integers(0, np.iinfo(dtype).max + 1, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
def test_npy_round_trip(tmp_path: Path, dtype: str, channels: int) -> None:
    array = arrays(dtype, channels)
    np.save(tmp_path / "in.npy", array)
    copy_through(tmp_path / "in.npy", tmp_path / "out.npy")
    back = np.load(tmp_path / "out.npy")
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("name", ["out/", "out.tif"])
def test_image_round_trip(tmp_path: Path, dtype: str, channels: int, name: str) -> None:
    array = arrays(dtype, channels)
    copy_through(open_source(array), f"{tmp_path}/{name}")
    with open_source(tmp_path / name) as source:
        assert source.info.format.depth == (8 if dtype == "uint8" else 16)
        back = np.stack([np.stack(f.planes, axis=-1) for f in source.frames()])
    np.testing.assert_array_equal(back, array)


def test_float_tiff_round_trip(tmp_path: Path) -> None:
    array = arrays("float32", 3)
    copy_through(open_source(array), tmp_path / "out.tif")
    np.testing.assert_array_equal(read(tmp_path / "out.tif").frames, array)


FORMATS = st.one_of(
    st.builds(
        PixelFormat,
        model=st.just("yuv"),
        depth=st.sampled_from([8, 9, 10, 12, 14, 16]),
        subsampling=st.sampled_from([(0, 0), (1, 0), (1, 1)]),
        matrix=st.sampled_from(["bt709", "smpte170m", "bt2020nc"]),
        full_range=st.booleans(),
    ),
    st.builds(
        PixelFormat,
        model=st.just("yuv"),
        depth=st.sampled_from([8, 9, 10, 16]),
        subsampling=st.sampled_from([(0, 0), (1, 0), (1, 1)]),
        alpha=st.just(True),
        matrix=st.just("bt709"),
        full_range=st.booleans(),
    ),
    st.builds(PixelFormat, model=st.just("rgb"), depth=st.sampled_from([8, 9, 10, 12, 14, 16])),
    st.builds(PixelFormat, model=st.just("rgb"), depth=st.sampled_from([8, 10, 12, 16]), alpha=st.just(True)),
    st.builds(
        PixelFormat,
        model=st.just("grey"),
        depth=st.sampled_from([8, 9, 10, 12, 14, 16]),
        matrix=st.just("unknown"),
    ),
)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(pixel=FORMATS, height=st.integers(3, 40), width=st.integers(3, 40), n=st.integers(1, 3))
def test_ffv1_round_trip(
    tmp_path_factory: pytest.TempPathFactory, pixel: PixelFormat, height: int, width: int, n: int
) -> None:
    out = tmp_path_factory.mktemp("trip") / "out.mkv"
    info = ClipInfo(format=pixel, fps=Fraction(25))
    frames = [random_frame(pixel, height, width, k) for k in range(n)]
    shape = OutputShape(info=info, height=height, width=width, n_frames=n, fps=Fraction(25))
    with open_sink(out, shape, SinkOptions(codec="ffv1")) as sink:
        for frame in frames:
            sink.write(frame)
    with open_source(out) as source:
        found = list(source.frames())
        assert source.info.format == pixel
    assert [f.time for f in found] == [f.time for f in frames]
    assert all(same_planes(a, b) for a, b in zip(found, frames, strict=True))


def test_deep_video_gives_16_bit_images(tmp_path: Path) -> None:
    pixel = PixelFormat(model="grey", depth=10, matrix="unknown")
    shape = OutputShape(
        info=ClipInfo(format=pixel, fps=Fraction(25)), height=9, width=8, n_frames=2, fps=Fraction(25)
    )
    for name in ("out/", "out.tif", "out.npy"):
        with open_sink(f"{tmp_path}/{name}", shape) as sink:
            for k in range(2):
                sink.write(random_frame(pixel, 9, 8, k))
        assert read(tmp_path / name).frames.dtype == np.uint16


def test_folder_in_natural_order_with_gaps(tmp_path: Path) -> None:
    for number in (1, 2, 3, 9, 10, 12):
        cv2.imwrite(str(tmp_path / f"frame{number}.png"), np.full((6, 5, 3), number, np.uint8))
    (tmp_path / "notes.txt").write_text("no image")
    with open_source(tmp_path) as source:
        index = source.index()
        values = [int(f.planes[0][0, 0]) for f in source.frames()]
        assert [k for k, s in enumerate(index.statuses) if s == "missing"] == [3, 4, 5, 6, 7, 10]
        assert [values[k] for k in (0, 1, 2, 8, 9, 11)] == [1, 2, 3, 9, 10, 12]
        assert values[4] == 128
        assert [f.status for f in source.frames(2, 4)] == ["good", "missing"]
        assert "3-7,10" in index.messages[0]
    assert index.times[3] == Fraction(3, 25)
    assert open_source(tmp_path, fps=10).index().times[3] == Fraction(3, 10)


def test_even_strides_are_no_gaps(tmp_path: Path) -> None:
    for number in (0, 5, 10, 20):
        cv2.imwrite(str(tmp_path / f"a{number:03d}.png"), np.zeros((6, 5), np.uint8))
    assert open_source(tmp_path).index().statuses == ("good", "good", "good", "missing", "good")


def test_globs(tmp_path: Path) -> None:
    for name in ("a1.png", "a2.png", "b1.png"):
        cv2.imwrite(str(tmp_path / name), np.zeros((6, 5), np.uint8))
    assert len(open_source(str(tmp_path / "a*.png")).index()) == 2
    with pytest.raises(MediaReadError):
        open_source(str(tmp_path / "c*.png"))


def test_images_of_other_sizes_are_refused(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "1.png"), np.zeros((6, 5), np.uint8))
    cv2.imwrite(str(tmp_path / "2.png"), np.zeros((6, 7), np.uint8))
    with pytest.raises(MediaReadError, match=r"2\.png"):
        open_source(tmp_path).index()


def test_a_broken_image_is_told(tmp_path: Path) -> None:
    for k in range(3):
        cv2.imwrite(str(tmp_path / f"{k}.png"), np.zeros((6, 5), np.uint8))
    (tmp_path / "1.png").write_bytes(b"\x89PNG broken")
    with open_source(tmp_path) as source:
        index = source.index()
        assert index.statuses == ("good", "corrupt", "good")
        assert [f.status for f in source.frames()] == ["good", "corrupt", "good"]
    assert index.lost == 1 and "1.png" in index.losses[0]


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(MediaReadError, match="images"):
        open_source(tmp_path)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 4)),
        np.zeros((3, 4, 5), np.int32),
        np.zeros((3, 4, 5, 7), np.uint8),
        np.zeros((0, 4, 5), np.uint8),
    ],
)
def test_wrong_arrays_are_refused(tmp_path: Path, array: np.ndarray) -> None:
    with pytest.raises(InputError):
        open_source(array)
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(MediaReadError):
        open_source(tmp_path / "x.npy")


def test_broken_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 4, 5), np.uint8))
    data = (tmp_path / "x.npy").read_bytes()
    for broken in (data[:50], data[:-10], b"\x93NUMPY", data[:20] + b"zz" + data[22:]):
        (tmp_path / "x.npy").write_bytes(broken)
        with pytest.raises(MediaReadError):
            open_source(tmp_path / "x.npy")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(MediaReadError):
        open_source(tmp_path / "o.npy")


def test_nan_stays_missing(tmp_path: Path) -> None:
    array = arrays("float32", 3)
    array[1, 2:4, 3:5] = np.nan
    with open_source(array) as source:
        frame = list(source.frames())[1]
        assert np.isnan(frame.planes[0][2:4, 3:5]).all()
    copy_through(open_source(array), tmp_path / "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), array)


def test_gif_round_trip(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    palette = rng.integers(0, 255, (40, 3), np.uint8)
    array = palette[rng.integers(0, 40, (5, 20, 24))]
    times = tuple(Fraction(t, 100) for t in (0, 10, 14, 50, 57))
    durations = tuple(Fraction(t, 100) for t in (10, 4, 36, 7, 30))
    clip = Clip(
        frames=array, times=times, durations=durations, info=ClipInfo(format=PixelFormat(model="rgb"))
    )
    write(clip, tmp_path / "out.gif")
    back = read(tmp_path / "out.gif")
    assert back.times == times
    assert back.durations == durations
    np.testing.assert_array_equal(back.frames, array)


@pytest.mark.parametrize("suffix,most", [("gif", 100), ("mkv", 1000), ("webm", 1000), ("avi", 1000)])
def test_an_output_that_would_play_slower_is_refused(tmp_path: Path, suffix: str, most: int) -> None:
    array = np.zeros((3, 32, 32, 3), np.uint8)
    for rate in (most, most + 1):
        times = tuple(Fraction(i, rate) for i in range(3))
        info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(rate))
        clip = Clip(frames=array, times=times, durations=(Fraction(1, rate),) * 3, info=info)
        with pytest.raises(InputError, match=f"at most {most}") if rate > most else contextlib.nullcontext():
            write(clip, tmp_path / f"{rate}.{suffix}")
    assert read(tmp_path / f"{most}.{suffix}").times == tuple(Fraction(i, most) for i in range(3))
    assert [path.name for path in tmp_path.iterdir()] == [f"{most}.{suffix}"]


def test_clip_round_trip_keeps_facts(plain: Path, tmp_path: Path) -> None:
    clip = read(plain)
    write(clip, tmp_path / "out.mkv", SinkOptions(codec="ffv1"))
    again = read(tmp_path / "out.mkv")
    assert again.times == clip.times
    assert again.info.format == clip.info.format
    assert np.abs(again.frames.astype(int) - clip.frames.astype(int)).mean() < 1.5


def test_overwriting_a_folder_of_frames(tmp_path: Path) -> None:
    out = f"{tmp_path}/out/"
    copy_through(open_source(arrays("uint8", 3, 5)), out)
    copy_through(open_source(arrays("uint8", 3, 2)), out, SinkOptions(overwrite=True))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["000000.png", "000001.png"]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_natural_key() -> None:
    names = ["f10", "f9", "F1", "f01b", "f1a"]
    assert sorted(names, key=natural_key)[-2:] == ["f9", "f10"]


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rubbish_in_a_float_array_is_refused(tmp_path: Path, value: float, dtype: str) -> None:
    array = arrays("float32", 1).astype(dtype)
    array[0, 2, 3], array[1, 2, 3] = np.nan, value
    np.save(tmp_path / "in.npy", array)
    with open_source(tmp_path / "in.npy") as source, pytest.raises(MediaReadError, match="frame 1 holds"):
        list(source.frames())
