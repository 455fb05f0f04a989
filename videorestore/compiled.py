"""The one door through which everything is compiled.

NaN marks missing values, so the flags that assume finite numbers (``nnan``, ``ninf``) stay off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])

FLAGS = {"nsz", "arcp", "contract", "afn", "reassoc"}


def kernel(function: _Function) -> _Function:
    """Compile a serial kernel, without the GIL, cached on disk."""
    return numba.njit(cache=True, nogil=True, fastmath=FLAGS)(function)  # type: ignore[no-any-return]


def parallel_kernel(function: _Function) -> _Function:
    """Compile a kernel whose outermost ``numba.prange`` gives each output element one owner."""
    return numba.njit(cache=True, nogil=True, parallel=True, fastmath=FLAGS)(function)  # type: ignore[no-any-return]
