"""Film's own frames from fields: which field of which frame shows which picture."""

from __future__ import annotations

from dataclasses import dataclass

from videorestore.detect.fields import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture of the film by the frames that hold its top and its bottom field."""

    top: int
    bottom: int


def pictures(verdict: Verdict, first: int) -> tuple[Picture, ...]:
    """The pictures of which both fields are there, in order, by a verdict on frames ``first`` and on; none across an edit."""
    way = verdict.way
    tops: dict[int, int] = {}
    bottoms: dict[int, int] = {}
    edits = set(verdict.edits)
    base = 0
    for n, phase in enumerate(verdict.phases):
        if n in edits:
            # Behind an edit all pictures are new ones.
            base = max(*tops, *bottoms) + 1 - min(way.tops[phase], way.bottoms[phase])
        elif n and phase == 0:
            base += way.step
        # Of a field that is shown twice the first serves: the other is its copy.
        tops.setdefault(base + way.tops[phase], first + n)
        bottoms.setdefault(base + way.bottoms[phase], first + n)
    return tuple(Picture(top=tops[k], bottom=bottoms[k]) for k in sorted(tops.keys() & bottoms.keys()))
