"""Files on one side, frames on the other: readers, writers, segments."""

from __future__ import annotations

from videorestore.media.clips import Copied, copy_through, read, read_ahead, write
from videorestore.media.encode import SinkOptions
from videorestore.media.outputs import OutputShape, check_output, kind_of
from videorestore.media.read import open_source
from videorestore.media.segments import Segment, load_segment, write_segment
from videorestore.media.sink import Sink, join_segments, open_sink
from videorestore.media.source import FrameIndex, Source
from videorestore.media.streams import Excerpt

__all__ = [
    "Copied",
    "Excerpt",
    "FrameIndex",
    "OutputShape",
    "Segment",
    "Sink",
    "SinkOptions",
    "Source",
    "check_output",
    "copy_through",
    "join_segments",
    "kind_of",
    "load_segment",
    "open_sink",
    "open_source",
    "read",
    "read_ahead",
    "write",
    "write_segment",
]
