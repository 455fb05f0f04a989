"""What a person decided about findings: an edited list, as ``inspect --json`` writes it.

The list is that record or a part of it: ``black``, ``corrupt``, ``missing`` and ``duplicates`` are frame numbers,
``damage`` has frames with boxes, ``dropped`` places with counts. What is accepted is done and nothing else; what is
rejected stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from videorestore.clip import FloatArray
from videorestore.errors import InputError
from videorestore.make.masks import SHORT, Masked, MaskSource, Spot
from videorestore.plan.named import Place

Box = tuple[int, int, int, int]
_FRAMES = ("black", "corrupt", "missing", "duplicates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Findings of a list.

    Attributes
    ----------
    frames : frozenset of int
        Frames without content.
    damage : tuple of (frame, kind, box)
    dropped : tuple of Place
    """

    frames: frozenset[int] = frozenset()
    damage: tuple[tuple[int, str, Box], ...] = ()
    dropped: tuple[Place, ...] = ()

    @property
    def damaged(self) -> frozenset[int]:
        """Frames with damage."""
        return frozenset(number for number, _, _ in self.damage)

    def within(self, start: int, stop: int) -> Decisions:
        """Those of some frames: a list of a whole clip serves any range of it."""
        return Decisions(
            frames=frozenset(k for k in self.frames if start <= k < stop),
            damage=tuple(d for d in self.damage if start <= d[0] < stop),
            dropped=tuple(p for p in self.dropped if start <= p.after < stop - 1),
        )


def read(option: str, path: str) -> Decisions:
    """Read a list of findings; ``option`` is how it was given."""
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.load(file)
        if not isinstance(stored, dict):
            raise TypeError("no object")
        frames = frozenset(index(k) for key in _FRAMES for k in stored.get(key, []))
        damage = tuple(
            (index(e["frame"]), str(e.get("kind", "damage")), _box(e["box"]))
            for e in stored.get("damage", [])
        )
        dropped = tuple(
            Place(after=index(e["after"]), count=index(e["count"])) for e in stored.get("dropped", [])
        )
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{option} must name a list of findings as inspect --json writes it, got {path} ({error}); edit one of those."
        ) from error
    for place in dropped:
        if not place.count or place.count < 1:
            raise InputError(
                f"{option} must have counts from 1 on in dropped, got {place.count}; check the list."
            )
    return Decisions(frames=frames, damage=damage, dropped=dropped)


def load(option: str, path: str, *, n_frames: int | None, height: int, width: int) -> Decisions:
    """Read a list of findings for a clip; ``n_frames`` is None where nobody has counted them."""
    listed = read(option, path)
    frames, damage, dropped = listed.frames, listed.damage, listed.dropped
    for number in (*frames, *(d[0] for d in damage), *(p.after for p in dropped)):
        if number < 0 or (n_frames is not None and number >= n_frames):
            known = "from 0 on" if n_frames is None else f"0 to {n_frames - 1}"
            raise InputError(
                f"{option} must name frames of the clip ({known}), got {number}; check the list."
            )
    for number, _, (x, y, w, h) in damage:
        if x < 0 or y < 0 or w <= 0 or h <= 0 or x + w > width or y + h > height:
            raise InputError(
                f"{option} must name boxes x, y, width, height inside {width} x {height}, got {[x, y, w, h]} in frame "
                f"{number}; check the list."
            )
    return listed


def _box(values: Any) -> Box:
    x, y, w, h = (index(v) for v in values)
    return x, y, w, h


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedMasks(MaskSource):
    """Boxes that a person has confirmed, and nothing else."""

    damage: tuple[tuple[int, str, Box], ...]

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return SHORT

    def of_field(self, parity: int, height: int) -> AcceptedMasks:
        """See `MaskSource.of_field`."""
        return AcceptedMasks(damage=_in_field(self.damage, parity))

    def touches(self, start: int, stop: int) -> bool:
        """Whether one of these frames has a box."""
        return any(start <= number < stop for number, _, _ in self.damage)

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        masks = np.zeros(frames.shape[:3], np.bool_)
        spots: list[list[Spot]] = [[] for _ in numbers]
        places = {number: k for k, number in enumerate(numbers)}
        for number, kind, (x, y, w, h) in self.damage:
            if number in places:
                masks[places[number], y : y + h, x : x + w] = True
                spots[places[number]].append((kind, (x, y, w, h), 1.0))
        return Masked(masks=masks, spots=tuple(map(tuple, spots)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparedMasks(MaskSource):
    """What a search finds, but for the boxes that a person has rejected."""

    inner: MaskSource
    damage: tuple[tuple[int, str, Box], ...]

    @property
    def reach(self) -> int:
        """See `MaskSource.reach`."""
        return self.inner.reach

    def of_field(self, parity: int, height: int) -> SparedMasks:
        """See `MaskSource.of_field`."""
        return SparedMasks(inner=self.inner.of_field(parity, height), damage=_in_field(self.damage, parity))

    def seconds(self, pixels: int) -> tuple[float, float]:
        """See `MaskSource.seconds`."""
        return self.inner.seconds(pixels)

    def touches(self, start: int, stop: int) -> bool:
        """See `MaskSource.touches`."""
        return self.inner.touches(start, stop)

    def read(self, numbers: Sequence[int], frames: FloatArray) -> Masked:
        """See `MaskSource.read`."""
        found = self.inner.read(numbers, frames)
        masks, spots = found.masks.copy(), [list(s) for s in found.spots]
        places = {number: k for k, number in enumerate(numbers)}
        for number, _, box in self.damage:
            if number not in places:
                continue
            k = places[number]
            masks[k, box[1] : box[1] + box[3], box[0] : box[0] + box[2]] = False
            if spots:
                spots[k] = [spot for spot in spots[k] if not _mostly_inside(spot[1], box)]
        return Masked(masks=masks, spots=tuple(map(tuple, spots)))


def _in_field(damage: tuple[tuple[int, str, Box], ...], parity: int) -> tuple[tuple[int, str, Box], ...]:
    """Boxes of frames as boxes of the fields of one parity, as far as they hold a line of it."""
    moved = []
    for number, kind, (x, y, w, h) in damage:
        first, behind = -((parity - y) // 2), (y + h - parity + 1) // 2
        if behind > first:
            moved.append((number, kind, (x, first, w, behind - first)))
    return tuple(moved)


def _mostly_inside(inner: Box, outer: Box) -> bool:
    """Whether at least half of a box lies in another."""
    across = min(inner[0] + inner[2], outer[0] + outer[2]) - max(inner[0], outer[0])
    down = min(inner[1] + inner[3], outer[1] + outer[3]) - max(inner[1], outer[1])
    return across > 0 and down > 0 and 2 * across * down >= inner[2] * inner[3]
