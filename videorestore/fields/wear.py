"""What ails the fields of a tape or a broadcast beyond noise and dropouts, told but not mended: lines that jitter, fields that are blends.

A recorder whose clock trembles shifts every line by itself. A converter between 50 and 60 fields a second mixes two fields into most
of those that it makes, in a rhythm of five or six: where things move they are double then, and less sharp.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.fields.dropouts import Surroundings

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

SMOOTH, NEAR = 5, 9
"""Columns over which a line is smoothed before its slope is read, and lines over which true motion is taken to be even."""

FARTHEST = 3.0
"""Columns beyond which a line is not read as shifted: its slope does not tell so far."""

STEEP = 4.0
"""Mean square slope (levels a column, squared) that each half of a line has at least to tell where it lies."""

TREMBLES, ALIKE = 0.25, 0.4
"""Shift (sd, in columns) from which on lines are said to jitter, and how far both halves of them must go together (correlation)."""

MOVED = 400.0
"""Squared change between the fields before and after from which on a place moves, in levels squared."""

ENOUGH = 0.01
"""Share of a field that moves, at least, for its sharpness to tell."""

RHYTHMS = (5, 6)
"""Fields after which the weights of a blend come again: 60 fields a second made 50, and 50 made 60."""

UNSHARP, REGULAR = 0.05, 0.6
"""How much the logarithm of the sharpness varies (root mean square), and how far that comes again with the rhythm (correlation)."""


def line_shifts(around: Surroundings) -> float | None:
    """Sd, in columns, of the shift of single lines of a field against the next field of the same lines; None where nothing tells.

    True motion is taken out by the flow, and what is common to neighbouring lines; noise moves the two halves of a line apart.
    """
    later = next((seen for same, seen in around.readings(0)[::-1] if same), None)
    if later is None:
        return None
    own, later = (cv2.blur(p, (SMOOTH, 1)) for p in (around.own[0], later))
    slope = np.gradient(0.5 * (own + later), axis=1)
    change = later - own
    half = own.shape[1] // 2
    sides = []
    for part in (slice(0, half), slice(half, 2 * half)):
        steep = np.square(slope[:, part]).mean(axis=1)
        shift = (slope[:, part] * change[:, part]).mean(axis=1) / np.maximum(steep, STEEP)
        shift[(steep < STEEP) | (np.abs(shift) > FARTHEST)] = np.nan
        sides.append(_uneven(shift))
    both = np.isfinite(sides[0]) & np.isfinite(sides[1])
    if both.sum() < 2 * NEAR:
        return None
    one, two = sides[0][both], sides[1][both]
    together = float((one * two).mean())
    spread = float(np.sqrt(np.square(one).mean() * np.square(two).mean()))
    return float(np.sqrt(together / 2)) if together > ALIKE * spread else 0.0


def _uneven(values: Floats) -> Doubles:
    """What is left of values along lines without the median of those around."""
    padded = np.pad(values.astype(np.float64), NEAR // 2, constant_values=np.nan)
    rows = np.lib.stride_tricks.sliding_window_view(padded, NEAR)
    found = np.full(len(values), np.nan)
    told = np.isfinite(rows).sum(axis=1) > NEAR // 2
    found[told] = values[told] - np.nanmedian(rows[told], axis=1)
    return found


def jitter(shifts: Sequence[float | None]) -> float:
    """Sd, in columns, by which the lines of a clip jitter by its fields' `line_shifts`; 0 where they do not."""
    told = [shift for shift in shifts if shift is not None]
    usual = float(np.median(told)) if told else 0.0
    return usual if usual >= TREMBLES else 0.0


def sharpness(around: Surroundings) -> float | None:
    """Log of how much sharper a field is, where it moves, than those of the same lines before and after; None where nothing moves."""
    if -2 not in around.others or 2 not in around.others:
        return None
    before, own, after = around.others[-2][0], around.own[0], around.others[2][0]
    moves = cv2.dilate((np.square(after - before) > MOVED).astype(np.uint8), np.ones((3, 9), np.uint8)) > 0
    if moves.mean() < ENOUGH:
        return None
    edges = [float(np.square(np.diff(p, axis=1))[moves[:, 1:]].mean()) for p in (before, own, after)]
    return float(np.log(edges[1] + 1.0) - 0.5 * np.log((edges[0] + 1.0) * (edges[2] + 1.0)))


def blended(stretches: Sequence[Sequence[float | None]]) -> int:
    """The rhythm, in fields, in which the fields of a clip are blends, by the `sharpness` of fields in a row; 0 where they are not."""
    told = np.concatenate([np.array(s, np.float64) for s in stretches]) if stretches else np.empty(0)
    told = told[np.isfinite(told)]
    if len(told) < 2 * max(RHYTHMS) or np.sqrt(np.square(told).mean()) < UNSHARP:
        return 0
    scores = {rhythm: _again(stretches, rhythm) for rhythm in RHYTHMS}
    best = max(RHYTHMS, key=lambda rhythm: scores[rhythm])
    return best if scores[best] > REGULAR else 0


def _again(stretches: Sequence[Sequence[float | None]], rhythm: int) -> float:
    """Correlation of values with those ``rhythm`` places later."""
    pairs = np.concatenate(
        [np.stack([np.array(s, np.float64)[:-rhythm], np.array(s, np.float64)[rhythm:]]) for s in stretches],
        axis=1,
    )
    one, two = pairs[:, np.isfinite(pairs).all(axis=0)]
    if len(one) < rhythm:
        return 0.0
    return float((one * two).sum() / max(np.sqrt(np.square(one).sum() * np.square(two).sum()), 1e-9))
