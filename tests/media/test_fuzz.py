"""Damaged files: never a traceback of another kind, never a hang, never an output that does not decode."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from scripts.fuzzing import CONTAINERS
from tests.media.makers import Make, copy_through, picture, tone
from videorestore.errors import VideoRestoreError
from videorestore.media import SinkOptions, open_source

VARIANTS = 42


def spoil(data: bytes, seed: int) -> bytes:
    """A truncated, bit-flipped or patched copy; which of them is a matter of the seed."""
    rng = np.random.default_rng(seed)
    broken = bytearray(data)
    way = seed % 4
    if way == 0:
        return bytes(broken[: int(rng.integers(1, len(broken)))])
    if way == 1:
        for place in rng.integers(0, len(broken), 1 + seed % 40):
            broken[place] ^= 1 << int(rng.integers(8))
    elif way == 2:
        start = int(rng.integers(len(broken)))
        broken[start : start + int(rng.integers(1, 400))] = rng.bytes(int(rng.integers(1, 400)))
    else:
        # The header is where a wrong bit hurts most.
        for place in rng.integers(0, min(len(broken), 1500), 3):
            broken[place] = int(rng.integers(256))
    return bytes(broken)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fail instead of hanging."""

    def late(*_: object) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_damaged_files(make: Make, tmp_path: Path, name: str) -> None:
    clip = make(
        f"fuzz_{name}", *picture("32x24", seconds="0.4"), *tone(), "-shortest", *CONTAINERS[name]
    ).read_bytes()
    outcomes = {"refused": 0, "read": 0, "loss": 0}
    for seed in range(VARIANTS):
        path = tmp_path / f"in{Path(name).suffix}"
        path.write_bytes(spoil(clip, seed + 1000 * sorted(CONTAINERS).index(name)))
        with at_most(60):
            try:
                with open_source(path) as source:
                    index = source.index()
                    count = sum(1 for _ in source.frames())
                assert count == len(index)
                assert all(b > a for a, b in zip(index.times, index.times[1:]))
                outcomes["loss" if index.losses else "read"] += 1
            except VideoRestoreError as error:
                assert "\n" not in str(error)
                outcomes["refused"] += 1
    assert outcomes["refused"] + outcomes["loss"] > 0
    assert outcomes["read"] + outcomes["loss"] > 0


@pytest.mark.parametrize("name", ["h264.mp4", "vp9.webm", "mpeg4.avi"])
def test_damaged_files_through_the_identity_path(make: Make, tmp_path: Path, name: str) -> None:
    clip = make(
        f"fuzz_{name}", *picture("32x24", seconds="0.4"), *tone(), "-shortest", *CONTAINERS[name]
    ).read_bytes()
    for seed in range(6):
        path, out = tmp_path / f"in{Path(name).suffix}", tmp_path / "out.mkv"
        path.write_bytes(spoil(clip, seed + 77))
        out.unlink(missing_ok=True)
        with at_most(60):
            try:
                done = copy_through(path, out, SinkOptions(codec="ffv1"))
            except VideoRestoreError as error:
                assert "\n" not in str(error)
                assert sorted(p.name for p in tmp_path.iterdir()) == [path.name]
                continue
        assert len(open_source(out).index()) == done.n_frames
        assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, out.name]


def test_nan_that_signal_are_missing_as_any_other(tmp_path: Path) -> None:
    values = np.full((3, 8, 8, 1), 0.5, np.float32)
    values.view(np.uint32)[1, 2, 3] = 0x7F800001
    np.save(tmp_path / "a.npy", values)
    source = open_source(str(tmp_path / "a.npy"))
    with np.errstate(all="raise"):
        sums = [float(np.nansum(frame.planes[0] + np.float32(0))) for frame in source.frames()]
    assert sums == [32.0, 31.5, 32.0]
