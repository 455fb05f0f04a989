"""Files on one side, frames on the other: readers, writers, segments."""

from __future__ import annotations

from videorestore.media.clips import read, write
from videorestore.media.encode import SinkOptions
from videorestore.media.outputs import OutputShape, check_output, kind_of
from videorestore.media.read import open_source
from videorestore.media.segments import Segment, load_segment, write_segment
from videorestore.media.sink import Sink, join_segments, open_sink
from videorestore.media.source import FrameIndex, Source
from videorestore.media.streams import Excerpt

__all__ = [
    "Excerpt",
    "FrameIndex",
    "OutputShape",
    "Segment",
    "Sink",
    "SinkOptions",
    "Source",
    "check_output",
    "join_segments",
    "kind_of",
    "load_segment",
    "open_sink",
    "open_source",
    "read",
    "write",
    "write_segment",
]
