"""Findings one by one: a small part of the frame around each, in true pixels, with its box and its probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from videorestore.report import pictures
from videorestore.report.pictures import Picture

MOST = 48
"""Findings that have a picture: what is least sure comes first, because that is what a person should look at."""

SIDE, MARGIN = 64, 16
"""Least side of a part, and how far it goes beyond the box; in pixels."""

Box = tuple[int, int, int, int]
"""Left, top, width, height."""


def chosen(damage: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Entries of the record that are shown, the least sure first."""
    shown = [entry for entry in damage if "box" in entry and "frame" in entry]
    return sorted(shown, key=lambda entry: (float(entry.get("probability", 1.0)), int(entry["frame"])))[:MOST]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """A part of a frame around a finding.

    Attributes
    ----------
    entry : mapping
        Of the record's ``damage``.
    image : str
        As a data URL.
    box : Box
        Of the finding, within the part.
    size : (width, height)
        Of the part.
    """

    entry: Mapping[str, Any]
    image: str
    box: Box
    size: tuple[int, int]

    @classmethod
    def of(cls, entry: Mapping[str, Any], picture: Picture) -> Crop:
        """Cut out of the frame ``(height, width, 3)`` that the finding is on."""
        height, width = picture.shape[:2]
        x, y, w, h = (int(v) for v in entry["box"])
        left, right = _around(x, w, width)
        top, bottom = _around(y, h, height)
        part = picture[top:bottom, left:right]
        return cls(
            entry=entry,
            image=pictures.encode_exactly(part),
            box=(x - left, y - top, w, h),
            size=(right - left, bottom - top),
        )

    def html(self) -> str:
        """A figure with the box drawn over it."""
        x, y, w, h = self.box
        width, height = self.size
        place = (
            f"left:{100 * x / width:.2f}%;top:{100 * y / height:.2f}%;"
            f"width:{100 * w / width:.2f}%;height:{100 * h / height:.2f}%"
        )
        sure = self.entry.get("probability")
        words = f"frame {int(self.entry['frame'])}, {self.entry.get('kind', 'damage')}"
        words += "" if sure is None else f" {float(sure):.2f}"
        return (
            f'<figure><div><img src="{escape(self.image)}" alt="{escape(words)}"><i style="{place}"></i></div>'
            f"<figcaption>{escape(words)}</figcaption></figure>"
        )


def _around(start: int, length: int, whole: int) -> tuple[int, int]:
    """Where a part begins and ends that holds a stretch with its margin, within the picture."""
    side = min(whole, max(SIDE, length + 2 * MARGIN))
    low = min(max(0, start + length // 2 - side // 2), whole - side)
    return low, low + side


def section(crops: Sequence[Crop], total: int) -> str:
    """All findings that have a picture, as a part of the page; nothing where there is none."""
    if not crops:
        return ""
    which = "All" if len(crops) >= total else f"{len(crops)} of {total}"
    return (
        f'<section id="crops"><h2>Damage, one by one</h2><p class="hint">{which} places, the least sure first. '
        "To decide yourself, write the list with <code>inspect --json</code>, keep the entries you mean, and give it to "
        "<code>restore --accept</code> (do these alone) or <code>restore --reject</code> (leave these).</p>"
        f'<div class="crops">{"".join(crop.html() for crop in crops)}</div></section>'
    )
