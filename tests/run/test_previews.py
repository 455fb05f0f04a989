"""Pictures for the page cost one look at the source, not one for each of them."""

from __future__ import annotations

import numpy as np
import pytest

from videorestore.api import write
from videorestore.media import open_source
from videorestore.run import piecework


def test_the_frames_before_are_read_in_one_pass(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "in.mkv")
    frames = np.full((30, 32, 48, 3), 90, np.uint8) + np.arange(30, dtype=np.uint8)[:, None, None, None]
    write(frames, path, codec="h264", crf=4)
    collector = piecework._Collector(first=0, stride=1, want_previews=True)
    for index, number in enumerate([20, 5, 5, 29]):
        collector.facts.append({"fact": {"index": index, "source": number}})
        collector.previews |= {f"after_{index}": frames[0], f"corner_{index}": np.array((0, 0))}
    with open_source(path) as source:
        source.index()
        asked = []
        read = source.frames
        monkeypatch.setattr(source, "_held", None)
        monkeypatch.setattr(source, "frames", lambda *span: asked.append(span) or read(*span))
        piecework._add_befores(collector, source)
    shown = [int(collector.previews[f"before_{k}"].mean().round()) for k in range(4)]
    assert shown == pytest.approx([110, 95, 95, 119], abs=1)
    assert len(asked) <= 2
