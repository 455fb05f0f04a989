"""How far work has come is told from inside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from videorestore import pulse
from videorestore.compiled import in_threads


def test_parts_nest_and_shares_rise_to_the_end() -> None:
    heard: list[float] = []
    with pulse.listening(heard.append):
        with pulse.part(0.0, 0.5):
            for _ in pulse.counted(range(2)):
                in_threads(lambda k: in_threads(lambda j: j, range(3), counted=True), range(4), counted=True)
        with pulse.part(0.5, 1.0):
            pulse.at(0.5)
    assert heard == sorted(heard) and heard[-1] == 1.0
    assert [round(share, 4) for share in heard[:4]] == [0.0625, 0.125, 0.1875, 0.25]
    assert 0.75 in heard
    pulse.at(0.3)
    assert heard[-1] == 1.0


def test_denoising_tells_how_far_it_is() -> None:
    from videorestore.motion.denoise import denoise
    from videorestore.spatial.noise import Noise

    frames = np.random.default_rng(0).normal(128, 10, (6, 32, 40, 3)).astype(np.float32)
    heard: list[float] = []
    with pulse.listening(heard.append):
        told = denoise(frames, Noise.white(10.0), quality="default")
    assert len(heard) > 12 and heard == sorted(heard) and heard[-1] == 1.0
    silent = denoise(frames, Noise.white(10.0), quality="default")
    assert all(np.array_equal(a, b) for a, b in zip(told, silent))


def test_a_run_counts_the_pieces_under_way(tmp_path: Path) -> None:
    from videorestore.run.store import WorkFolder
    from videorestore.run.tally import Tally

    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.path.mkdir()
    heard: list[tuple[Any, ...]] = []
    tally = Tally(
        "denoise", [10, 10, 4], [2.0, 2.0, 0.8], [1, 2], 1, folder, lambda *said: heard.append(said)
    )
    tally.tell()
    folder.pulse(1)(0.55)
    tally.tell()
    folder.pulse(1)(0.2)  # never backwards
    tally.tell()
    folder.save_facts(1, [])
    tally.tell()
    folder.pulse(2)(1.0)
    tally.tell()
    assert [done for _, done, _ in heard] == pytest.approx([10, 15.5, 20, 23.99])
    folder.save_facts(2, [])
    tally.tell()
    assert heard[-1] == ("denoise", 24, 24)


def test_frames_count_by_what_they_take(tmp_path: Path) -> None:
    from videorestore.run.store import WorkFolder
    from videorestore.run.tally import Tally

    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.path.mkdir()
    heard: list[float] = []
    tally = Tally("restore", [50, 50], [1.0, 9.0], [0, 1], 1, folder, lambda *said: heard.append(said[1]))
    folder.save_facts(0, [])  # half of the frames, but they needed nothing
    tally.tell()
    folder.pulse(1)(0.5)
    tally.tell()
    assert heard == pytest.approx([10, 55])


def test_who_has_nothing_to_do_at_the_end_is_reckoned_with(tmp_path: Path) -> None:
    from videorestore.run.store import WorkFolder
    from videorestore.run.tally import Tally

    folder = WorkFolder(str(tmp_path / "out.mkv"))
    folder.path.mkdir()
    heard: list[float] = []
    tally = Tally(
        "denoise", [10, 10, 10], [1.0] * 3, [0, 1, 2], 2, folder, lambda *said: heard.append(said[1])
    )
    for share in (0.5, 0.9):
        assert tally._before == 0
        folder.pulse(0)(share)
        folder.pulse(1)(share)
        tally.tell()
    folder.save_facts(0, [])
    folder.save_facts(1, [])
    tally.tell()
    # Two at once, then one alone takes as long again.
    assert heard == pytest.approx([7.5, 13.5, 15])


def test_what_is_made_on_demand_stays_within_its_part() -> None:
    heard: list[float] = []

    def made() -> Any:
        for k in range(4):
            pulse.at(k / 4)
            yield k

    with pulse.listening(heard.append):
        pairs = list(zip(*(pulse.within(p / 2, (p + 1) / 2, made()) for p in (0, 1))))
    assert pairs == [(k, k) for k in range(4)]
    assert heard == [0, 0.5, 0.125, 0.625, 0.25, 0.75, 0.375, 0.875]


def test_the_first_piece_of_each_process_counts_for_more():
    """Its start passes before anything is told: the time left would be told too long until it is over."""
    from videorestore.run.tally import FIRST, with_starts

    assert FIRST > 1
    assert with_starts([1.0, 2.0, 4.0, 3.0], [2, 3, 0], 2) == [1.0, 2.0, 4.0 * FIRST, 3.0 * FIRST]
    assert with_starts([1.0, 2.0], [1], 4) == [1.0, 2.0 * FIRST]
