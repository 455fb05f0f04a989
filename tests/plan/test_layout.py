"""Pieces fit into the memory that they may take."""

from fractions import Fraction

import numpy as np
import pytest

from videorestore.make.window import portions
from videorestore.plan.layout import curve_layout, motion_layout
from videorestore.plan.timeline import by_factor


@pytest.mark.parametrize("size", [(240, 320), (480, 640), (720, 1280), (1080, 1920), (2160, 3840)])
@pytest.mark.parametrize("making", [False, True])
def test_a_piece_keeps_to_its_budget_where_it_can(size, making):
    for budget in (1 << 30, 2 << 30, 4 << 30, 16 << 30):
        layout = motion_layout(*size, halo=6, budget=budget, quality="fast", denoising=True, making=making)
        assert layout.core >= 4
        if layout.core > 4:
            assert layout.piece_bytes(layout.core + 12) <= budget


def test_more_memory_never_makes_shorter_pieces():
    cores = [
        motion_layout(
            1080, 1920, halo=11, budget=b << 30, quality="default", denoising=True, making=False
        ).core
        for b in (2, 4, 8, 16, 32)
    ]
    assert max(cores) == 48 and cores[0] < 24 <= cores[1]


def test_two_hundred_frames_of_vga_on_a_curve_are_one_piece_within_a_gigabyte():
    layout = curve_layout(480, 640, halo=11, budget=10**9, spooled=True)
    assert layout.core >= 200 and layout.piece_bytes(200) <= 10**9


def test_portions_hold_every_new_frame_once_and_keep_to_their_room():
    times = [Fraction(k, 25) for k in range(9)]
    slots = [s for s in by_factor(times, [Fraction(1, 25)] * 9, Fraction(5)) if s.source is None]
    clock = np.array([float(t) for t in times])
    frame = 8 * 10 * 20 * 3
    for room, most in ((frame * 9, 8), (frame * 4, 4), (frame * 3, 3), (1, 1)):
        parts = list(portions(slots, clock, (9, 10, 20, 3), room))
        assert [s for p in parts for s in p] == slots
        assert max(map(len, parts)) == most
