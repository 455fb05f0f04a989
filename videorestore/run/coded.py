"""What became of the samples of frames that nobody changed: copied with their file, or coded anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from videorestore.make.work import Work
from videorestore.media.containers import container_of
from videorestore.media.encode import SinkOptions
from videorestore.media.encoders import DEFAULT_CRF
from videorestore.media.outputs import kind_of
from videorestore.media.segments import encoding_for

RECODED = "recoded"
"""Origin of a frame that was kept but went through a codec that does not keep every sample."""

Note = dict[str, Any]


def unchanged(
    source: str, output: str, sink: SinkOptions, work: Work, notes: Sequence[Note], facts: dict[str, Any]
) -> bool:
    """Whether the result is the source itself, so that the file is copied as it is, packet by packet.

    Parameters
    ----------
    notes : sequence of dict
        Of every frame of the result; see `piecework.note_of`.
    facts : dict
        Of the source; see `Source.facts`.
    """
    asked = sink.codec or sink.crf is not None or sink.pix_fmt or sink.encoder_args
    suffix = os.path.splitext(source)[1].lower()
    times = work.source_times
    if asked or times is None or not os.path.isfile(source) or facts.get("rotation"):
        return False
    kind = kind_of(output)
    if (
        kind.container is None
        or container_of(suffix) != kind.container
        or work.span is not None
        or work.losses
    ):
        return False
    return len(notes) == len(times) and all(
        note["fact"]["origin"] == "kept"
        and note["fact"].get("source") == place
        and Fraction(note["time"]) == times[place]
        for place, note in enumerate(notes)
    )


def name_recoded(output: str, sink: SinkOptions, work: Work, notes: Sequence[Note]) -> tuple[str, ...]:
    """Call frames by another word where a codec changed their samples, and say so; `kept` means identical samples."""
    kind = kind_of(output)
    encoding = encoding_for(output, work.shape, sink)
    exact = encoding.lossless if kind.container else kind.name != "gif"
    kept = [note["fact"] for note in notes if note["fact"]["origin"] == "kept"]
    if exact or not kept:
        return ()
    for fact in kept:
        fact["origin"] = RECODED
    if kind.container is None:
        return (
            "frames that needed nothing went through the palette of a gif; .mkv with --codec ffv1 keeps them",
        )
    quality = f", crf {DEFAULT_CRF if sink.crf is None else sink.crf}" if "-crf" in encoding.arguments else ""
    return (
        f"frames that needed nothing were coded anew ({encoding.encoder}{quality}), not bit for bit; "
        ".mkv with --codec ffv1 keeps every sample",
    )
