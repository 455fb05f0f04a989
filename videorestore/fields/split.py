"""Frames to fields and back, in native samples: every plane is split by its lines.

Chroma of interlaced 4:2:0 belongs to its field: line k of a chroma plane, like line k of luma, is the top field's where k
is even. Taken so, each field's chroma lies where that of a progressive frame of the same lines would.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from videorestore.clip import Frame


def weave(top: Frame, bottom: Frame) -> Frame:
    """The even lines of one frame with the odd lines of another, bit for bit; times are the first one's."""
    if top is bottom:
        return top
    planes = []
    for even, odd in zip(top.planes, bottom.planes):
        plane = np.array(even)
        plane[1::2] = odd[1::2]
        planes.append(plane)
    return replace(top, planes=tuple(planes))
