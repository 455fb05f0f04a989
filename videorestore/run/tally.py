"""How far a run has come, pieces under way included, told while they are made."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from videorestore.make.work import Progress
from videorestore.run.store import PULSE, WorkFolder

LAST = 0.01
"""Of the last frame, what counts when its piece is whole."""


class Tally:
    """Tells progress in frames and parts of them, whoever makes the pieces; a context manager around the making.

    Parameters
    ----------
    phase : str
    counts : sequence of int
        Frames of each piece.
    costs : sequence of float
        What each piece takes, in any unit: frames count by that.
    todo : sequence of int
        Pieces that are not there yet.
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
        folder: WorkFolder,
        progress: Progress,
    ) -> None:
        self._phase, self._todo = phase, todo
        self._folder, self._progress = folder, progress
        self._total = sum(counts)
        self._counts = [self._total * cost / sum(costs) for cost in costs]
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
            whole = [k for k in self._todo if self._folder.facts_path(k).exists()]
            under_way = set(self._todo) - set(whole)
            done = self._total - sum(self._counts[k] for k in under_way)
            made = done + sum(self._counts[k] * self._folder.share(k) for k in under_way)
            if under_way:
                # The last frame counts when its piece is whole.
                made = min(made, self._total - LAST)
            if made > self._told:
                self._told = made
                self._progress(self._phase, self._told, self._total)
            self._todo = sorted(under_way)
