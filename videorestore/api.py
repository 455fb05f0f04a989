"""The same jobs from Python: a path, a clip or an array in, a `Restoration` out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from videorestore.clip import Clip
from videorestore.errors import VideoRestoreError
from videorestore.make.work import Progress, silent
from videorestore.request import TABLE, VERBS, Verb, declare
from videorestore.request.declare import declared, defaults
from videorestore.request.kinds import Flag

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
    crf: float | None = None,
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


def job(verb: str) -> Callable[..., Restoration]:
    """The function of a verb; its keywords, their defaults and its text are those of the declared options."""
    words = TABLE[verb]
    known = declared(words.options)
    places = [name for name, option in known.items() if not option.flags] + ["output"] * words.writes

    def run(source: ClipLike, *names: Any, progress: Progress = silent, **options: Any) -> Restoration:
        if len(names) > len(places):
            raise TypeError(f"{verb}() takes {1 + len(places)} names, got {1 + len(names)}")
        given = {**dict(zip(places, names, strict=False)), **options}
        output = given.pop("output", None) if words.writes else None
        return _run(verb, source, output, progress, given)

    run.__name__ = run.__qualname__ = verb
    run.__doc__ = _text(words)
    standard = defaults(words.options)
    named = [Parameter("source", Parameter.POSITIONAL_OR_KEYWORD, annotation=ClipLike)]
    named += [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in places]
    named.append(Parameter("progress", Parameter.KEYWORD_ONLY, default=silent, annotation=Progress))
    named += [
        Parameter(option.keyword, Parameter.KEYWORD_ONLY, default=standard[name])
        for name, option in known.items()
        if option.flags
    ]
    run.__signature__ = Signature(named, return_annotation=Restoration)  # type: ignore[attr-defined]
    return run


def _text(verb: Verb) -> str:
    """The docstring of a verb's function."""
    lines = [verb.description, "", "Parameters", "----------", "source : path, Clip or ndarray"]
    lines.append("    Never changed.")
    if verb.writes:
        lines += ["output : path, optional", "    Write the result there instead of holding it in memory."]
    lines += ["progress : callable", "    Called as ``progress(phase, done, total)``."]
    for option in declared(verb.options).values():
        shown = option.metavar or "bool"
        lines += [f"{option.keyword} : {shown}", f"    {spoken_in_python(option.help)}"]
    return "\n".join([*lines, "", "Returns", "-------", "Restoration"])


def __getattr__(name: str) -> Any:
    if name not in VERBS:
        raise AttributeError(f"module 'videorestore.api' has no attribute {name!r}")
    function = job(name)
    globals()[name] = function
    return function


def _run(verb: str, source: ClipLike, output: Any, progress: Progress, given: dict[str, Any]) -> Restoration:
    from videorestore.run import perform

    try:
        options = declare.read(verb, given)
        target = None if output is None else os.fspath(output)
        path = os.fspath(source) if isinstance(source, os.PathLike) else source
        outcome = perform(verb, path, target, options, progress)
    except VideoRestoreError as error:
        said = spoken_in_python(str(error))
        if said == str(error):
            raise
        raise type(error)(said) from error
    record = dict(outcome.record)
    if outcome.losses:
        record["losses"] = [spoken_in_python(loss) for loss in outcome.losses]
    return Restoration(outcome.clip, outcome.sd, record)


def spoken_in_python(text: str) -> str:
    """A message with options named as Python's keywords.

    >>> spoken_in_python("choose another name or overwrite it with -y; or lower --max-memory.")
    'choose another name or overwrite it with overwrite=True; or lower max_memory.'
    """
    return _SPELLED.sub(lambda match: _KEYWORDS.get(match[0], match[0]), text)


_KEYWORDS = {
    flag: f"{option.keyword}=True" if isinstance(option.kind, Flag) else option.keyword
    for verb in TABLE.values()
    for option in declared(verb.options).values()
    for flag in option.flags
}
_KEYWORDS.update({"--fresh": "resume=False", "-o": "output", "OUTPUT": "output", "INPUT": "source"})
_SPELLED = re.compile(r"(?<![\w-])(?:--[a-z][a-z-]*[a-z]|-[a-z]|INPUT|OUTPUT)(?![\w-])")
