"""Cutting a clip at its shots and into overlapping pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from videorestore.make.work import Piece, Shot


def shots_between(cuts: Iterable[int], start: int, stop: int) -> tuple[Shot, ...]:
    """Shots of the frames ``start`` to ``stop``, given the first frame of each new shot."""
    edges = [start, *sorted(c for c in set(cuts) if start < c < stop), stop]
    return tuple((a, b) for a, b in zip(edges[:-1], edges[1:]) if b > a)


def cut_pieces(shots: Sequence[Shot], *, core: int, halo: int) -> tuple[Piece, ...]:
    """Pieces of at most ``core`` frames that never read across a cut.

    Parameters
    ----------
    shots : sequence of (start, stop)
    core : int
        Most frames that a piece makes. A shot is divided evenly, so that no short rest stays, and beyond two pieces
        into an even number of them, so that two workers end at the same time.
    halo : int
        Frames of surroundings to read on both sides.
    """
    pieces: list[Piece] = []
    for a, b in shots:
        count = -(-(b - a) // core)
        count += count % 2 if 2 < count < b - a else 0
        edges = [a + (b - a) * k // count for k in range(count + 1)]
        for start, stop in zip(edges[:-1], edges[1:]):
            pieces.append(
                Piece(
                    index=len(pieces),
                    start=start,
                    stop=stop,
                    read_start=max(a, start - halo),
                    read_stop=min(b, stop + halo),
                )
            )
    return tuple(pieces)


def plan_pieces(
    shots: tuple[Shot, ...],
    models: tuple[str, ...],
    missing: frozenset[int],
    *,
    cores: Mapping[str, int],
    halo: int,
) -> tuple[Piece, ...]:
    """Pieces of all shots, of at most so many frames by their model; the halo counts good frames, so that a long missing run does not use it up."""
    pieces: list[Piece] = []
    for shot, model in zip(shots, models):
        for piece in cut_pieces([shot], core=cores[model], halo=0):
            low, high = piece.start, piece.stop
            count = 0
            while low > shot[0] and count < halo:
                low -= 1
                count += low not in missing
            count = 0
            while high < shot[1] and count < halo:
                count += high not in missing
                high += 1
            pieces.append(replace(piece, index=len(pieces), read_start=low, read_stop=high))
    return tuple(pieces)
