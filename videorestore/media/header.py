"""What a video file says about itself before anything is decoded: rates, length, end, facts."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from videorestore.media import probe

BARE = ("avi", "h264", "hevc", "m4v", "mpegvideo", "obu", "asf", "h263", "vc1", "rm")
"""Formats that store no presentation times, or wrong ones."""


def stated_rates(container: Any, stream: Any) -> list[Fraction]:
    """The rates that the file states, the likeliest first; a bare stream's default of its reader does not count."""
    own = stream.codec_context.framerate
    if container.format.name in BARE and stream.start_time is None:
        return [Fraction(own)] if own and 0 < own <= 1000 else []
    rates = (stream.average_rate, stream.base_rate, own)
    return [Fraction(rate) for rate in rates if rate and 0 < rate <= 1000]


def alpha_decoder(stream: Any) -> str | None:
    """FFmpeg's own VP8 and VP9 decoders do not see the alpha that travels beside the picture."""
    tags = {key.lower(): value for key, value in stream.metadata.items()}
    if tags.get("alpha_mode") != "1":
        return None
    return {"vp9": "libvpx-vp9", "vp8": "libvpx"}.get(stream.codec_context.name)


def stated_end(container: Any, stream: Any) -> Fraction | None:
    """End of a stream in seconds, where the file states it exactly."""
    if "mov" in container.format.name and stream.duration and stream.start_time is not None:
        return (int(stream.start_time) + int(stream.duration)) * Fraction(stream.time_base)
    found = re.match(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", stream.metadata.get("DURATION", ""))
    if not found:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + Fraction(seconds)


def container_facts(container: Any, stream: Any) -> dict[str, Any]:
    context = stream.codec_context
    facts: dict[str, Any] = {
        "container": container.format.name,
        "codec": context.codec.canonical_name,
        "streams": [probe.stream_facts(s) for s in container.streams],
        "chapters": len(container.chapters()),
        "metadata": {probe.readable(k): probe.readable(v) for k, v in container.metadata.items()},
    }
    if container.duration:
        facts["header_duration_s"] = container.duration / 1_000_000
    return facts


def stated_order(stream: Any) -> str:
    """Which field comes first, by the file, in a stream whose frames are flagged as interlaced: "tff" or "bff"."""
    # FFmpeg's AVFieldOrder: 2 and 4 begin with the top field, 3 and 5 with the bottom one. DV says nothing, and begins with the bottom.
    bottom = stream.codec_context.field_order in (3, 5) or stream.codec_context.name == "dvvideo"
    return "bff" if bottom else "tff"
