"""A desk with work on it, from which this process and others take what is next."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False, slots=True)
class Task:
    """One call, and what came of it.

    Attributes
    ----------
    finished : bool
        There is a value or an error.
    """

    number: int
    arguments: tuple[Any, ...]
    value: Any = None
    error: BaseException | None = None
    finished: bool = False


class TaskQueue:
    """Calls that lie ready. Whoever is free takes the oldest, so that nobody idles while there is one.

    Each of the others is served by a thread that only waits for it; the thread that made the desk works here itself
    when it asks for it.

    Parameters
    ----------
    here, elsewhere : callable
        The same function: in this process, and by one of the others, waiting for it.
    others : int
        How many others there are.
    first : callable, optional
        Waits until the others are free: they take nothing before, and it is all done here.
    """

    def __init__(
        self,
        here: Callable[..., Any],
        elsewhere: Callable[..., Any],
        others: int,
        first: Callable[[], object] = lambda: None,
    ) -> None:
        self._here, self._elsewhere, self._first = here, elsewhere, first
        self._ready: deque[Task] = deque()
        self._finished: list[Task] = []
        self._change = threading.Condition()
        self._closed = False
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(others)]

    def __enter__(self) -> TaskQueue:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing more is taken; what is under way elsewhere ends unseen."""
        with self._change:
            self._closed = True
            self._ready.clear()
            self._change.notify_all()

    def _serve(self) -> None:
        self._first()
        while True:
            with self._change:
                self._change.wait_for(lambda: self._ready or self._closed)
                if self._closed:
                    return
                task = self._ready.popleft()
            try:
                task.value = self._elsewhere(*task.arguments)
            except BaseException as error:
                task.error = error  # raised where the result is asked for
            self._finish(task)
            if task.error is not None:
                return

    def _finish(self, task: Task) -> None:
        with self._change:
            task.finished = True
            if task.error is None:
                task.arguments = ()  # they may be large
            self._finished.append(task)
            self._change.notify_all()

    @property
    def ready(self) -> int:
        """How many lie there and are taken by nobody."""
        return len(self._ready)

    def put(self, number: int, arguments: tuple[Any, ...]) -> Task:
        """Lay down a call."""
        task = Task(number, arguments)
        with self._change:
            self._ready.append(task)
            self._change.notify()
        return task

    def help(self) -> bool:
        """Do the oldest call here; False where none is ready."""
        with self._change:
            if not self._ready:
                return False
            task = self._ready.popleft()
        task.value = self._here(*task.arguments)
        self._finish(task)
        return True

    def wait(self) -> None:
        """Until something is finished."""
        with self._change:
            self._change.wait_for(lambda: self._finished)

    def collect(self) -> Iterator[Task]:
        """What was finished since the last time; then the error of one of them is raised."""
        with self._change:
            found, self._finished = self._finished, []
        yield from (task for task in found if task.error is None)
        for task in found:
            if task.error is not None:
                raise task.error

    def result(self, task: Task) -> Any:
        """The value of a call, waiting for it; one that was lost with a worker is done here."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        with self._change:
            if task in self._ready:
                self._ready.remove(task)
                mine = True
            else:
                self._change.wait_for(lambda: task.finished)
                mine = isinstance(task.error, BrokenProcessPool)
        if mine:
            return self._here(*task.arguments)
        if task.error is not None:
            raise task.error
        return task.value
