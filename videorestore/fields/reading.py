"""What other fields say at the missing lines of one, read along motion, and how far each of them can be trusted there.

The lines that are known tell: another field predicts the field's own lines, fields before and behind predict the same missing
ones, and what the field's own lines say of these is a third witness.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.fields._kernels import sample

Floats = NDArray[np.float32]

WINDOW = (11, 3)
"""Columns and lines over which errors are averaged."""

ERROR = 0.5
"""Least variance (levels squared) of a field along motion: rounding and a codec."""

NOISE = 0.5
"""Least variance of a known line, in levels squared: rounding."""

BETWEEN = 0.5
"""Variance of a line interpolated within its field, midway between two known ones, in units of the texture."""

BLUR = 0.05
"""Share of the texture that is lost even where a known line is read: between columns, by a codec."""

DOUBT = (3.0, 0.5)
"""What is thought of a field along motion before it is looked at: that its error is this share (second) of the texture, with
the weight (first) of one line read midway between two others. Found best of four on six development clips; tenfold weight
changed their mean by 0.0 dB."""

REACH = 2
"""Fields on each side that are read along motion."""

AROUND, BELIEF, MOST, ON_LINE = (121, 61), np.float32(0.3), 10.0, 0.08
"""Columns and lines over which what is seen of errors is compared with what was thought; weight of the whole field in that; most times
by which it changes an error; most of the texture (see `BETWEEN`) between a place and the line that is read there. Best of some twenty on
parts of nine development clips, by .23 dB in the mean, -.02 to +.8; another size or weight changed that by .02."""

DETAIL = np.float32(0.6)
"""Share of the noise of a field that may be fine detail: none cost .2 dB where aliases pass for noise, all of it .4 dB of real noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Field:
    """One field: a picture of which every second line counts.

    Attributes
    ----------
    planes : tuple of (h, w) float32
        On the 0..255 scale. Only the lines of its parity are looked at.
    parity : int
        0 for the even lines.
    """

    planes: tuple[Floats, ...]
    parity: int

    def known(self, plane: int) -> Floats:
        """The lines ``(m, w)`` that it has."""
        return np.ascontiguousarray(self.planes[plane][self.parity :: 2])


def mean_around(values: Floats) -> Floats:
    """Mean over the `WINDOW` around every place."""
    return np.asarray(cv2.blur(values, WINDOW, borderType=cv2.BORDER_REFLECT))


def own_lines(plane: Floats, parity: int) -> Floats:
    """Lines ``(m, w, 4)`` of a field at distance -3, -1, 1, 3 from each missing line of a frame ``(h, w)``."""
    known = plane[parity::2]
    padded = np.pad(known, ((2, 2), (0, 0)), mode="edge")
    missing = plane.shape[0] - known.shape[0]
    above = 2 - parity
    return np.ascontiguousarray(
        np.stack([padded[above + q - 1 : above + q - 1 + missing] for q in range(4)], axis=2)
    )


def off_line(offsets: Floats) -> Floats:
    """Relative variance of what is read ``offsets`` lines off the nearest known one."""
    return np.float32(BETWEEN) * np.square(np.sin(np.float32(np.pi / 2) * np.clip(np.abs(offsets), 0, 1)))


def _trust(between: Floats) -> Floats:
    """Precision of a squared difference as witness of an error, where interpolation has its share in it."""
    return np.asarray(1.0 / np.square(np.float32(BLUR) + between))


def _through(offsets: Floats, values: Floats) -> Floats:
    """The parabola through three lines, at the place."""
    t = offsets * np.float32(-0.5)
    slope = values[..., 2] - values[..., 0]
    bend = values[..., 2] + values[..., 0] - 2 * values[..., 1]
    return np.asarray(values[..., 1] + np.float32(0.5) * t * (slope + t * bend))


@dataclass(slots=True, kw_only=True, eq=False)
class Reading:
    """What one other field says at the missing lines, its squared failure at the known ones, and how much of that is expected."""

    offsets: Floats
    values: Floats
    guess: Floats
    between: Floats
    miss: Floats
    expected: Floats


def read(field: Field, other: Field, plane: int, flow: Floats) -> Reading:
    """What another field says along a flow ``(h, w, 2)``, at the missing and at the known lines of a field."""
    picture = field.planes[plane]
    offsets = np.empty(picture.shape, np.float32)
    values = np.empty((*picture.shape, 3), np.float32)
    sample(other.known(plane), other.parity, flow, offsets, values)
    guess, between = _through(offsets, values), off_line(offsets)
    own, gone = slice(field.parity, None, 2), slice(1 - field.parity, None, 2)
    return Reading(
        offsets=np.ascontiguousarray(offsets[gone]),
        values=np.ascontiguousarray(values[gone]),
        guess=guess[gone],
        between=between[gone],
        miss=np.square(picture - guess)[own],
        expected=between[own],
    )


def errors_of(read: dict[int, Reading], texture: Floats, noise: float) -> Floats:
    """Variance ``(s, m, w)`` of each field along motion: by the known lines, and by the field as far on the other side."""
    rows, above_rounding = len(texture), np.float32(noise - NOISE)
    found = []
    for j, one in read.items():
        known = len(one.miss)
        near = np.pad(texture, ((0, 1), (0, 0)), mode="edge")[:known]
        trust = _trust(one.expected)
        # Two noisy values differ by twice the noise, less where one of them is a mean of two lines.
        more = one.miss - one.expected * near - (2.0 - one.expected) * above_rounding
        seen = np.stack([mean_around(trust * more), mean_around(trust)])
        seen = np.pad(seen, ((0, 0), (0, 1), (0, 0)), mode="edge")[:, :rows]
        if -j in read:
            two = read[-j]
            both = one.between + two.between
            trust = _trust(both)
            more = np.square(one.guess - two.guess) - both * texture - (2.0 - both) * above_rounding
            seen = seen + np.stack([mean_around(np.float32(0.5) * trust * more), mean_around(trust)])
        weight, share = DOUBT
        error = (np.maximum(seen[0], 0.0) + np.float32(weight * share) * texture) / (
            seen[1] + np.float32(weight)
        )
        found.append(error + np.float32(ERROR))
    return np.ascontiguousarray(np.stack(found), np.float32)


def amiss(
    places: dict[int, int],
    errors: Floats,
    offsets: Floats,
    values: Floats,
    alone: tuple[Floats, Floats],
    texture: Floats,
    noise: float,
) -> Floats:
    """How many times what was thought the error of each field is ``(s, m, w)``, beside that of what the own lines say ``alone``.

    Of three witnesses (own lines, a field before, one as far behind; ``places`` says where by their distance) the differences
    tell the error of each. Fields farther away are no better than near ones.
    """
    mean, variance = alone
    found, times = np.ones_like(errors), None
    for distance in range(1, REACH + 1):
        sides = [places[j] for j in (-distance, distance) if j in places]
        if len(sides) == 2:
            before, behind = (_through(offsets[i], values[i]) for i in sides)
            blank = [off_line(offsets[i]) for i in sides]
            grain = np.float32(noise - NOISE) * (2 - blank[0] - blank[1])
            wrong = errors[sides[0]] + errors[sides[1]] + (blank[0] + blank[1]) * texture
            # What is called noise may be fine detail: a share of it stays on both sides, which keeps what was thought.
            kept = DETAIL * grain
            apart = np.square(before - behind)
            both = apart - grain + kept
            own = np.square(mean - before) + np.square(mean - behind) - apart + kept
            weight = (np.maximum(*blank) < ON_LINE) / (variance + wrong + grain)
            of_fields = _seen(weight * both, weight * (wrong + kept))
            of_own = _seen(weight * own / 2, weight * (variance + kept / 2))
            ratio = np.clip(of_fields / np.maximum(of_own, 1e-3), 1 / MOST, MOST)
            times = ratio if times is None else np.maximum(times, ratio)
        if times is not None:
            found[sides] = times
    return found


def _seen(seen: Floats, thought: Floats) -> Floats:
    """Means of what is seen over those of what was thought, around every place; one where there is neither."""
    whole = (max(float(seen.mean()), 0.0) + 1e-3) / (float(thought.mean()) + 1e-3)
    near, beside = (
        cv2.blur(np.asarray(part, np.float32), AROUND, borderType=cv2.BORDER_REFLECT)
        for part in (seen, thought)
    )
    return np.asarray((np.maximum(near, 0) + BELIEF * np.float32(whole)) / (beside + BELIEF), np.float32)


def better(
    moved: dict[int, Reading], resting: dict[int, Reading], texture: Floats, noise: float
) -> tuple[Floats, Floats, Floats]:
    """Errors, offsets and values of the fields, each read in place where that fits no worse than along the flow."""
    errors, still = errors_of(moved, texture, noise), errors_of(resting, texture, noise)
    offsets, values = (np.stack([getattr(r, name) for r in moved.values()]) for name in ("offsets", "values"))
    # Lines of the other parity are not there to be compared with the field's own: what the same parity says holds for all.
    same = [still[i] for i, j in enumerate(resting) if j % 2 == 0]
    for i, one in enumerate(resting.values()):
        error = np.maximum.reduce([still[i], *same])
        rests = error <= errors[i]
        errors[i][rests] = error[rests]
        offsets[i][rests] = one.offsets[rests]
        values[i][rests] = one.values[rests]
    return errors, offsets, values
