"""The result record: what was done with every frame, as plain values that JSON can hold."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
import time
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from videorestore.clip import FloatArray, Frame


class Story(Protocol):
    """One frame of the output with its story; `videorestore.make.work.Made` is one."""

    @property
    def frame(self) -> Frame: ...
    @property
    def origin(self) -> str: ...
    @property
    def source(self) -> int | None: ...
    @property
    def x(self) -> float | None: ...
    @property
    def sd_map(self) -> FloatArray | None: ...
    @property
    def deflickered(self) -> bool: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


class RecordBuilder:
    """Collects the small facts of each frame as it passes, then gives the whole record.

    Parameters
    ----------
    version, verb : str
    input, output : str or None
        Names as the user wrote them; absent in the record where None.
    width, height : int
    fps : Fraction or None
        Mean rate; None leaves the field out.
    vfr : bool
        Times are not evenly spaced.
    started : float, optional
        When the run began, by ``time.monotonic()``; now by default.

    Examples
    --------
    >>> builder = RecordBuilder(version="0.1.0", verb="fill", width=4, height=3, fps=Fraction(25))
    >>> builder.build({"model": "curve"})["fps"]
    '25/1'
    """

    def __init__(
        self,
        *,
        version: str,
        verb: str,
        input: str | None = None,
        output: str | None = None,
        width: int | None = None,
        height: int | None = None,
        fps: Fraction | None = None,
        vfr: bool = False,
        started: float | None = None,
    ) -> None:
        self._head: dict[str, Any] = {
            "version": version,
            "verb": verb,
            "input": input,
            "output": output,
            "width": width,
            "height": height,
            "fps": fps,
        }
        self._vfr = vfr
        self._started = time.monotonic() if started is None else started
        self._frames: list[dict[str, Any]] = []
        self._begin: Fraction | None = None
        self._end = Fraction(0)

    def add(self, story: Story) -> None:
        """Take note of one frame of the output; its pixels are not kept."""
        self.add_fact(frame_fact(story), story.frame.time, story.frame.duration)

    def add_fact(self, fact: dict[str, Any], at: Fraction, duration: Fraction) -> None:
        """Take note of a frame whose fact was made elsewhere (another process, an earlier run)."""
        if self._begin is None or at < self._begin:
            self._begin = at
        self._end = max(self._end, at + duration)
        self._frames.append(fact)

    def build(self, findings: Mapping[str, Any] | None = None, *, workers: int = 1) -> dict[str, Any]:
        """The record.

        Parameters
        ----------
        findings : mapping, optional
            Fields of the task: model, noise_sd, inserted, order, placed, refused, self_test, damage, cuts, ...
        workers : int
            How many child processes ran at once, for the peak memory.

        Returns
        -------
        dict
            Only str, int, finite float, bool, list and dict.
        """
        record = dict(self._head)
        if self._vfr:
            record["vfr"] = True
        if self._begin is not None:
            record["duration_s"] = float(self._end - self._begin)
        record.update(findings or {})
        if self._frames:
            record["frames"] = self._frames
        record["elapsed_s"] = round(time.monotonic() - self._started, 2)
        peak = peak_memory_mb(workers)
        if peak is not None:
            record["peak_memory_mb"] = peak
        return {key: plain(value) for key, value in record.items() if not absent(value)}


def frame_fact(story: Story) -> dict[str, Any]:
    """The entry of one frame in ``frames``: small, plain, without pixels.

    ``sd`` is the root mean square of the sd map, so that it can be held against a root mean square error.
    """
    frame = story.frame
    fact: dict[str, Any] = {
        "index": int(frame.index),
        "time_s": round(float(frame.time), 6),
        "origin": story.origin,
    }
    if story.source is not None:
        fact["source"] = int(story.source)
    if story.x is not None and math.isfinite(story.x):
        fact["x"] = round(float(story.x), 6)
    sd = mean_sd(story.sd_map)
    if sd is not None:
        fact["sd"] = sd
    if story.deflickered:
        fact["deflickered"] = True
    if story.notes:
        fact["notes"] = list(story.notes)
    return fact


def mean_sd(sd_map: FloatArray | None) -> float | None:
    """Root mean square of an sd map, which may be one for all colours; None where there is nothing finite."""
    if sd_map is None or sd_map.size == 0:
        return None
    own = sd_map[..., :1] if sd_map.strides[-1] == 0 else sd_map
    value = float(np.sqrt(np.mean(np.square(own), dtype=np.float64)))
    return round(value, 3) if math.isfinite(value) else None


def plain(value: Any) -> Any:
    """A value as JSON can hold it.

    Fractions become ``"25/1"``, arrays lists, dataclasses and mappings objects; floats keep nine digits.
    A number that is not finite is left out of objects and becomes null in lists.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
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
        return {str(key): plain(item) for key, item in value.items() if not absent(item)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (set, frozenset)):
        return [plain(item) for item in sorted(value)]
    return [plain(item) for item in value]


def absent(value: Any) -> bool:
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
