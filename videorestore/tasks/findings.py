"""What is wrong with a clip, as plain values for the record of ``inspect``."""

from __future__ import annotations

from typing import Any

from videorestore.media.source import Source
from videorestore.tasks.options import Span
from videorestore.tasks.scan import scan
from videorestore.tasks.work import Progress, silent


def find(source: Source, span: Span | None = None, progress: Progress = silent) -> dict[str, Any]:
    """Noise, cuts, repeated, black and broken frames of a clip.

    Parameters
    ----------
    source : Source
    span : Span or None
    progress : callable

    Returns
    -------
    dict
        ``noise_sd``, ``noise_interval``, ``cuts``, ``duplicates``, ``black``, ``corrupt``, ...
    """
    seen = scan(source, span, progress)
    survey, noise = seen.survey, seen.noise
    found: dict[str, Any] = {
        "noise_sd": noise.sd,
        "noise_interval": [noise.low, noise.high],
        "cuts": sorted(survey.cuts),
        "duplicates": sorted(survey.duplicates),
        "black": sorted(survey.black),
        "corrupt": sorted(survey.corrupt),
    }
    return found
