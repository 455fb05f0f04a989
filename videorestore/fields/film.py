"""Film's own frames from fields: which field of which frame shows which picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from videorestore.detect.fields import Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of the film by the frames that hold its top and its bottom field."""

    top: int
    bottom: int


def pictures(way: Way, phases: Sequence[int], first: int) -> tuple[Picture, ...]:
    """The pictures of which both fields are there, in order.

    Parameters
    ----------
    way : Way
    phases : sequence of int
        Place of frames ``first`` and on in its rhythm; a jump is an edit, and nothing is woven across it.
    """
    tops: dict[int, int] = {}
    bottoms: dict[int, int] = {}
    base = 0
    for n, phase in enumerate(phases):
        if n:
            if phase == 0:
                base += way.step
            if phase != (phases[n - 1] + 1) % way.period:
                # Behind an edit all pictures are new ones.
                last = max(*tops, *bottoms)
                base = last + 1 - min(way.tops[phase], way.bottoms[phase])
        # Of a field that is shown twice the first serves: the other is its copy.
        tops.setdefault(base + way.tops[phase], first + n)
        bottoms.setdefault(base + way.bottoms[phase], first + n)
    return tuple(Picture(top=tops[k], bottom=bottoms[k]) for k in sorted(tops.keys() & bottoms.keys()))
