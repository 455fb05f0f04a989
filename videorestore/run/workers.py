"""Spreading pieces over processes of this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import cache
from typing import Any

from videorestore.errors import VideoRestoreError
from videorestore.request import Quality
from videorestore.run.memory import hold_freed
from videorestore.run.store import TRIES
from videorestore.run.task_queue import Task, TaskQueue

IDLE = 300
"""Seconds after which a worker without work ends."""

WATCH = 0.25
"""Seconds between two looks at whether the parent is still there."""

AHEAD = 8
"""Most things that are given out before the first of them is back, where they are large."""


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def limit_threads(count: int) -> None:
    """Let BLAS, OpenCV and Numba of this process use so many threads."""
    import cv2
    import threadpoolctl

    from videorestore.compiled import set_thread_count

    cv2.setNumThreads(count)
    set_thread_count(count)
    threadpoolctl.threadpool_limits(count)


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Let BLAS, OpenCV and Numba use so many threads for a while; 0 leaves them alone."""
    if count <= 0:
        yield
        return
    import cv2
    import threadpoolctl

    from videorestore.compiled import set_thread_count, thread_count

    before = cv2.getNumThreads(), thread_count()
    try:
        with threadpoolctl.threadpool_limits(count):
            cv2.setNumThreads(count)
            set_thread_count(count)
            yield
    finally:
        cv2.setNumThreads(before[0])
        set_thread_count(before[1])


def alone(function: Callable[..., Any], *args: Any) -> Any:
    """Run in a worker that shares the machine with its sisters: one thread each."""
    limit_threads(1)
    return function(*args)


def _in_crew(hold: bool, function: Callable[..., Any], *args: Any) -> Any:
    """Run in a worker that belongs to this run only."""
    serve()
    if hold:
        _hold_freed()
    return alone(function, *args)


@cache
def serve() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the parent, and end soon after it, however it ends.

    What a killed run still does could get in the way of the next one.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    with contextlib.suppress(ValueError):  # tasks run in the main thread, as far as joblib promises anything
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if parent > 1:
        threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Processes that are started meanwhile do not hear Ctrl-C before they are ready to leave it to their parent.

    This process hears it afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Both would open the ears again when they start.
    import multiprocessing.resource_tracker as first

    from joblib.externals.loky.backend import resource_tracker as second

    first.ensure_running()
    second.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@cache
def _hold_freed() -> None:
    """Keep what is freed, and do not let loky take it for a leak, for which it would end this process."""
    from joblib.externals.loky import process_executor

    hold_freed()
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize


class Crew:
    """This process and others beside it that do what one would do alone, each with one thread.

    The others start when they get something to do, and stay for the next run of the same program.

    Parameters
    ----------
    jobs : int
        How many work at once, this process among them; fewer than 2 are this process alone.
    hold : bool
        The others keep the memory that they free, see `videorestore.run.memory.hold_freed`.
    """

    def __init__(self, jobs: int, hold: bool = False) -> None:
        self.others = max(0, jobs - 1)
        self._hold = hold
        self._current: Any = None
        self._warming: list[Future[None]] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        """After a failure or an interruption they stop at once, whatever they do."""
        if kind is not None and self._current is not None:
            self._current.shutdown(wait=True, kill_workers=True)

    def _executor(self) -> Any:
        from joblib.externals.loky import get_reusable_executor

        # Libraries that read these when they are loaded never start more threads than the one they may use.
        env = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with _deaf():
            self._current = get_reusable_executor(max_workers=self.others, timeout=IDLE, env=env)
        return self._current

    def _desk(self, function: Callable[..., Any], here: Callable[..., Any] | None = None) -> TaskQueue:
        executor = self._executor()

        def elsewhere(*one: Any) -> Any:
            with _deaf():
                future = executor.submit(_in_crew, self._hold, function, *one)
            return future.result()

        return TaskQueue(here or function, elsewhere, self.others, first=lambda: wait(self._warming))

    def warm(self, quality: Quality | None) -> None:
        """Let them start and load their libraries, and the denoiser of a quality, while the work is still being planned.

        On a new machine they compile it meanwhile: what one compiles, all others wait for. Until then they are given nothing.
        """
        if self.others:
            executor = self._executor()
            with _deaf():
                self._warming = [
                    executor.submit(_in_crew, self._hold, _load, quality) for _ in range(self.others)
                ]

    def in_order(self, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """``function(*one)`` for each of the arguments, in their order; few of these are held at a time.

        Whatever a worker takes with it when it dies is done here.
        """
        if not self.others:
            yield from (function(*one) for one in arguments)
            return
        most = min(2 * self.others + 2, AHEAD)
        waiting: deque[Task] = deque()
        with self._desk(function) as desk:
            for number, one in enumerate(arguments):
                waiting.append(desk.put(number, one))
                # Each of the others finds its next one ready; the rest is for this process.
                while desk.ready > self.others:
                    desk.help()
                while len(waiting) > most or (waiting and waiting[0].finished):
                    yield desk.result(waiting.popleft())
            while desk.help():
                pass
            while waiting:
                yield desk.result(waiting.popleft())

    def as_done(
        self,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        here: Callable[..., Any] | None = None,
    ) -> Iterator[Any]:
        """Results of ``function(*arguments[k])`` as they come; ``here`` is the same for this process.

        A worker that dies is replaced and its piece given out again, up to TRIES times.
        """
        if not self.others:
            yield from ((here or function)(*one) for one in arguments)
            return
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        left = dict(enumerate(arguments))
        for attempt in range(1, TRIES + 1):
            try:
                with self._desk(function, here) as desk:
                    for k, one in left.items():
                        desk.put(k, one)
                    while left:
                        if not desk.help():
                            desk.wait()
                        for task in desk.collect():
                            left.pop(task.number)
                            yield task.value
                return
            except TerminatedWorkerError as error:
                if attempt == TRIES:
                    raise VideoRestoreError(
                        f"every piece must get done, {len(left)} were lost with their workers {TRIES} times; "
                        "lower --jobs or --max-memory (is the memory full?)."
                    ) from error


def _load(quality: Quality | None) -> None:
    """Load what pieces are made with; a few grains of noise are denoised, so that all compiled code is at hand."""
    from videorestore.run import piecework  # noqa: F401

    if quality is None:
        return
    import numpy as np

    from videorestore.motion.denoise import denoise
    from videorestore.spatial.noise import Noise

    grain = np.random.default_rng(0).normal(128, 10, (3, 48, 48, 3)).astype(np.float32)
    denoise(grain, Noise(sd=10.0), quality=quality)
