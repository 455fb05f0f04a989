"""Small things that fly farther in a step than they are wide, which no flow follows.

What passes over a background differs, in its place, from the frame before and from the frame after, while these two
agree. A thing is believed in when two such places in neighbouring frames look the same and a third frame shows it
where its motion, gone on evenly, leads. It is then lifted off the frames, the background is interpolated without it,
and it is laid over the result at its place on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.motion.flow import Flow, surroundings
from videorestore.motion.tracks import kriging_weights
from videorestore.motion.warp import Floats, warp

Numbers = NDArray[np.float64]

_STANDS_OUT = 20.0  # levels by which a thing stands out, beyond what the background differs by
_NOISE = 6.0  # the same in units of the usual difference
_LARGEST = 0.015  # share of the frame that a thing may cover
_MOST = 16  # such places in a frame, beyond which none is a thing by itself
_THINNEST, _WIDEST = 3, 32  # pixels at half size along either side
_ALIKE = 0.35  # difference between two looks at a thing, as a share of how far it stands out
_SURE = 0.2  # the same where only three frames show it
_LEAST_ALIKE = 6.0  # levels that are always allowed
_STEADY = 0.25  # share of a step by which the next one may differ
_FLOWN = 0.8  # of its own width, that a thing flies in a step; what is slower is left to the flow
_UNSURE = 0.15  # of how far a thing stands out: the sd where it lies
_FOLLOWED = 3.0  # pixels by which a flow that follows the thing misses its motion


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Place:
    """Where a thing was seen, at half size: its mask ``(h, w)`` from a corner (y, x), and how far it stands out."""

    corner: tuple[int, int]
    mask: NDArray[np.bool_]
    contrast: float

    @property
    def centre(self) -> Numbers:
        """Mean place (x, y)."""
        y, x = np.nonzero(self.mask)
        return np.array([x.mean() + self.corner[1], y.mean() + self.corner[0]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sprite:
    """A thing that is seen in two neighbouring frames.

    Attributes
    ----------
    first, second : Place
        In the earlier and the later frame.
    step : (2,) float64
        From the one to the other, (x, y) in pixels of the frame.
    before, beyond : (2,) float64 or None
        The same to its places in the frame before the earlier one and in the one after the later one.
    """

    first: Place
    second: Place
    step: Numbers
    before: Numbers | None
    beyond: Numbers | None

    def away(self, times: Numbers, target: float) -> Numbers:
        """Way (2,) from the place in the earlier frame to that at a time, given the times (4,) of all four frames."""
        steps = [self.before, np.zeros(2), self.step, self.beyond]
        known = [k for k, step in enumerate(steps) if step is not None]
        weights = kriging_weights(times[known], target)
        return np.asarray(sum(w * np.asarray(steps[k]) for w, k in zip(weights, known)))


def half(luma: NDArray[np.uint8]) -> Floats:
    """A luma ``(h, w)`` at half size."""
    height, width = luma.shape
    size = ((width + 1) // 2, (height + 1) // 2)
    return np.asarray(cv2.resize(luma, size, interpolation=cv2.INTER_AREA), np.float32)


def calm(flow: Flow, size: tuple[int, int]) -> Floats:
    """The motion ``(h, w, 2)`` of the background in pixels of a frame of this height and width."""
    height, width = flow.vectors.shape[:2]
    scale = np.array([size[1] / width, size[0] / height], np.float32)
    return np.asarray(cv2.resize(surroundings(flow), size[::-1]) * scale, np.float32)


def places(here: Floats, one: Floats, other: Floats) -> list[Place]:
    """Where a small picture ``(h, w)`` stands out from two others that were warped to it and agree."""
    a, b = np.abs(here - one), np.abs(here - other)
    least = np.minimum(a, b)
    out = least - np.abs(one - other)
    limit = max(_STANDS_OUT, _NOISE * float(np.median(least)))
    seen = (out > limit).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(seen)
    area, sides = stats[:, cv2.CC_STAT_AREA], stats[:, 2:4]
    fit = (area <= _LARGEST * here.size) & (sides.max(axis=1) <= _WIDEST)
    # A thing is compact; flickering edges are not.
    fit &= (sides.min(axis=1) >= _THINNEST) & (area >= 0.5 * sides.prod(axis=1))
    fit[0] = False
    if fit.sum() > _MOST:
        return []
    found = []
    for label in np.nonzero(fit)[0].tolist():
        x, y, w, h = stats[label, :4].tolist()
        part = slice(y, y + h), slice(x, x + w)
        mask = labels[part] == label
        found.append(Place(corner=(y, x), mask=mask, contrast=float(least[part][mask].mean())))
    return found


def find(halves: list[Floats], flow: Flow, spots: list[list[Place]]) -> list[Sprite]:
    """Things that fly from the second to the third of four frames.

    Parameters
    ----------
    halves : four (h, w) float32
        The frames as of `half`.
    flow : Flow
        From the second frame to the third.
    spots : two lists of Place
        What stands out in the second and in the third frame.
    """
    found: list[Sprite] = []
    for first in spots[0]:
        sprite = _followed(first, halves, flow, spots[1])
        if sprite is not None:
            found.append(sprite)
    # Two things that claim the same place are none.
    ends = [id(sprite.second) for sprite in found]
    return [sprite for sprite in found if ends.count(id(sprite.second)) == 1]


def _followed(first: Place, halves: list[Floats], flow: Flow, spots: list[Place]) -> Sprite | None:
    allowed = max(_LEAST_ALIKE, _ALIKE * first.contrast)
    ahead = []
    for second in spots:
        step = second.centre - first.centre
        size = max(first.mask.shape)
        if np.hypot(*step) < _FLOWN * size or not 0.5 <= second.mask.sum() / first.mask.sum() <= 2.0:
            continue
        cost, at = _least(halves[1], first, halves[2], step, 2)
        if cost < allowed:
            ahead.append((cost, second, at))
    if len(ahead) != 1:
        return None
    cost, second, step = ahead[0]
    y, x = np.nonzero(first.mask)
    own = flow.vectors[2 * (y + first.corner[0]), 2 * (x + first.corner[1])]
    if np.hypot(*(np.median(own, axis=0) - 2 * step)) < _FOLLOWED:
        return None
    slack = int(np.ceil(_STEADY * np.hypot(*step))) + 1
    before = _continued(halves[1], first, halves[0], halves[2], -step, slack, allowed)
    beyond = _continued(halves[1], first, halves[3], halves[2], 2 * step, slack, allowed)
    if (before is None and _within(halves[0], first, -step)) or (
        beyond is None and _within(halves[3], first, 2 * step)
    ):
        # It should be seen there, unless it has left the frame.
        return None
    if before is None and beyond is None:
        return None
    if (before is None or beyond is None) and cost > _SURE * first.contrast:
        return None
    return Sprite(
        first=first, second=second, step=2 * step,
        before=None if before is None else 2 * before, beyond=None if beyond is None else 2 * beyond,
    )  # fmt: skip


def _continued(
    here: Floats, thing: Place, there: Floats, without: Floats, step: Numbers, slack: int, allowed: float
) -> Numbers | None:
    """The way to a thing in a third frame, near where its motion leads; it must stand out from a frame ``without`` it."""
    cost, at = _least(here, thing, there, step, slack)
    if not cost < allowed:
        return None
    own, place = _cut(there, thing, at), _cut(without, thing, at)
    assert own is not None and place is not None
    return at if float(np.abs(own - place)[thing.mask].mean()) > 0.5 * thing.contrast else None


def _within(image: Floats, thing: Place, step: Numbers) -> bool:
    """Whether a thing that has moved lies inside the frame, with a margin."""
    return _cut(image, thing, step) is not None


def _cut(image: Floats, thing: Place, step: Numbers) -> Floats | None:
    """The box of a thing, moved by whole pixels; None beyond the border."""
    y, x = round(thing.corner[0] + step[1]), round(thing.corner[1] + step[0])
    h, w = thing.mask.shape
    return (
        image[y : y + h, x : x + w] if 0 <= y <= image.shape[0] - h and 0 <= x <= image.shape[1] - w else None
    )


def _least(here: Floats, thing: Place, there: Floats, step: Numbers, slack: int) -> tuple[float, Numbers]:
    """Least mean difference of a thing from another frame, within a slack around a step, and the way there."""
    h, w = thing.mask.shape
    own = here[thing.corner[0] : thing.corner[0] + h, thing.corner[1] : thing.corner[1] + w]
    y, x = round(thing.corner[0] + step[1]), round(thing.corner[1] + step[0])
    top, left = max(y - slack, 0), max(x - slack, 0)
    window = there[top : max(y + slack + h, 0), left : max(x + slack + w, 0)]
    if window.shape[0] < h or window.shape[1] < w:
        return np.inf, step
    mask = thing.mask.astype(np.float32)
    squares = cv2.matchTemplate(window, own, cv2.TM_SQDIFF, mask=mask) / mask.sum()
    row, column = np.unravel_index(int(np.argmin(squares)), squares.shape)
    corner = np.array([left + column - thing.corner[1], top + row - thing.corner[0]], np.float64)
    return float(np.sqrt(max(squares[row, column], 0.0))), corner


def lifted(frame: Floats, behind: Floats, place: Place) -> tuple[tuple[slice, slice], Floats, Floats, Floats]:
    """A thing taken off a frame ``(h, w, c)``.

    Returns
    -------
    the box it lies in; its opacity (h, w); its colour times its opacity (h, w, c); the box without it (h, w, c)
    """
    height, width = frame.shape[:2]
    y, x = place.corner
    h, w = place.mask.shape
    margin = 4
    box = (
        slice(max(2 * y - margin, 0), min(2 * (y + h) + margin, height)),
        slice(max(2 * x - margin, 0), min(2 * (x + w) + margin, width)),
    )
    mask = np.zeros(((height + 1) // 2, (width + 1) // 2), np.uint8)
    mask[y : y + h, x : x + w] = place.mask
    around = (
        cv2.dilate(mask, np.ones((3, 3), np.uint8)).repeat(2, axis=0).repeat(2, axis=1)[:height, :width][box]
    )
    pixels, back = frame[box], behind[box]
    off = pixels - back
    strength = np.sqrt(np.square(off).sum(axis=2)) * around
    # The colour of the thing, seen from the background: what stands out most, weighed around every pixel.
    weight = np.square(strength)
    weight = weight * weight
    full = cv2.GaussianBlur(weight[..., None] * off, (0, 0), 2.0).reshape(off.shape)
    full = full / (cv2.GaussianBlur(weight, (0, 0), 2.0) + 1e-6)[..., None]
    share = (off * full).sum(axis=2) / np.maximum(np.square(full).sum(axis=2), 1.0)
    opacity = np.clip((share - 0.1) / 0.75, 0.0, 1.0) * around
    opacity = opacity.astype(np.float32)
    colour = pixels * opacity[..., None]
    rim = opacity < 1
    colour[rim] = (pixels - (1 - opacity[..., None]) * back)[rim]
    colour *= (opacity > 0)[..., None]
    clean = np.where(around[..., None] > 0, back, pixels)
    return box, opacity, colour, clean


def refined(
    first: Floats, second: Floats, box: tuple[slice, slice], opacity: Floats, step: Numbers
) -> Numbers:
    """A step (x, y) of a thing in a box of one luma ``(h, w)`` to another, found to a part of a pixel."""
    reach = 3
    h, w = opacity.shape
    y, x = round(box[0].start + step[1]) - reach, round(box[1].start + step[0]) - reach
    if y < 0 or x < 0 or y + h + 2 * reach > second.shape[0] or x + w + 2 * reach > second.shape[1]:
        return step
    window = second[y : y + h + 2 * reach, x : x + w + 2 * reach]
    squares = cv2.matchTemplate(window, first[box], cv2.TM_SQDIFF, mask=opacity)
    row, column = np.unravel_index(int(np.argmin(squares)), squares.shape)
    if not (0 < row < 2 * reach and 0 < column < 2 * reach):
        return step
    across, down = squares[row, column - 1 : column + 2], squares[row - 1 : row + 2, column]
    whole = np.array([x + column - box[1].start, y + row - box[0].start], np.float64)
    return np.asarray(whole + np.array([_vertex(across), _vertex(down)]))


def _vertex(values: Floats) -> float:
    """Where a parabola through values at -1, 0, 1, the middle one the least, is least."""
    bend = float(values[0] - 2 * values[1] + values[2])
    return float(np.clip(0.5 * (values[0] - values[2]) / bend, -0.5, 0.5)) if bend > 1e-6 else 0.0


def laid(frame: Floats, things: list[tuple[float, tuple[slice, slice], Numbers, Floats, Floats]]) -> Floats:
    """Lay looks at one thing, each with its share, box, way from there, opacity and colour, over a frame, in place.

    Returns how far it covers the frame, ``(h, w)``.
    """
    height, width = frame.shape[:2]
    cover = np.zeros((height, width), np.float32)
    paint = np.zeros_like(frame)
    for share, box, way, opacity, colour in things:
        move = np.array([[1, 0, box[1].start + way[0]], [0, 1, box[0].start + way[1]]], np.float64)
        cover += np.float32(share) * cv2.warpAffine(opacity, move, (width, height), flags=cv2.INTER_LINEAR)
        paint += np.float32(share) * cv2.warpAffine(
            colour, move, (width, height), flags=cv2.INTER_LINEAR
        ).reshape(frame.shape)
    frame *= (1 - cover)[..., None]
    frame += paint
    return cover


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """A thing on both sides of a moment: its box, opacity and colour in either frame, and its path."""

    sprite: Sprite
    first: tuple[tuple[slice, slice], Floats, Floats]
    second: tuple[tuple[slice, slice], Floats, Floats]


def lift_all(
    frames: Floats, sprites: list[Sprite], flows: tuple[Flow, Flow, Flow, Flow]
) -> tuple[Floats, list[Look]]:
    """Four frames ``(4, h, w, c)`` whose inner two are without their sprites, and the sprites.

    The flows lead from the second frame to the first and the third, and from the third to the second and the fourth.
    """
    clean = frames.copy()
    size = frames.shape[1:3]
    around = [
        0.5
        * (
            warp(frames[k - 1], calm(flows[2 * k - 2], size), method="linear")
            + warp(frames[k + 1], calm(flows[2 * k - 1], size), method="linear")
        )
        for k in (1, 2)
    ]
    lumas = frames[1:3].mean(axis=3)
    looks = []
    for sprite in sprites:
        parts = []
        for k, place in ((1, sprite.first), (2, sprite.second)):
            box, opacity, colour, without = lifted(frames[k], around[k - 1], place)
            clean[k][box] = without
            parts.append((box, opacity, colour))
        step = refined(lumas[0], lumas[1], parts[0][0], parts[0][1], sprite.step)
        looks.append(Look(sprite=replace(sprite, step=step), first=parts[0], second=parts[1]))
    return clean, looks


def lay_all(frame: Floats, sd: Floats, looks: list[Look], times: Numbers, target: float) -> None:
    """Lay sprites over a frame ``(h, w, c)`` at a time between the second and the third of four, and widen its sd."""
    share = float((target - times[1]) / (times[2] - times[1]))
    for look in looks:
        way = look.sprite.away(times, target)
        cover = laid(
            frame,
            [
                (1 - share, look.first[0], way, *look.first[1:]),
                (share, look.second[0], way - look.sprite.step, *look.second[1:]),
            ],
        )
        near = cv2.blur(cover, (5, 5))
        np.maximum(sd, (_UNSURE * look.sprite.first.contrast * near)[..., None], out=sd)
