"""How many processes a run takes by itself: as many as have enough to do, and as asked where that is said."""

from fractions import Fraction
from types import SimpleNamespace

import cv2
import numpy as np
import pytest

from videorestore.make.work import Work
from videorestore.media import open_source
from videorestore.request.verbs import UpsampleOptions
from videorestore.run import needs as runs
from videorestore.run import workers


def work(seconds, frames=10, side=100):
    shape = SimpleNamespace(n_frames=frames, height=side, width=side)
    return SimpleNamespace(piece_seconds=lambda: [seconds], piece_bytes=1 << 20, likely_bytes=(), shape=shape)


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 4)
    monkeypatch.setattr(runs.memory, "budget", lambda _: 16 << 30)


@pytest.mark.parametrize(("seconds", "processes"), [(0, 1), (11, 1), (13, 2), (1000, 4)])
def test_a_process_is_started_for_enough_work(seconds, processes):
    assert runs.processes(work(seconds), UpsampleOptions(factor=Fraction(2)), 8) == processes


def test_encoding_is_work_too():
    large = work(0, frames=1000, side=1000)
    large.pieces, large.output_counts = (), lambda: [1000]
    large.piece_seconds = lambda: Work.piece_seconds(large)
    assert runs.processes(large, UpsampleOptions(factor=Fraction(2)), 8) == 4


@pytest.mark.parametrize(
    ("each", "jobs", "need"), [((), 2, 2), ((5, 1, 3), 1, 5), ((5, 1, 3), 2, 8), ((4,), 3, 12)]
)
def test_the_largest_pieces_are_at_hand_at_once(each, jobs, need):
    planned = work(0)
    planned.likely_bytes = tuple(k << 20 for k in each)
    assert runs.memory_need(planned, jobs) == need << 20


def test_what_is_asked_for_is_done():
    assert runs.processes(work(0), UpsampleOptions(factor=Fraction(2), jobs=3), 8) == 3
    assert runs.processes(work(1000), UpsampleOptions(factor=Fraction(2), jobs=1), 8) == 1


@pytest.mark.parametrize(("count", "early"), [(3, 0), (20, 2)])
def test_workers_start_ahead_for_many_pixels_only(tmp_path, monkeypatch, count, early):
    monkeypatch.setattr(runs, "WORTH_PIXELS", 10 * 32 * 32)
    for k in range(count):
        cv2.imwrite(str(tmp_path / f"{k:02d}.png"), np.full((32, 32, 3), k, np.uint8))
    with open_source(str(tmp_path)) as source:
        assert runs.early(source, UpsampleOptions(factor=Fraction(2), jobs=2)) == early
