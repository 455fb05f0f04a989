"""One BLAS thread, so that sums have one order and results the same bits whatever the machine does."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> Any:
    # Finding the loaded libraries costs milliseconds; NumPy's and SciPy's are there once this room is.
    return ThreadpoolController()


def one_thread() -> Any:
    """Context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
