"""The missing lines of fields: the posterior given their own lines and those of the fields around, along motion.

Every field has half of the lines of a picture, at its own time. Motion is first sought between fields of the same parity,
whose lines lie alike: between neighbours of unlike parity the lines that each lacks look like motion. It is sought again, to
the neighbours too, on what came of that. How far another field can be trusted at a place is read off the lines that are
known: it predicts the field's own lines, and fields before and after predict the same missing ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from videorestore.fields._kernels import TICKS, krige, sample
from videorestore.motion.flow import FlowCache

Floats = NDArray[np.float32]

REACH = 2
"""Fields on each side that are read along motion."""

WINDOW = (11, 3)
"""Columns and lines over which errors are averaged."""

TEXTURE, ERROR = 2.0, 0.5
"""Least variances (levels squared) of the texture between two lines, and of a field along motion: rounding and a codec."""

BETWEEN = 0.5
"""Variance of a line interpolated within its field, midway between two known ones, in units of the texture."""

BLUR = 0.05
"""Share of the texture that is lost even where a known line is read: between columns, by a codec."""

DOUBT = (3.0, 0.5)
"""What is thought of a field along motion before it is looked at: that its error is this share (second) of the texture, with
the weight (first) of one line read midway between two others. Found best of four on six development clips; tenfold weight
changed their mean by 0.0 dB."""

POWERS, USUAL = np.linspace(0.8, 1.8, 21), 1.5
"""Powers of the variogram that are told apart (1 is an edge, 2 a smooth slope), and that of flat places."""

SILL, WHITE, SHARED = 100.0, 0.3, 4.0
"""Sill of the variogram, which must only be large; white share and reach in field lines of the error of a field along motion.
A white share of 0.6 and reaches of 1.5 and 10 changed the mean over six development clips by 0.01 dB at most."""

NOISE = 0.5
"""Least variance of a known line, in levels squared: rounding."""

QUIET = (8, 0.1, (0.63, 0.71))
"""Side of the blocks by which noise is measured, their quantile that has least picture in it, and what share of the variance
of white noise that quantile is, within a field and between two: the mean of twenty simulated fields of 288 x 720."""


CUT = (3.0, 6.0, (32, 16))
"""Times, and levels more, by which fields of a parity differ over a cut beyond those just before and behind it, and the columns and
lines of the small pictures by which that is seen. Set by hand."""


def _tables() -> NDArray[np.float64]:
    apart = np.arange(16 * TICKS + 2) / (2.0 * TICKS)
    return np.ascontiguousarray([*(SILL - 0.5 * apart**p for p in POWERS), np.exp(-apart / SHARED)])


TABLES = _tables()
"""See `krige`."""


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


def doubled(field: Field) -> Floats:
    """Luma of a field with its missing lines midway between the known ones."""
    picture = field.planes[0].copy()
    lines = own_lines(picture, field.parity)
    picture[1 - field.parity :: 2] = np.float32(0.5) * (lines[..., 1] + lines[..., 2])
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
    """What one other field says at the missing lines, its squared failure at the known ones, and how much of that is expected."""

    offsets: Floats
    values: Floats
    guess: Floats
    between: Floats
    miss: Floats
    expected: Floats


def _read(field: Field, other: Field, plane: int, flow: Floats) -> _Reading:
    picture = field.planes[plane]
    offsets = np.empty(picture.shape, np.float32)
    values = np.empty((*picture.shape, 3), np.float32)
    sample(other.known(plane), other.parity, flow, offsets, values)
    guess, between = _through(offsets, values), _between(offsets)
    own, gone = slice(field.parity, None, 2), slice(1 - field.parity, None, 2)
    return _Reading(
        offsets=np.ascontiguousarray(offsets[gone]),
        values=np.ascontiguousarray(values[gone]),
        guess=guess[gone],
        between=between[gone],
        miss=np.square(picture - guess)[own],
        expected=between[own],
    )


def noise_variance(fields: Sequence[Field], plane: int) -> float:
    """Variance of the noise of a plane: what is left of fine detail in quiet blocks of a field, or between fields of a parity."""
    side, quantile, shares = QUIET
    kernel = np.array([1.0, -2.0, 1.0], np.float32) / np.sqrt(np.float32(6.0))
    found: tuple[list[float], list[float]] = [], []
    for one, two in zip(fields[: len(fields) - 2], fields[2:]):
        own = one.known(plane)
        height, width = (length // side * side for length in own.shape)
        if min(height, width) == 0:
            return NOISE
        within = cv2.sepFilter2D(own, -1, kernel, kernel)
        between = cv2.filter2D((own - two.known(plane)) * np.float32(np.sqrt(0.5)), -1, kernel[None])
        for detail, share, entries in zip((within, between), shares, found):
            blocks = np.square(detail[:height, :width]).reshape(height // side, side, width // side, side)
            entries.append(float(np.quantile(blocks.mean(axis=(1, 3)), quantile)) / share)
    return max(NOISE, min(float(np.mean(entries)) for entries in found)) if found[0] else NOISE


def _shape(lines: Floats, read: Sequence[_Reading], noise: float = NOISE) -> tuple[Floats, NDArray[np.int64]]:
    """Texture ``(m, w)`` between two lines of a field, and which of the `POWERS` it follows, by all fields at hand."""
    steps = np.square(np.diff(lines, axis=2)).mean(axis=2)
    bends = np.square(lines[..., 1:3] - np.float32(0.5) * (lines[..., :2] + lines[..., 2:])).mean(axis=2)
    for one in read:
        above, here, below = (one.values[..., q] for q in range(3))
        steps += np.float32(0.5) * (np.square(here - above) + np.square(below - here))
        bends += np.square(here - np.float32(0.5) * (above + below))
    share, above_rounding = np.float32(1.0 / (1 + len(read))), np.float32(noise - NOISE)
    texture = np.maximum(_mean(steps * share) - 2 * above_rounding, 0.0) + np.float32(TEXTURE)
    # A line misses the middle of its neighbours by 1 - 2 ** (power - 2) of the texture.
    bent = np.maximum(_mean(bends * share) - np.float32(1.5) * above_rounding, 0.0)
    curved = (bent + np.float32((1.0 - 2.0 ** (USUAL - 2.0)) * TEXTURE)) / texture
    power = 2.0 + np.log2(np.maximum(1.0 - curved, 1e-3))
    step = POWERS[1] - POWERS[0]
    rough = np.clip(np.rint((power - POWERS[0]) / step), 0, len(POWERS) - 1).astype(np.int64)
    return np.ascontiguousarray(texture, np.float32), rough


def _errors(read: dict[int, _Reading], texture: Floats, noise: float) -> Floats:
    """Variance ``(s, m, w)`` of each field along motion: by the known lines, and by the field as far on the other side."""
    rows, above_rounding = len(texture), np.float32(noise - NOISE)
    found = []
    for j, one in read.items():
        known = len(one.miss)
        near = np.pad(texture, ((0, 1), (0, 0)), mode="edge")[:known]
        trust = _trust(one.expected)
        # Two noisy values differ by twice the noise, less where one of them is a mean of two lines.
        more = one.miss - one.expected * near - (2.0 - one.expected) * above_rounding
        seen = np.stack([_mean(trust * more), _mean(trust)])
        seen = np.pad(seen, ((0, 0), (0, 1), (0, 0)), mode="edge")[:, :rows]
        if -j in read:
            two = read[-j]
            both = one.between + two.between
            trust = _trust(both)
            more = np.square(one.guess - two.guess) - both * texture - (2.0 - both) * above_rounding
            seen = seen + np.stack([_mean(np.float32(0.5) * trust * more), _mean(trust)])
        weight, share = DOUBT
        error = (np.maximum(seen[0], 0.0) + np.float32(weight * share) * texture) / (
            seen[1] + np.float32(weight)
        )
        found.append(error + np.float32(ERROR))
    return np.ascontiguousarray(np.stack(found), np.float32)


def complete_plane(
    fields: Sequence[Field],
    k: int,
    plane: int,
    flows: dict[int, Floats],
    noise: float = NOISE,
    calm: bool = False,
) -> tuple[Floats, Floats]:
    """Posterior mean and sd ``(m, w)`` of the missing lines of one plane of field ``k``.

    ``flows[j]`` leads from it to field ``k + j``, in pixels of the plane; ``noise`` is the variance of known lines. The sd is
    about what it would be without that noise where it is to be ``calm``.
    """
    field = fields[k]
    lines = own_lines(field.planes[plane], field.parity)
    moved = {j: _read(field, fields[k + j], plane, flow) for j, flow in flows.items()}
    texture, rough = _shape(lines, list(moved.values()), noise)
    mean, sd = np.empty((2, *texture.shape), np.float32)
    if moved:
        still = np.zeros((*field.planes[plane].shape, 2), np.float32)
        resting = {j: _read(field, fields[k + j], plane, still) for j in flows}
        errors, offsets, values = _better(moved, resting, texture, noise)
    else:
        offsets, values, errors = (np.empty((0, *texture.shape, *end), np.float32) for end in ((), (3,), ()))
    height = field.planes[plane].shape[0]
    model = np.array([WHITE, noise])
    krige(lines, offsets, values, errors, texture, rough, TABLES, model, field.parity, height, mean, sd)
    return mean, _calm_sd(texture, rough, offsets, errors) if calm else sd


def _calm_sd(texture: Floats, rough: NDArray[np.int64], offsets: Floats, errors: Floats) -> Floats:
    """Sd of lines that are made where nothing is noisy, every field speaking for itself."""
    # Midway between two lines a variogram of power p leaves (1/2)^p - 1/4 of the texture.
    midway = np.maximum(0.5**POWERS - 0.25, BLUR).astype(np.float32)[rough]
    precision = 1.0 / (midway * texture) + (1.0 / (errors + _between(offsets) * texture)).sum(axis=0)
    return np.asarray(1.0 / np.sqrt(precision), np.float32)


def _better(
    moved: dict[int, _Reading], resting: dict[int, _Reading], texture: Floats, noise: float
) -> tuple[Floats, Floats, Floats]:
    """Errors, offsets and values of the fields, each read in place where that fits no worse than along the flow."""
    errors, still = _errors(moved, texture, noise), _errors(resting, texture, noise)
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


def _scaled(flow: Floats, shape: tuple[int, int]) -> Floats:
    """A flow for a plane of another size."""
    if flow.shape[:2] == shape:
        return flow
    factor = np.array([shape[1] / flow.shape[1], shape[0] / flow.shape[0]], np.float32)
    return np.asarray(cv2.resize(flow, shape[::-1], interpolation=cv2.INTER_AREA) * factor)


def scenes(fields: Sequence[Field]) -> list[range]:
    """The fields that show the same scene as each: a film may be cut between the two fields of a frame."""
    size, count = CUT[2], len(fields)
    small = [cv2.resize(f.known(0), size, interpolation=cv2.INTER_AREA) for f in fields]
    change = [float(np.abs(a - b).mean()) for a, b in zip(small, small[2:])]

    def largest(numbers: tuple[int, int]) -> list[float]:
        return [change[n] for n in numbers if 0 <= n < len(change)]

    begins = [0]
    for k in range(count - 1):
        # Both pairs of one parity that have the cut between them, and the next pairs on either side.
        over, beside = largest((k - 1, k)), largest((k - 2, k + 1))
        if over and beside and min(over) > CUT[0] * max(beside) + CUT[1]:
            begins.append(k + 1)
    ends = [*begins[1:], count]
    return [range(a, b) for a, b in zip(begins, ends) for _ in range(a, b)]


def _flows(cache: FlowCache, k: int, scene: range) -> dict[int, Floats]:
    return {j: cache.flow(k, k + j).vectors for j in (-1, 1, -2, 2) if k + j in scene}


def _even_flows(cache: FlowCache, k: int, scene: range) -> dict[int, Floats]:
    """Flows by those to the fields of the same parity, motion being even in between; of the one side where there is no other."""
    sides = {side: cache.flow(k, k + 2 * side).vectors for side in (-1, 1) if k + 2 * side in scene}
    if not sides:
        return _flows(cache, k, scene)
    ways = {side: sides[side] if side in sides else -sides[-side] for side in (-1, 1)}
    return {j: ways[1 if j > 0 else -1] * np.float32(abs(j) / 2) for j in (-1, 1, -2, 2) if k + j in scene}


def _cache(pictures: list[Floats]) -> FlowCache:
    stack = np.stack(pictures)[..., None]
    return FlowCache(stack, fine=True, thorough=np.ones(len(stack), np.bool_))


def complete(
    fields: Sequence[Field], wanted: range, *, rounds: int = 2, calm: bool = False
) -> Iterator[tuple[tuple[Floats, ...], tuple[Floats, ...]]]:
    """Whole pictures of the fields ``wanted``, and their sd.

    Parameters
    ----------
    fields : sequence of Field
        In the order of time, parities in turn.
    wanted : range
    rounds : int
        How often motion is sought: between fields of the same parity, then on what came of it.
    calm : bool
        The sd is that without noise: it will be removed.

    Yields
    ------
    planes, sd : tuples of (h, w) float32
        The known lines are those of the field, with sd 0.
    """
    noises = [noise_variance(fields, c) for c in range(len(fields[0].planes))]
    pictures = [doubled(field) for field in fields]
    scene, find = scenes(fields), _even_flows
    for turn in range(rounds - 1):
        cache = _cache(pictures)
        # What the last round reads lies within its reach of the wanted ones.
        margin = REACH * (rounds - 1 - turn)
        near = range(max(0, wanted.start - margin), min(len(fields), wanted.stop + margin))
        for k in near:
            cache.drop_before(k - REACH)
            mean, _ = complete_plane(fields, k, 0, find(cache, k, scene[k]), noises[0])
            pictures[k] = pictures[k].copy()
            pictures[k][1 - fields[k].parity :: 2] = mean
        find = _flows
    cache = _cache(pictures)
    for k in wanted:
        cache.drop_before(k - REACH)
        flows = find(cache, k, scene[k])
        planes, sds = [], []
        for c, plane in enumerate(fields[k].planes):
            scaled = {j: _scaled(flow, (plane.shape[0], plane.shape[1])) for j, flow in flows.items()}
            mean, sd = complete_plane(fields, k, c, scaled, noises[c], calm)
            whole, spread = plane.copy(), np.zeros_like(plane)
            whole[1 - fields[k].parity :: 2] = mean
            spread[1 - fields[k].parity :: 2] = sd
            planes.append(whole)
            sds.append(spread)
        yield tuple(planes), tuple(sds)
