"""A range near the start of a long file does not cost the decoding of all of it."""

from fractions import Fraction

import numpy as np
import pytest

from videorestore.clip import Clip, ClipInfo, PixelFormat
from videorestore.errors import InputError, MediaReadError
from videorestore.media import SinkOptions, open_source, write
from videorestore.media.decoder import Decoder
from videorestore.plan.scan import index_for, resolve_span
from videorestore.request import Span


@pytest.fixture(scope="module", params=["libx264", "ffv1"])
def path(request, tmp_path_factory):
    rng = np.random.default_rng(1)
    frames = np.kron(rng.integers(0, 255, (80, 6, 8, 3)), np.ones((1, 8, 8, 1))).astype(np.uint8)
    times = tuple(Fraction(k, 25) + (Fraction(1, 50) if k > 40 else 0) for k in range(80))
    durations = (*(b - a for a, b in zip(times, times[1:])), Fraction(1, 25))
    info = ClipInfo(format=PixelFormat(model="rgb"), fps=Fraction(25))
    path = tmp_path_factory.mktemp("partial") / f"{request.param}.mkv"
    clip = Clip(frames=frames, times=times, durations=durations, info=info)
    write(clip, path, SinkOptions(codec=request.param))
    return path


@pytest.fixture
def fresh(monkeypatch):
    """No index from earlier tests; counts decoded pictures."""
    monkeypatch.setattr("videorestore.media.video._INDEXES", {})
    decoded = []
    whole = Decoder.pictures

    def counted(self, *args, **keywords):
        for item in whole(self, *args, **keywords):
            decoded.append(item.pts)
            yield item

    monkeypatch.setattr(Decoder, "pictures", counted)
    return decoded


def test_only_what_is_needed_is_decoded_and_is_the_same(path, fresh, monkeypatch):
    with open_source(path) as source:
        part = source.index_up_to(frames=12)
        seen = len(fresh)
        some = [[p.copy() for p in f.planes] for f in source.frames(5, 12)]
        stop = [f.time for f in source.frames(0, 12)]
    assert seen < 25 and len(part) == 13 and not part.whole
    monkeypatch.setattr("videorestore.media.video._INDEXES", {})
    with open_source(path) as source:
        whole = source.index()
        same = [[p.copy() for p in f.planes] for f in source.frames(5, 12)]
    assert len(whole) == 80 and whole.whole
    assert part.times == whole.times[:13] and part.durations[:12] == whole.durations[:12]
    assert stop == list(whole.times[:12])
    assert all(np.array_equal(a, b) for x, y in zip(some, same, strict=True) for a, b in zip(x, y))


def test_another_reader_is_not_misled(path, fresh):
    with open_source(path) as source:
        source.index_up_to(frames=3)
    with open_source(path) as source:
        assert len(source.index()) == 80


def test_seconds_reach_as_far_as_they_say(path, fresh):
    span = Span(start=Fraction(0), stop=Fraction(1, 2), in_seconds=True)
    with open_source(path) as source:
        index = index_for(source, span)
        assert not index.whole and resolve_span(span, index) == (0, 13)


def test_a_range_to_the_end_or_beyond_needs_all(path, fresh):
    with open_source(path) as source:
        assert index_for(source, Span(start=0, stop=80)).whole
    with open_source(path) as source:
        assert index_for(source, Span(start=4)).whole


def test_a_range_that_a_file_has_lost_is_the_fault_of_the_file(path, tmp_path):
    whole = path.read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 3])
    with open_source(tmp_path / "cut.mkv") as source:
        index = source.index()
    assert 0 < len(index) < 60
    assert resolve_span(Span(start=0, stop=70), index) == (0, len(index))
    late = Fraction(60), Fraction(70)
    for span in (
        Span(start=60, stop=70),
        Span(start=60),
        Span(start=late[0], stop=late[1], in_seconds=True),
        Span(start=late[0], in_seconds=True),
    ):
        with pytest.raises(MediaReadError, match="must be readable"):
            resolve_span(span, index)
    with pytest.raises(InputError, match="must name frames"):
        resolve_span(Span(start=late[1], stop=late[0], in_seconds=True), index)
