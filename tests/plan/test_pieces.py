"""Pieces cover every frame once and never read across a cut."""

from hypothesis import given, settings
from hypothesis import strategies as st

from videorestore.plan.pieces import cut_pieces, shots_between


@settings(deadline=None, derandomize=True, max_examples=80)
@given(st.integers(1, 200), st.sets(st.integers(0, 220)), st.integers(1, 50), st.integers(0, 9))
def test_pieces_cover_the_clip(n, cuts, core, halo):
    shots = shots_between(cuts, 0, n)
    pieces = cut_pieces(shots, core=core, halo=halo)
    assert [i for p in pieces for i in range(p.start, p.stop)] == list(range(n))
    assert [p.index for p in pieces] == list(range(len(pieces)))
    for p in pieces:
        shot = next((a, b) for a, b in shots if a <= p.start < b)
        assert shot[0] <= p.read_start <= p.start < p.stop <= p.read_stop <= shot[1]
        assert p.stop - p.start <= core
        assert p.read_start == max(shot[0], p.start - halo)
        assert p.read_stop == min(shot[1], p.stop + halo)
