"""The same jobs from Python: a path, a clip or an array in, a `Restoration` out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import Clip
from videorestore.errors import InputError
from videorestore.make.work import Progress, silent
from videorestore.request import notation
from videorestore.request.options import OPTIONS, Insertion, Span

ClipLike = str | os.PathLike[str] | Clip | NDArray[Any]
"""A path, a `Clip`, or an array ``(n, height, width[, channels])`` in uint8, uint16 or float 0..1 (NaN = missing)."""


class Restoration(NamedTuple):
    """What a job gives.

    Attributes
    ----------
    clip : Clip or None
        The result in memory; None where it was written to ``output``.
    sd : ndarray or None, shape (n, height, width, channels)
        Posterior standard deviation of every pixel on the 0..255 scale, where the job has one.
    record : dict
        What was done with every frame: the ``--json`` record of the command line.
    """

    clip: Clip | None
    sd: NDArray[np.float32] | None
    record: dict[str, Any]


def read(path: str | os.PathLike[str]) -> Clip:
    """Read a whole clip into memory.

    Parameters
    ----------
    path : path
        Video file, animated GIF, folder of images, multi-page TIFF or ``.npy``.

    Returns
    -------
    Clip
        ``frames`` (n, height, width, channels) in the source's depth, ``times``, ``info``.
    """
    from videorestore import media

    return media.read(os.fspath(path))


def write(
    clip: Clip | NDArray[Any],
    path: str | os.PathLike[str],
    *,
    codec: str | None = None,
    crf: int | None = None,
    pix_fmt: str | None = None,
    encoder_args: str = "",
    overwrite: bool = False,
) -> tuple[str, ...]:
    """Write a clip; the format is chosen by the name, audio and the rest come from the file it was read from.

    Parameters
    ----------
    clip : Clip or ndarray
        An array is written at 25 frames per second.
    path : path
        ``.mp4 .mkv .mov .webm .avi .gif``, ``folder/``, ``.tif`` or ``.npy``.
    codec, crf, pix_fmt, encoder_args
        As on the command line.
    overwrite : bool

    Returns
    -------
    tuple of str
        What could not be kept, one line each.
    """
    from videorestore import media

    options = media.SinkOptions(
        codec=codec, crf=crf, pix_fmt=pix_fmt, encoder_args=encoder_args, overwrite=overwrite
    )
    array: Any = clip
    whole = clip if isinstance(clip, Clip) else media.read(array)
    return media.write(whole, os.fspath(path), options)


def restore(
    source: ClipLike, output: str | None = None, *, progress: Progress = silent, **options: Any
) -> Restoration:
    """Find what is wrong and mend it: missing frames, damage, noise, in one pass.

    Parameters
    ----------
    source : path, Clip or ndarray
        Never changed.
    output : path, optional
        Write the result there instead of holding it in memory.
    progress : callable
        Called as ``progress(phase, done, total)``.
    **options
        Named like the command line's: ``denoise="auto"|"on"|"off"``, ``fill``, ``mend``, ``fps``, ``factor``, ...
        and those of all writing verbs: ``model``, ``quality``, ``range``, ``seed``, ``codec``, ``sd``, ``report``, ...

    Returns
    -------
    Restoration
    """
    return _run("restore", source, output, progress, options)


def denoise(
    source: ClipLike, output: str | None = None, *, progress: Progress = silent, **options: Any
) -> Restoration:
    """Remove noise. Options: ``sigma="auto"|number``, ``strength=1.0``; see `restore` for the others."""
    return _run("denoise", source, output, progress, options)


def fill(
    source: ClipLike, output: str | None = None, *, progress: Progress = silent, **options: Any
) -> Restoration:
    """Regenerate whole frames.

    Options: ``missing="auto"|"7,50-54"|[7, 50]``, ``insert="5@50"|["5@50", "?@80"]``, ``max_sd``; see `restore` for
    the others.
    """
    return _run("fill", source, output, progress, options)


def inpaint(
    source: ClipLike, output: str | None = None, *, progress: Progress = silent, **options: Any
) -> Restoration:
    """Regenerate missing pixels.

    Options: ``mask`` (path, "auto", or bool array (height, width) or (n, height, width), True where missing; NaN in
    a float array needs none), ``loose=folder``, ``placement="map"|"mh"``; see `restore` for the others.
    """
    return _run("inpaint", source, output, progress, options)


def upsample(
    source: ClipLike, output: str | None = None, *, progress: Progress = silent, **options: Any
) -> Restoration:
    """Raise the frame rate. Options: ``factor`` or ``fps``, ``denoise="off"|"on"``; see `restore` for the others."""
    return _run("upsample", source, output, progress, options)


def reorder(
    source: ClipLike, output: str | None = None, *, progress: Progress = silent, **options: Any
) -> Restoration:
    """Put shuffled frames into order. Option: ``first``; see `restore` for the others."""
    return _run("reorder", source, output, progress, options)


def inspect(source: ClipLike, *, progress: Progress = silent, **options: Any) -> Restoration:
    """Say what is there and what is wrong; only ``record`` is filled. Options: ``range``, ``report``."""
    return _run("inspect", source, None, progress, options)


def compare(first: ClipLike, second: ClipLike, *, progress: Progress = silent, **options: Any) -> Restoration:
    """PSNR and SSIM of two clips, aligned by time; only ``record`` is filled. Option: ``report``."""
    return _run("compare", first, None, progress, {**options, "other": _path(second)})


def _run(
    verb: str, source: ClipLike, output: Any, progress: Progress, options: dict[str, Any]
) -> Restoration:
    from videorestore.run import perform

    given = _options(verb, options)
    target = None if output is None else _path(output)
    outcome = perform(verb, _path(source), target, given, progress)
    record = dict(outcome.record)
    if outcome.losses:
        record["losses"] = list(outcome.losses)
    return Restoration(outcome.clip, outcome.sd, record)


def _options(verb: str, given: dict[str, Any]) -> Any:
    """The verb's options from keywords, which take what the command line takes, and Python's own values."""
    kind = OPTIONS[verb]
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = "span" if key == "range" else key
        if name == "fresh":
            name, value = "resume", not value
        if name not in known:
            names = ", ".join(sorted(known - {"span"} | {"range"}))
            raise InputError(f"{verb} takes the options {names}, got {key}; check the spelling.")
        values[name] = _READ[name](value) if name in _READ and value is not None else value
    if verb == "fill" and "insert" in values:
        values.setdefault("missing", ())
    return kind(**values)


def _path(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _auto(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if isinstance(value, str) and value == "auto" else read(value)


def _either(parse: Callable[[str], Any], convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: parse(value) if isinstance(value, str) else convert(value)


def _frames(value: Iterable[int] | int) -> tuple[int | Span, ...]:
    numbers = [value] if isinstance(value, (int, np.integer)) else list(value)
    return notation.parse_frames(",".join(str(int(number)) for number in numbers)) if numbers else ()


def _insertions(value: Any) -> tuple[Insertion, ...]:
    if isinstance(value, Insertion):
        return (value,)
    found: list[Insertion] = []
    for entry in value:
        found += [entry] if isinstance(entry, Insertion) else notation.parse_insertions(str(entry))
    return tuple(found)


def _span(value: Any) -> Span:
    if isinstance(value, Span):
        return value
    if isinstance(value, (slice, range)):
        value = (value.start, value.stop)
    start, stop = value
    return notation.parse_span(":".join("" if end is None else str(end) for end in (start, stop)))


def _rational(value: Any) -> Fraction:
    if isinstance(value, float):
        # 29.97 stands for 30000/1001, and 2.5 for 5/2; the nearest binary fraction is what nobody means.
        return notation.parse_rate(repr(value))
    return Fraction(value)


_READ: dict[str, Callable[[Any], Any]] = {
    "span": _either(notation.parse_span, _span),
    "missing": _auto(_either(notation.parse_frames, _frames)),
    "insert": _either(notation.parse_insertions, _insertions),
    "sigma": _auto(float),
    "strength": float,
    "max_sd": float,
    "crf": float,
    "factor": _either(notation.parse_ratio, _rational),
    "fps": _either(notation.parse_rate, _rational),
    "input_fps": _either(notation.parse_rate, _rational),
    "max_memory": _either(notation.parse_memory, int),
    "mask": _path,
    "loose": _path,
    "report": _path,
    "sd": _path,
    "first": int,
    "seed": int,
    "jobs": int,
}
