"""The missing lines of fields: the posterior given their own lines and those of the fields around, along motion.

Every field has half of the lines of a picture, at its own time. Motion is sought on pictures whose missing lines are first
woven where things rest and interpolated elsewhere, and sought again on what came of that. How far another field can be
trusted at a place is read off the lines that are known: it predicts the field's own lines, and fields before and after
predict the same missing ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.fields._kernels import krige, sample
from videorestore.motion.flow import FlowCache

Floats = NDArray[np.float32]

REACH = 2
"""Fields on each side that are read along motion."""

WINDOW = (11, 3)
"""Columns and lines over which errors are averaged."""

STILL = 4.0
"""Levels between fields of the same parity up to which a place rests, for the first guess."""

TEXTURE, ERROR = 2.0, 0.5
"""Least variances (levels squared) of the texture between two lines, and of a field along motion: rounding and a codec."""

BETWEEN = 0.5
"""Variance of a line interpolated within its field, midway between two known ones, in units of the texture."""

EDGE_WINDOW, SLANT, PLAIN = (9, 1), 6, 0.4
"""Columns and lines over which an edge must match; most columns that it moves from a line to the next; an edge is followed
where the lines differ along it by less than this share of what they differ straight across."""

BLUR = 0.05
"""Share of the texture that is lost even where a known line is read: between columns, by a codec."""

MODEL = np.array([1.3, 8.0, 0.3, 4.0, 0.5])
"""Power and sill of the variogram (natural pictures: between 1 and 1.6), white share and reach in field lines of the error of
a field along motion, noise variance in levels squared. First guesses; single changes gained little on four
development clips."""


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


def _mean(values: Floats) -> Floats:
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


def along_edges(lines: Floats) -> Floats:
    """Own lines ``(m, w, 4)`` read along the edge through each missing pixel, where one is plain to see, else as they are."""
    above, below = (np.ascontiguousarray(lines[..., q]) for q in (1, 2))
    outer = np.ascontiguousarray(lines[..., 0]), np.ascontiguousarray(lines[..., 3])

    def moved(line: Floats, by: int) -> Floats:
        padded = np.pad(line, ((0, 0), (abs(by), abs(by))), mode="edge")
        return padded[:, abs(by) + by : abs(by) + by + line.shape[1]]

    def cost(by: int) -> Floats:
        across = np.abs(moved(above, by) - moved(below, -by))
        return np.asarray(cv2.blur(across, EDGE_WINDOW, borderType=cv2.BORDER_REFLECT))

    best, found = cost(0) * np.float32(PLAIN), lines.copy()
    for by in [k * sign for k in range(1, SLANT + 1) for sign in (-1, 1)]:
        now = cost(by) + np.float32(abs(by))
        better = now < best
        best = np.where(better, now, best)
        parts = moved(outer[0], 3 * by), moved(above, by), moved(below, -by), moved(outer[1], -3 * by)
        for q, part in enumerate(parts):
            found[..., q] = np.where(better, part, found[..., q])
    return found


def first_guess(fields: Sequence[Field], k: int) -> Floats:
    """Luma of field ``k`` with its missing lines woven where things rest, else interpolated."""
    parity = fields[k].parity
    other = 1 - parity
    picture = fields[k].planes[0].copy()
    lines = along_edges(own_lines(picture, parity))
    spatial = (9.0 * (lines[..., 1] + lines[..., 2]) - lines[..., 0] - lines[..., 3]) / np.float32(16.0)
    sides = [fields[j].planes[0][other::2] for j in (k - 1, k + 1) if 0 <= j < len(fields)]
    if not sides:
        picture[other::2] = spatial
        return picture
    moved = np.abs(sides[0] - sides[-1])
    for j in (k - 2, k + 2):
        if 0 <= j < len(fields):
            apart = np.abs(fields[j].planes[0][parity::2] - fields[k].planes[0][parity::2])
            moved = np.maximum(moved, np.pad(apart, ((0, 1), (0, 0)), mode="edge")[: len(moved)])
    moved = cv2.dilate(cv2.blur(moved, (5, 3), borderType=cv2.BORDER_REFLECT), np.ones((3, 5), np.uint8))
    rest = np.exp(-np.square(moved / np.float32(STILL)))
    picture[other::2] = rest * (sides[0] + sides[-1]) * np.float32(0.5) + (1 - rest) * spatial
    return picture


def _between(offsets: Floats) -> Floats:
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
class _Reading:
    """What one other field says: at the missing lines, and how far it fails at the known ones."""

    offsets: Floats
    values: Floats
    guess: Floats
    between: Floats
    miss: Floats
    doubt: Floats


def _read(field: Field, other: Field, plane: int, flow: Floats, texture: Floats) -> _Reading:
    picture, parity = field.planes[plane], field.parity
    offsets = np.empty(picture.shape, np.float32)
    values = np.empty((*picture.shape, 3), np.float32)
    sample(other.known(plane), other.parity, flow, offsets, values)
    guess, between = _through(offsets, values), _between(offsets)
    error = np.square(picture - guess)[parity::2]
    expected = between[parity::2]
    trust = _trust(expected)
    near = (
        texture
        if len(texture) == len(error)
        else np.pad(texture, ((0, 1), (0, 0)), mode="edge")[: len(error)]
    )
    weight = _mean(trust)
    miss = _mean(trust * (error - expected * near)) / weight
    rows = len(texture)

    def at_missing(found: Floats) -> Floats:
        return np.pad(found, ((0, 1), (0, 0)), mode="edge")[:rows]

    gone = slice(1 - parity, None, 2)
    return _Reading(
        offsets=np.ascontiguousarray(offsets[gone]),
        values=np.ascontiguousarray(values[gone]),
        guess=guess[gone],
        between=between[gone],
        miss=at_missing(miss),
        doubt=at_missing(1.0 / weight),
    )


def _errors(read: dict[int, _Reading], texture: Floats) -> Floats:
    """Variance ``(s, m, w)`` of each field along motion: by the known lines, and by the field as far on the other side."""
    found = []
    for j, one in read.items():
        error = one.miss
        if -j in read:
            two = read[-j]
            both = one.between + two.between
            trust = _trust(both)
            weight = _mean(trust)
            apart = (
                _mean(trust * (np.square(one.guess - two.guess) - both * texture)) / weight * np.float32(0.5)
            )
            error = (one.miss / one.doubt + apart * weight) / (1.0 / one.doubt + weight)
        found.append(np.maximum(error, 0.0) + np.float32(ERROR))
    return np.ascontiguousarray(np.stack(found), np.float32)


def complete_plane(
    fields: Sequence[Field], k: int, plane: int, flows: dict[int, Floats]
) -> tuple[Floats, Floats]:
    """Posterior mean and sd ``(m, w)`` of the missing lines of one plane of field ``k``.

    ``flows[j]`` leads from it to field ``k + j``, in pixels of the plane.
    """
    field = fields[k]
    lines = own_lines(field.planes[plane], field.parity)
    steps = np.square(lines[..., 1:] - lines[..., :-1])
    texture = _mean(steps[..., 1] + np.float32(0.5) * (steps[..., 0] + steps[..., 2]))
    texture = np.ascontiguousarray(texture * np.float32(0.5) + np.float32(TEXTURE), np.float32)
    read = {j: _read(field, fields[k + j], plane, flow, texture) for j, flow in flows.items()}
    mean, sd = np.empty((2, *texture.shape), np.float32)
    if read:
        errors = _errors(read, texture)
        offsets = np.stack([r.offsets for r in read.values()])
        values = np.stack([r.values for r in read.values()])
        _let_rest(field, fields, k, plane, texture, (list(read), errors, offsets, values))
    else:
        offsets, values, errors = (np.empty((0, *texture.shape, *end), np.float32) for end in ((), (3,), ()))
    height = field.planes[plane].shape[0]
    krige(along_edges(lines), offsets, values, errors, texture, MODEL, field.parity, height, mean, sd)
    return mean, sd


def _let_rest(
    field: Field,
    fields: Sequence[Field],
    k: int,
    plane: int,
    texture: Floats,
    found: tuple[list[int], Floats, Floats, Floats],
) -> None:
    """Read the fields in place where that fits better than along the flow; ``found`` (keys, errors, offsets, values) is changed."""
    keys, errors, offsets, values = found
    still = np.zeros((*field.planes[plane].shape, 2), np.float32)
    read = {j: _read(field, fields[k + j], plane, still, texture) for j in keys}
    resting = _errors(read, texture)
    # Lines of the other parity are not there to be compared with the field's own: what the same parity says holds for all.
    same = [resting[i] for i, j in enumerate(keys) if j % 2 == 0]
    for i, j in enumerate(keys):
        error = np.maximum.reduce([resting[i], *same])
        better = error <= errors[i]
        errors[i][better] = error[better]
        offsets[i][better] = read[j].offsets[better]
        values[i][better] = read[j].values[better]


def _scaled(flow: Floats, shape: tuple[int, int]) -> Floats:
    """A flow for a plane of another size."""
    if flow.shape[:2] == shape:
        return flow
    factor = np.array([shape[1] / flow.shape[1], shape[0] / flow.shape[0]], np.float32)
    return np.asarray(cv2.resize(flow, shape[::-1], interpolation=cv2.INTER_AREA) * factor)


def _flows(cache: FlowCache, k: int, count: int) -> dict[int, Floats]:
    return {j: cache.flow(k, k + j).vectors for j in (-1, 1, -2, 2) if abs(j) <= REACH and 0 <= k + j < count}


def _cache(pictures: list[Floats], careful: bool) -> FlowCache:
    stack = np.stack(pictures)[..., None]
    return FlowCache(stack, fine=True, thorough=np.full(len(stack), careful, np.bool_))


def complete(
    fields: Sequence[Field], wanted: range, *, rounds: int = 2
) -> Iterator[tuple[tuple[Floats, ...], tuple[Floats, ...]]]:
    """Whole pictures of the fields ``wanted``, and their sd.

    Parameters
    ----------
    fields : sequence of Field
        In the order of time, parities in turn.
    wanted : range
    rounds : int
        How often motion is sought: on the first guess, then on what came of it.

    Yields
    ------
    planes, sd : tuples of (h, w) float32
        The known lines are those of the field, with sd 0.
    """
    pictures = [first_guess(fields, k) for k in range(len(fields))]
    for turn in range(rounds - 1):
        cache = _cache(pictures, careful=False)
        # What the last round reads lies within its reach of the wanted ones.
        margin = REACH * (rounds - 1 - turn)
        near = range(max(0, wanted.start - margin), min(len(fields), wanted.stop + margin))
        for k in near:
            cache.drop_before(k - REACH)
            mean, _ = complete_plane(fields, k, 0, _flows(cache, k, len(fields)))
            pictures[k] = pictures[k].copy()
            pictures[k][1 - fields[k].parity :: 2] = mean
    cache = _cache(pictures, careful=True)
    for k in wanted:
        cache.drop_before(k - REACH)
        flows = _flows(cache, k, len(fields))
        planes, sds = [], []
        for c, plane in enumerate(fields[k].planes):
            scaled = {j: _scaled(flow, (plane.shape[0], plane.shape[1])) for j, flow in flows.items()}
            mean, sd = complete_plane(fields, k, c, scaled)
            whole, spread = plane.copy(), np.zeros_like(plane)
            whole[1 - fields[k].parity :: 2] = mean
            spread[1 - fields[k].parity :: 2] = sd
            planes.append(whole)
            sds.append(spread)
        yield tuple(planes), tuple(sds)
