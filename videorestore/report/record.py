"""The result record: what was found and done, as plain values that JSON can hold."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from videorestore import __version__


def record_of(verb: str, started: float, facts: Mapping[str, Any], *, workers: int = 1) -> dict[str, Any]:
    """The record of a run, with its version, time and memory.

    Parameters
    ----------
    verb : str
    started : float
        When the run began, by ``time.monotonic()``.
    facts : mapping
        Fields of the record in their order; those that do not apply are None, and left out.
    workers : int
        How many child processes ran at once, for the peak memory.

    Returns
    -------
    dict
        Only str, int, finite float, bool, list and dict.

    Examples
    --------
    >>> record_of("fill", time.monotonic(), {"fps": Fraction(25), "model": None})["fps"]
    '25/1'
    """
    took = {"elapsed_s": round(time.monotonic() - started, 2), "peak_memory_mb": peak_memory_mb(workers)}
    record: dict[str, Any] = plain({"version": __version__, "verb": verb, **facts, **took})
    return record


def plain(value: Any) -> Any:
    """A value as JSON can hold it.

    Fractions become ``"25/1"``, arrays lists, dataclasses and mappings objects; floats keep nine digits.
    A number that is not finite is left out of objects and becomes null in lists.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return float(f"{number:.9g}") if math.isfinite(number) else None
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if not _absent(item)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (set, frozenset)):
        return [plain(item) for item in sorted(value)]
    return [plain(item) for item in value]


def _absent(value: Any) -> bool:
    """Does a field with this value not apply? None and numbers that are not finite do not."""
    return value is None or (isinstance(value, (float, np.floating)) and not math.isfinite(value))


def peak_memory_mb(workers: int = 1) -> int | None:
    """Peak resident memory of this process and its children so far, in MB; None where the system does not say.

    The system keeps only the largest child that has ended, so that one counts once for each of ``workers``.
    """
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return round((own + children * max(workers, 1)) * unit / 1e6)
