"""A short clip is decoded once, however often it is read; a longer one is not held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import videorestore as vr
from videorestore.media import open_source, video
from videorestore.media.decoder import Decoder


@pytest.fixture
def clip(tmp_path: Path) -> str:
    frames = np.random.default_rng(0).integers(0, 256, (6, 16, 24, 3), np.uint8)
    path = str(tmp_path / "clip.mkv")
    vr.write(frames, path, codec="ffv1")
    return path


@pytest.mark.parametrize("room", [10**6, 6 * 16 * 24 * 3 - 1])
def test_a_short_clip_is_decoded_once(clip: str, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(video, "HELD", room)
    with open_source(clip) as source:
        first = list(source.frames())
        passes = []
        monkeypatch.setattr(Decoder, "pictures", _counted(Decoder.pictures, passes))
        again, part = list(source.frames()), list(source.frames(2, 4))
    assert bool(passes) == (room < 10**6)
    for one, two in zip(first, again, strict=True):
        assert (one.index, one.time, one.duration) == (two.index, two.time, two.duration)
        assert all(np.array_equal(a, b) for a, b in zip(one.planes, two.planes, strict=True))
    assert [frame.index for frame in part] == [2, 3]


def test_what_was_read_in_part_is_not_the_whole(clip: str) -> None:
    with open_source(clip) as source:
        assert len(list(source.frames(0, 3))) == 3
        assert len(list(source.frames())) == 6


def _counted(pictures, passes):
    def told(*args, **kwargs):
        passes.append(args)
        return pictures(*args, **kwargs)

    return told
