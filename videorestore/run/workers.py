"""Spreading pieces over processes of this machine or over a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from videorestore.errors import InputError, VideoRestoreError

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


def _alone(function: Callable[..., Any], *args: Any) -> Any:
    """Run in a worker that shares the machine with its sisters: one thread each."""
    limit_threads(1)
    return function(*args)


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
    return k, _alone(function, *args)


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(
            "--cluster needs Dask, which is not installed; run: pip install 'videorestore[cluster]'."
        ) from error
    try:
        return Client(address, timeout="10s")
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"--cluster must be the address of a running scheduler, got {address!r}; start one or check the address."
        ) from error


def check_cluster(address: str) -> None:
    """Refuse an address at which no scheduler answers."""
    _client(address).close()


def spread_on_cluster(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], address: str
) -> Iterator[Any]:
    """The same on the workers of a Dask scheduler; files are reached by a path that all of them share."""
    from distributed import as_completed

    with _client(address) as client:
        futures = [client.submit(_alone, function, *args, pure=False, retries=TRIES) for args in arguments]
        for _, result in as_completed(futures, with_results=True):
            yield result
