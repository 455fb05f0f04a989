"""Pieces fit into the memory that they may take."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from videorestore.make.cost import SURROUNDINGS
from videorestore.make.tiles import overlap
from videorestore.make.window import portions
from videorestore.plan.layout import (
    DENOISING,
    ENCODER_FRAME,
    FOLDED,
    MAKING,
    SIDES,
    curve_layout,
    motion_layout,
    part_pixels,
    passed_bytes,
)
from videorestore.plan.timeline import by_factor


@pytest.mark.parametrize("size", [(240, 320), (480, 640), (720, 1280), (1080, 1920), (2160, 3840)])
@pytest.mark.parametrize("making", [0, *MAKING.values()])
def test_a_piece_keeps_to_its_budget_where_it_can(size, making):
    for budget in (1 << 30, 2 << 30, 4 << 30, 16 << 30):
        layout = motion_layout(*size, halo=6, budget=budget, quality="fast", making=making)
        assert layout.core >= 4
        if layout.core > 4:
            assert layout.piece_bytes(layout.core + 12) <= budget


def work(layout, size, halo):
    """Pixels of all parts of all frames that are read, over those that are made."""
    return overlap(*size, layout.side) * (1 + 2 * SURROUNDINGS * halo / layout.core)


@pytest.mark.parametrize("size", [(480, 640), (720, 1280), (1080, 1920), (2160, 3840)])
def test_more_memory_is_never_more_work(size):
    works = [
        work(motion_layout(*size, halo=10, budget=b << 30, quality="default"), size, 10)
        for b in (2, 4, 8, 16, 32)
    ]
    assert all(more <= 1.06 * less for less, more in zip(works, works[1:]))
    assert works[-1] < 1.4 and (size == (2160, 3840) or works[1] < 1.5)


def test_no_side_and_length_of_pieces_that_fit_are_less_work():
    size, budget, halo = (1080, 1920), 4 << 30, 10
    layout = motion_layout(*size, halo=halo, budget=budget, quality="default")
    for side in SIDES:
        part = DENOISING["default"] * part_pixels(*size, side) + (FOLDED + ENCODER_FRAME) * size[0] * size[1]
        core = min(48, (budget - layout.fixed) // part - 2 * halo)
        if core >= 4:
            other = replace(layout, side=side, core=core)
            assert work(layout, size, halo) <= work(other, size, halo)


def test_pieces_of_vga_on_a_curve_keep_within_a_gigabyte_and_hold_what_large_blocks_see():
    layout = curve_layout(480, 640, halo=11, budget=10**9, spooled=True)
    assert layout.core >= 64 and layout.piece_bytes(layout.core) <= 10**9
    # A piece of 200 frames was measured to take so much.
    assert layout.piece_bytes(200) >= 1_324_000_000


def test_portions_hold_every_new_frame_once_and_keep_to_their_room():
    times = [Fraction(k, 25) for k in range(9)]
    slots = [s for s in by_factor(times, [Fraction(1, 25)] * 9, Fraction(5)) if s.source is None]
    clock = np.array([float(t) for t in times])
    frame = 8 * 10 * 20 * 3
    for room, most in ((frame * 9, 8), (frame * 4, 4), (frame * 3, 3), (1, 1)):
        parts = list(portions(slots, clock, (9, 10, 20, 3), room))
        assert [s for p in parts for s in p] == slots
        assert max(map(len, parts)) == most


@pytest.mark.parametrize("size", [(96, 128), (480, 640), (1080, 1920)])
def test_stretches_along_motion_fit_beside_a_curve(size):
    along = motion_layout(*size, halo=10, budget=1 << 30, quality="default")
    stretch = along.stretched(2 << 30, 10)
    assert along.core <= stretch.core <= 120
    both = curve_layout(*size, halo=10, budget=2 << 30, spooled=True, beside=stretch)
    alone = curve_layout(*size, halo=10, budget=2 << 30, spooled=True)
    assert both.core <= alone.core
    if stretch.core > along.core:
        assert both.piece_bytes(both.core) <= 2 << 30
    # A short shot needs no room for a long stretch.
    assert both.piece_bytes(1) < stretch.piece_bytes(stretch.core + 20) <= both.piece_bytes(200)


def test_what_a_piece_likely_takes_is_what_it_took():
    """36 frames of 1080p with noise behind a codec, 46 read: two processes took 3383 to 3786 MB (whole command, `default`)."""
    layout = motion_layout(1080, 1920, halo=10, budget=4 << 30, quality="default", form="samples")
    assert 0.75 < 2 * layout.piece_bytes(46, clean=True) / 3.6e9 < 1.25


def test_samples_that_stay_samples_take_less_than_pixels():
    """81 frames of 640x360 with noise behind a codec took 2404 to 2575 MB in two processes (`denoise`, 51 frames read)."""
    size, how = (360, 640), {"halo": 10, "budget": 4 << 30, "quality": "default"}
    said = [motion_layout(*size, **how, form=f).piece_bytes(51, clean=True) for f in ("chroma", "samples")]
    assert said[1] < said[0] and 0.75 < 2 * said[1] / 2.5e9 < 1.3


def test_frames_on_disk_that_are_only_searched_hardly_count():
    """Big Buck Bunny at 720p, `restore`: 860 MB for one process, 1443 to 1627 MB for two."""
    assert 0.75 < passed_bytes(720 * 1280, 66, 0, searched=True, on_disk=True) / 8.1e8 < 1.3
    assert passed_bytes(720 * 1280, 66, 0, searched=True, on_disk=False) > 1e9
