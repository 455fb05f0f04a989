"""Spreading pieces over processes of this machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from videorestore.errors import VideoRestoreError

TRIES = 3
"""How often a piece is given out before its failure counts."""


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def limit_threads(count: int) -> None:
    """Let BLAS, OpenCV and Numba of this process use so many threads."""
    import cv2
    import numba
    import threadpoolctl

    cv2.setNumThreads(count)
    numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
    threadpoolctl.threadpool_limits(count)


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Let BLAS, OpenCV and Numba use so many threads for a while; 0 leaves them alone."""
    if count <= 0:
        yield
        return
    import cv2
    import numba
    import threadpoolctl

    before = cv2.getNumThreads(), numba.get_num_threads()
    try:
        with threadpoolctl.threadpool_limits(count):
            cv2.setNumThreads(count)
            numba.set_num_threads(min(count, numba.config.NUMBA_NUM_THREADS))
            yield
    finally:
        cv2.setNumThreads(before[0])
        numba.set_num_threads(before[1])


def alone(function: Callable[..., Any], *args: Any) -> Any:
    """Run in a worker that shares the machine with its sisters: one thread each."""
    limit_threads(1)
    return function(*args)


class Warming:
    """Workers that start and load their libraries while the work is still being planned.

    Parameters
    ----------
    jobs : int
        How many; fewer than 2 need none.
    """

    def __init__(self, jobs: int) -> None:
        self._ready: Iterator[Any] = iter(())
        if jobs > 1:
            from joblib import Parallel, delayed

            self._ready = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(
                delayed(alone)(_load) for _ in range(jobs)
            )

    def wait(self) -> None:
        """Until they are ready; one that did not start will be started when it is needed."""
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        with contextlib.suppress(TerminatedWorkerError):
            for _ in self._ready:
                pass


def _load() -> None:
    """Load what pieces are made with, compiled kernels included."""
    import numpy as np

    from videorestore.motion.denoise import denoise
    from videorestore.run import piecework  # noqa: F401
    from videorestore.spatial.noise import Noise

    grain = np.random.default_rng(0).normal(128, 10, (3, 48, 48, 3)).astype(np.float32)
    denoise(grain, Noise(sd=10.0), quality="fast")


def spread(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[Any]:
    """Results of ``function(*arguments[k])`` as they come, from ``jobs`` processes.

    A worker that dies is replaced and its piece given out again, up to TRIES times.
    """
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    left = dict(enumerate(arguments))
    for attempt in range(1, TRIES + 1):
        calls = [delayed(_numbered)(k, function, *args) for k, args in left.items()]
        try:
            for k, result in Parallel(
                n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch=jobs
            )(calls):
                left.pop(k)
                yield result
        except TerminatedWorkerError as error:
            if attempt == TRIES:
                raise VideoRestoreError(
                    f"every piece must get done, {len(left)} were lost with their workers {TRIES} times; "
                    "lower --jobs or --max-memory (is the memory full?)."
                ) from error
            continue
        return


def _numbered(k: int, function: Callable[..., Any], *args: Any) -> tuple[int, Any]:
    return k, alone(function, *args)
