"""How far a run has come, pieces under way included, told while they are made."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterable, Sequence

from videorestore.make.work import Progress
from videorestore.run.store import PULSE, WorkFolder

LAST = 0.01
"""Of the last frame, what counts when its piece is whole."""

FIRST = 1.25
"""What the first piece of a process takes over any other: libraries, compiled code, memory that is touched for the first time (four
pieces of 24 frames of 1080p, two at once, quiet machine: 23.0 s for the first two, 18.3 s for the others)."""


def span(costs: Iterable[float], hands: int) -> float:
    """When the last of some pieces ends, where whoever is free takes the next one."""
    ends = [0.0] * max(1, hands)
    for cost in costs:
        heapq.heapreplace(ends, ends[0] + cost)
    return max(ends)


def with_starts(costs: Sequence[float], todo: Sequence[int], hands: int) -> list[float]:
    """Costs of pieces with what the first ones of each process take besides; ``todo``: in the order in which they are begun."""
    first = set(todo[:hands])
    return [cost * FIRST if k in first else cost for k, cost in enumerate(costs)]


class Tally:
    """Tells progress in frames and parts of them, whoever makes the pieces; a context manager around the making.

    Frames count by the time that goes by until all are made: where somebody has nothing to do at the end, that of the others.

    Parameters
    ----------
    phase : str
    counts : sequence of int
        Frames of each piece.
    costs : sequence of float
        What each piece takes, in any unit.
    todo : sequence of int
        Pieces that are not there yet, in the order in which they are begun.
    hands : int
        How many are made at once.
    folder : WorkFolder
    progress : callable
        Called by one thread at a time, with numbers that never fall.
    """

    def __init__(
        self,
        phase: str,
        counts: Sequence[int],
        costs: Sequence[float],
        todo: Sequence[int],
        hands: int,
        folder: WorkFolder,
        progress: Progress,
    ) -> None:
        self._phase, self._todo = phase, todo
        self._folder, self._progress = folder, progress
        self._costs, self._hands = costs, hands
        self._total = sum(counts)
        self._before = self._total * max(0.0, 1 - sum(costs[k] for k in todo) / sum(costs))
        self._whole = span([costs[k] for k in todo], hands)
        self._told = -1.0
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Tally:
        self.tell()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._thread.join()
        if exc[0] is None:
            self.tell()

    def _watch(self) -> None:
        while not self._over.wait(PULSE):
            self.tell()

    def tell(self) -> None:
        """Look how far all pieces are, and say so."""
        with self._lock:
            self._todo = [k for k in self._todo if not self._folder.facts_path(k).exists()]
            shares = {k: self._folder.share(k) for k in self._todo}
            # Those that are under way come first, as they have.
            rest = sorted(self._todo, key=lambda k: shares[k] == 0)
            left = span([self._costs[k] * (1 - shares[k]) for k in rest], self._hands) / self._whole
            made = self._before + (self._total - self._before) * max(0.0, 1 - left)
            if rest:
                # The last frame counts when its piece is whole.
                made = min(made, self._total - LAST)
            if made > self._told:
                self._told = made
                self._progress(self._phase, self._told, self._total)
