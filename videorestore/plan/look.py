"""Looking through a clip: small pictures of its frames, measured stretch by stretch, by whoever is there to help.

Stretches have a fixed length, so that what is measured does not depend on who measures it, or on how many do.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import fields, replace
from typing import Any

import cv2
import numpy as np

from videorestore import colour
from videorestore.clip import FloatArray, Frame, Samples
from videorestore.compiled import thread_count
from videorestore.detect.measures import LAGS, Measures, measure
from videorestore.spatial.noise import LUMA

THUMBNAIL = 320
"""Longest side of the pictures that cuts and bad frames are sought in."""

STRETCH = 64
BEFORE, AFTER = LAGS + 2, 2
"""Frames that are measured at once, and how many around them are looked at for their sake."""

Spread = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]
"""``shared_out(function, arguments)`` gives ``function(*one)`` for each of the arguments, in their order."""


def one_by_one(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Without help."""
    return (function(*one) for one in arguments)


_HELP: ContextVar[Spread] = ContextVar("help", default=one_by_one)


@contextlib.contextmanager
def helped_by(spread: Spread) -> Iterator[None]:
    """Within this context clips are looked through with help; the findings are the same."""
    token = _HELP.set(spread)
    try:
        yield
    finally:
        _HELP.reset(token)


def shared_out(function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """``function(*one)`` for each of the arguments, in their order, by whoever helps at present."""
    return _HELP.get()(function, arguments)


LOOKERS = 8
"""Threads that look at whole frames beside the one that decodes, where others help: decoding itself has about as many."""

LARGE = 400_000
"""Pixels of a frame from which on a look is worth a thread: at 352x288 two of these take 3.9 ms of CPU a frame, one 2.0."""


def looked_at(
    look: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], *, pixels: int = LARGE
) -> Iterator[Any]:
    """``look(*one)`` for each of the arguments, in their order, by threads of this process a few ahead.

    Frames of fewer than `LARGE` ``pixels`` are looked at by this thread alone.
    """
    threads = thread_count() if _HELP.get() is one_by_one else LOOKERS
    if threads < 2 or pixels < LARGE:
        yield from one_by_one(look, arguments)
        return
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="look") as pool:
        for one in arguments:
            waiting.append(pool.submit(look, *one))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def small_picture(frame: Frame, side: int) -> FloatArray:
    """Working pixels of a frame whose longest side is at most ``side``.

    The samples are averaged before they become RGB, which is the same because that is linear, and much less work.
    """
    scale = side / max(frame.height, frame.width)
    if scale >= 1:
        return colour.working(frame)
    size = max(1, round(frame.width * scale)), max(1, round(frame.height * scale))
    planes = tuple(_resized(plane, size) for plane in frame.planes[: frame.format.colours])
    form = replace(frame.format, subsampling=(0, 0), alpha=False)
    return colour.working(replace(frame, planes=planes, format=form))


def _resized(plane: Samples, size: tuple[int, int]) -> FloatArray:
    way = cv2.INTER_AREA if plane.shape[1] >= size[0] and plane.shape[0] >= size[1] else cv2.INTER_LINEAR
    small = cv2.resize(np.ascontiguousarray(plane, np.float32), size, interpolation=way)
    return np.asarray(small.reshape(size[1], size[0]), np.float32)


def brightness(picture: FloatArray) -> FloatArray:
    """Luma ``(height, width)`` of working pixels ``(height, width, 3 or 1)``; a missing pixel is grey."""
    luma = picture @ LUMA if picture.shape[2] == 3 else picture[..., 0]
    return np.nan_to_num(luma, nan=128.0)


def measured(pictures: Iterable[FloatArray]) -> Measures:
    """`videorestore.detect.measures.measure` of a long stream of pictures, in stretches.

    Parameters
    ----------
    pictures : iterable of ndarray, shape (height, width)
        Read once, in order; few stretches are held at a time.
    """
    parts = list(shared_out(measure_part, stretches(pictures)))
    if not parts:
        return measure(())
    return Measures(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Measures)})


def stretches(pictures: Iterable[FloatArray]) -> Iterator[tuple[FloatArray, int, int]]:
    """Pictures ``(n, height, width)`` in stretches that overlap; which of them count, from and to."""
    held: list[FloatArray] = []
    first = 0
    for picture in pictures:
        held.append(picture)
        if len(held) == first + STRETCH + AFTER:
            yield np.stack(held), first, first + STRETCH
            held = held[first + STRETCH - BEFORE :]
            first = BEFORE
    if len(held) > first:
        yield np.stack(held), first, len(held)


def measure_part(pictures: FloatArray, first: int, stop: int) -> Measures:
    """Measures of pictures ``first`` to ``stop`` among those around them."""
    found = measure(pictures)
    return Measures(**{f.name: getattr(found, f.name)[first:stop] for f in fields(Measures)})
