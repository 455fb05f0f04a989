"""What becomes of the samples of frames that nobody changed: copied with their file or group, or coded anew."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Any

from videorestore.make.work import Work
from videorestore.media.containers import Container, codecs_of, container_of
from videorestore.media.encode import SinkOptions
from videorestore.media.encoders import DEFAULT_CRF, encoder_for
from videorestore.media.groups import Groups, own_coding
from videorestore.media.outputs import kind_of
from videorestore.media.segments import encoding_for
from videorestore.media.source import FrameIndex, Source

STRETCH = 8
"""Frames in a row that must stay what they are to be copied: groups of fewer would cost more bits than they save. Set, not fitted."""

MOST = 0.6
"""Share of the output's frames that must stay what they are for its codec to be another than the usual one."""

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
    container = kind_of(output).container
    same = container is not None and container_of(os.path.splitext(source)[1].lower()) == container
    return same and _all_stays(source, sink, work, notes, facts)


def _all_stays(
    source: str, sink: SinkOptions, work: Work, notes: Sequence[Note], facts: dict[str, Any]
) -> bool:
    """Whether every frame of the source is one of the result, at its own time, and nobody asked for another coding."""
    asked = sink.codec or sink.crf is not None or sink.pix_fmt or sink.encoder_args
    times = work.source_times
    if asked or times is None or not os.path.isfile(source) or facts.get("rotation") or facts.get("mirrored"):
        return False
    if work.span is not None or work.losses:
        return False
    return len(notes) == len(times) and all(
        note["fact"]["origin"] == "kept"
        and note["fact"].get("source") == place
        and Fraction(note["time"]) == times[place]
        for place, note in enumerate(notes)
    )


def copied_groups(
    source: str,
    output: str,
    index: FrameIndex,
    sink: SinkOptions,
    work: Work,
    notes: Sequence[Note],
    facts: dict[str, Any],
) -> Groups | None:
    """What of the source's pictures may be copied into the output, packet by packet: groups, or all of them."""
    if index.policy != "pts" or index.lost or index.careful or -1 in index.marks:
        return None
    container = kind_of(output).container
    if sink.own is None and not (
        container is not None
        and not container.free_clock
        and _takes(container, str(facts.get("codec")))
        and _all_stays(source, sink, work, notes, facts)
    ):
        return None
    kept = tuple(n["fact"].get("source") if n["fact"]["origin"] == "kept" else None for n in notes)
    return Groups(path=source, stream=facts.get("stream", 0), index=index, kept=kept)


def _takes(container: Container, codec: str) -> bool:
    """Whether a stream may be copied into another container: players of mp4 and mov are picky, so only what results have there."""
    encoder = encoder_for(codec)
    usual = encoder is not None and encoder.name in container.encoders
    return codec in codecs_of(container) and (usual or not container.pictures_as_420)


def sink_like(source: Source, output: str, sink: SinkOptions, work: Work) -> SinkOptions:
    """Frames are coded as the source's are, so that groups that stay what they are can be copied."""
    container = kind_of(output).container
    stays = [stretch for stretch in work.stays if len(stretch) >= STRETCH]
    if container is None or not stays:
        return sink
    most = sum(map(len, stays)) > MOST * sum(work.output_counts())
    return own_coding(source, container, work.shape, sink, stays, usual_only=not most)


def name_recoded(
    output: str, sink: SinkOptions, work: Work, notes: Sequence[Note], copied: Collection[int]
) -> tuple[str, ...]:
    """Call frames by another word where a codec changed their samples, and say so; `kept` means identical samples.

    Parameters
    ----------
    copied : collection of int
        Frames of the output that did not go through the codec.
    """
    kind = kind_of(output)
    encoding = encoding_for(output, work.shape, sink)
    exact = encoding.lossless if kind.container else kind.name != "gif"
    kept = [
        note["fact"] for k, note in enumerate(notes) if note["fact"]["origin"] == "kept" and k not in copied
    ]
    told = (
        (f"{len(copied)} of {len(notes)} frames were copied as they are, packet by packet",) if copied else ()
    )
    if exact or not kept:
        return told
    for fact in kept:
        fact["origin"] = RECODED
    if kind.container is None:
        return (
            "frames that needed nothing went through the palette of a gif; .mkv with --codec ffv1 keeps them",
        )
    quality = f", crf {DEFAULT_CRF if sink.crf is None else sink.crf}" if "-crf" in encoding.arguments else ""
    which = f"{len(kept)} more frames in groups with changed ones" if copied else "frames that needed nothing"
    return (
        *told,
        f"{which} were coded anew ({encoding.encoder}{quality}), not bit for bit; "
        ".mkv with --codec ffv1 keeps every sample",
    )
